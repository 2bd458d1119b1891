-- What the pages ask for, of which there is little among very much. Pairs that wait for a person:
create index edge_undecided on edge (rel, src, dst) where rel in ('contradicts', 'resembles');
-- Memories with something of their own, such as anchors:
create index memory_with_details on memory (space) where details is not null;
-- The newest of one sort that happened, read from the end:
create index event_by_time on event (verb, at);
