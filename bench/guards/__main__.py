"""How many plainly worded prohibitions stop what they forbid, and nothing else. `python -m
bench.guards`

Each text is kept as the user's own prohibition, its triggers are derived, and calls of tools are
held against them as a hook does before a tool runs. Met: every call that the text forbids is
stopped. Wrong: a call that only looks like one is stopped. Target on texts that the rules
were not written for: at least 94 % met, at most 1 % wrong.
"""

import argparse
import tomllib
from pathlib import Path
from typing import Any

from bench.common import save, table
from reverie.core.forbidden_calls import is_forbidden_call, stopping_triggers
from reverie.core.tool_calls import ToolCall
from reverie.core.trigger_patterns import TriggerContext, context_of_tool_call
from reverie.text.text_signals import derive_triggers

CASES = Path(__file__).with_name("cases.toml")
BRANCH = "topic"
TOOLS = ("Edit", "Write", "Read")


def see_call(call: str) -> TriggerContext:
    """What a call of a case does."""
    tool, colon, rest = call.partition(": ")
    if not colon or tool not in TOOLS:
        tool, given = "Bash", {"command": call}
    else:
        path, _, text = rest.partition(" | ")
        given = {"file_path": path} | (
            {"content" if tool == "Write" else "new_string": text} if text else {}
        )
    context = context_of_tool_call(tool, given)
    seen = ToolCall(tool, given)
    seen.branch = BRANCH
    return context._replace(call=seen)


def stops(triggers: tuple[str, ...], call: str) -> bool:
    """Whether a call is stopped by one of these triggers."""
    context = see_call(call)
    return any(is_forbidden_call(one, context) for one in stopping_triggers(triggers))


def score_half(cases: list[dict[str, Any]]) -> dict[str, Any]:
    """How many prohibitions are met, how many look-alikes are stopped, and which."""
    missed, wrong, looks = [], [], 0
    for case in cases:
        triggers = derive_triggers(case["text"])
        looks += len(case["looks"])
        if gone := [call for call in case["calls"] if not stops(triggers, call)]:
            missed.append(f"{case['text']}  {triggers}  {gone}")
        wrong += [
            f"{case['text']}  {triggers}  {one}" for one in case["looks"] if stops(triggers, one)
        ]
    return {
        "prohibitions": len(cases),
        "met": len(cases) - len(missed),
        "look_alikes": looks,
        "wrong": len(wrong),
        "missed": missed,
        "stopped_wrongly": wrong,
    }


def main() -> None:
    """Score both halves and save the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--show", action="store_true", help="what was missed in the tuned half")
    options = parser.parse_args()
    cases = tomllib.loads(CASES.read_text("utf-8"))["case"]
    halves = {
        half: [one for one in cases if one["half"] == half] for half in ("tuned", "held", "fresh")
    }
    found = {half: score_half(rows) for half, rows in halves.items()}
    counts = ("prohibitions", "met", "look_alikes", "wrong")
    table([(half, *(values[n] for n in counts)) for half, values in found.items()], ("", *counts))
    if options.show:
        print(*found["tuned"]["missed"], *found["tuned"]["stopped_wrongly"], sep="\n")
    figures = {half: {name: values[name] for name in counts} for half, values in found.items()}
    languages = sorted({one["lang"] for one in cases})
    figures["met_by_language"] = {
        lang: score_half([one for one in cases if one["lang"] == lang])["met"] for lang in languages
    }
    save("guards", figures)


if __name__ == "__main__":
    main()
