"""Commands that look after the store: privacy, stats, verify, export, backup, settle, llm."""

import shlex
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import clock, config
from reverie.core.errors import (
    BadInput,
    HomeLockedError,
    ReverieError,
    StoreDamaged,
)
from reverie.core.privacy_policy import describe_policy
from reverie.interfaces.cli import memory_view
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands import activity_commands
from reverie.interfaces.cli.terminal_output import (
    one_line,
    print_json,
    print_note,
)
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import shorten_id
from reverie.storage import Problem, Stats

if TYPE_CHECKING:
    from reverie import Mind
    from reverie.interfaces.cli.terminal_output import View
    from reverie.memory.usage_statistics import Usage
    from reverie.porting.store_migration import MigrationReport

commands = CommandTable()
MAX_DECAY_CURVES = 4  # that can be told from each other
FAILED = ("failed",)


def stats_to_json(counts: Stats) -> dict[str, Any]:
    """How much there is of everything, as JSON values."""
    return {
        "memories": counts.memories,
        "forgotten": counts.retired,
        "events": counts.events,
        "edges": counts.edges,
        "vectors": counts.vectors,
        "waiting": counts.waiting,
        "to_decide": counts.undecided,
        "bytes": counts.bytes,
        "kinds": dict(counts.kinds),
        "spaces": dict(counts.spaces),
        "learned": counts.learned,
        "rejected": dict(counts.rejected),
        "junk_rate": counts.junk,
    }


@commands.add("stats")
def show_stats(
    cli: CliContext,
    tools: Annotated[bool, "How the tools of agents did: rates and durations."] = False,
    days: Annotated[
        float,
        typer.Option(
            "--days",
            min=0,
            help="Of --tools: over so many days.",
        ),
    ] = 7.0,
    used: Annotated[bool, "How memories are used, and the most valuable."] = False,
    limit: Annotated[
        int,
        typer.Option(
            "--limit",
            "-n",
            min=0,
            help="Of --used: how many are named, at most.",
        ),
    ] = 10,
    plot: Annotated[bool, "Draw growth, and how what nobody uses decays."] = False,
    svg: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the curves of --plot into a file, as SVG."),
    ] = None,
) -> None:
    """How much there is of everything.

    Memories, what was learned and left, spending, sleep.
    """
    if plot or svg:
        plot_curves(cli, svg)
        return
    if tools:
        activity_commands.show_tool_stats(cli, days)
        return
    if used:
        show_usage(cli, limit)
        return
    from reverie.consolidation.sleep_schedule import SLEPT_AT
    from reverie.interfaces.cli import llm_status
    from reverie.interfaces.cli.mirror_status import list_mirror_questions

    with cli.open_mind() as mind:
        values: dict[str, Any] = {
            **stats_to_json(mind.data.stats()),
            "space": cli.space,
            "gaps": len(mind.review.gaps(cli.space)),
            "mirror": list_mirror_questions(mind),
            "llm": llm_status.llm_status_values(mind),
            "conversations": mind.store.transcripts.count(
                None, mind.work.embedding_model
            )._asdict(),
            "slept_at": float(mind.store.meta(SLEPT_AT) or 0.0) or None,
        }
        spent = llm_status.describe_llm(mind.llm, cli.settings.llm)
    cli.answer(values, render_stats(values, spent))
    cli.note_missing_model()


def plot_curves(cli: CliContext, svg: Path | None) -> None:
    """Growth over time and the decay of the commonest kinds, drawn or written to a file."""
    from reverie.core.atomic_file import write_atomically
    from reverie.interfaces.terminal import curve_plot
    from reverie.memory.growth import list_decays
    from reverie.memory.memory_validation import parse_moment

    with cli.open_mind() as mind:
        growth, kinds = mind.data.growth(), mind.data.stats().kinds
    counted = [(day.date, parse_moment(day.date, "date") or 0.0, day.counted) for day in growth]
    decays = list_decays(kinds, MAX_DECAY_CURVES)
    half_lives = {one.kind: one.half_life for one in decays}
    charts = [
        curve_plot.chart_growth(counted, clock.now()),
        curve_plot.chart_decay(decays),
    ]
    values: dict[str, Any] = {"growth": growth, "half_lives": half_lives}
    if svg is not None:
        write_atomically(svg, curve_plot.draw_svg(charts).encode(), new_mode=0o644)
        cli.answer({**values, "svg": str(svg)}, f"Wrote {svg}")
        return
    if not growth:
        cli.answer(values, (), "Nothing is kept so far, so there is no curve.")
        return
    columns = shutil.get_terminal_size().columns
    is_plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    cli.answer(
        values,
        (
            line
            for chart in charts
            for line in (*curve_plot.draw_text_chart(chart, columns, ascii_only=is_plain), "")
        ),
    )


def show_usage(cli: CliContext, limit: int) -> None:
    """How memories are used, and the most valuable."""
    with cli.open_mind() as mind:
        found = mind.data.usage(space=cli.space, limit=limit)
    cli.answer(found, describe_usage(found))


def describe_usage(found: "Usage") -> Iterator[str]:
    """How memories are used, and the most valuable."""
    yield (
        f"Of {found.memories:,} memories {found.used:,} were used, {found.uses:,} times in "
        f"all, {found.lately:,} "
        f"of them in the last 30 days; {found.confirmed:,} were said or found true again."
    )
    for memory in found.best:
        times = f"used {memory.access_count:,}, said {memory.strength:,}"
        yield f"{shorten_id(memory.id)}  {times}: {one_line(memory.text, 90)}"


def render_stats(values: dict[str, Any], spent: str) -> "View":
    """The figures of `stats`."""
    slept = f"last on {format_moment(values['slept_at'])} UTC" if values["slept_at"] else "not yet"
    gaps = (
        f"{values['gaps']:,} questions in {values['space']} went unanswered: reverie memory gaps"
        if values["gaps"]
        else ""
    )
    yield from memory_view.render_facts(
        {
            **format_amounts(values),
            "gaps": gaps,
            "conversations": describe_conversations(values["conversations"]),
            "mirror": "; ".join(values["mirror"]),
            "language": spent,
            "sleep": slept,
        }
    )
    for name in ("kinds", "spaces", "rejected"):
        if values[name]:
            yield ""
            heading = "rejected by extraction" if name == "rejected" else name
            yield from memory_view.render_counts(values[name], heading)


def describe_conversations(count: dict[str, int]) -> str:
    """How much of past conversations is searched."""
    if not count["passages"]:
        return ""
    waiting = f"; {count['waiting']:,} wait for a vector" if count["waiting"] else ""
    return (
        f"{count['conversations']:,} past conversations, {count['passages']:,} passages, "
        f"{count['bytes'] / 1e6:,.1f} MB{waiting}"
    )


def format_amounts(values: dict[str, Any]) -> dict[str, str]:
    """How much there is of everything, for people: the lines that status and stats share."""
    waiting = (
        f"; texts that wait for one: {values['waiting']:,}" if values["waiting"] else ", none waits"
    )
    return {
        "memories": f"{values['memories']:,} active, {values['forgotten']:,} forgotten",
        "log": f"{values['events']:,} events, {values['edges']:,} links",
        "extraction": format_extraction(values["learned"], values["rejected"], values["junk_rate"]),
        "vectors": f"{values['vectors']:,}{waiting}",
        "to decide": f"pairs: {values['to_decide']:,} (reverie review)"
        if values["to_decide"]
        else "",
        "size": f"{values['bytes'] / 1e6:,.1f} MB",
    }


def format_extraction(
    learned: int,
    rejected: dict[str, int],
    junk: float | None,
) -> str:
    """What was taken out of conversations, and what was left and why."""
    rate = "" if junk is None else f"; junk rate {junk:.0%}"
    left = ", ".join(f"{reason} {count:,}" for reason, count in rejected.items())
    return (
        f"{learned:,} kept, {sum(rejected.values()):,} rejected{f' ({left})' if left else ''}{rate}"
    )


@commands.add("verify", spaced=False)
def verify_store(
    cli: CliContext,
    repair: Annotated[bool, "Repair what can be repaired."] = False,
) -> None:
    """Check the store.

    The exit code is 1 if something is wrong.
    """
    problems = verify_or_salvage(cli, repair)
    view = memory_view.render_problems(problems)
    cli.answer({"problems": problems}, view if problems else "Everything is as it should be.")
    if any(not problem.repaired for problem in problems):
        if not repair:
            print_note("Repair with: reverie data verify --repair")
        raise typer.Exit(1)


def verify_or_salvage(cli: CliContext, repair: bool) -> list[Problem]:
    """What is wrong; a file that cannot be read is salvaged if it may be repaired."""
    from reverie.runtime.home_encryption import ENCRYPTION, verify_encryption

    problems: list[Problem] = []
    try:
        problems += verify_encryption(cli.settings.home, repair=repair)
        # A damaged file cannot even be opened; that is a finding, unless it may be repaired.
        with cli.open_mind(as_found=True) as mind:
            problems += mind.data.verify(repair)
    except StoreDamaged as err:
        if not repair:
            return [*problems, Problem("file", str(err))]
        problems.append(Problem("file", "cannot be read"))
    except HomeLockedError:
        for problem in problems:  # this much needs no key
            cli.note(f"{problem.message}{'; mended' if problem.repaired else ''}")
        raise
    if not repair or not any(
        problem.what == "file" and not problem.repaired for problem in problems
    ):
        return problems
    mended = [problem for problem in problems if problem.what == ENCRYPTION]
    salvaged = salvage_store(cli)
    with cli.open_mind() as mind:
        return [*mended, *salvaged, *mind.data.verify(repair)]


def salvage_store(cli: CliContext) -> list[Problem]:
    """Keep what is readable of a damaged file; the rest from the newest backup."""
    from reverie.storage import backups
    from reverie.storage.sqlite import repair_store

    if not cli.settings.url.startswith("sqlite:"):
        raise StoreDamaged(
            "The store is damaged, and only the embedded one can be mended here. Restore its backup"
        )
    with cli.progress:
        cli.progress("salvaging the damaged file", 0, None)
        moment = backups.format_file_date(clock.now(), "%Y%m%d-%H%M%S")
        return repair_store(cli.settings.url, backups.list_daily_backups(cli.settings), moment)


@commands.add("export", spaced=False)
def export_memories(
    cli: CliContext,
    file: Annotated[Path | None, "FILE", "Where to; none, or -, is stdout."] = None,
    force: Annotated[bool, "Overwrite the file."] = False,
    state: Annotated[bool, "Only memories, links, vectors: to compare."] = False,
    form: Annotated[
        str,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help="reverie: everything, to the letter; mif: memories that count, for other "
            "programs (Memory Interchange Format 2.0).",
        ),
    ] = "reverie",
) -> None:
    """Write everything as JSON Lines.

    Memories, links, history, vectors.
    """
    from reverie.interfaces.cli import json_lines
    from reverie.porting.bundles import choose_bundle

    bundle = choose_bundle(form)
    log = bundle.keeps_log and not state
    file = None if str(file) == "-" else file
    if file is not None and file.exists() and not force:
        raise BadInput(f"{file} exists already. Choose another name, or use --force")
    with cli.open_mind() as mind:
        stats = mind.data.stats()
        total = stats.memories + stats.retired + stats.edges + stats.events + stats.vectors
        rows = json_lines.report_progress(
            mind.data.export(log=log), cli.progress, "exporting", total
        )
        if file is None:
            json_lines.write_rows_to_stdout(rows, bundle)
            return
        count = json_lines.write_rows_to_file(file, rows, bundle)
    cli.answer({"file": str(file), "rows": count}, f"Wrote {count:,} rows to {file}.")


@commands.add("migrate", spaced=False)
def migrate_memory(
    cli: CliContext,
    to: Annotated[str, typer.Option("--to", help="A folder, a .db file or postgresql://…")],
    source: Annotated[
        str, typer.Option("--from", help="A folder or postgresql://… (default: this home).")
    ] = "",
    user: Annotated[
        str, typer.Option("--user", help="Whose `me` is ~NAME there: for a server's tenant.")
    ] = "",
    back: Annotated[bool, "With --user: it comes from the server's tenant."] = False,
) -> None:
    """Copy everything into another store, and compare.

    Memories, links, history and vectors. Nothing is taken away here; done twice it adds nothing.
    """
    import reverie

    if source:
        with reverie.open_as_found(source, embedder=None) as mind:
            done = mind.data.migrate(to, user=user, back=back)
    else:
        with cli.open_mind() as mind:
            done = mind.data.migrate(to, user=user, back=back)
    lines = [*describe_migration(done), *tell_plain_copy(Path(source or cli.settings.home), to)]
    cli.answer(done, lines)
    if not done.is_complete:
        raise typer.Exit(1)


def describe_migration(done: "MigrationReport") -> Iterator[str]:
    """What was copied, what did not arrive, and what is not carried."""
    for name, count in done.compared.items():
        missing = done.missing[name]
        state = f"{missing:,} did not arrive" if missing else "all there"
        yield f"{name:<8} {count:>10,}  {done.new.get(name, 0):,} new, {state}"
    yield f"Not carried: {', '.join(done.not_carried)}."


def tell_plain_copy(source: Path, to: str) -> Iterator[str]:
    """That what was encrypted lies in the clear where it was copied to."""
    from reverie.core.environment import is_encrypted
    from reverie.storage.sqlite.database_library import DATABASE_NAME, is_plain_database

    copy = Path(to).expanduser()
    database = copy / DATABASE_NAME if copy.is_dir() else copy
    if is_encrypted(source) and is_plain_database(database):
        yield f"The copy is not encrypted: {database}"
        if database.name == DATABASE_NAME:
            home = shlex.quote(str(database.parent))
            yield f"  Encrypt it with: reverie data encrypt --passphrase --home {home}"


@commands.add("backup", spaced=False)
def back_up_store(
    cli: CliContext,
    file: Annotated[Path | None, "FILE", "Where to; none is today's in the home."] = None,
    restore: Annotated[bool, "Go back to FILE; what is here now is kept."] = False,
) -> None:
    """Copy the database, or go back to a copy.

    Others go on writing meanwhile.
    """
    from reverie.storage import backups

    if restore and file is None:
        raise BadInput("Name the copy to go back to: reverie data backup --restore FILE")
    with cli.open_mind() as mind:
        cli.progress("copying", 0, None)
        if restore and file is not None:
            kept = mind.data.restore_backup(file)
            cli.progress.clear()
            cli.answer(
                {"restored": str(file), "kept": str(kept)},
                f"Everything is as in {file}. What was here until now: {kept}",
            )
            return
        made = (
            mind.data.backup(file)
            if file
            else backups.make_daily_backup(mind.store, mind.settings, clock.now())
        )
    cli.answer(
        {"file": str(made) if made else None},
        f"Copied to {made}." if made else "Today's copy is there already.",
    )


@commands.add("privacy")
def choose_privacy(
    cli: CliContext,
    choices: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CHOICE…",
            help="Such as contact=refuse intimate=mask; personal, contact or intimate, each off "
            "(kept), mask or refuse. Without one: what holds.",
        ),
    ] = None,
    everywhere: Annotated[
        bool, typer.Option("--everywhere", help="For all spaces without choices of their own.")
    ] = False,
    clear: Annotated[
        bool, typer.Option("--clear", help="Forget what was chosen for the space.")
    ] = False,
) -> None:
    """Show or set what is kept of a person in a space.

    It holds for all spaces below it, too.

    It holds for what is written from then on; what is there already: reverie data scrub.
    """
    rules = {rule.partition(" ")[0]: rule for rule in cli.settings.space_privacy}
    if choices and everywhere:
        values: dict[str, Any] = dict(one.partition("=")[::2] for one in choices)
        config.check_space_privacy(f"all {' '.join(choices)}")
        config.save_settings(cli.settings, **values)
        cli.settings = cli.settings._replace(**values)
    elif choices or clear:
        before = {} if clear else read_choices(rules.get(cli.space, ""))
        chosen = before | read_choices(f"{cli.space} {' '.join(choices or ())}")
        rules.pop(cli.space, "")
        if chosen:
            written = " ".join(f"{name}={value}" for name, value in chosen.items())
            rules[cli.space] = config.check_space_privacy(f"{cli.space} {written}")
        config.save_settings(cli.settings, space_privacy=tuple(rules.values()))
        cli.settings = cli.settings._replace(space_privacy=tuple(rules.values()))
    holds = cli.settings.policy.within(cli.space)
    done = {name: getattr(holds, name) for name in config.PRIVACY_SETTINGS}
    cli.answer({"space": cli.space, **done}, f"In {cli.space}: {describe_policy(holds)}")


def read_choices(rule: str) -> dict[str, str]:
    """The choices of a rule by their names."""
    return {name: value for name, _, value in (one.partition("=") for one in rule.split()[1:])}


@commands.add("settle", spaced=False)
def settle_pending(cli: CliContext) -> None:
    """Embed and learn what is waiting, now.

    Fetches the embedding model, if that is not there yet.
    """
    from reverie.interfaces.cli.mirror_status import find_unsynced_shares
    from reverie.runtime.settle import settle_all

    with cli.open_mind() as mind:
        # Before it waits for anybody: a worker that lacks the model leaves when it comes.
        missed = fetch_model(cli, mind)
        done = settle_all(lambda: mind.work, clock.new_id("settler"), cli.progress)
        left_alone = find_unsynced_shares(mind)
    cli.answer(
        {**done._asdict(), "shares": left_alone},
        f"Embedded {done.embedded:,}, learned {done.learned:,}; {done.waiting:,} left to embed"
        f"{f'; {done.failed} events could not be learned from' if done.failed else ''}.",
    )
    for why in filter(None, (done.trouble or missed, *left_alone.values())):
        print_note(why)


def fetch_model(cli: CliContext, mind: "Mind") -> str:
    """Have the embedding model on this machine, though no text waits for it yet; why not, where
    that cannot be.
    """
    from reverie.interfaces.worker import is_model_missing
    from reverie.pipeline.pending_vectors import NO_VECTOR_ERRORS

    if mind.embedder is not None and is_model_missing(cli.settings):
        try:
            mind.embedder.embed(["."])
        except NO_VECTOR_ERRORS as err:
            return str(err)
    return ""


@commands.add("llm", spaced=False)
def show_llm(
    cli: CliContext,
    check: Annotated[bool, "Ask it something small now, even if it is paused."] = False,
    tokens_per_day: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", min=0, help="Let a day take so many tokens; 0: no limit."),
    ] = None,
    dollars_per_day: Annotated[
        float | None,
        typer.Option(metavar="NUMBER", min=0, help="Let a day cost so much; 0: no limit."),
    ] = None,
) -> None:
    """How the language model does.

    Today's tokens and cost, how its calls ended, whether it rests. What a day may take.
    """
    from reverie.interfaces.cli import llm_status

    limits = {"llm_tokens_per_day": tokens_per_day, "llm_dollars_per_day": dollars_per_day}
    chosen = {name: limit for name, limit in limits.items() if limit is not None}
    if chosen:
        config.save_settings(cli.settings, **chosen)
        cli.settings = config.load_settings(cli.settings.home)

    llm_status.report_llm_status(cli, check)


@commands.add("worker", spaced=False)
def work_until_idle(
    cli: CliContext,
    holder: Annotated[
        str, typer.Option(help="The name under which the lease was taken.", hidden=True)
    ] = "",
    lock: Annotated[
        int | None,
        typer.Option(help="The open file of the lock held for this worker.", hidden=True),
    ] = None,
    restart: Annotated[bool, "End the one in the background, and start another there."] = False,
) -> None:
    """Take in what hooks left, stay a while for more.

    Hooks start one in the background by themselves, and it leaves when there is nothing to do.
    """
    if restart:
        restart_worker(cli)
        return
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import is_embedder_ready, is_model_missing, run_worker
    from reverie.interfaces.worker_start import note_worker_exit

    lacks_model_of = None
    if lock is not None and is_model_missing(cli.settings):
        # Without the model's files the worker still learns; vectors wait for `reverie data settle`.
        lacks_model_of = cli.settings
    if lock is not None and not is_embedder_ready(cli.settings):
        cli.settings = cli.settings._replace(embedder="none")  # a hook asks for no download
    try:
        with cli.open_mind(watched=False) as mind:
            done = run_worker(mind, cli.settings.idle, holder, lock, lacks_model_of)
    except ReverieError:
        note_worker_exit(HookFiles(str(cli.settings.home)).lock, True)
        raise
    if cli.as_json:
        print_json(done)


def restart_worker(cli: CliContext) -> None:
    """End the worker of hooks, also one that hangs, and start another."""
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import stop_worker
    from reverie.interfaces.worker_start import note_worker_exit, wake_worker

    files = HookFiles(str(cli.settings.home))
    if not stop_worker(files.lock):
        raise BadInput("The worker does not end, and does not say which process it is. End it")
    note_worker_exit(files.lock, failed=False)  # no rest after what went wrong before
    wake_worker(files.home, files.lock)
    cli.answer({"waiting": len(files.list_events())}, "Another worker takes in what waits.")
