-- What counts is counted by kind and space for every page; with `retired_at` in the index no row of
-- the table is read for it.
drop index memory_by_kind;
create index memory_by_kind on memory (kind, space, retired_at);
