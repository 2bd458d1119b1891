"""What hooks read of the language files, in files that load fast, and the function words beside.

python -m tools.languages            write prompts.json and function_words.txt in src/reverie/text/languages
python -m tools.languages --check    fail if they are not what the language files say
"""

import json
import sys
from pathlib import Path
from typing import Any

from stop_words import get_stop_words

from reverie.text.prompt_phrases import (
    SESSION_TRAITS,
    TRAITS,
    list_languages,
    load_language,
    split_phrase,
)
from reverie.text.tokenization import tokenize_query

FOLDER = Path(__file__).parents[1] / "src" / "reverie" / "text" / "languages"
SPACED_SCRIPTS = ("latin", "cyrillic")
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


def collect_function_words() -> str:
    """The function words of every language written with spaces but English, one language a line."""
    found = {
        code: {word for word in get_stop_words(code) if tokenize_query(word) == [word]}
        for code in list_languages()
        if code != "en" and load_language(code)["scripts"][0] in SPACED_SCRIPTS
    }
    return "".join(f"{code} {' '.join(sorted(words))}\n" for code, words in found.items())


FILES = {"prompts.json": collect_phrases, "function_words.txt": collect_function_words}


def main() -> int:
    """Write the files, or with --check compare them."""
    for name, collect in FILES.items():
        path, wanted = FOLDER / name, collect()
        if "--check" not in sys.argv:
            path.write_text(wanted, "utf-8")
        elif path.read_text("utf-8") != wanted:
            print(f"{name} is not what the language files say: run python -m tools.languages")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
