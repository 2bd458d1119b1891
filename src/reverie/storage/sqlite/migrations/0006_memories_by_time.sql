-- The map takes some of each stretch of the past, read from its end. The time comes first: by an
-- index that begins with the space, SQLite would also read what is asked for by space alone.
create index memory_by_time on memory (at, space);
