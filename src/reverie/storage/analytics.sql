-- The log of what was done, for questions over long histories. DuckDB's dialect.
--
-- Events of one verb come into a table of the schema `log` as they are kept, payloads as JSON text. A view of that
-- schema takes them apart, each payload once; what it gives is put into the table of the same name that is asked, and
-- the events go. Times are UTC. A name that a payload lacks is null.

create schema log;

create table log.tool (seq bigint, happened double, space varchar, session varchar, payload varchar);
create table log.file as from log.tool;
create table log.task as from log.tool;
create table log.commit as from log.tool;
create table log.pattern (type varchar, data json, confidence double, count bigint, first_seen double, last_seen double);

create macro moment(happened) as make_timestamp(cast(happened * 1e6 as bigint));

-- A text, and everything else as JSON.
create macro said(value) as nullif(value ->> '$', '');

-- A payload's own word on whether it went well, if that is a boolean.
create macro truth(value) as case when cast(value as varchar) in ('true', 'false') then cast(value as boolean) end;

create macro verdict(word) as
    case when word in ('success', 'succeeded', 'done', 'completed', 'ok', 'passed') then true
         when word in ('failure', 'failed', 'error', 'cancelled', 'aborted', 'timeout') then false end;

-- Whether it went well, by the same rules as `lifecycle.episode.went`; null if that is not said.
create macro went(told) as coalesce(
    truth(told.worked),
    truth(told.success),
    truth(told.ok),
    verdict(lower(coalesce(told.outcome, told.status))),
    case when json_type(told.exit_code) in ('BIGINT', 'UBIGINT') then cast(told.exit_code as varchar) = '0' end,
    case when cast(told.error as varchar) not in ('""', '[]', '{}', 'false', '0', '0.0', 'null') then false end);

-- What a tool was given that was given a command and nothing else.
create macro given(command) as case when command is not null then cast(json_object('command', command) as json) end;

-- The values that are looked at: texts as they are, lists and objects as JSON; what is of another type is null.
create macro taken_apart(payload) as from_json(payload, '{
    "worked": "JSON", "success": "JSON", "ok": "JSON", "outcome": "VARCHAR", "status": "VARCHAR", "exit_code": "JSON",
    "error": "JSON", "task": "VARCHAR", "tool": "VARCHAR", "command": "VARCHAR", "parameters": "JSON",
    "result": "VARCHAR", "duration": "DOUBLE", "path": "VARCHAR", "operation": "VARCHAR", "lines": ["BIGINT"],
    "context": "VARCHAR", "summary": "VARCHAR", "commit": "VARCHAR", "repository": "VARCHAR", "message": "VARCHAR",
    "fix": "BOOLEAN", "files": "JSON"}');

create view log.tool_executions as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    nullif(session, '') as session,
    nullif(told.task, '') as task,
    nullif(told.tool, '') as tool,
    nullif(told.command, '') as command,
    coalesce(told.parameters, given(told.command)) as parameters,
    nullif(told.result, '') as result,
    went(told) as success,
    said(told.error) as error,
    told.duration
from (select *, taken_apart(payload) as told from log.tool);

create view log.file_interactions as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    nullif(session, '') as session,
    nullif(told.task, '') as task,
    nullif(told.path, '') as path,
    nullif(told.operation, '') as operation,
    told.lines[1] as first_line,
    told.lines[2] as last_line,
    went(told) as success,
    nullif(told.context, '') as context,
    nullif(told.summary, '') as change_summary
from (select *, taken_apart(payload) as told from log.file);

create view log.tasks as
select
    max(seq) as id,
    nullif(told.task, '') as task,
    space,
    nullif(arg_max(session, seq), '') as session,
    moment(min(happened)) as started,
    moment(max(happened) filter (lower(told.outcome) <> 'started')) as ended,
    arg_max(nullif(told.outcome, ''), seq) as outcome,
    arg_max_null(went(told), seq) as success,
    arg_max_null(nullif(told.summary, ''), seq) as summary,
    arg_max_null(said(told.error), seq) as error
from (select *, taken_apart(payload) as told from log.task)
group by nullif(told.task, ''), space;

create view log.commits as
select
    seq as id,
    moment(happened) as timestamp,
    space,
    nullif(told.commit, '') as commit,
    nullif(told.repository, '') as repository,
    nullif(told.message, '') as message,
    told.fix,
    json_extract_string(told.files, '$[*][0]') as files
from (select *, taken_apart(payload) as told from log.commit);

create view log.learned_patterns as
select type, data, confidence, count, moment(first_seen) as first_seen, moment(last_seen) as last_seen
from log.pattern;

create table tool_executions as from log.tool_executions;
create table file_interactions as from log.file_interactions;
create table tasks as from log.tasks;
create table commits as from log.commits;
create table learned_patterns as from log.learned_patterns;

comment on table tool_executions is 'Runs of tools. Duration in seconds; id is the number of the event';
comment on table file_interactions is 'Files read and changed; context is the tool that did it, or what else was said';
comment on table tasks is 'Pieces of work, each once, with how it last came out';
comment on table commits is 'Commits of the histories that were learned; files is a list of paths';
comment on table learned_patterns is 'What work taught: error_fix, co_edit, workflow. data is JSON, count how often it was met';
