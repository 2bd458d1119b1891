"""How something felt: noted on a memory or by itself."""

from __future__ import annotations

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Add, Filter, Memory
from reverie.memory import feelings
from reverie.memory.memory_validation import build_memory, redact_or_refuse
from reverie.memory.named_period import (
    find_season,
    stamp_season,
)
from reverie.runtime.mind.mind_context import VerbGroup, check_limit, run_exclusively

# Newest memories with a feeling that are looked at.
MAX_FEELING_SCAN = 5_000


class FeelingVerbs(VerbGroup):
    """`mind.feelings`: an emotion in a word, and how strong it was."""

    @run_exclusively
    def record(
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
        reason = redact_or_refuse(why, self._policy) if isinstance(why, str) else why
        feeling = feelings.validate_feeling(emotion, intensity, reason)
        # One that belongs to a memory is archived, restored and purged with it.
        if about is not None:
            memory = self._get_memory(about)
            self._writable_space(memory.space)
            change = feelings.set_feeling(memory, feeling, now)
            return self._change(memory, [change], "feel", now)
        home = self._writable_space(space)
        text = f"Felt {feeling.emotion} ({feeling.intensity})"
        built = build_memory(
            clock.new_id(),
            now,
            f"{text}: {feeling.why}" if feeling.why else text,
            space=home,
            kind=feelings.KIND,
            details={feelings.FIELD: feelings.feeling_to_details(feeling)},
            policy=self._policy,
        )
        stamped = stamp_season(built, find_season(self._store, self._visible_spaces(home), now))
        self._apply_changes([Add(stamped)], "feel", home, now)
        return stamped

    @run_exclusively
    def remove(self, id: str) -> Memory:
        """Remove the feeling from a memory."""
        memory = self._get_memory(id)
        now = self._now()
        if feelings.FIELD in memory.details:
            change = feelings.set_feeling(memory, None, now)
            return self._change(memory, [change], "feel", now)
        return memory

    def browse(
        self,
        *,
        minimum: str = "low",
        emotion: str = "",
        space: str | None = None,
        limit: int = 20,
    ) -> list[Memory]:
        """Memories with a feeling of at least this intensity, newest first; `emotion`:
        only this.
        """
        if not isinstance(emotion, str):
            raise BadInput(f"emotion={emotion!r} must be a text")
        least = feelings.validate_intensity(minimum)
        wanted = emotion.strip().lower()
        spaces = self._visible_from(space)
        felt = self._store.browse(
            Filter(
                spaces=spaces,
                having=feelings.FIELD,
                limit=MAX_FEELING_SCAN,
            )
        )
        matching = [memory for memory in felt if feelings.is_felt(memory, least, wanted)]
        return matching[: check_limit(limit)]
