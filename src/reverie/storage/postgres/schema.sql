-- Everything lies in the schema `reverie`, which migrations and connections put on the search path.
-- `tenant` is the first column of every key, so that Citus can spread the tables by it and every
-- statement stays within one shard. Row security is forced on every table (row_security.sql): a
-- statement that forgets its tenant, or a reader without rights, finds nothing.
-- Texts that are sorted or compared have the collation "C", so that order is that of SQLite.

-- The numbers of a tenant. Whoever writes locks this row first, so numbers grow in the order in
-- which transactions commit: a reader of the log that has seen event n misses none before n.
create table counter (
    tenant text collate "C" not null primary key,
    memory bigint not null default 0,
    event  bigint not null default 0
);

-- How far a worker has come with a tenant, and which one is at it until when. A worker looks for
-- tenants whose counter is further.
create table work (
    tenant text collate "C" not null primary key,
    done   bigint not null default 0,
    worker text not null default '',
    until  double precision not null default 0
);

-- One thing worth knowing later. Lists are JSON, null when empty. Times are seconds since 1970.
create table memory (
    tenant           text collate "C" not null,
    num              bigint not null,
    id               text collate "C" not null,
    text             text not null,
    space            text collate "C" not null,
    kind             text collate "C" not null,
    title            text not null default '',
    tags             text,
    session          text collate "C" not null default '',
    speaker          text not null default '',
    messages         text,
    files            text,
    provenance       text not null,
    triggers         text,
    details          text,
    trust            double precision not null,
    confidence       double precision not null,
    salience         double precision not null,
    strength         bigint not null,
    access_count     bigint not null,
    reinforcements   text,
    at               double precision not null,
    created_at       double precision not null,
    updated_at       double precision not null,
    last_accessed_at double precision,
    valid_from       double precision,
    valid_to         double precision,
    expires_at       double precision,
    retired_at       double precision,
    retired_why      text not null default '',
    superseded_by    text,
    conflicts_with   text,
    checksum         bigint,
    primary key (tenant, id)
);
create unique index memory_by_num on memory (tenant, num);
create index memory_by_space on memory (tenant, space, num);
create index memory_by_session on memory (tenant, session, num) include (space) where session <> '';
create index memory_by_kind on memory (tenant, kind, space, retired_at);
create index memory_by_time on memory (tenant, at, num, space);
create index memory_by_speaker on memory (tenant, speaker, space) where speaker <> '';
create index memory_retired on memory (tenant, space, num) where retired_at is not null;
create index memory_by_trigger on memory (tenant, space) where triggers is not null;
create index memory_with_details on memory (tenant, space, num) where details is not null;

-- Thinking of src may bring up dst. `space` is that of src: who may not read it sees no edge.
create table edge (
    tenant text collate "C" not null,
    src    text collate "C" not null,
    rel    text collate "C" not null,
    dst    text collate "C" not null,
    weight double precision not null,
    space  text collate "C" not null,
    primary key (tenant, src, rel, dst)
);
create index edge_by_dst on edge (tenant, dst, rel, src);
create index edge_undecided on edge (tenant, rel, src, dst) where rel in ('contradicts', 'resembles');

-- Append-only: what happened.
create table event (
    tenant  text collate "C" not null,
    seq     bigint not null,
    at      double precision not null,
    verb    text collate "C" not null,
    space   text collate "C" not null,
    session text collate "C" not null default '',
    payload text,
    checksum bigint,
    primary key (tenant, seq)
);
create index event_by_session on event (tenant, session, seq) where session <> '';
create index event_by_verb on event (tenant, verb, seq);
create index event_by_time on event (tenant, verb, at, seq);

-- What an event did to a memory, and what was there before. `space` is the memory's own.
create table change (
    tenant text collate "C" not null,
    memory text collate "C" not null,
    seq    bigint not null,
    place  integer not null,
    op     text collate "C" not null,
    before text,
    after  text,
    space  text collate "C" not null,
    primary key (tenant, memory, seq, place)
);
create index change_by_event on change (tenant, seq, place);

create table cursor (
    tenant text collate "C" not null,
    name   text collate "C" not null,
    seq    bigint not null,
    primary key (tenant, name)
);

create table lease (
    tenant text collate "C" not null,
    name   text collate "C" not null,
    holder text not null,
    until  double precision not null,
    primary key (tenant, name)
);

create table meta (
    tenant text collate "C" not null,
    name   text collate "C" not null,
    value  text not null,
    primary key (tenant, name)
);

-- Derived. How often each index token occurs in each memory, by space, because a search reads few.
-- `length` is that of the memory's text in characters: a search reads nothing but the key's index.
create table posting (
    tenant text collate "C" not null,
    space  text collate "C" not null,
    term   text collate "C" not null,
    num    bigint not null,
    tf     integer not null,
    length integer not null,
    primary key (tenant, space, term, num) include (tf, length)
);
create index posting_by_memory on posting (tenant, num);

-- Derived. Vectors of memories, one of each model. `hash` is of the text.
create table vector (
    tenant text collate "C" not null,
    num    bigint not null,
    model  text collate "C" not null,
    space  text collate "C" not null,
    hash   bytea not null,
    vec    halfvec not null,
    primary key (tenant, num, model)
);
create index vector_by_space on vector (tenant, space, model, num);
create index vector_by_hash on vector (tenant, hash, model);

-- Models that embed here: every new text waits for a vector of each. The highest num embedded last.
create table embedder (
    tenant text collate "C" not null,
    model  text collate "C" not null,
    num    bigint not null,
    primary key (tenant, model)
);

-- Derived. Memories whose text has no vector of a model yet; under '' those that have none at all.
create table pending (
    tenant text collate "C" not null,
    model  text collate "C" not null,
    num    bigint not null,
    space  text collate "C" not null,
    primary key (tenant, model, num)
);
