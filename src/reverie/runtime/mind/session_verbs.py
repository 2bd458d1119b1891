"""Past conversations and the context window of the present one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Unpack

from reverie.core import clock
from reverie.core.errors import BadInput, NotFound
from reverie.core.model import (
    Add,
    Event,
    Filter,
    Memory,
    Retire,
    Revise,
    index_memories,
    visible_spaces,
)
from reverie.memory import working_memory
from reverie.runtime.mind.mind_context import VerbGroup, check_limit, run_exclusively
from reverie.runtime.verb_options import WindowOptions
from reverie.text.argument_checks import (
    check_options,
    check_question,
    check_text_list,
    check_whole_number,
)
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from reverie.context_window.condensing.summary_draft import CondensedMessages
    from reverie.context_window.window_fitting import FittedMessages
    from reverie.extraction.past_conversations import PastConversation, PastMessage
    from reverie.extraction.rule_extraction import RejectedCandidate
    from reverie.extraction.session_replay import ReplayStep
    from reverie.injection.gate_report import GateVerdict

# Events of one conversation that are read.
MAX_TURNS = 100_000
# Memories of one conversation that are listed.
MAX_TAUGHT = 1_000


class SessionVerbs(VerbGroup):
    """`mind.sessions`: past conversations, working memory, and what fits a context window."""

    def browse(
        self,
        *,
        space: str | None = None,
        words: Iterable[str] = (),
        limit: int = 20,
        skip: int = 0,
    ) -> list[PastConversation]:
        """Past conversations in a space and below it, the latest first; with `words`, those in
        which each occurs. `skip` leaves so many of the latest out.
        """
        from reverie.extraction.past_conversations import MESSAGE_VERBS, build_past_conversation

        passed = max(0, check_whole_number(skip, "skip"))
        spans = self._store.session_spans(
            MESSAGE_VERBS,
            space=self._resolve_space(space),
            containing=check_text_list(words, "words"),
            limit=passed + check_limit(limit),
        )
        conversations = []
        for span in spans[passed:]:
            events = self._store.events(
                after=span.first - 1,
                verbs=MESSAGE_VERBS,
                session=span.session,
                space=span.space,
                limit=MAX_TURNS,
            )
            taught = self._memories_of_session(span.session)
            # A list shows no messages: `read` has those of one.
            conversations.append(build_past_conversation(events, taught)._replace(lines=()))
        return conversations

    def read(
        self,
        id: str,
        *,
        space: str | None = None,
        words: Iterable[str] = (),
        at: int | None = None,
        around: int = 3,
    ) -> PastConversation:
        """One past conversation with its messages, and the memories that came of it.

        With `words`, only the messages in which each of them occurs; with `at`, only the message of
        that number and `around` before and after it. The id of a passage ("said_…") stands for its
        session and its message. Raises NotFound where there is none of that name in the space or
        below it.
        """
        from reverie.extraction.past_conversations import (
            build_past_conversation,
            filter_messages,
            messages_around,
        )
        from reverie.transcripts.passage_hits import find_said_memories

        wanted = clean_text(check_question(id, "session"))
        home = self._resolve_space(space)
        for said in find_said_memories(self._store.transcripts, [wanted]):
            wanted, home = said.session, said.space
            at = said.messages[0] if at is None and said.messages else at
        events = self._session_events(wanted, home) if wanted else []
        if not events:
            raise NotFound(
                f"There is no session {wanted!r} in {home}. `reverie session list` lists them"
            )
        conversation = build_past_conversation(events, self._memories_of_session(wanted))
        lines = filter_messages(conversation.lines, check_text_list(words, "words"))
        if at is not None:
            lines = messages_around(lines, at, at, check_limit(around))
        return conversation._replace(lines=tuple(lines))

    def replay(self, id: str, *, space: str | None = None) -> list[ReplayStep]:
        """One past conversation step by step: each message of the user with the answer, what memory
        gave and held back then, and what it learned from it.

        Raises NotFound where there is none of that name in the space or below it.
        """
        from reverie.activity.turn_feed import list_mentioned_ids
        from reverie.extraction.session_replay import build_replay
        from reverie.transcripts.passage_hits import find_said_memories

        wanted, home = clean_text(check_question(id, "session")), self._resolve_space(space)
        events = self._session_events(wanted, home) if wanted else []
        if not events:
            raise NotFound(
                f"There is no session {wanted!r} in {home}. `reverie session list` lists them"
            )
        named = list_mentioned_ids(events)
        talk = find_said_memories(self._store.transcripts, named)
        mentioned = index_memories([*self._store.get(named), *talk])
        return build_replay(events, self._memories_of_session(wanted), mentioned)

    def source(
        self,
        id: str,
        *,
        around: int = 1,
    ) -> list[PastMessage]:
        """The messages that a memory rests on, with so many before and after; none where the log
        does not have them. The id of a passage ("said_…") gives the message that it stands in.
        """
        from reverie.extraction import past_conversations
        from reverie.transcripts.passage_hits import find_said_memories

        said = find_said_memories(self._store.transcripts, [check_question(id, "id")])
        memory = said[0] if said else self._get_memory(id)
        if not memory.session or memory.messages is None:
            return []
        messages = past_conversations.collect_messages(
            self._session_events(memory.session, memory.space)
        )
        return past_conversations.messages_around(messages, *memory.messages, check_limit(around))

    def window(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = "ours",
        **counting: Unpack[WindowOptions],
    ) -> FittedMessages:
        """What `companion.fit` would send and take out, and why: nothing is written or changed.

        `messages` in OpenAI's or Anthropic's shape; one may say when it came (`at`, seconds since
        1970) and for which `task`. `strategy` is a key of
        `reverie.context_window.pruning_strategies.STRATEGIES`, `tokenizer` whatever counts tokens
        (default: a quarter of the characters), `sticky` true of messages that must stay. BadInput
        for what is no list of messages, or no such strategy.
        """
        from reverie.context_window.window_fitting import FitRequest, fit_messages

        check_options("window", counting, WindowOptions)
        request = FitRequest(limit, task, strategy, **counting)
        return fit_messages(messages, request, self._now())

    def condense(
        self,
        messages: Sequence[Any],
        *,
        limit: int,
        task: str = "",
        strategy: str = "hybrid",
        ask: bool = False,
        space: str | None = None,
        **counting: Unpack[WindowOptions],
    ) -> CondensedMessages:
        """What `companion.condense` would make of a conversation: nothing is written.

        `messages` as for `window`; `strategy` is a key of
        `reverie.context_window.condensing.condense_strategies.STRATEGIES`. With `ask` the language
        model, if there is one, writes the summary; that call is counted in `space`.
        """
        from reverie.context_window.conversation_summary import ConversationFacts, condense_messages
        from reverie.context_window.window_fitting import FitRequest

        check_options("condense", counting, WindowOptions)
        request = FitRequest(
            limit,
            task,
            strategy,
            **counting,
            start=self._settings.condense_at,
            policy=self._policy,
        )
        facts = ConversationFacts(self._resolve_space(space))
        llm = self._context.llm if ask else None
        return condense_messages(messages, request, facts, self._now(), llm)

    def weigh(
        self, text: str, *, space: str | None = None, session: str = "", limit: int = 10
    ) -> list[GateVerdict]:
        """What would be given if this were said now, and what would not, with the gate that stops
        it: the likeliest `limit`, those that would be given first. Changes nothing.

        `session`: as in that conversation, which is not told again what it said or was given.
        """
        from reverie.context_window.injection_history import (
            InjectionHistory,
            find_own_memories,
            resume_history,
        )
        from reverie.injection.first_turn import InjectionTurn
        from reverie.injection.gate_report import report_gates

        home, now, most = self._resolve_space(space), self._now(), check_limit(limit)
        if not most or self._settings.is_off(home, session):
            return []
        attention = InjectionHistory(session, (home,))
        if session:
            resume_history(self._store, attention, home, now)
        turn = InjectionTurn(attention, home, now)
        query = turn.to_query(self._settings, check_question(text, "text"), text)
        query = query._replace(
            **self._embed_query(text), exclude=find_own_memories(self._store, attention)
        )
        verdicts = report_gates(self._store, query, turn.find_told_ids(), self._settings.limit)
        return verdicts[:most]

    def rejected(self, limit: int = 20) -> list[RejectedCandidate]:
        """The last rejected candidates of extraction, newest first, with the reasons."""
        from reverie.extraction.turn_learning import list_rejected_examples

        return list_rejected_examples(self._store, check_whole_number(limit))

    @run_exclusively
    def hold(
        self,
        content: Any,
        *,
        session: str,
        space: str | None = None,
        minutes: float = working_memory.DEFAULT_MINUTES,
    ) -> Memory:
        """Set the working memory of a conversation: the scratch pad of its current task, a text or
        a JSON object.

        There is one for each conversation and this replaces what it held; the user's last words,
        which Reverie notes there by itself, stay. It ends by itself `minutes` (at most a day) after
        the last turn, with the conversation, with a task that is recorded as done, or by `release`.
        It survives a crash, and no other conversation sees it.
        """
        from reverie.extraction.working_memory_reader import find_scratch_pads, retire_spare_pads

        where, name = self._pad_place(space, session, writing=True)
        now = self._now()
        pads = find_scratch_pads(self._store, where)
        old = pads[0] if pads else None
        # The user's last words are noted there by Reverie, so they stay.
        turn = working_memory.read_held_content(old, now).turn if old else ""
        held = working_memory.HeldContent(
            working_memory.validate_held_content(content),
            turn,
            now,
            now + 60.0 * working_memory.validate_minutes(minutes),
        )
        # Under the old id, so that its history goes on.
        new = working_memory.build_scratch_pad(
            old.id if old else clock.new_id(), where, name, held, self._policy
        )
        first = (
            Revise(
                old.id,
                working_memory.changed_pad_fields(old, new),
            )
            if old
            else Add(new)
        )
        changes = [first, *retire_spare_pads(pads, now)]
        self._apply_changes(changes, "hold", where, now, session=name)
        return self._get_memory(new.id)

    def held(
        self,
        session: str,
        *,
        space: str | None = None,
    ) -> working_memory.HeldContent:
        """What the working memory of a conversation holds now; falsy if that is nothing."""
        from reverie.extraction.working_memory_reader import find_scratch_pads

        where, _ = self._pad_place(space, session)
        pads = find_scratch_pads(self._store, where)
        if not pads:
            return working_memory.HeldContent()
        return working_memory.read_held_content(pads[0], self._now())

    @run_exclusively
    def release(self, session: str, *, space: str | None = None) -> bool:
        """Clear the working memory of a conversation; True if there was any."""
        from reverie.extraction.working_memory_reader import find_scratch_pads

        where, name = self._pad_place(space, session)
        pads = find_scratch_pads(self._store, where)
        now = self._now()
        if pads:
            changes = [Retire(pad.id, now, why="completed") for pad in pads]
            self._apply_changes(changes, "hold", where, now, session=name)
        return bool(pads)

    def _session_events(self, session: str, space: str) -> list[Event]:
        """The events that hold a conversation's messages, in a space and below it."""
        from reverie.extraction.past_conversations import MESSAGE_VERBS

        events = self._store.events(
            session=session,
            verbs=MESSAGE_VERBS,
            limit=MAX_TURNS,
        )
        return [event for event in events if space in visible_spaces(event.space)]

    def _memories_of_session(self, session: str) -> tuple[Memory, ...]:
        """The memories that came of a conversation, oldest first."""
        newest_first = self._store.browse(
            Filter(
                session=session,
                active=None,
                limit=MAX_TAUGHT,
            )
        )
        return tuple(reversed(newest_first))

    def _pad_place(
        self,
        space: str | None,
        session: str,
        *,
        writing: bool = False,
    ) -> tuple[str, str]:
        """(the space of a conversation's own, the redacted name of the conversation)."""
        if not isinstance(session, str):
            raise BadInput(f"session={session!r} must be a text")
        name = self._redact(session)
        home = self._writable_space(space, name) if writing else self._resolve_space(space)
        return working_memory.conversation_space(home, name), name
