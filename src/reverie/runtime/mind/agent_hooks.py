"""The hooks of one conversation, for an agent of one's own.

A thin composition of the companion and the verbs, with nothing of its own but the order:

    start     reads in what people edited; loads the conversation's working memory, recent episodes,
              what is known of the task and how it is done, and reminders that are due
    before    what comes up by itself, reminders among it; a full context is condensed, at worst
              cut; the block stands at the end of what is sent
    after     the answer and tool results are written down, learned from and prepared for
    end       what is queued is written and learned from; working memory is cleared

Provider-neutral: messages are OpenAI's or Anthropic's. Go on with the messages that `before`
returns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from reverie.context_window.injection_block import EMPTY_BLOCK, Block, append_block, render_block
from reverie.core.model import Hit, Memory
from reverie.memory.working_memory import HeldContent
from reverie.retrieval.rescoring import can_surface
from reverie.text.token_counts import QuarterEstimate, Tokenizer

if TYPE_CHECKING:
    from reverie.context_window.condensing.summary_draft import CondensedMessages
    from reverie.mirror.space_sync import MirrorReport
    from reverie.runtime.companion import Companion
    from reverie.runtime.mind import Mind
    from reverie.runtime.settle import SettleReport

# Newest episodes that a conversation begins with.
START_EPISODES = 5


class ContextSize(NamedTuple):
    """What the model's context holds."""

    limit: int  # tokens
    strategy: str = "hybrid"  # how it is condensed
    tokenizer: Tokenizer = QuarterEstimate()


class StartContext(NamedTuple):
    """What a conversation begins with. Reminders in `due` do not fire: the first block
    gives them.
    """

    held: HeldContent  # working memory of the conversation, if it goes on after a crash
    lately: list[Memory]  # newest episodes
    known: list[Hit]  # facts, preferences and decisions about the task
    procedures: list[Memory]  # whose trigger the task meets
    due: list[Hit]  # reminders
    pages: list[MirrorReport]  # what people edited in the mirror, and questions to them
    block: Block  # `known`, `procedures` and `lately` as text, for the system prompt


class PreparedPrompt(NamedTuple):
    """The messages to send now, and the conversation to continue with."""

    prompt: list[Any]  # the messages to send: the conversation, with the block at its end
    messages: list[Any]  # the conversation, to go on with
    block: Block  # the injected memories, as they stand in the prompt
    condensed: CondensedMessages
    trouble: str = ""  # what to do if even what has to stay does not fit


class AgentConversation:
    """One conversation of an agent. Use it as a context manager, or call `end`."""

    def __init__(
        self,
        mind: Mind,
        companion: Companion,
        context_size: ContextSize,
    ) -> None:
        self.companion, self.context_size = companion, context_size
        self._mind = mind

    def start(self, task: str = "") -> StartContext:
        """Read in what people edited, and load what a conversation about `task` begins with."""
        mind, space = self._mind, self.companion.space
        if self.companion.is_off:
            return StartContext(HeldContent(), [], [], [], [], [], EMPTY_BLOCK)
        # Of all spaces: what somebody edited above this one counts here as well.
        pages = mind.data.mirror()
        mind.files.sync(space=space)
        # After the mirror was read in: people may have edited what is loaded here.
        held = mind.sessions.held(self.companion.session, space=space)
        lately = mind.episodes.browse(space=space, limit=START_EPISODES)
        known: list[Hit] = []
        procedures: list[Memory] = []
        if task:
            limit = mind.settings.limit
            known = mind.recall(task, space=space, limit=limit, types=["semantic"])
            procedures = mind.procedures.find(task, space=space)
        others = [Hit(memory, 0.0, ("begin",)) for memory in (*procedures, *lately)]
        hits = [hit for hit in (*known, *others) if can_surface(hit.memory, mind.work.now)]
        block = render_block(hits, mind.work.now, limit=len(hits), budget=mind.settings.budget)
        return StartContext(
            held, lately, known, procedures, mind.reminders.due(task, space=space), pages, block
        )

    def before(
        self,
        messages: Sequence[Any],
        *,
        task: str = "",
    ) -> PreparedPrompt:
        """What to send to the model: the conversation, condensed if it is time, with memories at
        its end.
        """
        block = self.companion.turn(messages)
        limit, strategy, tokenizer = self.context_size
        condensed = self.companion.condense(
            messages,
            limit=limit,
            task=task,
            strategy=strategy,
            tokenizer=tokenizer,
        )
        # Condensing has its own pace and minimum; what is then still too long is cut.
        fitted = self.companion.fit(
            condensed.messages,
            limit=limit,
            task=task,
            tokenizer=tokenizer,
        )
        return PreparedPrompt(
            append_block(fitted.messages, block), fitted.messages, block, condensed, fitted.trouble
        )

    def after(self, messages: Sequence[Any]) -> None:
        """Hand over the conversation with the model's answer and tool results, to be learned from
        in the background.
        """
        self.companion.heed(messages)

    def end(self) -> SettleReport:
        """End the conversation: write what is queued and learn from it now. Twice does no harm."""
        self.companion.wait()
        self.companion.close()
        # Where other conversations of this mind go on, their thread writes the end of this one.
        self.companion.wait()
        return self._mind.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed:
            # What was said is safe; whoever settles next learns from it.
            self.companion.close()
        else:
            self.end()
