"""Keeping: from what a caller passes to memories that are durable and can be found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from reverie import clock
from reverie.errors import BadInput
from reverie.lifecycle.intake import Moment, built, watchful
from reverie.lifecycle.season import season_of, stamped
from reverie.mind.base import Base
from reverie.model import Add, Memory, lineage

FIELDS = ("text", "title", "kind", "tags", "space", "at", "session", "speaker", "provenance", "files", "triggers",
          "details", "messages", "valid_from", "valid_to", "expires_at", "trust", "salience")    # of `remember`
CHUNK = 500    # memories of `remember_many` in one transaction: others can write in between


class Keeping(Base):
    """The verbs that keep something."""

    def remember(self, text: str, *,  # noqa: PLR0913 - the fields of a memory are its arguments
                 space: str | None = None, kind: str = "fact", title: str = "",
                 tags: Iterable[str] = (), at: Moment = None, session: str = "", speaker: str = "",
                 provenance: str = "observed", files: Iterable[str] = (), triggers: Iterable[str] = (),
                 details: Mapping[str, Any] | None = None, messages: tuple[int, int] | None = None,
                 valid_from: Moment = None, valid_to: Moment = None, expires_at: Moment = None,
                 trust: float | None = None, salience: float = 0.5) -> Memory:
        """Keep something. Durable and findable by its words when this returns.

        Secrets are taken out first and named in `details["redacted"]`. `at` is when it happened or was said (default:
        now), `session` and `speaker` say where and by whom, `files` what it is about, `triggers` patterns that call it
        up; a "negative" one without triggers takes those that its text plainly names, and says so in
        `details["derived_triggers"]`. Raises BadInput for what cannot be kept, Disabled where memory is switched off.
        """
        home = self._writable(space)
        now = self._now()
        memory = stamped(watchful(built(
            clock.new_id(), now, text, space=home, kind=kind, title=title, tags=tags, at=at, session=session,
            speaker=speaker, provenance=provenance, files=files, triggers=triggers, details=details,
            messages=messages, valid_from=valid_from, valid_to=valid_to, expires_at=expires_at, trust=trust,
            salience=salience)), season_of(self.store, lineage(home), now))
        self._apply([Add(memory=memory)], "remember", home, now, session=memory.session)
        return memory

    def remember_many(self, items: Iterable[Mapping[str, Any]], *, space: str | None = None) -> list[Memory]:
        """Keep many things, in order; each item has the names of `remember`'s arguments, its own `space` too.

        Everything is checked before anything is kept. Written in transactions of 500: after a crash, those that were
        committed are there.
        """
        now = self._now()
        default = self._writable(space)
        built_ones = [self._built(item, place, default, now) for place, item in enumerate(items)]
        seasons = {space: season_of(self.store, lineage(space), now) for space in {one.space for one in built_ones}}
        memories = [stamped(memory, seasons[memory.space]) for memory in built_ones]
        for start in range(0, len(memories), CHUNK):
            some = memories[start:start + CHUNK]
            self._apply([Add(memory=memory) for memory in some], "remember", default, now)
        return memories

    def teach(self, name: str, steps: Sequence[str], *, triggers: Iterable[str] = (),
              prerequisites: Sequence[str] = (), warnings: Sequence[str] = (), **more: Any) -> Memory:
        """Keep a procedure: its name, its steps in order, when it applies, what must be there first, what to beware of.

        `triggers` are patterns as of `remember` (see `reverie.patterns`); further names are those of `remember`.
        BadInput if there is no step.
        """
        from reverie.lifecycle import procedure
        told = procedure.described(name, steps, prerequisites, warnings)
        details = {**more.pop("details", {}), **told.pop("details")}
        return self.remember(**told, **more, kind=procedure.KIND, triggers=triggers, details=details)

    def _built(self, item: Mapping[str, Any], place: int, default: str, now: float) -> Memory:
        try:
            values = dict(item)
            if unknown := [name for name in values if name not in FIELDS]:
                raise BadInput(f"{unknown[0]!r} is not one of {', '.join(FIELDS)}")
            home = self._writable(values.pop("space", default))
            return watchful(built(clock.new_id(), now, values.pop("text", None), space=home, **values))
        except (BadInput, TypeError, ValueError) as err:
            raise BadInput(f"Item {place}: {err}. Nothing was kept") from err
