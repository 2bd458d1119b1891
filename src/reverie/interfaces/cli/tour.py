"""`reverie tour`: the real pipeline on real input, in a throw-away home, in about a minute.

It takes in the history of the repository that one stands in, listens to a sample conversation,
replays another one of two days later on top of it, answers questions, explains one answer and
checks the store. Nothing is canned: what is printed is what came out of it just now.
"""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

from rich.text import Text

from reverie import Hit, Mind
from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.interfaces.cli import memory_view, replay_view
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.replay_run import (
    ConversationPlayer,
    ReplayStep,
    step_to_json,
    summarize_steps,
)
from reverie.interfaces.cli.terminal_output import one_line, print_json, print_view
from reverie.interfaces.cli.throwaway_home import ReplayClock, load_embedder, open_throwaway_mind
from reverie.porting.transcript_formats import RecordedConversation, read_transcript
from reverie.runtime.settle import settle_all

TOUR_SPACE = "me/tour"
MAX_COMMITS, MIN_COMMITS = 300, 5  # commits that are taken in; fewer are no history
TWO_DAYS = 2 * 86_400.0
LOG_FORMAT = "%x1e%h%x1f%an%x1f%at%x1f%s%x1f%b%x1f"
QUESTIONS = (
    "which machine do we deploy to before production?",
    "why are amounts from the old accounting system hard to parse?",
    "may I run a migration myself?",
)

TourReport = dict[str, Any]


def run_tour(cli: CliContext) -> None:
    """Play everything, one part after the other."""
    start = clock.ticks()
    first, second = read_sample("session-1"), read_sample("session-2")
    then = ReplayClock(clock.now() - TWO_DAYS)
    report: TourReport = {}
    with open_throwaway_mind(cli, then) as mind:
        loaded = load_embedder(cli, mind)
        print_heading(cli, "A memory of its own, in a throw-away home")
        how = f" ({loaded:.1f} s)." if loaded else ": none, words must do."
        print_step(cli, f"The embedding model is ready{how}")
        report["commits"] = remember_history(cli, mind)
        report["embedded"] = embed_all(cli, mind)
        report["learned"] = play_first_session(cli, mind, then, first)
        then.set(clock.now())
        report["replay"] = play_second_session(cli, mind, then, second)
        report["answers"] = ask_questions(cli, mind, then)
        report["problems"] = [problem.message for problem in mind.data.verify()]
        report["memories"] = mind.data.stats().memories
    report["seconds"] = round(clock.ticks() - start, 1)
    print_closing(cli, report)


def print_heading(cli: CliContext, text: str) -> None:
    """Show the beginning of a part."""
    if not cli.as_json:
        print_view([Text(""), Text(text, style="bold")])


def print_step(cli: CliContext, text: str) -> None:
    """Show one thing that happened."""
    if not cli.as_json:
        print_view([Text(text)])


def read_sample(name: str) -> RecordedConversation:
    """A conversation from the examples of this repository."""
    # A checkout in development first; else the repository that one stands in.
    own = Path(__file__).resolve().parents[4] / "examples"
    for folder in (own, config.find_project_root(config.working_directory()) / "examples"):
        path = folder / f"{name}.jsonl"
        if path.is_file():
            return read_transcript(path.read_bytes(), name).conversations[0]
    raise BadInput(
        f"The sample conversation examples/{name}.jsonl is not here. It is part of "
        "Reverie's repository, not of the installed package: run the tour in a clone of it"
    )


# The parts


def remember_history(cli: CliContext, mind: Mind) -> int:
    """Keep this repository's commits as things that happened; how many."""
    print_heading(cli, "1. What happened here before: the history of this repository")
    commits = read_commits(config.working_directory())
    if len(commits) < MIN_COMMITS:
        print_step(
            cli,
            f"There is no git history to speak of here ({len(commits)} commits): only the "
            "sample is taken in.",
        )
        return 0
    start = clock.ticks()
    kept = mind.remember_many(commits, space=TOUR_SPACE)
    took = clock.ticks() - start
    print_step(
        cli,
        f"{len(kept)} commits kept in {took * 1e3:,.0f} ms ({len(kept) / took:,.0f} a second), "
        f"found by their words at once. The latest: {one_line(kept[0].title, 60)}",
    )
    return len(kept)


def read_commits(folder: Path) -> list[dict[str, Any]]:
    """The last commits of the repository that a folder belongs to, newest first; none
    without git.
    """
    command = [
        "git",
        "-C",
        str(folder),
        "log",
        f"--max-count={MAX_COMMITS}",
        f"--format={LOG_FORMAT}",
        "--name-only",
        "--no-color",
    ]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode:
        return []
    rows = done.stdout.decode("utf-8", "replace").split("\x1e")
    return [parse_commit(row) for row in rows if row.count("\x1f") >= 5]


def parse_commit(row: str) -> dict[str, Any]:
    """One commit as an event to be remembered."""
    short, author, at, subject, body, files = row.split("\x1f", 5)
    names = [name.strip() for name in files.splitlines() if name.strip()]
    touched = f"Files: {', '.join(names[:20])}" if names else ""
    text = "\n\n".join(filter(None, (subject.strip(), body.strip(), touched)))
    return {
        "text": text or f"Commit {short}",
        "title": subject.strip()[:120],
        "kind": "event",
        "at": float(at or 0),
        "speaker": author,
        "session": f"commit-{short}",
        "files": names[:50],
        "tags": ["commit"],
    }


def play_first_session(
    cli: CliContext,
    mind: Mind,
    then: ReplayClock,
    conversation: RecordedConversation,
) -> list[str]:
    """Play the first conversation through a companion; returns what was learned."""
    print_heading(cli, "2. A working day, two days ago: Reverie listens")
    steps = list(ConversationPlayer(mind, TOUR_SPACE, then).play([conversation]))
    learned = [memory for step in steps for memory in step.learned]
    figures = summarize_steps(steps, 0.0)
    print_step(
        cli,
        f"{figures['turns']} turns, and none waited: turn() took "
        f"{figures['turn_us_p50']:,.0f} µs (median). "
        f"{len(learned)} things were worth keeping:",
    )
    if not cli.as_json:
        print_view(memory_view.render_memories(learned, then(), TOUR_SPACE))
    return [memory.text for memory in learned]


def embed_all(cli: CliContext, mind: Mind) -> int:
    """Give everything its vector; how many were missing."""
    start = clock.ticks()
    done = settle_all(lambda: mind.work, clock.new_id("settler"), cli.progress)
    cli.progress.clear()
    took = clock.ticks() - start
    if done.embedded:
        print_step(
            cli,
            f"{done.embedded} of them got their vectors in {took:.1f} s, which the "
            "background does otherwise.",
        )
    return done.embedded


def play_second_session(
    cli: CliContext,
    mind: Mind,
    then: ReplayClock,
    conversation: RecordedConversation,
) -> TourReport:
    """Play the second conversation, on which memories surface."""
    print_heading(cli, "3. Today: another session, and what pops up by itself (◀)")
    start = clock.ticks()
    steps: list[ReplayStep] = []
    for step in ConversationPlayer(mind, TOUR_SPACE, then).play([conversation]):
        if not cli.as_json:
            print_view(replay_view.render_step(step))
        steps.append(step)
    figures = summarize_steps(steps, clock.ticks() - start)
    if not cli.as_json:
        print_view(replay_view.render_replay_summary(figures))
    return {"turns": [step_to_json(step) for step in steps], "summary": figures}


def ask_questions(
    cli: CliContext,
    mind: Mind,
    now: Callable[[], float],
) -> list[TourReport]:
    """Ask a few questions, and tell the story behind the first answer."""
    print_heading(cli, "4. Asked directly")
    answers, best = [], None
    for question in (*QUESTIONS, *history_questions(mind)):
        start = clock.ticks()
        hits = mind.recall(
            question,
            space=TOUR_SPACE,
            limit=2,
        )
        took = (clock.ticks() - start) * 1e3
        best = best or (hits[0] if hits else None)
        answers.append(
            {
                "question": question,
                "ms": round(took, 1),
                "hits": [hit.memory.text for hit in hits],
            }
        )
        print_step(cli, f"\n$ reverie recall {question!r}   ({took:.0f} ms)")
        if not cli.as_json:
            print_view(memory_view.render_hits(hits, now(), TOUR_SPACE))
    explain_hit(cli, mind, best)
    return answers


def history_questions(mind: Mind) -> list[str]:
    """A question about the middle of this repository's history, in the words of nobody but its
    author.
    """
    found = mind.browse(
        space=TOUR_SPACE,
        tags=("commit",),
        limit=MAX_COMMITS,
    )
    return [found[len(found) // 2].title] if found else []


def explain_hit(
    cli: CliContext,
    mind: Mind,
    hit: Hit | None,
) -> None:
    """Why the first answer is believed."""
    if hit is None or cli.as_json:
        return
    print_step(cli, f"\n$ reverie explain {hit.memory.id}")
    for sentence in mind.explain(hit.memory.id).story:
        print_step(cli, f"  {one_line(sentence)}")


def print_closing(cli: CliContext, report: TourReport) -> None:
    """The end."""
    if cli.as_json:
        print_json(report)
        return
    print_heading(cli, "That was the tour")
    wrong = "; ".join(report["problems"])
    print_step(
        cli,
        f"{report['memories']} memories, {report['seconds']:.1f} s in all; verify: "
        f"{wrong or 'nothing is wrong'}.",
    )
    print_step(cli, 'The home is gone again. Yours begins with: reverie remember "…"')
