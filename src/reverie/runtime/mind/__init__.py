"""`Mind`, whose verbs are the whole interface. Read this second, after `core.model`.

A `Mind` is a store, an embedder and settings. What people use every day are its own verbs; the rest
stands in groups by topic: `mind.reminders`, `mind.code`, `mind.files` and so on, each in a module
beside this one (`reminder_verbs`, `code_verbs`, …). Always true: a verb decides with pure functions
and applies its changes in one transaction; `space` is an argument of every verb and defaults to
that of the working directory. `remember` returns when the memory is durable and found by its words;
vectors follow in `settle`, which the companion runs by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from reverie.core import clock, config
from reverie.core.errors import BadInput
from reverie.core.memory_spans import OPERATIONS
from reverie.core.model import OWN_VERBS, Event
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.activity_verbs import ActivityVerbs
from reverie.runtime.mind.code_verbs import CodeVerbs
from reverie.runtime.mind.data_verbs import DataVerbs
from reverie.runtime.mind.device_verbs import DeviceVerbs
from reverie.runtime.mind.edit_verbs import EditVerbs
from reverie.runtime.mind.episode_verbs import EpisodeVerbs
from reverie.runtime.mind.feeling_verbs import FeelingVerbs
from reverie.runtime.mind.file_verbs import FileVerbs
from reverie.runtime.mind.guard_verbs import GuardVerbs
from reverie.runtime.mind.mind_context import MindContext
from reverie.runtime.mind.night_verbs import NightVerbs
from reverie.runtime.mind.plan_verbs import PlanVerbs
from reverie.runtime.mind.procedure_verbs import ProcedureVerbs
from reverie.runtime.mind.remember_verbs import RememberVerbs
from reverie.runtime.mind.reminder_verbs import ReminderVerbs
from reverie.runtime.mind.retrieve_verbs import RetrieveVerbs
from reverie.runtime.mind.review_verbs import ReviewVerbs
from reverie.runtime.mind.search_verbs import SearchVerbs
from reverie.runtime.mind.session_verbs import SessionVerbs
from reverie.runtime.mind.team_verbs import TeamVerbs
from reverie.runtime.mind.verb_spans import observed

if TYPE_CHECKING:
    from reverie.consolidation.sleep_loop import SleepReport
    from reverie.core.config import Settings
    from reverie.embedding import Embedder
    from reverie.extraction.transcript_learning import LearnReport
    from reverie.llm.language_model import LanguageModel
    from reverie.pipeline.event_reader import WorkContext
    from reverie.runtime.companion import Companion
    from reverie.runtime.mind.agent_hooks import AgentConversation
    from reverie.runtime.settle import SettleReport
    from reverie.storage import Store
    from reverie.text.token_counts import Tokenizer

P = ParamSpec("P")
R = TypeVar("R")


def everyday(
    group: str, verb: Callable[Concatenate[Any, P], R]
) -> Callable[Concatenate[Any, P], R]:
    """A verb of one of the mind's groups as a verb of the mind itself."""

    @wraps(verb)
    def call(mind: Mind, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return verb(getattr(mind, group), *args, **kwargs)

    return observed(call) if verb.__name__ in OPERATIONS else call


class Mind:
    """Long-term memory, as `reverie.open()` returns it. Use it as a context manager, or call
    `close`.
    """

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float] = clock.now,
        llm: LanguageModel | None = None,
    ) -> None:
        self._wire(MindContext(store, embedder, settings, now, llm))

    @classmethod
    def around(cls, context: MindContext) -> Self:
        """A mind over a context that is there already, such as a server's for one request."""
        mind = cls.__new__(cls)
        mind._wire(context)
        return mind

    def _wire(self, context: MindContext) -> None:
        """Give every group of verbs the same context."""
        self.context = context
        self._keeping = RememberVerbs(context)
        self._searching = SearchVerbs(context)
        self._retrieving = RetrieveVerbs(context)
        self._editing = EditVerbs(context)
        self.activity = ActivityVerbs(context)
        self.code = CodeVerbs(context)
        self.data = DataVerbs(context)
        self.devices = DeviceVerbs(context, self.data)
        self.episodes = EpisodeVerbs(context, self._keeping)
        self.feelings = FeelingVerbs(context)
        self.files = FileVerbs(context, self._keeping, self.data)
        self.guards = GuardVerbs(context)
        self.nights = NightVerbs(context)
        self.procedures = ProcedureVerbs(context, self._keeping)
        self.reminders = ReminderVerbs(context)
        self.review = ReviewVerbs(context)
        self.sessions = SessionVerbs(context)
        self.team = TeamVerbs(context, self.data)
        # Not `plan`, which is the verb.
        self.planner = PlanVerbs(context, self.code, self._searching, self.activity)

    # Assigned, not inherited, so that each keeps its own signature and docstring for editors.

    remember = everyday("_keeping", RememberVerbs.remember)
    remember_many = everyday("_keeping", RememberVerbs.remember_many)
    remind = everyday("_keeping", RememberVerbs.remind)

    recall = everyday("_searching", SearchVerbs.recall)
    warnings = everyday("_searching", SearchVerbs.warnings)
    similar = everyday("_searching", SearchVerbs.similar)
    neighbours = everyday("_searching", SearchVerbs.neighbours)
    get = everyday("_searching", SearchVerbs.get)
    browse = everyday("_searching", SearchVerbs.browse)
    tags = everyday("_searching", SearchVerbs.tags)
    meanings = everyday("_searching", SearchVerbs.meanings)
    clusters = everyday("_searching", SearchVerbs.clusters)
    history = everyday("_searching", SearchVerbs.history)
    explain = everyday("_searching", SearchVerbs.explain)

    hints = everyday("_retrieving", RetrieveVerbs.hints)
    retrieve = everyday("_retrieving", RetrieveVerbs.retrieve)

    revise = everyday("_editing", EditVerbs.revise)
    tag = everyday("_editing", EditVerbs.tag)
    describe = everyday("_editing", EditVerbs.describe)
    link = everyday("_editing", EditVerbs.link)
    supersede = everyday("_editing", EditVerbs.supersede)
    feedback = everyday("_editing", EditVerbs.feedback)
    forget = everyday("_editing", EditVerbs.forget)
    restore = everyday("_editing", EditVerbs.restore)
    undo = everyday("_editing", EditVerbs.undo)

    plan = everyday("planner", PlanVerbs.plan)
    record_tool = everyday("activity", ActivityVerbs.record_tool)
    recording = everyday("activity", ActivityVerbs.recording)

    @property
    def store(self) -> Store:
        """Where everything is kept."""
        return self.context.store

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors; None where only words are known."""
        return self.context.embedder

    @property
    def llm(self) -> LanguageModel | None:
        """The language model, if one is configured."""
        return self.context.llm

    @property
    def settings(self) -> Settings:
        """What is configured."""
        return self.context.settings

    @property
    def work(self) -> WorkContext:
        """What settling and consolidation work with, as of now."""
        return self.context.work

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

        home = self.context.writable_space(space, session)
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
        policy = self.context.policy.within(home)
        plain = to_clean_json(dict(drop_sensitive_contents(payload or {}, policy)))
        redacted, _ = redact_value(plain, policy)
        event = Event(
            verb=verb,
            space=home,
            at=self.context.now(),
            session=redact_short_text(session, policy),
            payload=redacted,  # type: ignore[arg-type]
        )
        return self.context.store.append([event])[0]

    def companion(
        self,
        space: str | None = None,
        *,
        session: str = "",
    ) -> Companion:
        """The non-blocking side of memory, beside one conversation.

        The conversation's name is `session`, or the last part of a space below a project
        ("me/project/session"), or a new one. What it teaches is kept for the project, so that the
        next conversation has it.
        """
        from reverie.runtime.background_thread import BackgroundThread
        from reverie.runtime.companion import Companion

        where = self.context.resolve_space(space)
        has_own_space = not session and where.startswith(f"{config.ME}/") and where.count("/") >= 2
        # A space below a project is a conversation's own, and its last part is the name.
        name = redact_short_text(session, self.context.policy)
        if not name:
            name = where.rpartition("/")[2] if has_own_space else clock.new_id("ses")
        # One thread serves all conversations of a mind; it is made with the first.
        if self.context.background is None:
            self.context.background = BackgroundThread(
                self.context.store,
                self.context.embedder,
                self.context.settings,
                self.context.now,
                self.context.llm,
                self.context.config_modified_at,
            )
        return Companion(self.context.background, where, name, has_own_space, self.context.now)

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
        from reverie.text.token_counts import QuarterEstimate

        return AgentConversation(
            self,
            self.companion(space, session=session),
            ContextSize(limit, strategy, tokenizer or QuarterEstimate()),
        )

    @observed
    def learn(
        self,
        transcript: Sequence[Any],
        *,
        space: str | None = None,
        session: str = "",
        folder: str = "",
    ) -> LearnReport:
        """Extract memories from a finished or crashed conversation: its messages, in OpenAI's or
        Anthropic's shape.

        A message may say when it was said (`at`). The messages are written down too, under the name
        `session` (default: one that follows from the messages), so that `sessions.browse` has them.
        `folder` is where the agent worked: of files that are ignored there (`.gitignore`,
        `.secretsignore`) nothing is kept. The same transcript twice adds nothing. Returns the new
        memories, and the rejected candidates with the reasons.
        """
        from reverie.extraction.transcript_learning import learn_transcript

        home = self.context.writable_space(space, session)
        name = redact_short_text(session, self.context.policy)
        return learn_transcript(self.context.work, transcript, home, name, folder)

    @observed
    def settle(self) -> SettleReport:
        """Embed, learn from and reconcile what waits, now; waits for another process that is at
        it.
        """
        from reverie.runtime.settle import settle_all

        # What was just recorded is to be learned from as well.
        self.context.flush()
        return settle_all(lambda: self.context.work, clock.new_id("settler"))

    @observed
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
        work = self.context.work
        if ask and not dry_run:
            request = with_model_advice(work, request)
        # Retired memories are withdrawn from blocks only once the run is over.
        report = run_sleep_passes(
            work, request, clock.new_id("sleeper"), self.context.now, build_event_queue()
        )
        self.context.no_longer_active += report.retired
        self.context.withdraw_inactive()
        return report

    def close(self) -> None:
        """Stop the background thread, unload the models and close the database."""
        self.context.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Hidden from type checkers, which would else accept any name.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say where a verb of an earlier version is now."""
            from reverie.runtime.mind.moved_verbs import MOVED_VERBS

            if name in MOVED_VERBS:
                raise AttributeError(f"mind.{name} is now mind.{MOVED_VERBS[name]}")
            raise AttributeError(f"'Mind' object has no attribute {name!r}")
