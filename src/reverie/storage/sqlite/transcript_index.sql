-- The index of past conversations: derived, disposable. Its file's name carries its edition.
create table conversation (
    num     integer primary key,
    space   text not null,
    session text not null,
    unique (space, session)
);

-- A number is never given twice, so whoever has dealt with all up to one need not look there again.
create table passage (
    num          integer primary key autoincrement,
    key          integer not null,
    conversation integer not null,
    message      integer not null,
    part         integer not null,
    role         text not null,
    at           real not null,
    event        integer not null,
    text         text not null,
    context      text not null,
    unique (conversation, message, part)
);
create index passage_by_key on passage (key);
create index passage_by_event on passage (event);
create index passage_by_time on passage (at);

-- Full text: prepared by reverie.text.tokenization, rowid = passage.num. The texts stand in `passage` only.
-- What a passage answers counts less than what it says. Measured on 105 prompts of 11 projects: .639 of the needs within
-- 600 tokens without the context, .650 with .2 to .5.
create virtual table words using fts5 (body, context, content = '', tokenize = 'porter unicode61 remove_diacritics 2');
insert into words (words, rank) values ('rank', 'bm25(1.0, 0.3)');

-- One byte a number: what that costs is measured by bench.transcripts.
create table vector (
    num   integer primary key,
    model text not null,
    vec   blob not null
);

-- Passages that wait for a vector of the present model.
create table waiting (
    num integer primary key
);

-- The present model, the file in which its vectors are packed (empty: none) with how many, and two marks: another
-- `version` after each change of vectors, another `epoch` after an erasure.
create table packing (
    model    text not null,
    snapshot text not null,
    rows     integer not null,
    version  integer not null,
    epoch    integer not null
);
insert into packing values ('', '', 0, random(), random());

-- Vectors that came or went since that file was written, in order. A place is never given twice.
create table changed (
    place integer primary key autoincrement,
    num   integer not null
);

-- Passages that were given and then used: `given` is the event that gave them, `event` the one in which they were used.
-- By key, so that a use is found again whatever number the passage has.
create table use (
    key   integer not null,
    given integer not null,
    event integer not null,
    primary key (key, given)
) without rowid;
create index use_by_event on use (event);

-- How far the event log was read, and which generation of the store that was.
create table reading (
    cursor     integer not null,
    generation text not null
);
