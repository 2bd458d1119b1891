-- Of all other columns (row_checksums). Null in rows of before, until `verify` has gone through them.
alter table memory add column checksum integer;
alter table event add column checksum integer;
