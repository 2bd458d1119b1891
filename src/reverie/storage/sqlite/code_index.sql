-- The index of code: derived, disposable. Its file's name carries its edition: another schema is another file.
create table root (
    path     text primary key,
    resolved integer not null           -- 0: files have changed since the edges were made
);

create table file (
    num      integer primary key autoincrement,
    root     text not null,
    path     text not null,
    size     integer not null,
    mtime    integer not null,
    inode    integer not null,
    hash     blob not null,
    language text not null,
    facts    text not null,
    modules  text not null,             -- the names of modules that it looks for, as JSON
    body     text not null,             -- what is in `words` of it
    unique (root, path)
);

create table symbol (
    file   integer not null,
    idx    integer not null,
    name   text not null,
    qual   text not null,
    kind   text not null,
    parent integer not null,
    owner  text not null,
    first  integer not null,
    last   integer not null,
    head   text not null,
    type   text not null,
    value  text not null,
    body   text not null,
    primary key (file, idx)
) without rowid;
create index symbol_by_name on symbol (name collate nocase);
create index symbol_by_qual on symbol (qual collate nocase);
create index symbol_by_body on symbol (body);

-- Members whose class, of that name, stands in another file.
create table joining (
    name text not null,
    file integer not null,
    idx  integer not null
);
create index joining_by_name on joining (name);
create index joining_by_file on joining (file);

create table edge (
    file   integer not null,
    scope  integer not null,
    kind   text not null,
    name   text not null,
    line   integer not null,
    target integer,                     -- a file; null: unresolved, or outside
    symbol integer not null,
    how    text not null
);
create index edge_by_file on edge (file, scope);
create index edge_by_target on edge (target, symbol);
create index edge_by_name on edge (name) where target is null;

-- What a file's edges rest on, by a checksum of its name: equal checksums of two names cost time and nothing else.
create table rest (
    checksum integer not null,
    file     integer not null,
    primary key (checksum, file)
) without rowid;
create index rest_by_file on rest (file);

-- Full text: one row a file, prepared by reverie.text.tokenization, rowid = file.num.
create virtual table words using fts5 (body, content = '', tokenize = 'porter unicode61 remove_diacritics 2');

-- The terms of files, for plans.
create table term (
    id   integer primary key,
    text text not null unique
);
create table bag (
    file    integer primary key,
    hash    blob not null,              -- of the bytes that the entries are of
    entries blob not null               -- columns: chunk, term, count
);
