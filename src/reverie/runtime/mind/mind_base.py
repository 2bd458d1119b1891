"""What all verbs share: the store, the model, the settings, and how a change is made so."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.core.errors import Conflict, NotFound
from reverie.core.model import Change, Event, Memory, Retire, Revise
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import resolve_space
from reverie.privacy.redacted_text import redact_short_text
from reverie.text.argument_checks import check_text_list
from reverie.text.tokenization import MAX_QUERY

if TYPE_CHECKING:
    from reverie.activity.activity_recorder import ActivityRecorder
    from reverie.code.planning.file_candidates import FileTree
    from reverie.code.planning.past_tasks import TaskHistory
    from reverie.embedding import Embedder
    from reverie.llm.language_model import LanguageModel
    from reverie.pipeline.event_reader import WorkContext
    from reverie.runtime.background_thread import BackgroundThread
    from reverie.storage import Store

P = ParamSpec("P")
R = TypeVar("R")


def run_exclusively(verb: Callable[P, R]) -> Callable[P, R]:
    """A verb that reads before it writes: nobody else writes in between, so that no change is lost
    (CC-12).
    """

    @wraps(verb)
    def within(*args: P.args, **kwargs: P.kwargs) -> R:
        mind = args[0]
        assert isinstance(mind, MindBase)
        with mind.store.transaction():
            done = verb(*args, **kwargs)
        mind._withdraw_inactive()
        return done

    return within


class MindBase:
    """A store, an embedder, settings and perhaps a language model."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder | None,
        settings: Settings,
        now: Callable[[], float] = clock.now,
        llm: LanguageModel | None = None,
    ) -> None:
        self.store, self.embedder, self.settings, self.llm = store, embedder, settings, llm
        self._now = now
        self._config = config.config_modified_at(settings)  # when config.toml was read
        self._background: BackgroundThread | None = None
        self._recorder: ActivityRecorder | None = None
        # by root: the state of its index, and its files
        self._trees: dict[str, tuple[bytes, FileTree]] = {}
        # by root, space
        self._pasts: dict[tuple[str, str], tuple[tuple[int, str | None], TaskHistory]] = {}
        # ids that count no longer once the present transaction is through
        self._no_longer_active: list[str] = []

    @property
    def work(self) -> WorkContext:
        """What settling works with, at this moment."""
        from reverie.pipeline.event_reader import WorkContext

        return WorkContext(self.store, self.embedder, self._current_settings, self._now(), self.llm)

    @property
    def _current_settings(self) -> config.Settings:
        """The settings, with the conversations that were switched off since."""
        off = (
            self.settings.off_sessions
            if self._background is None
            else self._background.settings.off_sessions
        )
        return (
            self.settings
            if off == self.settings.off_sessions
            else self.settings._replace(off_sessions=off)
        )

    @property
    def _policy(self) -> Policy:
        """What is taken out of a text before it is kept."""
        return self.settings.policy

    def _flush(self) -> None:
        """What was recorded in this process is in the log."""
        if self._recorder is not None:
            self._recorder.flush()

    def _resolve_space(self, space: str | None) -> str:
        return resolve_space(space)

    def _writable_space(self, space: str | None, session: str = "") -> str:
        home = self._resolve_space(space)
        self._current_settings.check_on(home, session)
        return home

    def _zone(self) -> str:
        """The time zone in which times are meant that name none."""
        return config.local_time_zone(self.settings)

    def _embed_query(self, text: str) -> dict[str, Any]:
        """What a query needs to be compared by meaning; nothing where there is no
        model or no text.
        """
        from reverie.pipeline.pending_vectors import try_embed

        told = redact_short_text(
            text[:MAX_QUERY], self._policy.masking
        )  # a remote one is told no secret
        vector = try_embed(self.embedder, told) if text.strip() else None
        return (
            {}
            if vector is None or self.embedder is None
            else {"vector": vector, "model": self.embedder.model}
        )

    def _get_one(self, id: str) -> Memory:
        return self._get_all(id)[0]

    def _get_all(self, ids: Sequence[str] | str) -> list[Memory]:
        wanted = tuple(
            dict.fromkeys(check_text_list([ids] if isinstance(ids, str) else ids, "ids"))
        )
        found = self.store.get(wanted)
        if missing := [id for id in wanted if id not in {memory.id for memory in found}]:
            raise NotFound(f"There is no memory with the id {', '.join(missing)}")
        return found

    def _refuse_supersede_cycle(self, old: str, new: str) -> None:
        """A memory cannot step back for one that has stepped back for it, by way of others too:
        none would count.
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

    def _apply_changes(
        self,
        changes: Sequence[Change],
        verb: str,
        space: str,
        now: float,
        *,
        session: str = "",
        **payload: Any,
    ) -> int:
        seq = self.store.apply(
            changes, Event(verb=verb, space=space, session=session, at=now, payload=payload)
        )
        self._no_longer_active += [
            one.id
            for one in changes
            if isinstance(one, Retire)
            or (
                isinstance(one, Revise)
                and not one.fields.keys().isdisjoint(("text", "space", "retired_at"))
            )
        ]
        return seq

    def _withdraw_inactive(self) -> None:
        """What has just ceased to count is not injected from a block that waits."""
        gone, self._no_longer_active = self._no_longer_active, []
        if gone and self._background is not None:
            self._background.withdraw(gone)
