-- One thing worth knowing later. `num` is internal: the word index and the vectors use it.
-- Lists are JSON, null when empty. Times are seconds since 1970. `checksum` is of all other columns
-- (row_checksums), here and in `event`.
create table memory (
    num              integer primary key,
    id               text not null unique,
    text             text not null,
    space            text not null,
    kind             text not null,
    title            text not null default '',
    tags             text,
    session          text not null default '',
    speaker          text not null default '',
    messages         text,
    files            text,
    provenance       text not null,
    triggers         text,
    details          text,
    trust            real not null,
    confidence       real not null,
    salience         real not null,
    strength         integer not null,
    access_count     integer not null,
    reinforcements   text,
    at               real not null,
    created_at       real not null,
    updated_at       real not null,
    last_accessed_at real,
    valid_from       real,
    valid_to         real,
    expires_at       real,
    retired_at       real,
    retired_why      text not null default '',
    superseded_by    text,
    conflicts_with   text
    , checksum integer);
create index memory_by_space on memory (space);    -- SQLite appends num
create index memory_by_time on memory (at, space);    -- SQLite appends num
create index memory_by_session on memory (session, num) where session <> '';
create index memory_by_kind on memory (kind, space, retired_at);    -- few of one kind among very many; and counts
create index memory_by_trigger on memory (space) where triggers is not null;
create index memory_with_details on memory (space) where details is not null;    -- few of a key among very many

-- Thinking of src may bring up dst. Tags are edges to 'tag:<name>'.
create table edge (
    src    text not null,
    rel    text not null,
    dst    text not null,
    weight real not null,
    primary key (src, rel, dst)
) without rowid;
create index edge_by_dst on edge (dst, rel, src);
create index edge_undecided on edge (rel, src, dst) where rel in ('contradicts', 'resembles');

-- Append-only: what happened. Provenance, audit trail, undo, timeline and work queue in one.
create table event (
    seq     integer primary key autoincrement,
    at      real not null,
    verb    text not null,
    space   text not null,
    session text not null default '',
    payload text
    , checksum integer);
create index event_by_session on event (session, seq) where session <> '';
create index event_by_verb on event (verb, seq);
create index event_by_time on event (verb, at);    -- SQLite appends seq

-- What an event did to a memory, and what was there before (JSON of the fields that changed).
create table change (
    memory text not null,
    seq    integer not null,
    place  integer not null,
    op     text not null,
    before text,
    after  text,
    primary key (memory, seq, place)
) without rowid;
create index change_by_event on change (seq, place);

-- How far each reader of the event log has come.
create table cursor (
    name text primary key,
    seq  integer not null
) without rowid;

-- Who may settle now.
create table lease (
    name   text primary key,
    holder text not null,
    until  real not null
) without rowid;

create table meta (
    name  text primary key,
    value text not null
) without rowid;

-- Derived. Full text: prepared by reverie.text.tokenization, one row per memory, rowid = memory.num.
create virtual table words using fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2');
create virtual table vocabulary using fts5vocab (words, 'row');          -- how often each token occurs
create virtual table occurrence using fts5vocab (words, 'instance');     -- and where

-- Derived. Vectors of memories, one of each model; `serial` grows with every write.
create table vector (
    serial integer primary key autoincrement,
    memory integer not null,
    model  text not null,
    hash   blob not null,
    vec    blob not null,
    unique (memory, model)
);
create index vector_by_hash on vector (hash, model);
create index vector_by_model on vector (model);    -- SQLite appends serial

-- Models that embed here: every new text waits for a vector of each. The highest num embedded last.
create table embedder (
    num   integer primary key,
    model text not null unique
);

-- Derived. Memories whose text has no vector of a model yet; under '' those that have none at all.
create table pending (
    model  text not null,
    memory integer not null,
    primary key (model, memory)
) without rowid;
