"""Commands about conversations: learn from one, list and read past ones, see what was not kept and
why.
"""

from pathlib import Path
from typing import Annotated, Any

import typer

from reverie.core import clock, config
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.cli import terminal_output
from reverie.interfaces.cli.cli_context import Desk, Limit, command

PANEL = "Conversations"
SNIPPET = 400  # characters of one message that are shown

Words = Annotated[
    list[str] | None,
    typer.Option("--grep", "-g", help="Only with this word in it; may be repeated."),
]


def register(app: typer.Typer) -> None:
    """Put these commands on the command line."""
    for name, function in (("learn", learn), ("sessions", sessions), ("session", session)):
        command(app, name, panel=PANEL)(function)
    command(app, "rejected", panel=PANEL, spaced=False)(rejected)


def learn(
    desk: Desk,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE…",
            help="Claude Code transcripts, messages as JSON or JSON Lines; of a folder its *.jsonl; “-” is stdin. "
            "With --git a repository.",
        ),
    ] = None,
    git: Annotated[
        bool, typer.Option("--git", help="Take in a repository's history (default: the one here).")
    ] = False,
) -> None:
    """Take memories out of finished or crashed conversations, or a repository's history in. Twice
    adds nothing.
    """
    if git:
        from reverie.interfaces.cli.commands import activity_commands

        activity_commands.learned(desk, files or [Path()])
        return
    if not files:
        raise BadInput("Name the conversations to learn from, or a repository with --git")
    results: list[dict[str, Any]] = []
    with desk.mind() as mind:
        for file in (one for given in files for one in files_of(given)):
            results += learned(desk, mind, file)
    if desk.json:
        terminal_output.document({"space": desk.space, "sessions": results})
    else:
        for result in results:
            tell(result)
    if any(result["error"] for result in results):
        raise typer.Exit(2)


def files_of(given: Path) -> list[Path]:
    """The recordings in a folder, by name; a file is itself."""
    folder = config.here() / given.expanduser()
    return sorted(folder.glob("*.jsonl")) or [given] if folder.is_dir() else [given]


def learned(desk: Desk, mind: Any, file: Path) -> list[dict[str, Any]]:
    """What each conversation of a file taught. One that cannot be learned from does not disturb the
    others (CC-63).
    """
    from reverie.extraction.transcript_learning import Learned
    from reverie.interfaces.cli.replay_run import content
    from reverie.porting.transcript_formats import read

    name = file.stem if str(file) != "-" else "stdin"
    try:
        recording = read(content(file), name)
    except (BadInput, OSError) as err:
        return [as_json(Learned(name), str(err))]
    talks = recording.conversations
    results: list[dict[str, Any]] = []
    for talk in talks:
        desk.telling(f"learning from {talk.session}", len(results), len(talks))
        messages = [{"role": one.role, "content": one.text, "at": one.at} for one in talk.messages]
        try:
            results.append(as_json(mind.learn(messages, space=desk.space, session=talk.session)))
        except ReverieError as err:
            results.append(as_json(Learned(talk.session, messages=len(messages)), str(err)))
    desk.telling.rest()
    results[0]["remarks"] = list(recording.remarks)  # a recording has a conversation at least
    return results


def as_json(done: Any, error: str = "") -> dict[str, Any]:
    """What one conversation taught, as JSON values."""
    return {
        "session": done.session,
        "memories": [terminal_output.as_json(memory) for memory in done.memories],
        "rejected": [one._asdict() for one in done.rejected],
        "messages": done.messages,
        "known": done.known,
        "redacted": list(done.redacted),
        "remarks": [],
        "error": error,
    }


def tell(result: dict[str, Any]) -> None:
    """One conversation for people."""
    name = terminal_output.one_line(result["session"], 60)
    for remark in result["remarks"]:
        terminal_output.note(f"{name}: {remark}.")
    if result["error"]:
        terminal_output.complain(
            f"{name}: {result['error']}. The other conversations are not affected"
        )
    elif result["known"]:
        terminal_output.tell(f"{name}: learned from already, nothing new.")
    else:
        terminal_output.tell(
            f"{name}: {result['messages']:,} messages, {len(result['memories']):,} kept, "
            f"{len(result['rejected']):,} rejected"
        )
        for memory in result["memories"]:
            terminal_output.tell(
                f"  + {memory['kind']}: {terminal_output.one_line(memory['text'], SNIPPET)}"
            )
        for one in result["rejected"]:
            terminal_output.tell(
                f"  - {one['reason']}: {terminal_output.one_line(one['text'], SNIPPET)}"
            )
        if result["redacted"]:
            terminal_output.note(
                f"{name}: taken out before anything was kept: {', '.join(result['redacted'])}."
            )


def sessions(desk: Desk, grep: Words = None, limit: Limit = 20) -> None:
    """Past conversations of this space, the latest first."""
    from reverie.memory.history_text import day

    with desk.mind() as mind:
        found = mind.sessions(space=desk.space, words=grep or (), limit=limit)
    if desk.json:
        terminal_output.document({"space": desk.space, "sessions": [about(one) for one in found]})
        return
    for one in found:
        counts = f"turns: {one.turns}, memories: {len(one.memories)}"
        terminal_output.tell(
            f"{terminal_output.one_line(one.session)}  {day(one.ended)} UTC, {counts}"
        )
        terminal_output.tell(f"  {terminal_output.one_line(one.opening)}")
    if not found:
        terminal_output.note(f"No conversation in {desk.space}.")


def about(one: Any) -> dict[str, Any]:
    """A past conversation as JSON values, without its messages."""
    values = {name: value for name, value in one._asdict().items() if name != "lines"}
    return {**values, "memories": [memory.id for memory in one.memories]}


def session(
    desk: Desk,
    id: Annotated[str, typer.Argument(metavar="SESSION", help="Its name.")],
    grep: Words = None,
) -> None:
    """Read one past conversation, and what came of it."""
    with desk.mind() as mind:
        found = mind.session(id, space=desk.space, words=grep or ())
    if desk.json:
        terminal_output.document(
            {**about(found), "lines": [line._asdict() for line in found.lines]}
        )
        return
    for line in found.lines:
        terminal_output.tell(
            f"{line.number:>4} {line.role}: {terminal_output.one_line(line.text, SNIPPET)}"
        )
    for memory in found.memories:
        state = "" if memory.active else f" ({memory.retired_why or 'retired'})"
        terminal_output.tell(
            f"   + {memory.kind}: {terminal_output.one_line(memory.text, SNIPPET)} [{memory.id}]{state}"
        )
    if not found.lines:
        terminal_output.note("No message has all of these words.")


def rejected(desk: Desk, limit: Limit = 20) -> None:
    """What was not kept although it looked like it should, and why; `status` counts it."""
    with desk.mind() as mind:
        found, stats = mind.rejected(limit), mind.stats()
    if desk.json:
        terminal_output.document(
            {
                "kept": stats.learned,
                "rejected": dict(stats.rejected),
                "last": [one._asdict() for one in found],
                "at": clock.now(),
            }
        )
        return
    for one in found:
        terminal_output.tell(f"{one.reason}: {terminal_output.one_line(one.text, SNIPPET)}")
    if not found:
        terminal_output.note("Nothing was rejected so far.")
