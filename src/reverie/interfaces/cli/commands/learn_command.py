"""The command `learn`: what finished conversations teach, or the history of a repository."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie.core import config
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.session_commands import MAX_MESSAGE_CHARS
from reverie.interfaces.cli.terminal_output import (
    one_line,
    print_error,
    print_note,
    print_view,
)

commands = CommandTable()


@commands.add("learn")
def learn_conversations(
    cli: CliContext,
    files: Annotated[
        list[Path] | None,
        "FILE…",
        "Claude Code transcripts, messages as JSON or JSON Lines; of a folder its "
        "*.jsonl; “-” is stdin. "
        "With --git a repository, with --past a host or program (default: all).",
    ] = None,
    git: Annotated[bool, "Take in a repository's history (default: the one here)."] = False,
    past: Annotated[bool, "Take in all past sessions that lie on this machine."] = False,
) -> None:
    """Learn from past conversations or a git history.

    Finished or crashed conversations, or with --git what a repository went through. Twice adds
    nothing. Without anything it says what past sessions lie on this machine, and asks whether to
    take them in: of Claude Code, Codex and Cursor, and what SpecStory and aider left in this
    repository. Ctrl-C stops that, and the next run goes on there.
    """
    if git:
        from reverie.interfaces.cli.commands import activity_commands

        activity_commands.learn_histories(cli, files or [Path()])
        return
    if past or not files:
        learn_past_sessions(cli, [str(name) for name in files or ()], sure=past)
        return
    results: list[dict[str, Any]] = []
    recordings = [one for given in files for one in list_recordings(given)]
    sizes = [path.stat().st_size if path.is_file() else 0 for path in recordings]
    with cli.open_mind() as mind:
        for place, file in enumerate(recordings):
            results += learn_recording(cli, mind, file, sum(sizes[:place]), sum(sizes))
        cli.progress.clear()
    view = (line for result in results for line in describe_learned(result))
    cli.answer({"space": cli.space, "sessions": results}, view)
    # The others were learned from all the same; the code tells a script that one was not.
    if any(result["error"] for result in results):
        if len(results) > 1:
            cli.note("The other conversations are not affected.")
        raise typer.Exit(2)


def learn_past_sessions(
    cli: CliContext,
    names: list[str],
    *,
    sure: bool,
) -> None:
    """Take in the past sessions on this machine; unless `sure`, ask before."""
    from reverie.interfaces.cli import past_learning

    recorders = past_learning.check_recorders(names)
    found = past_learning.find_past_sessions(recorders)
    if not found and not sure:
        raise BadInput(
            "No past sessions lie on this machine. Name the conversations to learn from, or a "
            "repository with --git"
        )
    choice = past_learning.PastChoice(" ".join(("reverie learn --past", *names)), sure or None)
    outcome = past_learning.offer_past(cli, found, choice)
    cli.answer(outcome.values, outcome.view)
    if outcome.stopped:
        raise typer.Exit(130)  # as Ctrl-C always leaves


def list_recordings(given: Path) -> list[Path]:
    """The recordings in a folder, by name; a file is itself."""
    folder = config.working_directory() / given.expanduser()
    return sorted(folder.glob("*.jsonl")) or [given] if folder.is_dir() else [given]


def learn_recording(
    cli: CliContext,
    mind: Any,
    file: Path,
    done: int = 0,
    total: int = 0,
) -> list[dict[str, Any]]:
    """What each conversation of a file taught, as JSON values. One that cannot be learned from does
    not disturb the others. A bar shows progress, after files of `done` bytes and of `total` in all.
    """
    from reverie.extraction.transcript_learning import LearnReport
    from reverie.interfaces.cli.replay_run import read_content
    from reverie.porting.transcript_formats import read_transcript

    name = file.stem if str(file) != "-" else "stdin"
    cli.progress("learning", done, max(done, total, 1))
    try:
        content = read_content(file)
        recording = read_transcript(content, name)
    except (BadInput, OSError) as err:
        return [learned_to_json(LearnReport(name), str(err))]
    conversations = recording.conversations
    results: list[dict[str, Any]] = []
    for conversation in conversations:
        part = len(content) * len(results) // len(conversations)
        cli.progress("learning", done + part, max(done + len(content), total))
        messages = [
            {
                "role": one.role,
                "content": one.text,
                "at": one.at,
            }
            for one in conversation.messages
        ]
        try:
            results.append(
                learned_to_json(
                    mind.learn(
                        messages,
                        space=cli.space,
                        session=conversation.session,
                        folder=recording.folder,
                    )
                )
            )
        except ReverieError as err:
            results.append(
                learned_to_json(LearnReport(conversation.session, messages=len(messages)), str(err))
            )
    results[0]["remarks"] = recording.remarks  # a recording has a conversation at least
    return results


def learned_to_json(done: Any, error: str = "") -> dict[str, Any]:
    """What one conversation taught, as JSON values."""
    return {
        "session": done.session,
        "memories": done.memories,
        "rejected": done.rejected,
        "messages": done.messages,
        "known": done.known,
        "redacted": done.redacted,
        "remarks": [],
        "error": error,
    }


def print_learned(result: dict[str, Any]) -> None:
    """Show people what one conversation taught."""
    print_view(describe_learned(result))


def describe_learned(result: dict[str, Any]) -> Iterator[str]:
    """What one conversation taught, and what was rejected, for people."""
    name = one_line(result["session"], 60)
    for remark in result["remarks"]:
        print_note(f"{name}: {remark}.")
    if result["error"]:
        print_error(f"{name}: {result['error']}")
    elif result["known"]:
        yield f"{name}: learned from already, nothing new."
    else:
        yield (
            f"{name}: {result['messages']:,} messages, {len(result['memories']):,} kept, "
            f"{len(result['rejected']):,} rejected"
        )
        for memory in result["memories"]:
            yield f"  + {memory.kind}: {one_line(memory.text, MAX_MESSAGE_CHARS)}"
        for rejected in result["rejected"]:
            yield f"  - {rejected.reason}: {one_line(rejected.text, MAX_MESSAGE_CHARS)}"
        if result["redacted"]:
            print_note(
                f"{name}: taken out before anything was kept: {', '.join(result['redacted'])}."
            )
