"""The command that tells what memory is worth, in figures."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from reverie.core import config
from reverie.core.errors import BadInput
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.terminal_output import one_line

if TYPE_CHECKING:
    from reverie.holdout.difference import Difference
    from reverie.holdout.proof_report import MemoryWorth, Proof

commands = CommandTable()
SUGGESTED_SHARE = 0.1
# Memories that are listed on the screen.
MAX_LINES = 10
MAX_TEXT_CHARS = 60


@commands.add("proof", spaced=False)
def prove_worth(
    cli: CliContext,
    holdout: Annotated[
        float | None,
        typer.Option(
            "--holdout",
            metavar="SHARE",
            help="From now on, stay silent in this share of conversations: 0 to 0.5; 0 ends it.",
        ),
    ] = None,
) -> None:
    """Measure whether memory helps, by sessions without it.

    In a share that you choose it says nothing by itself, warnings and reminders apart.
    """
    if holdout is not None:
        low, high = config.NUMBER_BOUNDS["holdout"]
        if not low <= holdout <= high:
            raise BadInput(f"--holdout {holdout:g}: give a share from {low:g} to {high:g}")
        config.save_settings(cli.settings, holdout=holdout)
        # Read back: what is said is what holds.
        cli.settings = cli.settings._replace(
            holdout=config.load_settings(cli.settings.home).holdout
        )
    with cli.open_mind() as mind:
        proof = mind.data.proof()
    cli.answer(proof_to_json(proof), describe_proof(proof))


def proof_to_json(proof: "Proof") -> dict[str, Any]:
    """A proof as JSON values."""

    def to_json(found: "Difference | None") -> dict[str, float] | None:
        return None if found is None else {**found._asdict(), "by": found.by}

    def worth_to_json(one: "MemoryWorth") -> dict[str, Any]:
        return {**one._asdict(), "trouble": to_json(one.trouble)}

    return {
        **proof._asdict(),
        "enough": proof.is_enough,
        "differences": {name: to_json(one) for name, one in proof.differences.items()},
        "kinds": [worth_to_json(one) for one in proof.kinds],
        "memories": [worth_to_json(one) for one in proof.memories],
    }


def describe_proof(proof: "Proof") -> Iterator[str]:
    """What is known, and what is not yet."""
    if not proof.share and not proof.given + proof.silent:
        yield (
            "Nothing is held out, so nothing can be compared. To begin, let memory be silent in a "
            f"tenth of all conversations: reverie proof --holdout {SUGGESTED_SHARE:g}"
        )
        return
    yield (
        f"Silent in {proof.share:.0%} of new conversations; warnings and reminders come all the "
        "same."
    )
    yield (
        f"Over so far: {proof.given} with memory, {proof.silent} silent. Memory had something to "
        f"say in {proof.needed_given} and {proof.needed_silent} of them."
    )
    if proof.tokens is not None:
        yield f"It costs about {proof.tokens:,.0f} tokens a conversation."
    if not proof.is_enough:
        fewest = min(proof.needed_given, proof.needed_silent)
        yield f"Not enough yet to say what it brings: {fewest} of {proof.least} on either side."
        return
    yield "\nA conversation with memory, without, and the difference (interval of 95 %):"
    yield from describe_differences(proof)
    yield from describe_worth(proof)


def describe_differences(proof: "Proof") -> Iterator[str]:
    """Each measure on a line, and how many of them chance alone makes clear."""
    from reverie.holdout.session_outcomes import MEASURES

    for name, found in proof.differences.items():
        verdict = "" if not found.is_clear else "  fewer" if found.by < 0 else "  more"
        yield (
            f"  {MEASURES[name][0]:<31} {found.with_memory:>9,.1f} {found.without:>9,.1f}  "
            f"{format_difference(found)}{verdict}"
        )
    count = len(proof.differences)
    chance = 1 - 0.95**count
    yield (
        f"Of {count} such lines, one or more leaves out 0 by chance alone in {chance:.0%} of all "
        "cases; corrections are the one to go by."
    )


def describe_worth(proof: "Proof") -> Iterator[str]:
    """What kinds of memories and single ones did, as far as there is enough to say so."""
    for title, found in (("kind", proof.kinds), ("memory", proof.memories[:MAX_LINES])):
        if found:
            yield f"\nCorrections and failures by {title} (conversations given it / silent ones):"
        for one in found:
            worth = "not enough yet" if one.trouble is None else format_difference(one.trouble)
            text = f"  {one_line(one.text, MAX_TEXT_CHARS)}" if one.text else ""
            yield f"  {one.name:<18} {one.given:>4} / {one.withheld:<4} {worth}{text}"


def format_difference(found: "Difference") -> str:
    """A difference with its interval."""
    return f"{found.by:+,.1f} ({found.low:+,.1f} to {found.high:+,.1f})"
