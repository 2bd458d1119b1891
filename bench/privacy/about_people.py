"""What is held back from a team's file because it is about a person: `python -m
bench.privacy.about_people`

Statements of `about_people.toml` in four languages, private ones and ones of a project; "held out"
was written before any rule. Recall is the share of the private ones that are held back, precision
the share of what is held back that is private. "kind alone" is what was held back before: the
preferences of the user, none of which these are kept as.
"""

import tomllib
from pathlib import Path

from bench.common import save, table
from reverie.text.personal_matters import is_personal

CASES = Path(__file__).with_name("about_people.toml")


def main() -> None:
    rows = {}
    for part, cases in tomllib.loads(CASES.read_text("utf-8")).items():
        held = [text for text in cases["private"] if is_personal(text)]
        wrong = [text for text in cases["project"] if is_personal(text)]
        rows[f"{part} · kind alone"] = {"recall": 0.0, "precision": 1.0, "wrong": 0}
        rows[f"{part} · what is said"] = {
            "recall": len(held) / len(cases["private"]),
            "precision": len(held) / max(1, len(held) + len(wrong)),
            "wrong": len(wrong),
        }
    columns = ("recall", "precision", "wrong")
    table([(name, *(row[one] for one in columns)) for name, row in rows.items()], ("", *columns))
    save("privacy-about-people", rows)


if __name__ == "__main__":
    main()
