"""The language files in a form that loads fast, what hooks read of them apart, and function words.

python -m tools.languages            write the FILES in src/reverie/text/languages
python -m tools.languages --check    fail if they are not what the language files say
"""

import json
import sys
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from stop_words import get_stop_words

from reverie.text.prompt_phrases import (
    SESSION_TRAITS,
    TRAITS,
    list_languages,
    list_parts,
)
from reverie.text.tokenization import tokenize_query

FOLDER = Path(__file__).parents[1] / "src" / "reverie" / "text" / "languages"
SPACED_SCRIPTS = ("latin", "cyrillic")
KEPT = ("begins", "contains", "longest")


@cache
def read_language_file(code: str) -> dict[str, Any]:
    """A language file as it stands, with its examples."""
    return tomllib.loads((FOLDER / f"{code}.toml").read_text("utf-8"))


def collect_languages() -> str:
    """All languages without their examples, as JSON, one section a line."""
    languages = {code: drop_examples(read_language_file(code)) for code in list_languages()}
    return write_table({code: write_table(rows) for code, rows in languages.items()}) + "\n"


def drop_examples(data: dict[str, Any]) -> dict[str, str]:
    """The sections of a language file as JSON, without the lists that only tests read."""
    return {
        name: write_json(
            {field: part for field, part in section.items() if not field.endswith("examples")}
            if isinstance(section, dict)
            else section
        )
        for name, section in data.items()
    }


def write_table(rows: dict[str, str]) -> str:
    """A JSON object of texts that are JSON themselves, one row a line."""
    lines = ",\n".join(f"{write_json(name)}:{row}" for name, row in rows.items())
    return f"{{\n{lines}\n}}"


def write_json(value: Any) -> str:
    """A value as JSON in as few characters as may be."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def collect_phrases() -> str:
    """The scripts and the phrases of every language, as JSON."""
    found = {}
    for code in list_languages():
        data = read_language_file(code)
        sections = {
            trait: {name: to_fast_form(data[trait][name]) for name in KEPT if name in data[trait]}
            for trait in (*TRAITS, *SESSION_TRAITS)
            if trait in data
        }
        rows = {"scripts": data["scripts"], **sections}
        found[code] = write_table({name: write_json(part) for name, part in rows.items()})
    return write_table(found) + "\n"


def to_fast_form(value: Any) -> Any:
    """Phrases with what tells at once that one cannot match; anything else as it is."""
    if not isinstance(value, list):
        return value
    return [[phrase, *list_parts(phrase)] for phrase in value]


def collect_function_words() -> str:
    """The function words of every language written with spaces but English, one language a line."""
    found = {
        code: {word for word in get_stop_words(code) if tokenize_query(word) == [word]}
        for code in list_languages()
        if code != "en" and read_language_file(code)["scripts"][0] in SPACED_SCRIPTS
    }
    return "".join(f"{code} {' '.join(sorted(words))}\n" for code, words in found.items())


def collect_passwords() -> str:
    """How passwords are said in every language, as JSON."""
    parts = ("owners", "names", "links", "logins", "states", "endings")
    found = {
        code: {part: read_language_file(code)["spoken_password"][part] for part in parts}
        for code in list_languages()
    }
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


def collect_personal_facts() -> str:
    """The words beside which something tells of a person, in every language, as JSON."""
    parts = ("passport", "tax_number", "born", "health", "streets_before", "streets_after")
    found = {
        code: {part: read_language_file(code)["personal_facts"][part] for part in parts}
        for code in list_languages()
    }
    return json.dumps(found, ensure_ascii=False, indent=1, sort_keys=True) + "\n"


FILES = {
    "languages.json": collect_languages,
    "personal.json": collect_personal_facts,
    "prompts.json": collect_phrases,
    "passwords.json": collect_passwords,
    "function_words.txt": collect_function_words,
}


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
