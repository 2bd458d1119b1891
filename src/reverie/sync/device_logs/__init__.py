"""The same memory on several machines of one person, through any folder that moves between them.

Each machine writes a log of its own into the folder: batches, files that never change, one writer
each. An entry of a batch is a whole memory with the marks of who set what of it when, so entries
may come late, twice, in any order, or not at all: folding them (`folding`) comes to the same. What
was changed here is noted from the event log (`local_changes`), written into the own log
(`own_log`), carried to the places (`log_folder`, `git_place`), read from there (`log_reading`) and
taken in (`take_in`); `log_step` does a bounded piece of all that.

Always true: what the own log says is durable before anybody is told; marks and memory change in one
transaction; the order of changes is that of hybrid clocks, never of the wall's; of a text that was
revised on two machines both versions are kept, tied as contradicting each other.
"""
