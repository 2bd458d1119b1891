"""What the operator of a server does for tenants: one command a topic, one row an action.

They work on the database itself (REVERIE_SERVER_DATABASE), as whoever runs the server: what members
and administrators of a tenant may do by HTTP, the operator may do here for any tenant. An action's
words are the arguments of its verb, in their order or as NAME=VALUE; lists have commas.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.server_commands import (
    DEFAULT_TENANT,
    Tenant,
    load_server,
    open_control,
)
from reverie.memory.history_text import format_moment

if TYPE_CHECKING:
    from reverie.interfaces.server.json_schemas import Schema

commands = CommandTable()
Actions = Mapping[str, str]  # an action → the verb that does it
Words = Annotated[
    list[str] | None,
    typer.Argument(metavar="ACTION [NAME=VALUE]...", help="Nothing lists them."),
]

TENANT_ACTIONS: Actions = {
    "list": "list_tenants",
    "add": "add_tenant",
    "limit": "limit_tenant",
    "suspend": "suspend_tenant",
    "resume": "resume_tenant",
    "founding": "set_founding",
    "export": "export_tenant_rows",
    "erase": "erase_tenant",
}
TOPICS: Mapping[str, Actions] = {
    "user": {
        "list": "list_members",
        "add": "add_member",
        "disable": "disable_member",
        "enable": "enable_member",
    },
    "team": {
        "list": "list_teams",
        "add": "add_team",
        "remove": "remove_team",
        "join": "join_team",
        "leave": "leave_team",
    },
    "space": {
        "list": "list_grants",
        "grant": "grant_space",
        "revoke": "revoke_space",
        "trust": "trust_space",
    },
    "key": {"list": "list_keys", "issue": "issue_key", "revoke": "revoke_key"},
    "invite": {
        "list": "list_invitations",
        "new": "invite_member",
        "withdraw": "withdraw_invitation",
    },
    "audit": {"list": "read_audit"},
    "retention": {"list": "list_retention", "set": "set_retention"},
    "hold": {"list": "list_holds", "place": "place_hold", "lift": "lift_hold"},
    "erase": {"list": "erase_memories"},
}
"""Command → its actions, each a verb of `member_verbs`. `list` is what no word asks for."""


@commands.add("tenant", spaced=False)
def manage_tenants(cli: CliContext, words: Words = None) -> None:
    """List, add, limit, suspend, export, erase tenants.

    list; add NAME ADMIN; limit NAME memories=100000 requests_per_minute=600; suspend NAME; resume
    NAME; founding NAME true|false; export NAME FILE; erase NAME NAME.
    """
    load_server()
    from reverie.interfaces.server import operator_verbs

    verb, given = choose_verb(operator_verbs, TENANT_ACTIONS, words or ())
    with open_control(cli.settings) as (database, control):
        asked = operator_verbs.OperatorRequest(control, database, clock.now())
        answer(cli, verb(asked, **given))


@commands.add("user", spaced=False)
def manage_users(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List, add, disable and enable a tenant's users.

    list; add NAME email=… is_admin=true; disable NAME; enable NAME.
    """
    manage(cli, "user", words, tenant)


@commands.add("team", spaced=False)
def manage_teams(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List, add and remove teams, and who is in them.

    list; add NAME; remove NAME; join TEAM USER; leave TEAM USER.
    """
    manage(cli, "team", words, tenant)


@commands.add("space", spaced=False)
def manage_spaces(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List, give and take rights in shared spaces.

    list; grant SPACE read|write|administer user=…; revoke SPACE user=…; trust SPACE for_all=true.
    With neither user nor team everyone is meant.
    """
    manage(cli, "space", words, tenant)


@commands.add("key", spaced=False)
def manage_keys(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List, issue and revoke API keys.

    list everyone=true; issue USER label=… spaces=demo,docs right=read days=90; revoke PREFIX.
    """
    manage(cli, "key", words, tenant)


@commands.add("invite", spaced=False)
def manage_invitations(
    cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT
) -> None:
    """List, make and withdraw invitations.

    list; new EMAIL spaces=demo right=write; withdraw PREFIX.
    """
    manage(cli, "invite", words, tenant)


@commands.add("audit", spaced=False)
def show_audit(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """Show who changed what, and who read shared spaces.

    list limit=100 actor=… space=… since=2026-01-31.
    """
    manage(cli, "audit", words, tenant)


@commands.add("retention", spaced=False)
def manage_retention(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List and set how long spaces keep what is not used.

    list; set SPACE DAYS; set SPACE keeps for ever.
    """
    manage(cli, "retention", words, tenant)


@commands.add("hold", spaced=False)
def manage_holds(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """List, place and lift legal holds.

    list; place space|user SUBJECT REASON; lift ID.
    """
    manage(cli, "hold", words, tenant)


@commands.add("erase", spaced=False)
def erase_memories(cli: CliContext, words: Words = None, tenant: Tenant = DEFAULT_TENANT) -> None:
    """Erase for good what a user wrote or a source brought.

    list author=ben; list author=ben dry_run=false erases it, and searches for what is left.
    """
    manage(cli, "erase", words, tenant)


def manage(cli: CliContext, topic: str, words: Sequence[str] | None, tenant: str) -> None:
    """Do one action of a topic for a tenant, as the operator."""
    load_server()
    from reverie.access import operator_of
    from reverie.interfaces.server import member_verbs

    verb, given = choose_verb(member_verbs, TOPICS[topic], words or ())
    with open_control(cli.settings) as (database, control):
        control.tenants.get(tenant)
        asked = member_verbs.MemberRequest(
            control, operator_of(tenant), clock.now(), database.store(tenant)
        )
        answer(cli, verb(asked, **given))


def choose_verb(
    module: Any, actions: Actions, words: Sequence[str]
) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The verb that an action names, and its arguments; BadInput for an action there is not."""
    from reverie.interfaces.server.verb_arguments import describe_arguments

    action, *rest = words or ["list"]
    if action not in actions:
        raise BadInput(f"{action!r} is not one of {', '.join(actions)}")
    verb = getattr(module, actions[action])
    return verb, parse_arguments(rest, describe_arguments(verb, {}))


def parse_arguments(words: Sequence[str], schema: "Schema") -> dict[str, Any]:
    """Words as arguments: NAME=VALUE, and the others in the order of the verb's parameters."""
    from reverie.interfaces.server.json_schemas import check_object

    properties, given = schema["properties"], dict[str, Any]()
    for word in words:
        name, is_named, value = word.partition("=")
        if not is_named or name not in properties:
            free = [one for one in properties if one not in given]
            if not free:
                raise BadInput(f"{word!r} is too much. There are: {', '.join(properties)}")
            name, value = free[0], word
        given[name] = parse_value(value, properties[name])
    check_object(given, schema, "")
    return given


def parse_value(text: str, schema: "Schema") -> Any:
    """A word as a value of the type that a schema asks for; what does not fit stays a text."""
    names = schema.get("type", "string")
    wanted = [names] if isinstance(names, str) else names
    if "boolean" in wanted and text in ("true", "false", "yes", "no"):
        return text in ("true", "yes")
    if "null" in wanted and text in ("none", "null"):
        return None
    if "array" in wanted:
        return [part for part in text.split(",") if part]
    for name, convert in (("integer", int), ("number", float)):
        if name in wanted:
            try:
                return convert(text)
            except ValueError:
                continue
    return text


def answer(cli: CliContext, found: Any) -> None:
    """What came of it: JSON where that is asked for, else a line a row."""
    from reverie.interfaces.json_values import to_json_values

    plain = to_json_values(found)
    cli.answer(plain, describe_rows(plain), "Done." if found is None else "There is none.")


def describe_value(value: Any, name: str = "") -> str:
    """A value of a row as a person reads it: a right by its word, a moment as a date, and what is
    nested as a row.
    """
    if (name == "at" or name.endswith("_at")) and isinstance(value, float):
        return f"{format_moment(value)} UTC"
    if isinstance(value, dict):
        return f"({'  '.join(describe_rows(value))})"
    if isinstance(value, list):
        return ",".join(map(describe_value, value))
    return str(getattr(value, "word", value))


def describe_rows(plain: Any) -> Iterator[str]:
    """A line for each row: its names and values, without those that say nothing."""
    for row in plain if isinstance(plain, list) else [plain]:
        if isinstance(row, dict):
            values = {name: value for name, value in row.items() if value not in (None, "", [])}
            yield "  ".join(
                f"{name}={describe_value(value, name)}" for name, value in values.items()
            )
        elif row is not None:
            yield str(row)
