-- A memory may have a vector of each model, so that two models in one home do not take turns at everything.
-- Vectors keep their serial; what waited goes on waiting.
drop index vector_by_hash;
alter table vector rename to vector_before;

create table vector (
    serial integer primary key autoincrement,
    memory integer not null,
    model  text not null,
    hash   blob not null,
    vec    blob not null,
    unique (memory, model)
);

insert into vector (serial, memory, model, hash, vec)
select serial, memory, model, hash, vec from vector_before order by serial;

drop table vector_before;
create index vector_by_hash on vector (hash, model);
create index vector_by_model on vector (model);

create table embedder (
    num   integer primary key,
    model text not null unique
);

insert into embedder (model) select value from meta where name = 'model';
delete from meta where name = 'model';

drop table pending;

create table pending (
    model  text not null,
    memory integer not null,
    primary key (model, memory)
) without rowid;

insert into pending (model, memory)
select '', num from memory where num not in (select memory from vector);

insert into pending (model, memory)
select e.model, m.num from embedder e cross join memory m
where not exists (select 1 from vector v where v.memory = m.num and v.model = e.model);
