"""What all verbs share: the store, the models, the settings, and how changes are applied.

Always true: every change of a memory goes through `apply_changes`, as one transaction with the
event that explains it; memories that no longer count are then withdrawn from waiting blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeGuard, TypeVar

from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.core.errors import Conflict, NotFound
from reverie.core.memory_spans import SpanSink, find_record_sink, may_be_observed
from reverie.core.model import Change, Event, Memory, Retire, Revise, visible_spaces
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import resolve_space
from reverie.privacy.redacted_text import redact_short_text
from reverie.storage.indexed_transcripts import id_to_key
from reverie.text.argument_checks import check_texts, check_whole_number
from reverie.text.tokenization import MAX_QUERY

if TYPE_CHECKING:
    from reverie.activity.activity_recorder import ActivityRecorder
    from reverie.embedding import Embedder
    from reverie.llm.language_model import LanguageModel
    from reverie.pipeline.event_reader import WorkContext
    from reverie.runtime.background_thread import BackgroundThread
    from reverie.runtime.sync_thread import SyncThread
    from reverie.storage import Store

P = ParamSpec("P")
R = TypeVar("R")


def run_exclusively(verb: Callable[P, R]) -> Callable[P, R]:
    """The verb in one transaction, so that nobody else writes between its reads and its writes."""

    @wraps(verb)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        # ParamSpec cannot say that the first argument is a group.
        group = args[0]
        assert isinstance(group, VerbGroup)
        context = group._context
        with context.store.transaction():
            result = verb(*args, **kwargs)
        # Only after the commit: a failed transaction has retired nothing.
        context.withdraw_inactive()
        return result

    return within


class MindContext:
    """A store, an embedder, settings and perhaps a language model: what all groups share."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float] = clock.now,
        llm: LanguageModel | None = None,
    ) -> None:
        self.store, self.embedder, self.settings, self.llm = store, embedder, settings, llm
        self.now = now
        self.config_modified_at = config.config_modified_at(settings)
        self.background: BackgroundThread | None = None
        self.recorder: ActivityRecorder | None = None
        # Where spans go if the process has no provider of OpenTelemetry; None: nowhere.
        self.spans: SpanSink | None = None
        self.surface = "python"  # by which interface this memory is used
        self.sync_thread: SyncThread | None = None
        # Ids that count no longer once the present transaction is committed.
        self.no_longer_active: list[str] = []

    @property
    def work(self) -> WorkContext:
        """What settling and consolidation work with, as of now."""
        from reverie.pipeline.event_reader import WorkContext

        return WorkContext(
            self.store,
            self.embedder,
            self.current_settings,
            self.now(),
            self.llm,
            spans=find_record_sink(self.spans) if may_be_observed(self.spans) else None,
        )

    @property
    def current_settings(self) -> config.Settings:
        """The settings, with the conversations that the background thread knows to be off."""
        if self.background is None:
            return self.settings
        # `companion.off()` is known to the thread at once, where nothing of it is kept on disk too.
        off = self.background.settings.off_sessions
        if off == self.settings.off_sessions:
            return self.settings
        return self.settings._replace(off_sessions=off)

    @property
    def policy(self) -> Policy:
        """The redaction policy of texts before they are stored."""
        return self.settings.policy

    def close(self) -> None:
        """Stop the background thread, unload the models and close the database."""
        # The recorder and the thread write into the store, so the store is closed last.
        self.flush()
        if self.background is not None:
            self.background.stop()
        if self.sync_thread is not None:
            self.sync_thread.stop()
        if self.embedder is not None:
            self.embedder.close()
        if self.llm is not None:
            self.llm.close()
        self.store.close()

    def flush(self) -> None:
        """Wait until what this process recorded is in the event log."""
        if self.recorder is not None:
            self.recorder.flush()

    def resolve_space(self, space: str | None) -> str:
        """The space that a caller named, or that of the working directory."""
        return resolve_space(space)

    def visible_spaces(self, space: str) -> tuple[str, ...]:
        """What a reader in this space sees, nearest first: the space and its ancestors."""
        return visible_spaces(space)

    def sign_memory(self, memory: Memory) -> Memory:
        """A new memory with the name of who keeps it, where several people keep some."""
        return memory

    def writable_space(self, space: str | None, session: str = "") -> str:
        """The resolved space; Disabled if memory is switched off there or in the session."""
        resolved = self.resolve_space(space)
        self.current_settings.check_on(resolved, session)
        return resolved

    def time_zone(self) -> str:
        """The time zone of times that name none."""
        return config.local_time_zone(self.settings)

    def embed_query(self, text: str, spaces: Sequence[str] = ()) -> dict[str, Any]:
        """`vector` and `model` for a search query; empty without a model or a text.

        If it names somebody who speaks in these spaces, the vector is that of the question as they
        would put it.
        """
        from reverie.pipeline.model_change import embed_question

        if not text.strip() or self.embedder is None:
            return {}
        if spaces:
            from reverie.retrieval.first_person import find_possible_names, put_in_first_person

            speakers = self.store.speakers(find_possible_names(text), tuple(spaces))
            text = put_in_first_person(text, speakers)
        # An embedder may be remote, so it gets no secret.
        question = embed_question(
            self.store,
            self.embedder,
            redact_short_text(text[:MAX_QUERY], self.policy.masking),
        )
        return {} if question is None else question._asdict()

    @property
    def answering_embedder(self) -> Embedder | None:
        """The embedder whose vectors answer: an earlier one while a new model's are being made."""
        from reverie.pipeline.model_change import iter_query_embedders

        if self.embedder is None:
            return None
        return next(iter_query_embedders(self.store, self.embedder))

    def get_memory(self, id: str) -> Memory:
        """The memory of an id, whatever its state; NotFound if there is none."""
        return self.get_memories(id)[0]

    def get_memories(self, ids: Sequence[str] | str) -> list[Memory]:
        """The memories, in the order asked; NotFound if one of the ids is unknown."""
        asked = check_texts(ids, "ids")
        wanted = tuple(dict.fromkeys(asked))
        found = self.store.get(wanted)
        known = {memory.id for memory in found}
        if missing := [id for id in wanted if id not in known]:
            raise NotFound(describe_missing(missing))
        return found

    def refuse_supersede_cycle(self, old: str, new: str) -> None:
        """Raise Conflict if `new` is superseded by `old`, directly or by way of others.

        Neither would count if `new` then superseded `old`.
        """
        seen: set[str] = set()
        id: str | None = new
        while id and id not in seen:
            if id == old:
                raise Conflict(
                    f"{new} has stepped back for {old} itself, and then neither would count. "
                    f"restore {new} first"
                )
            seen.add(id)
            found = self.store.get([id])
            id = found[0].superseded_by if found and not found[0].active else None

    def apply_changes(
        self,
        changes: Sequence[Change],
        verb: str,
        space: str,
        now: float,
        *,
        session: str = "",
        **payload: Any,
    ) -> int:
        """Make changes so, with one event that explains them; returns its number."""
        event = Event(
            verb=verb,
            space=space,
            session=session,
            at=now,
            payload=payload,
        )
        seq = self.store.apply(changes, event)
        self.no_longer_active += [change.id for change in changes if is_outdating(change)]
        return seq

    def withdraw_inactive(self) -> None:
        """Remove memories that have just ceased to count from the blocks that wait."""
        inactive, self.no_longer_active = self.no_longer_active, []
        if inactive and self.background is not None:
            self.background.withdraw(inactive)


def describe_missing(ids: Sequence[str]) -> str:
    """What to say of ids that no memory has."""
    said = [id for id in ids if id_to_key(id) is not None]
    if said:
        return (
            f"{', '.join(said)} is a passage of a past conversation and no memory. `reverie show` "
            "shows it; `reverie remember` keeps what it says"
        )
    return f"There is no memory with the id {', '.join(ids)}"


class VerbGroup:
    """Verbs about one thing, over the context that all groups of a `Mind` share."""

    def __init__(self, context: MindContext) -> None:
        self._context = context
        self._store = context.store
        # What nearly every verb needs, without saying each time where it comes from.
        self._now = context.now
        self._flush = context.flush
        self._get_memory = context.get_memory
        self._get_memories = context.get_memories
        self._apply_changes = context.apply_changes
        self._embed_query = context.embed_query
        self._resolve_space = context.resolve_space
        self._visible_spaces = context.visible_spaces
        self._writable_space = context.writable_space

    if not TYPE_CHECKING:

        def __call__(self, *_: Any, **__: Any) -> None:
            """Say which verb does what a verb of the group's name did in earlier versions."""
            from reverie.runtime.mind.moved_verbs import CALLED_GROUPS

            new = CALLED_GROUPS.get(type(self).__name__)
            if new is None:
                raise TypeError(f"{type(self).__name__!r} object is not callable")
            raise TypeError(f"mind.{new.partition('.')[0]}() is now mind.{new}()")

    # Properties, because settings may be replaced while a mind lives: `reverie off`, for one.

    @property
    def _settings(self) -> Settings:
        return self._context.settings

    @property
    def _policy(self) -> Policy:
        return self._context.settings.policy

    @property
    def _work(self) -> WorkContext:
        return self._context.work

    def _redact(self, text: str) -> str:
        """A short text without what the policy takes out."""
        return redact_short_text(text, self._policy)

    def _change(
        self, memory: Memory, changes: Sequence[Change], verb: str, now: float, **payload: Any
    ) -> Memory:
        """The memory as it is after changes, which are applied as one event in its space."""
        self._apply_changes(changes, verb, memory.space, now, **payload)
        return self._get_memory(memory.id)

    def _visible_from(self, space: str | None) -> tuple[str, ...]:
        """The spaces that can be seen from one (default: that of the working directory)."""
        return self._visible_spaces(self._resolve_space(space))


def check_limit(limit: Any) -> int:
    """A limit as a whole number, at least 0; BadInput for what is none."""
    return max(0, check_whole_number(limit))


def is_outdating(change: Change) -> TypeGuard[Retire | Revise]:
    """True if a block that was rendered before the change must not be injected any more."""
    if isinstance(change, Revise):
        return not change.fields.keys().isdisjoint(("text", "space", "retired_at"))
    return isinstance(change, Retire)
