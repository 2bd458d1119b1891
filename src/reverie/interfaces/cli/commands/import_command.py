"""The command import: what `export` wrote, and what other programs remember."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie import Mind
from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.terminal_output import print_json, print_line, print_note
from reverie.porting.importers import FORMAT_NAMES

if TYPE_CHECKING:
    from reverie.porting.export_validation import ImportReport
    from reverie.porting.import_run import ImportOutcome
    from reverie.porting.importers.import_plan import ImportPlan

commands = CommandTable()

TRANSCRIPT_HEAD_BYTES = 1 << 20  # and to tell a conversation
MAX_NAMED_RECORDS = 20  # bad records that are named one by one
# How it ends where nothing could be read: as with other input that cannot be used.
EXIT_UNREADABLE = 2
CLAUDE = "claude-code"
CONVERSATION = "conversation"  # of Claude Code's: it is learned from
OWN = "reverie"


@commands.add("import")
def import_paths(
    cli: CliContext,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PATH…",
            help="Files of reverie data export (“-” is stdin), or another program's memories. "
            "Without one: what programs keep in this project and in your home, where nothing "
            "is here yet.",
        ),
    ] = None,
    system: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="PROGRAM",
            help=f"{', '.join(FORMAT_NAMES)}; without it that is found out.",
        ),
    ] = "",
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Of another program: only tell what would come."),
    ] = False,
    trusted: Annotated[
        bool,
        typer.Option(
            "--trusted/--untrusted",
            help="They are your own: what they say of who said what is believed, and an export of "
            "Reverie comes in to the letter. Without it each waits until it is approved.",
        ),
    ] = False,
    skip_bad: Annotated[
        bool, typer.Option("--skip-bad", help="Leave out rows of an export that are bad.")
    ] = False,
) -> None:
    """Take in an export, or another program's memories.

    What is there already is left alone.
    """
    if not files:
        if system or skip_bad:
            raise BadInput("Name what to take in: reverie data import PATH")
        import_known_places(cli, dry_run, trusted)
        return
    found = {file: detect_program(file, system) for file in files}
    if not trusted:
        refuse_unsaid_files(found)
        found = {file: OWN if name is None else name for file, name in found.items()}
    others = {file: name for file, name in found.items() if name is not None}
    if others or dry_run:
        refuse_unknown_files(file for file, name in found.items() if name is None)
    if others and len(others) < len(found):
        raise BadInput("Import an export of Reverie and another program's memories in two commands")
    if others:
        import_from_programs(cli, others, dry_run, trusted)
        return
    if dry_run:
        raise BadInput("--dry-run is not for an export of Reverie that is your own")
    import_exports(cli, files, skip_bad)


def refuse_unsaid_files(found: Mapping[Path, str | None]) -> None:
    """Raise BadInput for what is believed or not taken at all, and for what nobody knows."""
    for file, name in found.items():
        if str(file) == "-":
            raise BadInput("An export that comes through a pipe must be your own: say --trusted")
        if name == CONVERSATION:
            raise BadInput(
                f"{file} is a conversation, and what it teaches counts as your word. If it is "
                f"yours: reverie data import {file} --trusted"
            )
    refuse_unknown_files(file for file, name in found.items() if name is None)


def refuse_unknown_files(files: Iterable[Path]) -> None:
    """Raise BadInput for a file that no program is known by and that is no export of Reverie."""
    for file in files:
        place = config.working_directory() / file.expanduser()
        if str(file) == "-" or is_export(place):
            continue
        if place.exists():
            raise BadInput(describe_unknown_file(file))
        raise BadInput(f"There is no file or folder {file}")


def detect_program(file: Path, system: str) -> str | None:
    """Whose memories a path holds: a program's name, TALK for a conversation, "" for a folder that
    is still to be looked into; None for an export of Reverie, or what is no path. `system` is what
    the user says that it is.
    """
    from reverie.porting.importers import detect_format

    place = config.working_directory() / file.expanduser()
    if not system and (str(file) == "-" or not place.exists() or is_export(place)):
        return None
    if system in ("", CLAUDE) and is_claude_transcript(place):
        return CONVERSATION
    if system or place.is_dir():
        return system
    found = detect_format(place)
    return found.name if found else None


def describe_unknown_file(file: Path) -> str:
    """A message: a file is nothing that we know, and what to do."""
    from reverie.porting.importers import explain_unreadable

    place = config.working_directory() / file.expanduser()
    if not place.stat().st_size:
        return f"There is nothing in {file}"
    if why := explain_unreadable(place):
        return why
    return (
        f"{file} is not an export of Reverie, nor does it look like anything of "
        f"{', '.join(FORMAT_NAMES)}. If it is, say "
        "which with --from"
    )


def is_export(place: Path) -> bool:
    """True if a file begins as an export of Reverie does."""
    from reverie.porting.importers.reverie import fits

    return fits(place)


def is_claude_transcript(place: Path) -> bool:
    """True if a file is a conversation of Claude Code's, as far as its first whole lines tell."""
    from reverie.porting.transcript_formats import read_transcript

    if place.suffix != ".jsonl" or not place.is_file():
        return False
    # Whole lines only: a transcript may be of hundreds of megabytes, and its last line cut.
    with place.open("rb") as opened:
        head, more = opened.read(TRANSCRIPT_HEAD_BYTES), opened.read(1)
    try:
        return read_transcript(head[: head.rfind(b"\n") + 1] if more else head).form == "claude"
    except BadInput:
        return False


def import_from_programs(
    cli: CliContext,
    files: Mapping[Path, str],
    dry_run: bool,
    trusted: bool,
) -> None:
    """Take along what other programs remember; conversations of Claude Code's are learned from."""
    told: list[dict[str, Any]] = []
    empty = False
    with cli.open_mind() as mind:
        for file, system in files.items():
            if system == CONVERSATION:
                learn_conversation(cli, mind, file, dry_run)
                continue
            label = f"reading {file.name}"
            cli.progress(label, 0, None)
            place = config.working_directory() / file.expanduser()
            done = mind.data.import_from(
                place,
                system,
                space=cli.space,
                trusted=trusted,
                dry_run=dry_run,
                on_item=lambda count, label=label: cli.progress(label, count, None),  # type: ignore[misc]
            )
            cli.progress.clear()
            told.append({"path": str(file), **import_to_json(done)})
            empty |= is_unreadable_plan(done.plan) and not has_conversations(done)
            if not cli.as_json:
                print_import(file, done, dry_run)
                print_waiting(file, done, trusted)
        if not dry_run:
            hand_to_worker(cli, mind)
    if cli.as_json:
        print_json(
            {
                "space": cli.space,
                "dry_run": dry_run,
                "imports": told,
            }
        )
    if empty:
        raise typer.Exit(EXIT_UNREADABLE)


def is_unreadable_plan(plan: "ImportPlan") -> bool:
    """True if nothing could be read of what there was. What its owner refuses could be."""
    return not (plan.changes or plan.events or plan.known) and any(
        not record.refused for record in plan.bad
    )


def has_conversations(done: "ImportOutcome") -> bool:
    """True if conversations were read."""
    talk = done.talk
    return bool(talk.conversations or talk.known or talk.left_out)


def import_known_places(
    cli: CliContext,
    dry_run: bool,
    trusted: bool,
) -> None:
    """Take along what lies where other programs keep it; say what was left, and why."""
    with cli.open_mind() as mind:
        found = mind.data.import_beside(
            space=cli.space,
            trusted=trusted,
            dry_run=dry_run,
        )
        if not dry_run:
            hand_to_worker(cli, mind)
    if cli.as_json:
        print_json(
            {
                "space": cli.space,
                "dry_run": dry_run,
                "imports": [
                    {
                        "path": str(place.path),
                        "left": place.left,
                        **import_to_json(place.done),
                    }
                    for place in found
                ],
            }
        )
        return
    for place in found:
        print_import(place.path, place.done, dry_run or place.left)
        if not place.left:
            print_waiting(place.path, place.done, trusted)
        else:
            print_note(
                "  Left as it is, for there are memories here already. To add them: reverie "
                f"data import {place.path}"
            )
    if not found:
        from reverie.porting.importers import FORMATS

        known = ", ".join(row.name for row in FORMATS if row.user or row.project)
        print_line(
            f"None of {known} keeps memories in this project or in your home. What others "
            "keep, name: "
            "reverie data import PATH, for instance ~/.claude/projects/PROJECT of Claude Code"
        )


def learn_conversation(
    cli: CliContext,
    mind: Mind,
    file: Path,
    dry_run: bool,
) -> None:
    """A conversation: what it teaches."""
    from reverie.interfaces.cli.commands.learn_command import learn_recording
    from reverie.interfaces.cli.commands.learn_command import print_learned as tell_learned

    if dry_run:
        raise BadInput(
            f"{file} is a conversation. See what it would teach with: reverie session replay {file}"
        )
    results = learn_recording(cli, mind, file)
    cli.progress.clear()
    for result in results:
        if not cli.as_json:
            tell_learned(result)


def import_to_json(done: "ImportOutcome") -> dict[str, Any]:
    """An import as JSON values."""
    plan = done.plan
    return {
        "from": done.system,
        "event": done.event,
        "new": plan.kinds,
        "links": plan.links,
        "deeds": len(plan.events),
        "known": plan.known,
        "conversations": {
            "new": done.talk.conversations,
            "messages": done.talk.messages,
            "memories": done.talk.memories,
            "known": done.talk.known,
            "left_out": done.talk.left_out,
        },
        "lifted": plan.lifted,
        "redacted": sorted({*plan.redacted, *done.talk.redacted}),
        "bad": [one._asdict() for one in plan.bad],
        "remarks": list(plan.remarks),
    }


def print_import(
    file: Path,
    done: "ImportOutcome",
    dry_run: bool,
) -> None:
    """Tell people what an import brought, or would bring."""
    plan = done.plan
    kinds = ", ".join(f"{kind} {count:,}" for kind, count in plan.kinds.items())
    memories = sum(plan.kinds.values())
    of_kinds = f" ({kinds})" if kinds else ""
    parts = [
        f"{memories:,} {pluralize('memory', memories)}{of_kinds}",
        f"{plan.links:,} {pluralize('link', plan.links)}",
    ]
    if plan.events:
        parts.append(f"{len(plan.events):,} {pluralize('event', len(plan.events))} for the log")
    talk = done.talk
    if talk.conversations:
        taught = "" if dry_run else f", {talk.memories:,} kept as memories"
        parts.append(
            f"{talk.conversations:,} {pluralize('conversation', talk.conversations)} "
            f"({talk.messages:,} {pluralize('message', talk.messages)}{taught})"
        )
    known = plan.known + talk.known
    before = f" {known:,} were there already." if known else ""
    before += f" {plan.lifted:,} of them count as yours now." if plan.lifted else ""
    back = f" Back: reverie undo {done.event}" if done.event else ""
    print_line(
        f"{file} ({done.system}): {'would bring' if dry_run else 'new:'} "
        f"{', '.join(parts)}.{before}{back}"
    )
    for remark in plan.remarks:
        print_note(f"  {remark}.")
    redacted = sorted({*plan.redacted, *talk.redacted})
    if redacted:
        print_note(f"  Taken out before anything was kept: {', '.join(redacted)}.")
    print_bad_records(plan)


def print_waiting(
    file: Path,
    done: "ImportOutcome",
    trusted: bool,
) -> None:
    """Say that what came waits for a look, and how somebody whose own it is says so."""
    if trusted or not done.plan.kinds:
        return
    back = f"reverie undo {done.event or 'N'}, then " if done.system == OWN else ""
    print_note(
        "  Not known to be yours: each waits for reverie memory curate. If it is: "
        f"{back}reverie data import {file} --trusted"
    )


def print_bad_records(plan: "ImportPlan") -> None:
    """Tell which records were left out, where they stand, and why."""
    if plan.bad:
        print_note(f"  {len(plan.bad):,} {pluralize('record', len(plan.bad))} left out:")
    for record in plan.bad[:MAX_NAMED_RECORDS]:
        print_note(f"    {record.where}: {record.why}")
    if len(plan.bad) > MAX_NAMED_RECORDS:
        print_note(f"    and {len(plan.bad) - MAX_NAMED_RECORDS:,} more")


def import_exports(
    cli: CliContext,
    files: Sequence[Path],
    skip_bad: bool,
) -> None:
    """Take in what export wrote."""
    for file in files:
        if str(file) != "-" and not file.is_file():
            raise BadInput(f"There is no file {file}")
    with cli.open_mind() as mind:
        done = [(file, import_export_file(file, mind, cli, skip_bad)) for file in files]
    taken, unknown = Counter[str](), Counter[str]()
    bad: list[dict[str, Any]] = []
    for file, report in done:
        taken.update(report.new)
        unknown.update(report.unknown)
        bad += [
            {
                "file": str(file),
                "row": row.row,
                "why": row.why,
            }
            for row in report.bad
        ]
    if cli.as_json:
        left_out = sum(report.left_out for _, report in done)
        print_json(
            {
                "new": dict(taken),
                "left_out": left_out,
                "unknown": dict(unknown),
                "bad": bad,
            }
        )
        return
    if taken:
        print_line(f"New: {', '.join(f'{n:,} {pluralize(kind, n)}' for kind, n in taken.items())}.")
    else:
        print_line("Nothing new: everything was there already.")
    for file, report in done:
        print_left_out_rows(file, report)


def import_export_file(
    file: Path,
    mind: Mind,
    cli: CliContext,
    skip_bad: bool,
) -> "ImportReport":
    """Take in one file; an error names it."""
    from reverie.interfaces.cli import json_lines

    rows = json_lines.report_progress(
        json_lines.read_rows(file, skip_bad), cli.progress, f"importing {file.name}", None
    )
    try:
        return mind.data.import_(rows, skip_bad=skip_bad)
    except BadInput as err:
        known = str(file) == "-" or is_export(config.working_directory() / file.expanduser())
        more = "" if known else f". {describe_unknown_file(file)}"
        raise BadInput(f"{file}: {err}. Nothing of this file was taken in{more}") from err


def print_left_out_rows(file: Path, report: "ImportReport") -> None:
    """Which rows of a file were left out, and why; and what there was no place for."""
    if report.unknown:
        unknown = ", ".join(f"{what} ({times:,})" for what, times in report.unknown.items())
        print_note(
            f"{file}: this Reverie does not know, and left out: {unknown}. A newer one may have "
            "written it."
        )
    if report.left_out:
        print_note(f"{file}: {report.left_out:,} {pluralize('row', report.left_out)} left out.")
    for bad in report.bad:
        print_note(f"  row {bad.row}: {bad.why}")
    if 0 < len(report.bad) < report.left_out:
        print_note(f"  and {report.left_out - len(report.bad):,} more")


def pluralize(kind: str, n: int) -> str:
    """One memory, two memories."""
    many = {"memory": "memories"}.get(kind, f"{kind}s")
    return kind if n == 1 else many
