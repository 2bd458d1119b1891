"""Holding: what a conversation holds just now, how something feels, what the present time is
called.
"""

from __future__ import annotations

from typing import Any

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Add, Event, Filter, Memory, Retire, Revise, lineage
from reverie.memory import feelings, working_memory
from reverie.memory.memory_validation import Moment, accepted, built, moment
from reverie.memory.named_period import Season, named, place, season_of, stamped, written
from reverie.privacy.redacted_text import private
from reverie.runtime.mind.base import Base, alone
from reverie.text.argument_checks import whole

MOST_FELT = 5_000  # newest memories with a feeling that are looked at


class Holding(Base):
    """The verbs of what is now."""

    @alone
    def hold(
        self,
        content: Any,
        *,
        session: str,
        space: str | None = None,
        minutes: float = working_memory.MINUTES,
    ) -> Memory:
        """Set the working memory of a conversation: the scratch pad of its current task, a text or
        a JSON object.

        There is one for each conversation and this replaces what it held; the user's last words,
        which Reverie notes there by itself, stay. It ends by itself `minutes` (at most a day) after
        the last turn, with the conversation, with a task that is recorded as done, or by `release`.
        It survives a crash, and no other conversation sees it.
        """
        from reverie.extraction.working_memory_reader import pads_in, spare

        where, name = self._pad_of(space, session, writing=True)
        now = self._now()
        pads = pads_in(self.store, where)
        old = pads[0] if pads else None
        turn = working_memory.held_by(old, now).turn if old else ""
        new = working_memory.pad(
            old.id if old else clock.new_id(),
            now,
            where,
            name,
            working_memory.checked_content(content),
            turn,
            working_memory.checked_minutes(minutes),
            self._policy,
        )
        first = Revise(old.id, working_memory.replaced(old, new)) if old else Add(new)
        self._apply([first, *spare(pads, now)], "hold", where, now, session=name)
        return self._one(new.id)

    def held(self, session: str, *, space: str | None = None) -> working_memory.Held:
        """What the working memory of a conversation holds now; false if that is nothing."""
        from reverie.extraction.working_memory_reader import pads_in

        where, _ = self._pad_of(space, session)
        pads = pads_in(self.store, where)
        return working_memory.held_by(pads[0], self._now()) if pads else working_memory.Held()

    @alone
    def release(self, session: str, *, space: str | None = None) -> bool:
        """The task is done: its working memory is cleared. Whether there was any."""
        from reverie.extraction.working_memory_reader import pads_in

        where, name = self._pad_of(space, session)
        pads, now = pads_in(self.store, where), self._now()
        if pads:
            self._apply(
                [Retire(pad.id, now, why="completed") for pad in pads],
                "hold",
                where,
                now,
                session=name,
            )
        return bool(pads)

    @alone
    def feel(
        self,
        emotion: str,
        intensity: str = "medium",
        *,
        about: str | None = None,
        why: str = "",
        space: str | None = None,
    ) -> Memory:
        """Note how something felt: an emotion in a word, and how strongly ("low", "medium" or
        "high").

        With `about`, the id of a memory, the feeling is part of that memory and shares whatever
        becomes of it; it replaces one that was noted before. Without, it is a memory of its own, of
        kind "feeling". Strong feelings raise the rank of their memory, by a quarter of its odds at
        most. Returns the memory that carries it.
        """
        now = self._now()
        one = feelings.checked_feeling(
            emotion, intensity, accepted(why, self._policy) if isinstance(why, str) else why
        )
        if about is not None:
            memory = self._one(about)
            self._writable(memory.space)
            self._apply([feelings.tagged(memory, one, now)], "feel", memory.space, now)
            return self._one(about)
        home = self._writable(space)
        text = f"Felt {one.emotion} ({one.intensity})" + (f": {one.why}" if one.why else "")
        new = stamped(
            built(
                clock.new_id(),
                now,
                text,
                space=home,
                kind=feelings.KIND,
                details={feelings.FIELD: feelings.noted(one)},
                policy=self._policy,
            ),
            self.season(space=home),
        )
        self._apply([Add(new)], "feel", home, now)
        return new

    @alone
    def unfeel(self, id: str) -> Memory:
        """Take the feeling off a memory again."""
        memory, now = self._one(id), self._now()
        if feelings.FIELD in memory.details:
            self._apply([feelings.tagged(memory, None, now)], "feel", memory.space, now)
        return self._one(id)

    def feelings(
        self, *, minimum: str = "low", emotion: str = "", space: str | None = None, limit: int = 20
    ) -> list[Memory]:
        """Memories that are felt at least so strongly, newest first; `emotion`: only this one."""
        if not isinstance(emotion, str):
            raise BadInput(f"emotion={emotion!r} must be a text")
        least, plain = feelings.checked_intensity(minimum), emotion.strip().lower()
        where = Filter(spaces=lineage(self._space(space)), having=feelings.FIELD, limit=MOST_FELT)
        found = [
            memory for memory in self.store.browse(where) if feelings.is_felt(memory, least, plain)
        ]
        return found[: max(0, whole(limit))]

    def season(
        self, label: str | None = None, *, until: Moment = None, space: str | None = None
    ) -> Season:
        """What the present time is called in a space and below it: "release-week", "end-of-sprint";
        "" ends it.

        What is kept meanwhile carries the name in `details["season"]`, and recall favours, within
        bounds, what was kept in a time of the same name. `until`: when it ends by itself. Without a
        label, only tells which season it is.
        """
        now = self._now()
        if label is None:
            return season_of(self.store, lineage(self._space(space)), now)
        home, end = self._writable(space), moment(until, "until")
        if end is not None and end <= now:
            raise BadInput("until lies in the past")
        chosen = Season(named(label, self._policy), now, end) if label else Season()
        with self.store.alone():
            self.store.set_meta(place(home), written(chosen))
            self.store.append(
                [Event("season", home, now, payload={"label": chosen.label, "until": end})]
            )
        return season_of(self.store, lineage(home), now)

    def _pad_of(self, space: str | None, session: str, *, writing: bool = False) -> tuple[str, str]:
        """(the conversation's own space, its name)."""
        if not isinstance(session, str):
            raise BadInput(f"session={session!r} must be a text")
        name = private(session, self._policy)
        return working_memory.space_of(
            self._writable(space, name) if writing else self._space(space), name
        ), name
