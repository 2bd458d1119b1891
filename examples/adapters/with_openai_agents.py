"""Memory in an agent on OpenAI's Agents SDK: history, hooks and a filter of what the model is sent.

    pip install 'reverie[openai-agents]' && python examples/adapters/with_openai_agents.py

The model is scripted, so that this runs without a key; leave `model=` out for OpenAI's.
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from reverie.interfaces.frameworks.openai_agents import AgentMemory
from reverie.testing import memory

SPACE = "me/shop"


class Scripted(Model):
    """A model that knows what it reads; `read` is all that it was sent."""

    def __init__(self) -> None:
        self.read: list[Any] = []

    async def get_response(self, *_: Any, input: Any, **__: Any) -> ModelResponse:
        self.read.append(input)
        text = "In cents." if "kept in cents" in str(input) else "I don't know."
        part = ResponseOutputText(type="output_text", text=text, annotations=[])
        said = ResponseOutputMessage(
            id="msg_1", type="message", role="assistant", status="completed", content=[part]
        )
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError


async def days(folder: Path, model: Scripted) -> list[str]:
    """What was answered on two days."""
    agent, answers = Agent(name="Clerk", instructions="You are careful.", model=model), []
    with memory(folder) as mind:
        for day, words in (
            ("monday", "Remember that prices are always kept in cents."),
            ("tuesday", "In which unit do we keep prices?"),
        ):
            beside = AgentMemory(mind, SPACE, session=day)
            done = await Runner.run(
                agent,
                words,
                session=beside.history,
                hooks=beside,
                run_config=beside.run_config(RunConfig(tracing_disabled=True)),
            )
            answers.append(str(done.final_output))
            await beside.close()
            await asyncio.to_thread(mind.settle)  # a night passes
    return answers


def main(folder: Path) -> list[str]:
    return asyncio.run(days(folder, Scripted()))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(main(Path(place)))
