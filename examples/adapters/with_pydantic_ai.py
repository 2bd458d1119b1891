"""Memory in a Pydantic AI agent: one capability.

    pip install 'reverie[pydantic-ai]' && python examples/adapters/with_pydantic_ai.py

The model is Pydantic AI's own for tests, so that this runs without a key; name yours in its place.
"""

import asyncio
import tempfile
from pathlib import Path

from pydantic_ai import Agent, ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from reverie.interfaces.frameworks.pydantic_ai import MemoryCapability
from reverie.testing import memory

SPACE = "me/shop"


def scripted(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """A model that knows what it reads."""
    return ModelResponse(
        [TextPart("In cents." if "kept in cents" in str(messages) else "I don't know.")]
    )


async def days(folder: Path) -> list[str]:
    """What was answered on two days."""
    answers = []
    with memory(folder) as mind:
        beside = MemoryCapability(mind, SPACE)
        agent = Agent(FunctionModel(scripted), capabilities=[beside])
        for day, words in (
            ("monday", "Remember that prices are always kept in cents."),
            ("tuesday", "In which unit do we keep prices?"),
        ):
            answers.append((await agent.run(words, conversation_id=day)).output)
            await beside.close()
            await asyncio.to_thread(mind.settle)  # a night passes
    return answers


def main(folder: Path) -> list[str]:
    return asyncio.run(days(folder))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        print(main(Path(place)))
