"""Past conversations: everything that was said, found again by its words and its meaning.

This tier lies beside memory and is no part of it: nothing here is believed, merged, strengthened or
faded. `message_passages` cuts a message into passages of a few sentences, `transcript_indexing`
reads the event log into the index, `passage_search` finds and ranks, `talk_gate` decides whether
anything may come up unasked, `passage_hits` gives what was found the form of hits, so that it
stands in one answer with memories.

Always true: the index is derived from the event log, so deleting it loses only time; what the log
says of a message is what is shown of it, without secrets; a hit says who said it, in which session,
on which day, and never that it is so.
"""
