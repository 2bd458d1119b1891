"""The hooks of one conversation, for whoever writes an agent: at its start, around each call of the
model, at its end.

A thin composition of the companion and the verbs, with nothing of its own but the order (C76–C83,
C112–C116):

    start     what people edited is read in; what the conversation held, what happened lately, what is
              known of the task and how it is done, what is due                                        C79, C112, C113
    before    what comes up by itself, reminders among it; a full context is condensed, at worst cut;
              the block stands at the end of what is sent                                             C77, C78, C80, C81
    after     the answer and what tools returned are written down, learned from and prepared for       C76, C83, C114
    end       what is queued is written down and learned, working memory is cleared                           C83, C115

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

if TYPE_CHECKING:
    from reverie.context_window.condensing.summary_draft import CondensedMessages
    from reverie.mirror.space_sync import MirrorReport
    from reverie.runtime.companion import Companion
    from reverie.runtime.mind import Mind
    from reverie.runtime.settle import SettleReport
    from reverie.text.token_counts import Tokenizer

START_EPISODES = 5  # episodes that a conversation begins with


class ContextSize(NamedTuple):
    """What the model's context holds."""

    limit: int  # tokens
    strategy: str = "hybrid"  # how it is condensed
    tokenizer: Tokenizer | None = None


class StartContext(NamedTuple):
    """What a conversation begins with. Looking at what is due does not fire it: the first block
    gives it.
    """

    held: HeldContent  # working memory of the conversation, if it goes on after a crash
    lately: list[Memory]  # what happened, newest first
    known: list[Hit]  # of the task: facts, preferences, decisions
    procedures: list[Memory]  # whose trigger the task meets
    due: list[Hit]  # reminders
    pages: list[MirrorReport]  # of the mirror: what people edited, and what they have to be asked
    block: Block  # known, procedures, lately as text, for wherever it stays


class PreparedPrompt(NamedTuple):
    """What to send now, and what to go on with."""

    prompt: list[Any]  # the messages to send: the conversation, and the block at its end
    messages: list[Any]  # the conversation, to go on with
    block: Block  # what came up, as it stands in the prompt
    condensed: CondensedMessages
    trouble: str = ""  # what to do if even what has to stay does not fit


class AgentConversation:
    """One conversation of an agent. Use it as a context manager, or call `end`."""

    def __init__(self, mind: Mind, companion: Companion, room: ContextSize) -> None:
        self.companion, self.context_size = companion, room
        self._mind = mind

    def start(self, task: str = "") -> StartContext:
        """Read in what people edited, and load what a conversation about `task` should
        begin with.
        """
        mind, space = self._mind, self.companion.space
        if self.companion.is_off:
            return StartContext(HeldContent(), [], [], [], [], [], EMPTY_BLOCK)
        pages = mind.mirror()
        mind.sync_files(space=space)
        held = mind.held(self.companion.session, space=space)
        lately = mind.episodes(space=space, limit=START_EPISODES)
        known = (
            mind.recall(task, space=space, limit=mind.settings.limit, types=["semantic"])
            if task
            else []
        )
        procedures = mind.procedures(task, space=space) if task else []
        hits = [
            hit
            for hit in (
                *known,
                *(Hit(memory, 0.0, ("begin",)) for memory in (*procedures, *lately)),
            )
            if can_surface(hit.memory, mind.work.now)
        ]
        block = render_block(hits, mind.work.now, limit=len(hits), budget=mind.settings.budget)
        return StartContext(
            held, lately, known, procedures, mind.due(task, space=space), pages, block
        )

    def before(self, messages: Sequence[Any], *, task: str = "") -> PreparedPrompt:
        """What to send to the model: memories at the end, the conversation condensed where it is
        time.
        """
        block = self.companion.turn(messages)
        limit, strategy, tokenizer = self.context_size
        condensed = self.companion.condense(
            messages, limit=limit, task=task, strategy=strategy, tokenizer=tokenizer
        )
        fitted = self.companion.fit(condensed.messages, limit=limit, task=task, tokenizer=tokenizer)
        return PreparedPrompt(
            append_block(fitted.messages, block), fitted.messages, block, condensed, fitted.trouble
        )

    def after(self, messages: Sequence[Any]) -> None:
        """The conversation with the model's answer, and with what tools returned: kept and learned
        from meanwhile.
        """
        self.companion.heed(messages)

    def end(self) -> SettleReport:
        """The conversation is over: write down what is queued and learn from it now. Twice does no
        harm.
        """
        self.companion.wait()
        self.companion.close()
        # where other conversations of this mind go on, their thread writes down the end
        self.companion.wait()
        return self._mind.settle()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failed: object, *_: object) -> None:
        if failed:
            self.companion.close()  # what was said is safe; whoever settles next learns from it
        else:
            self.end()
