"""Verbs of the present: the working memory of a conversation, feelings, and named seasons."""

from __future__ import annotations

from typing import Any

from reverie.core import clock
from reverie.core.errors import BadInput
from reverie.core.model import Add, Event, Filter, Memory, Retire, Revise, visible_spaces
from reverie.memory import feelings, working_memory
from reverie.memory.memory_validation import Moment, build_memory, parse_moment, redact_or_refuse
from reverie.memory.named_period import (
    Season,
    find_season,
    season_meta_name,
    season_to_json,
    stamp_season,
    validate_season_label,
)
from reverie.privacy.redacted_text import redact_short_text
from reverie.runtime.mind.mind_base import MindBase, check_limit, run_exclusively

MAX_FEELING_SCAN = 5_000  # newest memories with a feeling that are looked at


class PresentVerbs(MindBase):
    """The verbs of working memory, feelings and seasons."""

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
        pads = find_scratch_pads(self.store, where)
        old = pads[0] if pads else None
        turn = working_memory.read_held_content(old, now).turn if old else ""
        held = working_memory.HeldContent(
            working_memory.validate_held_content(content),
            turn,
            now,
            now + 60.0 * working_memory.validate_minutes(minutes),
        )
        new = working_memory.build_scratch_pad(
            old.id if old else clock.new_id(), where, name, held, self._policy
        )
        first = Revise(old.id, working_memory.changed_pad_fields(old, new)) if old else Add(new)
        changes = [first, *retire_spare_pads(pads, now)]
        self._apply_changes(changes, "hold", where, now, session=name)
        return self._get_one(new.id)

    def held(self, session: str, *, space: str | None = None) -> working_memory.HeldContent:
        """What the working memory of a conversation holds now; falsy if that is nothing."""
        from reverie.extraction.working_memory_reader import find_scratch_pads

        where, _ = self._pad_place(space, session)
        pads = find_scratch_pads(self.store, where)
        if not pads:
            return working_memory.HeldContent()
        return working_memory.read_held_content(pads[0], self._now())

    @run_exclusively
    def release(self, session: str, *, space: str | None = None) -> bool:
        """Clear the working memory of a conversation; True if there was any."""
        from reverie.extraction.working_memory_reader import find_scratch_pads

        where, name = self._pad_place(space, session)
        pads = find_scratch_pads(self.store, where)
        now = self._now()
        if pads:
            changes = [Retire(pad.id, now, why="completed") for pad in pads]
            self._apply_changes(changes, "hold", where, now, session=name)
        return bool(pads)

    @run_exclusively
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
        reason = redact_or_refuse(why, self._policy) if isinstance(why, str) else why
        feeling = feelings.validate_feeling(emotion, intensity, reason)
        if about is not None:
            memory = self._get_one(about)
            self._writable_space(memory.space)
            change = feelings.set_feeling(memory, feeling, now)
            self._apply_changes([change], "feel", memory.space, now)
            return self._get_one(about)
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
        stamped = stamp_season(built, self.season(space=home))
        self._apply_changes([Add(stamped)], "feel", home, now)
        return stamped

    @run_exclusively
    def unfeel(self, id: str) -> Memory:
        """Remove the feeling from a memory."""
        memory = self._get_one(id)
        now = self._now()
        if feelings.FIELD in memory.details:
            change = feelings.set_feeling(memory, None, now)
            self._apply_changes([change], "feel", memory.space, now)
        return self._get_one(id)

    def feelings(
        self, *, minimum: str = "low", emotion: str = "", space: str | None = None, limit: int = 20
    ) -> list[Memory]:
        """Memories with a feeling of at least this intensity, newest first; `emotion`:
        only this.
        """
        if not isinstance(emotion, str):
            raise BadInput(f"emotion={emotion!r} must be a text")
        least = feelings.validate_intensity(minimum)
        wanted = emotion.strip().lower()
        spaces = visible_spaces(self._resolve_space(space))
        felt = self.store.browse(
            Filter(spaces=spaces, having=feelings.FIELD, limit=MAX_FEELING_SCAN)
        )
        matching = [memory for memory in felt if feelings.is_felt(memory, least, wanted)]
        return matching[: check_limit(limit)]

    def season(
        self, label: str | None = None, *, until: Moment = None, space: str | None = None
    ) -> Season:
        """Name the present time in a space and below it: "release-week", "end-of-sprint"; "" ends
        it.

        What is kept meanwhile carries the name in `details["season"]`, and recall favours, within
        bounds, what was kept in a time of the same name. `until`: when it ends by itself. Without a
        label, only returns the present season.
        """
        now = self._now()
        if label is None:
            return find_season(self.store, visible_spaces(self._resolve_space(space)), now)
        home = self._writable_space(space)
        end = parse_moment(until, "until")
        if end is not None and end <= now:
            raise BadInput("until lies in the past")
        chosen = Season(validate_season_label(label, self._policy), now, end) if label else Season()
        with self.store.transaction():
            self.store.set_meta(season_meta_name(home), season_to_json(chosen))
            payload = {"label": chosen.label, "until": end}
            self.store.append([Event("season", home, now, payload=payload)])
        return find_season(self.store, visible_spaces(home), now)

    def _pad_place(
        self, space: str | None, session: str, *, writing: bool = False
    ) -> tuple[str, str]:
        """(the space of a conversation's own, the redacted name of the conversation)."""
        if not isinstance(session, str):
            raise BadInput(f"session={session!r} must be a text")
        name = redact_short_text(session, self._policy)
        home = self._writable_space(space, name) if writing else self._resolve_space(space)
        return working_memory.conversation_space(home, name), name
