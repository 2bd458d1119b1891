"""A whole agent on Reverie's hooks: it repairs a small project, runs out of room, and remembers the
next day.

    python examples/agent.py

The model is scripted, so that this runs without a key; put yours in its place: anything that takes
messages in OpenAI's shape and returns the assistant's. The loop (`work`) and the tools are as they
would be. Nothing outside a temporary folder is touched, and the clock is one that the script moves
on by a day.
"""

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import reverie
from reverie.runtime.mind import Mind
from reverie.runtime.mind.agent_hooks import AgentConversation, PreparedPrompt
from reverie.testing import Clock

Message = dict[str, Any]
Model = Callable[[Sequence[Message]], Message]

SPACE = "me/shop"
LIMIT = 3_000  # tokens: a small model, so that one repair fills it
SYSTEM = "You are a careful programmer. You have the tools read_file, run, edit and remind."


# Tools


class Tools:
    """What the agent can do, within one folder."""

    def __init__(self, root: Path, mind: Mind) -> None:
        self.root, self.mind = root, mind

    def read_file(self, path: str) -> str:
        """The text of a file."""
        return (self.root / path).read_text("utf-8")

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace a piece of a file."""
        file = self.root / path
        text = file.read_text("utf-8")
        if text.count(old) != 1:
            return f"error: the piece occurs {text.count(old)} times in {path}"
        file.write_text(text.replace(old, new), "utf-8")
        return f"{path} was changed"

    def run(self, command: str) -> str:
        """Run a Python command and return what it printed. No bytecode: a file may change twice
        within its second.
        """
        done = subprocess.run(
            [sys.executable, "-B", *shlex.split(command)],
            cwd=self.root,
            capture_output=True,
            text=True,
            check=False,
        )
        return f"exit code {done.returncode}\n{done.stdout}{done.stderr}"

    def remind(self, text: str, when: str) -> str:
        """Do something later."""
        self.mind.remind(text, when=when, space=SPACE)
        return f"will be reminded {when}"

    def answer(self, call: Message) -> Message:
        """What a call returns, as a message."""
        function = call["function"]
        try:
            result = getattr(self, function["name"])(**json.loads(function["arguments"]))
        except (OSError, reverie.ReverieError) as err:
            result = f"error: {err}"
        return {"role": "tool", "tool_call_id": call["id"], "content": result}


# The loop


class Step(NamedTuple):
    """One call of the model: what it was sent, and what it said."""

    ready: PreparedPrompt
    reply: Message


def work(
    talk: AgentConversation, model: Model, tools: Tools, messages: list[Message]
) -> tuple[list[Message], list[Step]]:
    """Go on until the model asks for no more tools. Returns the conversation and its steps."""
    steps: list[Step] = []
    while True:
        ready = talk.before(messages)
        reply = model(ready.prompt)
        steps.append(Step(ready, reply))
        results = [tools.answer(call) for call in reply.get("tool_calls", ())]
        messages = [*ready.messages, reply, *results]
        talk.after(messages)
        if not results:
            return messages, steps


def conversation(
    mind: Mind, session: str, model: Model, tools: Tools, asked: Sequence[str]
) -> list[Step]:
    """One conversation from its start to its end."""
    steps: list[Step] = []
    with mind.conversation(SPACE, session=session, limit=LIMIT) as talk:
        loaded = talk.start(asked[0])
        messages = [{"role": "system", "content": f"{SYSTEM}\n{loaded.block.text}".strip()}]
        for words in asked:
            messages, more = work(
                talk, model, tools, [*messages, {"role": "user", "content": words}]
            )
            talk.companion.wait()  # a person takes longer to answer than memory to prepare
            steps += more
    return steps


# A project with a mistake in it, and a model that finds it


SHELF = (
    "def shelf_{n}_{m}(cents):\n    # shelf {n}, board {m}: the label is printed in the colour of the season\n"
    "    return cents + {n} * 100 + {m}\n\n\n"
)
PROJECT = {
    **{f"shelf_{n}.py": "".join(SHELF.format(n=n, m=m) for m in range(9)) for n in range(8)},
    "prices.py": '"""Prices of the shop, in cents."""\n\n\ndef total(cents, pieces):\n    return cents / pieces\n',
    "test_prices.py": "import unittest\n\nfrom prices import total\n\n\nclass Prices(unittest.TestCase):\n"
    "    def test_total(self):\n        self.assertEqual(600, total(200, 3))\n",
}
TEST = "-m unittest -q test_prices"
FIRST_DAY = (
    "The tests of the shop fail, please repair them.",
    "Remember that prices are always kept in cents, never as floats.",
    "Remind yourself to publish the release tomorrow.",
)
SECOND_DAY = ("Good morning. In which unit do we keep prices?", "And what did we repair yesterday?")


def call(name: str, **arguments: str) -> Message:
    """An answer of the model that asks for a tool."""
    id = f"call_{name}_{abs(hash((name, *arguments.values()))) % 10**8}"
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {
                "id": id,
                "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)},
            }
        ],
    }


def say(text: str) -> Message:
    """An answer of the model in words."""
    return {"role": "assistant", "content": text}


def scripted(lines: Iterator[Message | Callable[[str], Message]]) -> Model:
    """A model that says one line after the other; a line may look at all that it was sent."""

    def model(prompt: Sequence[Message]) -> Message:
        line = next(lines)
        return (
            line("\n".join(str(message["content"]) for message in prompt))
            if callable(line)
            else line
        )

    return model


def first_day() -> Model:
    """Looks, repairs, tests, answers."""
    return scripted(
        iter(
            [
                call("run", command=TEST),
                call("read_file", path="test_prices.py"),
                *(call("read_file", path=f"shelf_{n}.py") for n in range(8)),
                call("read_file", path="prices.py"),
                call(
                    "edit",
                    path="prices.py",
                    old="return cents / pieces",
                    new="return cents * pieces",
                ),
                call("run", command=TEST),
                lambda sent: say(
                    "The tests pass: total() divided where it has to multiply."
                    if "OK" in sent
                    else "It fails."
                ),
                say("I will keep prices in cents."),
                call("remind", text="Publish the release of the shop", when="tomorrow at 9"),
                say("I will be reminded tomorrow at 9."),
            ]
        )
    )


def second_day() -> Model:
    """Knows what it was told and what it did, from memory alone."""
    return scripted(
        iter(
            [
                lambda sent: say(
                    ("In cents. " if "always kept in cents" in sent else "I don't know. ")
                    + (
                        "And today the release is to be published."
                        if "Publish the release" in sent
                        else ""
                    )
                ),
                lambda sent: say(
                    "total(), which divided." if "total() divided" in sent else "I don't know."
                ),
            ]
        )
    )


def main(folder: Path) -> dict[str, list[Step]]:
    """Two days of work and their steps."""
    root = folder / "shop"
    root.mkdir()
    for name, text in PROJECT.items():
        (root / name).write_text(text, "utf-8")
    clock = Clock()
    days: dict[str, list[Step]] = {}
    with reverie.open(folder / "memory", now=clock) as mind:
        tools = Tools(root, mind)
        days["monday"] = conversation(mind, "monday", first_day(), tools, FIRST_DAY)
        clock.tick(days=1.5)
        days["tuesday"] = conversation(mind, "tuesday", second_day(), tools, SECOND_DAY)
    return days


def show(days: dict[str, list[Step]]) -> None:
    """What happened, for a person."""
    for day, steps in days.items():
        print(f"== {day}")
        for ready, reply in steps:
            last = ready.messages[-1]
            print(f"{last['role']:>9}  {str(last['content'])[:70]!r}")
            if ready.condensed.done:
                print(f"  condensed  {ready.condensed.before:,} → {ready.condensed.after:,} tokens")
            for memory in ready.block.memories:
                print(f"  came up    {memory.text[:70]!r}")
            if reply["content"]:
                print(f"assistant  {reply['content']}")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        show(main(Path(place)))
