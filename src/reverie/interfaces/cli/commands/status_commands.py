"""Commands that switch memory off and on, and say how things stand."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import clock, config, environment
from reverie.core.errors import BadInput
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.data_commands import (
    FAILED,
    describe_conversations,
    format_amounts,
    stats_to_json,
)
from reverie.interfaces.cli.terminal_output import (
    print_note,
)

if TYPE_CHECKING:
    from reverie.interfaces.cli.terminal_output import View

commands = CommandTable()
session = CommandTable()
Everywhere = Annotated[bool, typer.Option("--everywhere", help="In every space.")]
Session = Annotated[
    bool,
    typer.Option(
        "--session",
        help="In one conversation: the one named, or the one in which an agent runs this.",
    ),
]
Name = Annotated[
    str,
    "ID",
    "With --session: its name, if it is not the present one.",
]


@session.add("statusline", spaced=False)
@commands.add("statusline", spaced=False, hidden=True)
def print_status_line(cli: CliContext) -> None:
    """A line for a host's status line, from JSON on stdin.

    In Claude Code's settings: "statusLine": {"type": "command", "command": "reverie statusline"}.
    """
    # Without options `reverie.__main__` says it at once, before the command line is loaded.
    from reverie.interfaces.hooks.status_line import print_status

    print_status(str(cli.settings.home))


@commands.add("off")
def switch_off(
    cli: CliContext,
    name: Name = "",
    everywhere: Everywhere = False,
    session: Session = False,
) -> None:
    """Switch memory off in a space or a conversation.

    In a space and all below it (default: this project).
    """
    if session or name:
        switch_and_print_session(cli, find_meant_session(name, session), on=False)
        return
    if everywhere:
        config.save_settings(cli.settings, enabled=False)
    elif cli.space not in cli.settings.off:
        config.save_settings(
            cli.settings,
            off=(*cli.settings.off, cli.space),
        )
    print_memory_state(cli, everywhere)


@commands.add("on")
def switch_on(
    cli: CliContext,
    name: Name = "",
    everywhere: Everywhere = False,
    session: Session = False,
) -> None:
    """Switch memory on again.

    In a space (default: this project), or in one conversation.
    """
    if session or name:
        switch_and_print_session(cli, find_meant_session(name, session), on=True)
        return
    if everywhere:
        config.save_settings(
            cli.settings,
            enabled=True,
            off=(),
        )
    else:
        config.save_settings(
            cli.settings, off=tuple(space for space in cli.settings.off if space != cli.space)
        )
    print_memory_state(cli, everywhere)


def find_meant_session(name: str, session: bool) -> str:
    """The conversation that is meant: the one named, or the one in which this runs."""
    if not session:
        raise BadInput(
            f"{name!r}: name a conversation with --session {name}, a space with --space {name}"
        )
    found = name or environment.host_session()
    if not found:
        raise BadInput(
            "Which session? No agent has said in which one this runs (Claude Code and Codex "
            "say so to the commands they run). Name it: reverie off --session ID; "
            "`reverie session list` lists them"
        )
    return found


def switch_and_print_session(
    cli: CliContext,
    session: str,
    *,
    on: bool,
) -> None:
    """Switch memory on or off in a conversation, and say how things stand now, read back from the
    file.
    """
    settings = config.switch_session(cli.settings, session, on=on)
    is_off = settings.is_off(cli.space, session)
    cli.answer(
        {
            "on": not is_off,
            "session": session,
            "off_sessions": settings.off_sessions,
        },
        f"Memory is {'off' if is_off else 'on'} in the session {session}.",
    )
    if cli.as_json:
        return
    if is_off and on:
        print_note(
            f"It is off in {cli.space}, or everywhere: reverie on, or reverie on --everywhere"
        )
    elif is_off:
        print_note(
            "Nothing of it is kept, learned or brought up from now on, also once it is "
            "resumed. What was kept "
            f"before stays. Switch it on again with: reverie on --session {session}"
        )


def print_memory_state(cli: CliContext, everywhere: bool) -> None:
    """Say how things stand now, read back from the file."""
    # Read anew: REVERIE_OFF and the file may say something else than what was just written.
    settings = config.load_settings(cli.settings.home)
    where = "everywhere" if everywhere else f"in {cli.space}"
    is_off = not settings.enabled if everywhere else settings.is_off(cli.space)
    cli.answer(
        {
            "on": not is_off,
            "space": None if everywhere else cli.space,
            "enabled": settings.enabled,
            "off": settings.off,
        },
        f"Memory is {'off' if is_off else 'on'} {where}.",
    )
    if is_off and not settings.enabled and not everywhere:
        print_note(
            "It is off everywhere: by REVERIE_OFF, or by the settings (reverie on --everywhere)."
        )
    elif is_off and not everywhere and cli.space not in settings.off:
        above = next(space for space in settings.off if cli.space.startswith(space + "/"))
        print_note(
            f"It is off in {above}, which this lies in. Switch that on with: reverie on "
            f"--space {above}"
        )


@commands.add("status")
def show_status(cli: CliContext) -> None:
    """What there is, where it lives, whether it works."""
    from reverie.consolidation.sleep_schedule import parse_sleep_setting
    from reverie.interfaces import worker
    from reverie.interfaces.cli.commands.login_commands import team_status_values
    from reverie.interfaces.cli.llm_status import describe_llm
    from reverie.interfaces.cli.mirror_status import find_unsynced_shares
    from reverie.pipeline.leases import SETTLE_LEASE
    from reverie.pipeline.model_change import find_model_change

    if cli.settings.sleep != "off":
        # A slip in the setting is said here, and not by a sleep that never comes.
        parse_sleep_setting(cli.settings)
    with cli.open_mind() as mind:
        counts = mind.data.stats()
        language = describe_llm(mind.llm, cli.settings.llm)
        settler = mind.store.holder(SETTLE_LEASE, clock.now())
        failed = mind.store.events(
            verbs=FAILED,
            newest=True,
            limit=3,
        )
        trouble = json.loads(mind.store.meta("trouble") or "{}")
        left_alone = find_unsynced_shares(mind)
        team, server = team_status_values(mind)
        talk = mind.store.transcripts.count(None, mind.work.embedding_model)
        change = find_model_change(mind.store, mind.embedder)
    values: dict[str, Any] = {
        "home": str(cli.settings.home),
        "space": cli.space,
        "on": not cli.settings.is_off(cli.space, environment.host_session()),
        "off_sessions": cli.settings.off_sessions,
        **stats_to_json(counts),
        "conversations": talk._asdict(),
        "settling": settler,
        "embedder": cli.settings.embedder,
        "model_change": {**change._asdict(), "said": change.said} if change else None,
        "model_present": worker.is_embedder_ready(cli.settings),
        "providers_missing": list_missing_providers(cli.settings.providers),
        "llm": language,
        "trouble": trouble.get("text", ""),
        "shares": left_alone,
        "team": team,
        "server": server,
        "failed": [
            {
                "event": event.seq,
                "at": event.at,
                "error": str(event.payload.get("error", "")),
            }
            for event in failed
        ],
    }
    cli.answer(values, render_status(values))


def list_missing_providers(providers: Sequence[str]) -> list[str]:
    """The configured execution providers that are not installed."""
    if not providers:
        return []
    from reverie.embedding.minilm import list_absent_providers

    return list_absent_providers(providers)


def render_status(values: dict[str, Any]) -> "View":
    """The status for people."""
    missing = (
        "not here, so words alone are compared: reverie data settle fetches it, or says what it "
        "lacks"
        if values["embedder"] != "none"
        else "none"
    )
    model = "there" if values["model_present"] else missing
    yield from memory_view.render_facts(
        {
            "home": values["home"],
            "space": values["space"],
            "memory": "on" if values["on"] else "off (reverie on switches it on)",
            "off in sessions": ", ".join(values["off_sessions"]),
            **format_amounts(values),
            "conversations": describe_conversations(values["conversations"]),
            "settling": "running" if values["settling"] else "not running",
            "model": f"{values['embedder']}: {model}",
            "model change": values["model_change"]["said"] if values["model_change"] else "",
            "providers": f"{', '.join(values['providers_missing'])}: not in this ONNX Runtime, so "
            "the processor computes"
            if values["providers_missing"]
            else "",
            "language": values["llm"],
            "server": values["server"],
            "trouble": values["trouble"],
            "shared files": " ".join(values["shares"].values()),
            "failed": "; ".join(f"event {f['event']}: {f['error']}" for f in values["failed"]),
        }
    )
    if values["spaces"]:
        yield ""
        yield from memory_view.render_counts(values["spaces"], "spaces")
