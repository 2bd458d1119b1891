-- The log of what was done, for questions over long histories. DuckDB's dialect.
--
-- A table of the schema `log` holds the events of one verb as they are kept, payloads as JSON text; it is filled when a
-- question first needs it. The views take them apart. Times are UTC. A name that a payload lacks is null.

create schema log;

create table log.tool (seq bigint, happened double, space varchar, session varchar, payload varchar);
create table log.file as from log.tool;
create table log.task as from log.tool;
create table log.commit as from log.tool;
create table log.pattern (type varchar, data json, confidence double, count bigint, first_seen double, last_seen double);

create macro moment(happened) as make_timestamp(cast(happened * 1e6 as bigint));

-- What stands under a name; texts as they are, everything else as JSON.
create macro said(payload, name) as nullif(payload ->> name, '');

-- A payload's own word on whether it went well, if that is a boolean.
create macro truth(payload, name) as
    case when json_type(payload, name) = 'BOOLEAN' then cast(payload ->> name as boolean) end;

create macro verdict(word) as
    case when word in ('success', 'succeeded', 'done', 'completed', 'ok', 'passed') then true
         when word in ('failure', 'failed', 'error', 'cancelled', 'aborted', 'timeout') then false end;

-- Whether it went well, by the same rules as `lifecycle.episode.went`; null if that is not said.
create macro went(payload) as coalesce(
    truth(payload, '$.worked'),
    truth(payload, '$.success'),
    truth(payload, '$.ok'),
    verdict(lower(coalesce(payload ->> '$.outcome', payload ->> '$.status'))),
    case when json_type(payload, '$.exit_code') in ('BIGINT', 'UBIGINT') then payload ->> '$.exit_code' = '0' end,
    case when coalesce(payload ->> '$.error', '') not in ('', '[]', '{}', 'false', '0', '0.0') then false end);

create view tool_executions as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    nullif(session, '') as session,
    said(payload, '$.task') as task,
    said(payload, '$.tool') as tool,
    said(payload, '$.command') as command,
    cast(coalesce(payload -> '$.parameters', json_object('command', payload -> '$.command')) as json) as parameters,
    said(payload, '$.result') as result,
    went(payload) as success,
    said(payload, '$.error') as error,
    try_cast(payload ->> '$.duration' as double) as duration
from log.tool;
comment on view tool_executions is 'Runs of tools. Duration in seconds; id is the number of the event';

create view file_interactions as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    nullif(session, '') as session,
    said(payload, '$.task') as task,
    said(payload, '$.path') as path,
    said(payload, '$.operation') as operation,
    try_cast(payload ->> '$.lines[0]' as bigint) as first_line,
    try_cast(payload ->> '$.lines[1]' as bigint) as last_line,
    went(payload) as success,
    said(payload, '$.context') as context,
    said(payload, '$.summary') as change_summary
from log.file;
comment on view file_interactions is 'Files read and changed; context is the tool that did it, or what else was said';

create view tasks as
select
    max(seq) as id,
    said(payload, '$.task') as task,
    space,
    nullif(arg_max(session, seq), '') as session,
    moment(min(happened)) as started,
    moment(max(happened) filter (lower(payload ->> '$.outcome') <> 'started')) as ended,
    arg_max_null(said(payload, '$.outcome'), seq) as outcome,
    arg_max_null(went(payload), seq) as success,
    arg_max_null(said(payload, '$.summary'), seq) as summary,
    arg_max_null(said(payload, '$.error'), seq) as error
from log.task
group by said(payload, '$.task'), space;
comment on view tasks is 'Pieces of work, each once, with how it last came out';

create view commits as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    said(payload, '$.commit') as commit,
    said(payload, '$.repository') as repository,
    said(payload, '$.message') as message,
    truth(payload, '$.fix') as fix,
    json_extract_string(payload, '$.files[*][0]') as files
from log.commit;
comment on view commits is 'Commits of the histories that were learned; files is a list of paths';

create view learned_patterns as
select type, data, confidence, count, moment(first_seen) as first_seen, moment(last_seen) as last_seen
from log.pattern;
comment on view learned_patterns is 'What work taught: error_fix, co_edit, workflow. data is JSON, count how often it was met';
