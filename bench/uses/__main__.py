"""Whether memory sees that what it gave was used. `python -m bench.uses`

Cases in `cases.jsonl`, made by hand before the code: a memory, what the user asked, what the agent
did next, and whether it used the memory. A case is a real conversation: the memory is given with
the turn, what the agent says and its tools follow as events, and the reader of the log counts. Beside
it, every memory is given to every other case's agent, who has nothing to do with it. Cases are held
out by a hash of their id; nothing was fitted on those.

    any word      a memory counts as used if one of its words comes back: what a plain match would say
    as it ships   `extraction.memory_uses`
"""

import argparse
import json
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from unittest import mock

from bench.common import save, table
from reverie.core.model import Event, Memory
from reverie.extraction import memory_uses
from reverie.testing import memory
from reverie.text.domain_stopwords import stems_of

CASES = Path(__file__).with_name("cases.jsonl")
SPACE = "me/demo"
HEAD = ("cases", "used", "seen", "ignored", "wrongly counted", "strangers", "wrongly counted there")
Case = dict[str, Any]


def is_held_out(case: Case) -> bool:
    return sha256(case["id"].encode()).digest()[0] % 2 == 0


def any_word(action: str, one: Memory, _heard: object) -> bool:
    return bool(stems_of(one.text) & stems_of(action))


def is_counted(case: Case, text: str) -> bool:
    """True if a memory that was given with a case's question counts as used by what was done."""
    with memory(embedder="none") as mind:
        kept = mind.remember(text, space=SPACE)
        say = {"role": "user", "text": case["asked"]}
        events = [Event("turn", SPACE, 1.0, "s", {"messages": [say], "given": [kept.id]})]
        for did in case["did"]:
            if isinstance(did, str):
                said = {"role": "assistant", "text": did}
                events.append(Event("turn", SPACE, 2.0, "s", {"messages": [said]}))
            else:
                run = {"tool": did["tool"], "parameters": did["input"]}
                events.append(Event("tool", SPACE, 2.0, "s", run))
        mind.store.append(events)
        mind.settle()
        return mind.get([kept.id])[0].access_count > 0


def measure(cases: Sequence[Case], *, show: bool) -> dict[str, int]:
    """The counts of some cases."""
    counts = dict.fromkeys(HEAD, 0)
    for place, case in enumerate(cases):
        seen = is_counted(case, case["memory"])
        counts["cases"] += 1
        counts["used" if case["used"] else "ignored"] += 1
        if seen:
            counts["seen" if case["used"] else "wrongly counted"] += 1
        if show and seen != case["used"]:
            print("  ", case["id"], "missed" if case["used"] else "wrongly counted")
        for other in (*cases[:place], *cases[place + 1 :]):
            if other["memory"] != case["memory"]:
                counts["strangers"] += 1
                counts["wrongly counted there"] += is_counted(case, other["memory"])
    return counts


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--held-out", action="store_true", help="also the held-out half")
    args = parser.parse_args()
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    ways: dict[str, Callable[..., bool]] = {
        "any word": any_word,
        "as it ships": memory_uses.uses_memory,
    }
    result: dict[str, dict[str, int]] = {}
    for part in ("develop", *(("held out",) if args.held_out else ())):
        chosen = [case for case in cases if is_held_out(case) == (part == "held out")]
        for name, way in ways.items():
            with mock.patch.object(memory_uses, "uses_memory", way):
                show = part == "develop" and name == "as it ships"
                result[f"{part}, {name}"] = measure(chosen, show=show)
    table([(name, *(row[c] for c in HEAD)) for name, row in result.items()], ("uses", *HEAD))
    if args.held_out:
        print(save("uses", result))


if __name__ == "__main__":
    main()
