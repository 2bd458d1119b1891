-- readers: 1
-- Files that a user's devices leave for each other, sealed: nobody here can read them. `space` is
-- the user's private root. One that a legal hold keeps has `removed_at`, and is shown to nobody.
create table device_file (
    tenant     text collate "C" not null,
    space      text collate "C" not null,
    name       text collate "C" not null,
    digest     text collate "C" not null,
    data       bytea not null,
    written_at double precision not null,
    seen_at    double precision not null,
    removed_at double precision,
    primary key (tenant, space, name)
);
-- What is sealed cannot be compressed.
alter table device_file alter column data set storage external;
