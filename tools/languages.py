"""What hooks read of the language files, in one file that loads fast.

python -m tools.languages            write src/reverie/text/languages/prompts.json
python -m tools.languages --check    fail if it is not what the language files say
"""

import json
import sys
from pathlib import Path
from typing import Any

from reverie.text.prompt_phrases import (
    SESSION_TRAITS,
    TRAITS,
    list_languages,
    load_language,
    split_phrase,
)

TARGET = Path(__file__).parents[1] / "src" / "reverie" / "text" / "languages" / "prompts.json"
KEPT = ("begins", "contains", "longest")


def collect_phrases() -> str:
    """The scripts and the phrases of every language, as JSON."""
    found = {}
    for code in list_languages():
        data = load_language(code)
        sections = {
            trait: {name: to_fast_form(data[trait][name]) for name in KEPT if name in data[trait]}
            for trait in (*TRAITS, *SESSION_TRAITS)
            if trait in data
        }
        found[code] = {"scripts": data["scripts"], **sections}
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def to_fast_form(value: Any) -> Any:
    """Phrases with what tells at once that one cannot match; anything else as it is."""
    if not isinstance(value, list):
        return value
    return [[phrase, *split_phrase(phrase)] for phrase in value]


def main() -> int:
    """Write the file, or with --check compare it."""
    wanted = collect_phrases()
    if "--check" in sys.argv:
        if TARGET.read_text("utf-8") == wanted:
            return 0
        print("prompts.json is not what the language files say: run python -m tools.languages")
        return 1
    TARGET.write_text(wanted, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
