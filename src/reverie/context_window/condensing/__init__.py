"""A conversation condensed: what is old leaves it, and one message says in few lines what it was
about (C2, C98–C105).

`timing` says when, `strategies` what leaves and how much room the summary has, `drafting` decides
and lays out, `lines` are the summary's, `ranking` names the most telling sentences without a model;
a model may write better ones (`llm.digest`). All pure: `settle.condensing` asks the model and
writes down.

Always true: the last ten messages, the system prompt and what is sticky stay word for word; what
stays keeps its order; a tool's call is never parted from its result; where user and assistant took
turns they still do. Whether the result is within the target, or why not, it says itself. This is no
sleep of memories; that is `lifecycle.sleep`.
"""
