"""Commands for a person to decide: review, about pairs of memories; curate, about single ones."""

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from reverie import Mind
from reverie.core import clock
from reverie.core.doubt import is_in_doubt
from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.interfaces.cli import memory_view, mirror_status
from reverie.interfaces.cli.cli_context import (
    CliContext,
    CommandTable,
    Limit,
    OptionalMemoryId,
)
from reverie.interfaces.cli.commands.remember_commands import hand_to_worker
from reverie.interfaces.cli.terminal_output import (
    one_line,
    print_json,
    print_line,
    print_note,
    print_view,
)
from reverie.interfaces.cli.user_input import read_text_or_stdin
from reverie.interfaces.terminal.inline_screen import can_draw
from reverie.memory.short_ids import shorten_id
from reverie.reconciliation.review_questions import DECISIONS, ReviewCase

if TYPE_CHECKING:
    from reverie.erasure.source_influence import Influence
    from reverie.runtime.review_queue import ReviewCard

commands = CommandTable()
data = CommandTable()
# Kinds of cards that are listed with ways of their own to decide about them.
KINDS_TOLD_APART = ("contradiction", "near-duplicate", "in doubt")
ANSWER_KEYS = {
    "1": "one",
    "2": "other",
    "b": "both",
    "m": "merge",
    "e": "edit",
    "s": "",
    "q": "stop",
}
DOUBT_KEYS = {"k": "keep", "r": "retire", "c": "correct", "s": "", "q": "stop"}
DOUBT_QUESTION = "[k]eep it, [r]etire it, [c]orrect it, [s]kip, [q]uit"
QUESTION = "Keep [1], keep [2], keep [b]oth, [m]erge 2 into 1, [e]dit 1 and merge, [s]kip, [q]uit"


@commands.add("review")
def review_pairs(
    cli: CliContext,
    one: OptionalMemoryId = None,
    other: OptionalMemoryId = None,
    keep: Annotated[
        str,
        typer.Option(
            autocompletion=lambda: list(DECISIONS),
            help="What to keep of the pair: one, other, both, merge (other into one), edit "
            "(one gets --text).",
        ),
    ] = "",
    text: Annotated[str, "The new text of the first; “-” reads it from stdin."] = "",
    limit: Limit = 20,
    ask: Annotated[
        bool | None,
        typer.Option(
            "--ask/--list", help="Ask about each pair, or only list them (default: as you sit)."
        ),
    ] = None,
) -> None:
    """Decide about contradictions and duplicates.

    Show what contradicts or may repeat each other, and what is in doubt because its reason has
    changed, and decide about it. Every decision can be undone.
    """
    with cli.open_mind() as mind:
        if one or other or keep or text:
            resolve_pair(cli, mind, one, other, keep or ("edit" if text else ""), text)
            return
        cases = mind.review.cases(space=cli.space, limit=limit)
        doubted = mind.review.doubts(space=cli.space, limit=limit)
        sits_there = sys.stdin.isatty() and sys.stdout.isatty()
        asking = sits_there if ask is None else ask
        lines = mirror_status.list_mirror_questions(mind)
        is_drawn = asking and can_draw(sys.stdout) and not cli.as_json
        others = [] if is_drawn else list_other_cards(mind, cli.space, limit)
        if cli.as_json:
            print_json({"cases": cases, "doubts": doubted, "others": others, "mirror": lines})
        elif is_drawn:
            from reverie.interfaces.terminal.review_screen import run_review

            decided = run_review(mind, cli.space, limit)
            print_line(f"Decided {decided}. Each decision can be taken back: reverie undo")
            hand_to_worker(cli, mind)
        elif not cases and not doubted and not others:
            print_line("Nothing waits for a decision.")
        elif asking:
            if cases:
                ask_about_pairs(mind, cases)
            ask_about_doubts(mind, doubted)
            list_questions([], [], others)
        else:
            list_questions(cases, doubted, others)
        for line in lines:
            cli.note(line)


@data.add("blast", spaced=False)
@commands.add("blast", spaced=False, hidden=True)
def show_influence(
    cli: CliContext,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A session, a person or agent, a page's address, a file's path, an imported "
            "program or file, or an event's number.",
        ),
    ],
    take_back: Annotated[
        bool, typer.Option("--undo", help="Take all of it back, without asking.")
    ] = False,
) -> None:
    """Show all that came from a source, and take it back.

    With all that grew from it, in all spaces, as one event that undo takes back.
    """
    with cli.open_mind() as mind:
        found = mind.review.influence(source)
        counting = len(found.counting)
        asks = counting and not take_back and not cli.as_json
        if asks and sys.stdin.isatty() and sys.stderr.isatty():
            print_view(describe_influence(found))
            take_back = typer.confirm(f"Take these {counting} back?", err=True)
        if take_back and counting:
            found = mind.review.blast(source)
            hand_to_worker(cli, mind)
    cli.answer(found._asdict(), describe_influence(found), f"Nothing came by way of {source}.")


def describe_influence(found: "Influence") -> Iterator[str]:
    """A line for each memory under what it has to do with the source, and what can be done."""
    for heading, memories in (
        ("Came from it", found.roots),
        ("Grew from that", found.grown),
        ("Stays, for it was known without it", found.kept),
        ("Had stepped back for it" if not found.event else "Counts again", found.freed),
    ):
        if memories:
            yield f"{heading}:"
        for memory in memories:
            state = "" if memory.active else f"  ({memory.retired_why})"
            yield f"  {shorten_id(memory.id)}  {one_line(memory.text, 70)}{state}"
    if found.event:
        yield f"Took back {len(found.counting)}. Undo: reverie undo {found.event}"
    elif found.counting:
        yield f"Take them back: reverie blast {shlex.quote(found.source)} --undo"
    elif found.roots:
        yield "None of it counts any more."


def list_other_cards(mind: Mind, space: str, limit: int) -> "list[ReviewCard]":
    """What waits besides pairs and doubts: what was only concluded, what others wrote, what is
    outdated, questions without an answer.
    """
    cards = mind.review.queue(space=space, limit=limit)
    return [card for card in cards if card.kind not in KINDS_TOLD_APART]


def describe_card(card: "ReviewCard") -> str:
    """A card in a line."""
    text = card.memories[0].text if card.memories else card.asked
    id = shorten_id(card.memories[0].id) if card.memories else "-"
    return f"{id}  {card.kind}: {one_line(text, 100)} ({one_line(card.why, 200)})"


def list_questions(
    cases: list[ReviewCase], doubted: list[Memory], others: "list[ReviewCard]"
) -> None:
    """Show what waits, and how to decide about it."""
    if cases:
        print_view(memory_view.render_cases(cases, clock.now()))
        print_note("Decide with: reverie review ID ID --keep one|other|both|merge, or --text …")
    if doubted:
        print_view(memory_view.render_doubts(doubted, clock.now()))
        print_note(
            "Still so: reverie memory curate ID; no longer: the same with --as dismissed; "
            "otherwise: reverie edit ID"
        )
    if others:
        print_view(map(describe_card, others))
        print_note(
            "It holds: reverie memory curate ID; not: the same with --as dismissed; otherwise: "
            "reverie edit ID. A question is answered by: reverie remember"
        )


def resolve_pair(
    cli: CliContext,
    mind: Mind,
    one: str | None,
    other: str | None,
    keep: str,
    text: str,
) -> None:
    """Make one decision without asking, for scripts."""
    if not (one and other and keep):
        raise BadInput("A decision needs both ids and --keep one, other, both, merge, or --text")
    pair = mind.review.resolve(
        one,
        other,
        keep,
        text=read_text_or_stdin([text]) if text else "",
    )
    event = mind.store.events(
        verbs=("review",),
        newest=True,
        limit=1,
    )[0].seq
    cli.answer(
        {
            "decision": keep,
            "memories": pair,
            "event": event,
        },
        f"Decided: {keep}. Undo: reverie undo {event}",
    )


def ask_about_pairs(mind: Mind, cases: list[ReviewCase]) -> None:
    """Ask about one pair after the other, until there is none left or somebody has enough."""
    decided = 0
    for case in cases:
        if not all(memory.active for memory in mind.get([case.one.id, case.other.id])):
            continue  # an answer before has settled this one too
        print_view(memory_view.render_cases([case], clock.now()))
        key = ""
        while key not in ANSWER_KEYS:
            key = typer.prompt(QUESTION, err=True).strip().lower()
        decision = ANSWER_KEYS[key]
        if decision == "stop":
            break
        if decision:
            text = ""
            if decision == "edit":
                text = typer.prompt(
                    "The new text",
                    default=case.one.text,
                    err=True,
                )
            mind.review.resolve(
                case.one.id,
                case.other.id,
                decision,
                text=text,
            )
            decided += 1
    print_line(f"Decided {decided} of {len(cases)}. Each decision can be taken back: reverie undo")


def ask_about_doubts(mind: Mind, doubted: list[Memory]) -> None:
    """Ask about one memory after the other whose reason has changed: is it still so?"""
    for memory in doubted:
        # An answer before may have settled this one too.
        mind.settle()
        if not is_in_doubt(mind.get([memory.id])[0]):
            continue
        print_view(memory_view.render_doubts([memory], clock.now()))
        key = ""
        while key not in DOUBT_KEYS:
            key = typer.prompt(DOUBT_QUESTION, err=True).strip().lower()
        match DOUBT_KEYS[key]:
            case "keep":
                mind.review.curate(memory.id, "validated")
            case "retire":
                mind.review.curate(memory.id, "dismissed")
            case "correct":
                text = typer.prompt("The new text", default=memory.text, err=True)
                mind.revise(memory.id, text=text)
            case "stop":
                return
