"""Verbs beside a conversation and after it: recording, companions, settling, consolidation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.core.model import OWN_VERBS, Event
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase
from reverie.text.argument_checks import check_whole_number

if TYPE_CHECKING:
    from reverie.consolidation.sleep_loop import SleepReport
    from reverie.context_window.condensing.summary_draft import CondensedMessages
    from reverie.context_window.window_fitting import FittedMessages
    from reverie.extraction.rule_extraction import RejectedCandidate
    from reverie.extraction.transcript_learning import LearnReport
    from reverie.mirror.space_sync import MirrorReport
    from reverie.runtime.companion import Companion
    from reverie.runtime.mind.agent_hooks import AgentConversation
    from reverie.runtime.settle import SettleReport
    from reverie.text.token_counts import Tokenizer


class SessionVerbs(MindBase):
    """The verbs of conversations and of background work."""

    def record(
        self,
        verb: str,
        payload: Mapping[str, Any] | None = None,
        *,
        space: str | None = None,
        session: str = "",
    ) -> int:
        """Record an event: a tool run, a file read or edit, an error. Returns its number."""
        from reverie.memory.memory_validation import to_clean_json
        from reverie.privacy import redact_value
        from reverie.privacy.sensitive_files import drop_sensitive_contents

        home = self._writable_space(space, session)
        if not verb or not verb.isidentifier():
            raise BadInput(
                f"{verb!r} is not a verb; use one word such as tool, read, edit or error"
            )
        if verb in OWN_VERBS:
            raise BadInput(
                f"{verb!r} is what Reverie writes down itself; "
                "use another word, such as tool, read or edit"
            )
        # What a sensitive file holds is dropped as a whole, the rest is redacted.
        plain = to_clean_json(dict(drop_sensitive_contents(payload or {}, self._policy)))
        redacted, _ = redact_value(plain, self._policy)
        event = Event(
            verb=verb,
            space=home,
            at=self._now(),
            session=redact_short_text(session, self._policy),
            payload=redacted,  # type: ignore[arg-type]
        )
        return self.store.append([event])[0]

    def companion(self, space: str | None = None, *, session: str = "") -> Companion:
        """The non-blocking side of memory, beside one conversation.

        The conversation's name is `session`, or the last part of a space below a project
        ("me/project/session"), or a new one. What it teaches is kept for the project, so that the
        next conversation has it.
        """
        from reverie.runtime.background_thread import BackgroundThread
        from reverie.runtime.companion import Companion

        where = self._resolve_space(space)
        has_own_space = not session and where.startswith(f"{config.ME}/") and where.count("/") >= 2
        name = redact_short_text(session, self._policy)
        if not name:
            name = where.rpartition("/")[2] if has_own_space else clock.new_id("ses")
        # One thread serves all conversations of a mind; it is made with the first.
        if self._background is None:
            self._background = BackgroundThread(
                self.store, self.embedder, self.settings, self._now, self.llm, self._config
            )
        return Companion(self._background, where, name, has_own_space, self._now)

    def conversation(
        self,
        space: str | None = None,
        *,
        limit: int,
        session: str = "",
        strategy: str = "hybrid",
        tokenizer: Tokenizer | None = None,
    ) -> AgentConversation:
        """The hooks of one conversation, for an agent of your own: `start`, `before` and `after`
        each call, `end`.

        `limit` is what the model's context holds, in tokens; `space` and `session` as for
        `companion`; `strategy` as for `companion.condense`; `tokenizer` is whatever counts tokens.
        """
        from reverie.runtime.mind.agent_hooks import AgentConversation, ContextSize

        return AgentConversation(
            self,  # type: ignore[arg-type]
            self.companion(space, session=session),
            ContextSize(limit, strategy, tokenizer),
        )

    def window(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = "ours",
        tokenizer: Tokenizer | None = None,
        sticky: Callable[[Any], bool] | None = None,
    ) -> FittedMessages:
        """What `companion.fit` would send and take out, and why: nothing is written or changed.

        `messages` in OpenAI's or Anthropic's shape; one may say when it came (`at`, seconds since
        1970) and for which `task`. `strategy` is a key of
        `reverie.context_window.pruning_strategies.STRATEGIES`, `tokenizer` whatever counts tokens
        (default: a quarter of the characters). BadInput for what is no list of messages, or no such
        strategy.
        """
        from reverie.context_window.window_fitting import FitRequest, fit_messages
        from reverie.text.token_counts import QuarterEstimate

        request = FitRequest(limit, task, strategy, tokenizer or QuarterEstimate(), sticky)
        return fit_messages(messages, request, self._now())

    def condense(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = "hybrid",
        tokenizer: Tokenizer | None = None,
        sticky: Callable[[Any], bool] | None = None,
        ask: bool = False,
        space: str | None = None,
    ) -> CondensedMessages:
        """What `companion.condense` would make of a conversation: nothing is written.

        `messages` as for `window`; `strategy` is a key of
        `reverie.context_window.condensing.condense_strategies.STRATEGIES`. With `ask` the language
        model, if there is one, writes the summary; that call is counted in `space`.
        """
        from reverie.context_window.conversation_summary import ConversationFacts, condense_messages
        from reverie.context_window.window_fitting import FitRequest
        from reverie.text.token_counts import QuarterEstimate

        request = FitRequest(
            limit,
            task,
            strategy,
            tokenizer or QuarterEstimate(),
            sticky,
            start=self.settings.condense_at,
            policy=self._policy,
        )
        facts = ConversationFacts(self._resolve_space(space))
        llm = self.llm if ask else None
        return condense_messages(messages, request, facts, self._now(), llm)

    def learn(
        self, transcript: Sequence[Any], *, space: str | None = None, session: str = ""
    ) -> LearnReport:
        """Extract memories from a finished or crashed conversation: its messages, in OpenAI's or
        Anthropic's shape.

        A message may say when it was said (`at`). The messages are written down too, under the name
        `session` (default: one that follows from the messages), so that `sessions` has them. The
        same transcript twice adds nothing. Returns the new memories, and the rejected candidates
        with the reasons.
        """
        from reverie.extraction.transcript_learning import learn_transcript

        home = self._writable_space(space, session)
        name = redact_short_text(session, self._policy)
        return learn_transcript(self.work, transcript, home, name)

    def rejected(self, limit: int = 20) -> list[RejectedCandidate]:
        """The last rejected candidates of extraction, newest first, with the reasons."""
        from reverie.extraction.turn_learning import list_rejected_examples

        return list_rejected_examples(self.store, check_whole_number(limit))

    def settle(self) -> SettleReport:
        """Embed, learn from and reconcile what waits, now; waits for another process that is at
        it.
        """
        from reverie.runtime.settle import settle_all

        self._flush()
        return settle_all(lambda: self.work, clock.new_id("settler"))

    def mirror(
        self, space: str | None = None, *, forget: bool | None = None, afresh: bool = False
    ) -> list[MirrorReport]:
        """Sync the Markdown mirror now: take in what people wrote, write what is new. One report
        for each space.

        Settling and the companion do it by themselves. Without a space, all of them; a space that
        is named gets its `MEMORY.md` even if there is nothing in it yet. Where more than 10 lines
        of a page are gone, or 30 %, or all, nothing of that page is taken in and `questions` says
        so: `forget=True` forgets them, `forget=False` writes them anew. `afresh` looks at every
        memory and page, not only at what was altered. Each report names its events, which can
        be undone. An empty list where there is no mirror.
        """
        from reverie.mirror.mirror_sync import sync_mirror
        from reverie.mirror.space_sync import SyncRequest

        spaces = None if space is None else (self._writable_space(space),)
        request = SyncRequest(forget, afresh, retry=True, create_main_page=space is not None)
        return sync_mirror(self.work, spaces, request, self._now)

    def sleep(
        self,
        passes: Iterable[str] = (),
        dry_run: bool = False,
        within: float | None = None,
        *,
        afresh: bool = False,
        ask: bool = True,
        merge_text: Callable[[str, str], str] | None = None,
    ) -> SleepReport:
        """Consolidate: merge duplicates, flag contradictions, archive what is no longer used, link
        and group the rest.

        `passes` are names of passes (default: all of them); `dry_run` only reports what would be
        done; `within` so many seconds, and the next call goes on there; `afresh` looks at all pairs
        again, not only at what is new since the last time; `merge_text` may put two texts into one.
        Where there is a language model, it does that, names groups and says what belongs together;
        with `ask=False`, or in a dry run, it is not asked. Every change can be undone:
        `undo(report.run)`.
        """
        from reverie.consolidation.model_advice import with_model_advice
        from reverie.consolidation.sleep_loop import SleepRequest, run_sleep_passes, select_passes
        from reverie.runtime.settle import build_event_queue

        if within is not None and not within >= 0:
            raise BadInput(f"within={within!r} must be a number of seconds")
        request = SleepRequest(
            select_passes(passes),
            dry_run=dry_run,
            max_seconds=within,
            afresh=afresh,
            merge_text=merge_text,
        )
        work = self.work
        if ask and not dry_run:
            request = with_model_advice(work, request)
        report = run_sleep_passes(
            work, request, clock.new_id("sleeper"), self._now, build_event_queue()
        )
        self._no_longer_active += report.retired
        self._withdraw_inactive()
        return report
