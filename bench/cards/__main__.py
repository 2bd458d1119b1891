"""`python -m bench.cards [--tuned] [--show]`: do memories come up at the tool calls where they
belong, and nowhere else; is what mended an error said so that it helps.

Everything goes the way of a host: memories are kept by `mind.remember`, the table is what the worker
writes for hooks, and calls are held against it as hooks do. Baseline: the same with what was there
before, triggers and files that somebody set or that English prohibitions have. `ORDINARY` calls
beside memories that have nothing to do with them are the noise.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cards import mended, sessions
from bench.cards.cases import HELD_OUT, ORDINARY, TUNED, UNRELATED, Call, Card
from bench.common import save, table
from reverie.interfaces.hooks.hook_event import ToolWarning
from reverie.interfaces.hooks.tool_warnings import find_failure_rows, find_matching_rows
from reverie.interfaces.hooks.warning_table import build_warning_table
from reverie.testing import SPACE, memory
from reverie.text.forbidden_acts import find_act_triggers
from reverie.text.text_signals import find_named_triggers

ROOT = "/home/me/app"


def rows_of(memories: Sequence[tuple[str, str]], home: Path) -> list[ToolWarning]:
    """The rows that the worker writes for these memories (text, kind)."""
    with memory(home, embedder="none") as mind:
        for text, kind in memories:
            mind.remember(text, kind=kind, space=SPACE)
        table = build_warning_table(mind.store, mind.settings, SPACE, mind.context.now())
        return list(table.rows)


def without_cards(rows: Sequence[ToolWarning], text: str) -> list[ToolWarning]:
    """The rows as they were before cards: triggers alone, those of English prohibitions."""
    english = find_act_triggers(text) or find_named_triggers(text)
    return [row._replace(triggers=english, files=(), writes=(), error=False) for row in rows]


def come_up(rows: Sequence[ToolWarning], call: Call) -> list[str]:
    """The lines that a call brings up."""
    found = [row.line for row, _ in find_matching_rows(rows, call.tool, call.given, (), 0.0, ROOT)]
    if call.error:
        command = str(call.given.get("command", ""))
        found += [row.line for row, _ in find_failure_rows(rows, call.error, command, ())]
    return found


def measure(cards: Sequence[Card], home: Path, *, show: bool) -> dict[str, Any]:
    """How many calls bring up what belongs to them, by what calls it up."""
    counts: dict[str, list[int]] = {}
    for number, card in enumerate(cards):
        rows = rows_of([(card.text, card.kind)], home / str(number))
        row = counts.setdefault(card.what, [0] * 6)
        for call in card.hits:
            hit = bool(come_up(rows, call))
            row[0] += hit
            row[1] += bool(come_up(without_cards(rows, card.text), call))
            row[2] += 1
            if show and not hit:
                print("missed:", card.text, "|", call)
        for call in card.misses:
            wrong = bool(come_up(rows, call))
            row[3] += wrong
            row[4] += bool(come_up(without_cards(rows, card.text), call))
            row[5] += 1
            if show and wrong:
                print("wrong:", card.text, "|", call)
    names = ("came", "before", "of", "wrong", "wrong before", "of like calls")
    return {what: dict(zip(names, row, strict=True)) for what, row in counts.items()}


def noise(home: Path, *, show: bool) -> dict[str, Any]:
    """What ordinary calls bring up of memories that have nothing to do with them."""
    rows = rows_of(UNRELATED, home)
    said = [(call, line) for call in ORDINARY for line in come_up(rows, call)]
    if show:
        for call, line in said:
            print("noise:", line, "|", call)
    pairs = len(ORDINARY) * len(UNRELATED)
    return {"calls": len(ORDINARY), "memories": len(UNRELATED), "pairs": pairs, "said": len(said)}


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tuned", action="store_true", help="only what was looked at")
    parser.add_argument("--show", action="store_true", help="print what is missed or wrong")
    options = parser.parse_args()
    sets = {"tuned": TUNED} if options.tuned else {"tuned": TUNED, "held out": HELD_OUT}
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, cards in sets.items():
            results[name] = measure(cards, Path(folder, name), show=options.show)
        results["noise"] = noise(Path(folder, "noise"), show=options.show)
    played = {"tuned": sessions.TUNED, "held out": sessions.HELD_OUT}
    results["mended"] = {name: mended.measure(played[name], show=options.show) for name in sets}
    lines = [
        [name, what, *row.values()] for name in sets for what, row in sorted(results[name].items())
    ]
    table(lines, ["set", "by", "came", "before", "of", "wrong", "before", "of like calls"])
    table([list(results["noise"].values())], list(results["noise"]))
    table(
        [[name, *row.values()] for name, row in results["mended"].items()],
        ["errors met again", "of", "said before", "said afterwards"],
    )
    if not options.tuned:
        save("cards", results)


if __name__ == "__main__":
    main()
