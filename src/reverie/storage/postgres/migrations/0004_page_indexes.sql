-- readers: 1
-- What pages ask for is few among very many: pairs that wait for a decision, memories with details,
-- a stretch of the past in its order, the newest runs of tools, counts by kind and space.
drop index memory_by_kind;
create index memory_by_kind on memory (tenant, kind, space, retired_at);
create index memory_by_time on memory (tenant, at, num, space);
create index memory_with_details on memory (tenant, space, num) where details is not null;
create index edge_undecided on edge (tenant, rel, src, dst) where rel in ('contradicts', 'resembles');
create index event_by_time on event (tenant, verb, at, seq);
