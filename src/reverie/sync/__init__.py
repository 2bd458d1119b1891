"""A developer's home and a team's server, kept in step.

The home stays whole: whatever reads or writes works on it, and nobody waits for the network. Its
event log is the spool. `outbox` reads what was changed since the server last acknowledged
something, `server_client` carries it there, `push_intake` decides what becomes of it on the server;
`change_feed` tells what others changed, `inbox` decides what becomes of that here. `sync_step` does
a bounded piece of both. What goes where is said by `space_map`, what a memory is on the wire by
`wire_format`, who wins by `merge_rules`.

Always true: the outbox moves on only after the server has acknowledged, the inbox in the
transaction that applies what came; each may be done twice and comes to the same. What another said
is another's word here (`foreign_words`), until the user trusts the space.
"""
