"""What is said of an error that was mended before: held against sessions as hosts tell of them."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.cards.sessions import Ask, Session
from reverie import Mind
from reverie.testing import memory

SPACE, ELSEWHERE = "me/shop", "me/blog"


def play(mind: Mind, session: Session, *, talks_last: bool) -> None:
    """Record a session; where it `talks_last`, what the agent says comes when the turn is over."""
    waiting: list[str] = []
    for step in session.steps:
        if step.what == "said":
            waiting.append(step.text)
            if not talks_last:
                say(mind, session, [waiting.pop()])
        elif step.what == "run":
            mind.record_tool(
                "Bash", {"command": step.text}, error=step.error, session=session.name, space=SPACE
            )
        else:
            mind.record_tool(
                "Edit",
                {"file_path": step.text, "old_string": step.old, "new_string": step.new},
                session=session.name,
                space=SPACE,
            )
        mind.context.flush()
    if waiting:
        say(mind, session, waiting)
    mind.settle()


def say(mind: Mind, session: Session, texts: Sequence[str]) -> None:
    """The agent says something."""
    messages = [{"role": "assistant", "text": " ".join(texts)}]
    mind.record("turn", {"messages": messages, "first": 0}, space=SPACE, session=session.name)


def judge(mind: Mind, ask: Ask) -> str:
    """What is wrong with what is said of an error; empty if it is as it should be."""
    found = mind.activity.suggest_fix(ask.error, space=ELSEWHERE if ask.elsewhere else SPACE)
    text = "\n".join(one.memory.text for one in found)
    if not ask.holds:
        return f"said {text!r}" if text else ""
    lacking = [words for words in ask.holds if words not in text]
    wrong = [words for words in ask.lacks if words in text]
    return f"lacks {lacking}, has {wrong}: {text!r}" if lacking or wrong else ""


def measure(sessions: Sequence[Session], *, show: bool) -> dict[str, Any]:
    """How many errors are answered as they should be; what the agent says comes before the success
    or when the turn is over.
    """
    found: dict[str, Any] = {"of": sum(len(session.asks) for session in sessions)}
    for name, talks_last in (("said before", False), ("said afterwards", True)):
        right = 0
        for session in sessions:
            with (
                tempfile.TemporaryDirectory() as folder,
                memory(Path(folder, "home"), embedder="none") as mind,
            ):
                play(mind, session, talks_last=talks_last)
                for ask in session.asks:
                    wrong = judge(mind, ask)
                    right += not wrong
                    if wrong and show:
                        print(f"{name}: {session.name}: {ask.error[:60]!r}: {wrong}")
        found[name] = right
    return found
