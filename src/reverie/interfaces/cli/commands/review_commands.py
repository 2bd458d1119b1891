"""Commands for a person to decide: review, about pairs of memories; curate, about single ones."""

import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, NamedTuple

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
from reverie.memory.history_text import format_moment
from reverie.memory.short_ids import expand_id, shorten_id
from reverie.reconciliation.review_questions import DECISIONS, ReviewCase
from reverie.runtime.review_queue import ACCEPT, BOTH, EDIT, EDITED, EDITED_DECISIONS, REJECT

if TYPE_CHECKING:
    from reverie.erasure.source_influence import Influence
    from reverie.runtime.both_sided_edits import BothSidedEdit
    from reverie.runtime.review_queue import ReviewCard

commands = CommandTable()
data = CommandTable()
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
EDIT_KEYS = {"a": ACCEPT, "r": REJECT, "b": BOTH, "e": EDIT, "s": "", "q": "stop"}
EDIT_QUESTION = "[a] keep what holds, [r] the other, [b]oth, m[e]rge by hand, [s]kip, [q]uit"
QUESTION = "Keep [1], keep [2], keep [b]oth, [m]erge 2 into 1, [e]dit 1 and merge, [s]kip, [q]uit"


# Cards that are neither about a pair nor in doubt.
OTHER_KINDS = ("candidate", "outdated", "untrusted", "gap")


class Waiting(NamedTuple):
    """What waits for a decision."""

    edits: "list[BothSidedEdit]"
    cases: list[ReviewCase]
    doubts: list[Memory]
    cards: "list[ReviewCard]"  # all of it, as the terminal and the page show it


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
            "(one gets --text). Of a both-sided edit, with one ID: what holds is one.",
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
    """Decide what waits: contradictions, duplicates, edits.

    Show what contradicts or may repeat each other, what was edited on both sides, and what is in
    doubt because its reason has changed, and decide about it. Every decision can be undone.
    """
    with cli.open_mind() as mind:
        if one or other or keep or text:
            keep = keep or ("edit" if text else "")
            decide = resolve_edit if one and keep and not other else resolve_pair
            decide(cli, mind, one, other, keep, text)
            return
        sits_there = sys.stdin.isatty() and sys.stdout.isatty()
        asking = sits_there if ask is None else ask
        lines = mirror_status.list_mirror_questions(mind)
        if asking and not cli.as_json and can_draw(sys.stdout):
            from reverie.interfaces.terminal.review_screen import run_review

            decided = run_review(mind, cli.space, limit)
            print_line(f"Decided {decided}. Each decision can be taken back: reverie undo")
            hand_to_worker(cli, mind)
        else:
            waits = Waiting(
                mind.review.edits(space=cli.space, limit=limit),
                mind.review.cases(space=cli.space, limit=limit),
                mind.review.doubts(space=cli.space, limit=limit),
                mind.review.queue(space=cli.space, limit=limit),
            )
            if cli.as_json:
                print_json({**waits._asdict(), "mirror": lines})
            else:
                tell_waiting(mind, waits, asking)
        for line in lines:
            cli.note(line)
    cli.note_missing_model()


def tell_waiting(mind: Mind, waits: Waiting, asking: bool) -> None:
    """Ask about what waits, one after the other, or list it."""
    if not any(waits):
        print_line("Nothing waits for a decision.")
    elif asking:
        ask_about_edits(mind, waits.edits)
        if waits.cases:
            ask_about_pairs(mind, waits.cases)
        ask_about_doubts(mind, waits.doubts)
        list_questions(waits._replace(edits=[], cases=[], doubts=[]))
    else:
        list_questions(waits)


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


def list_questions(waits: Waiting) -> None:
    """Show what waits, and how to decide about it."""
    if waits.edits:
        print_view(line for edit in waits.edits for line in describe_edit(edit))
        print_note("Decide with: reverie review ID --keep one|other|both, or --text …")
    if waits.cases:
        print_view(memory_view.render_cases(waits.cases, clock.now()))
        print_note("Decide with: reverie review ID ID --keep one|other|both|merge, or --text …")
    if waits.doubts:
        print_view(memory_view.render_doubts(waits.doubts, clock.now()))
        print_note(
            "Still so: reverie memory curate ID; no longer: the same with --as dismissed; "
            "otherwise: reverie edit ID"
        )
    if others := [card for card in waits.cards if card.kind in OTHER_KINDS]:
        print_view(describe_card(card) for card in others)
        print_note("Decide at a terminal (reverie review), or with: reverie memory curate ID")


def describe_card(card: "ReviewCard") -> str:
    """A card about a single memory, or a question, in a line."""
    if card.memories:
        memory = card.memories[0]
        return f"{shorten_id(memory.id)}  {card.kind}: {one_line(memory.text, 60)}"
    return f"{card.kind}: {one_line(card.asked, 70)} ({card.why})"


def describe_edit(edit: "BothSidedEdit") -> Iterator[str]:
    """Both versions of a memory that two edited without knowing of each other."""
    yield f"{shorten_id(edit.id)}  both-sided edit, {format_moment(edit.at)} UTC"
    for name, side in (("holds", edit.holds), ("gave way", edit.gave_way)):
        gone = "" if side.memory.active else f"  ({side.memory.retired_why})"
        yield f"  {name}: {one_line(side.memory.text, 70)}{gone}"
        yield f"    {side.by}, {format_moment(side.at)} UTC"


def resolve_edit(
    cli: CliContext,
    mind: Mind,
    one: str | None,
    _other: str | None,
    keep: str,
    text: str,
) -> None:
    """Decide about a both-sided edit without asking, for scripts."""
    answers = {decision: answer for answer, decision in EDITED_DECISIONS.items()}
    if keep not in answers:
        raise BadInput(
            "Of one memory that was edited on both sides keep one, other, both, or --text"
        )
    id = expand_id(mind.store, one or "")
    given = read_text_or_stdin([text]) if text else ""
    (event,) = mind.review.answer(f"{EDITED}:{id}:0", answers[keep], text=given)
    values = {"decision": keep, "memories": mind.get([id]), "event": event}
    cli.answer(values, f"Decided: {keep}. Undo: reverie undo {event}")


def ask_about_edits(mind: Mind, edits: "list[BothSidedEdit]") -> None:
    """Ask about one both-sided edit after the other: which version is right?"""
    for edit in edits:
        print_view(describe_edit(edit))
        key = ""
        while key not in EDIT_KEYS:
            key = typer.prompt(EDIT_QUESTION, err=True).strip().lower()
        if EDIT_KEYS[key] == "stop":
            return
        if answer := EDIT_KEYS[key]:
            text = ""
            if answer == EDIT:
                held = edit.holds.memory.text
                text = typer.prompt("The merged text", default=held, err=True)
            mind.review.answer(f"{EDITED}:{edit.id}:{edit.event}", answer, text=text)


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
