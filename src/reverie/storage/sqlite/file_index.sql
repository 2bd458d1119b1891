-- The index of files: derived, disposable. Its file's name carries its edition: another schema is another file.
create table file (
    num   integer primary key,
    root  text not null,
    path  text not null,
    size  integer not null,
    mtime integer not null,
    inode integer not null,
    hash  blob not null,
    unique (root, path)
);

-- A number is never given twice, so whoever has dealt with all up to one need not look there again.
create table chunk (
    num   integer primary key autoincrement,
    file  integer not null,
    first integer not null,
    last  integer not null,
    hash  blob not null,
    text  text not null
);
create index chunk_by_file on chunk (file);
create index chunk_by_hash on chunk (hash);

-- Full text: prepared by reverie.text.tokenization, rowid = chunk.num. The text itself stands in `chunk` only.
create virtual table words using fts5 (body, content = '', tokenize = 'porter unicode61 remove_diacritics 2');

-- By text and model: a text that stands in two files, or moved to another, is embedded once. A long text has several.
create table vector (
    num   integer primary key autoincrement,
    model text not null,
    hash  blob not null,
    part  integer not null,
    vec   blob not null,
    unique (model, hash, part)
);
