"""Memory in a loop of your own: one decorator.

    python examples/adapters/with_any_loop.py

The model is scripted, so that this runs without a key; put your call of a model in its place.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from reverie.interfaces.frameworks.agent_loop import Beside
from reverie.testing import memory

SPACE = "me/shop"


def scripted(messages: Sequence[dict[str, Any]]) -> str:
    """A model that knows what it reads."""
    return "In cents." if "kept in cents" in str(messages) else "I don't know."


def main(folder: Path) -> list[str]:
    """What was answered on two days."""
    answers = []
    with memory(folder) as mind:
        for day, words in (
            ("monday", "Remember that prices are always kept in cents."),
            ("tuesday", "In which unit do we keep prices?"),
        ):
            with Beside(mind, SPACE, session=day) as beside:
                model = beside(scripted)  # or @beside before its definition
                answers.append(model([{"role": "user", "content": words}]))
            mind.settle()  # a night passes
    return answers


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(main(Path(place)))
