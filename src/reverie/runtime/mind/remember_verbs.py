"""Keep memories and reminders.

Always true: what is returned is durable and found by its words. Secrets are redacted first, and an
approval that a caller claims for a new memory is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Unpack

from reverie.core import clock
from reverie.core.authorship import apply_curate_setting, protect_details
from reverie.core.code_anchors import about_edges, anchors_of, details_with_anchors
from reverie.core.errors import BadInput, Refused
from reverie.core.kinds import INTENTION
from reverie.core.model import Add, Change, Link, Memory
from reverie.memory.memory_validation import (
    MEMORY_FIELDS,
    MemoryFields,
    build_memory,
    equip_for_kind,
    validate_texts,
)
from reverie.memory.named_period import find_season, stamp_season
from reverie.runtime.mind.mind_context import VerbGroup
from reverie.text.argument_checks import check_options, check_text_list

if TYPE_CHECKING:
    from reverie.memory.intention import When

# Memories of `remember_many` in one transaction; others can write in between.
TRANSACTION_SIZE = 500


class RememberVerbs(VerbGroup):
    """The verbs of `Mind` that keep a memory."""

    def remember(
        self,
        text: str,
        *,
        space: str | None = None,
        about: Iterable[str] = (),
        **fields: Unpack[MemoryFields],
    ) -> Memory:
        """Keep a memory. It is durable and found by its words when this returns.

        Secrets are taken out first and named in `details["redacted"]`. `at` is when it happened or
        was said (default: now), `session` and `speaker` say where and by whom, `files` what it is
        about, `triggers` patterns that call it up; a "negative" one without triggers takes those
        that its text plainly names, and says so in `details["derived_triggers"]`. `about` are files
        and symbols of an indexed repository, as of `code.anchor`: when they change it is told.
        Raises BadInput for what cannot be kept, Disabled where memory is switched off; Refused for
        what nearly says what is known, if the setting `duplicates` is "refuse".
        """
        check_options("remember", fields, MemoryFields)
        home = self._writable_space(space, fields.get("session", ""))
        return self.keep_new(text, home, about=about, **fields)

    def remember_many(
        self, items: Iterable[Mapping[str, Any]], *, space: str | None = None
    ) -> list[Memory]:
        """Keep many memories, in order; each item has the names of `remember`'s arguments, `space`
        among them.

        Everything is checked before anything is kept. Written in transactions of 500: after a
        crash, those that were committed are there.
        """
        # One time for all: what is kept together was kept at once.
        now = self._now()
        default = self._writable_space(space)
        built = [
            self._build_item(
                item,
                place,
                default,
                now,
            )
            for place, item in enumerate(items)
        ]
        # Looked up once for each space, not for each memory.
        seasons = {
            space: find_season(self._store, self._visible_spaces(space), now)
            for space in {memory.space for memory in built}
        }
        memories = [stamp_season(memory, seasons[memory.space]) for memory in built]
        for memory in memories:
            self._refuse_duplicate(memory)
        for start in range(0, len(memories), TRANSACTION_SIZE):
            changes: list[Change] = []
            for memory in memories[start : start + TRANSACTION_SIZE]:
                changes += to_add_changes(memory)
            self._apply_changes(changes, "remember", default, now)
        return memories

    def remind(
        self,
        /,
        text: str,
        *,
        when: When = None,
        every: str = "",
        context: Iterable[str] | str = (),
        files: Iterable[str] = (),
        commands: Iterable[str] = (),
        **more: Any,
    ) -> Memory:
        """Keep a reminder of something to do: at a time, repeatedly, or when a context matches.

        `when`: words ("tomorrow at 9", "in 20 minutes"), ISO 8601, a datetime, or seconds since
        1970; `every`: "every weekday at 8:30", or cron. Both are meant in `zone` (an IANA name;
        default: the setting of that name, or the machine's) and keep to the clock on its wall.
        `context`: words, or patterns as of `remember`; `files`: globs of paths; `commands`: globs
        of what a shell is given. It fires at whichever comes first; `priority` is 0 to 1 (default:
        0.5). Further names are those of `remember`. BadInput for a time that has passed or is not
        understood.
        """
        from reverie.memory import intention
        from reverie.text.time_expressions import parse_time_ahead

        topics = [context] if isinstance(context, str) and context else context or ()
        # Redacted before they become patterns: those are escaped, and no rule would know a secret
        # in one any more.
        topics, paths, typed = (
            validate_texts(check_text_list(given, name), self._policy)
            for given, name in ((topics, "context"), (files, "files"), (commands, "commands"))
        )
        triggers = (
            *check_text_list(more.pop("triggers", ()), "triggers"),
            *intention.build_trigger_patterns(paths, typed, topics),
        )
        if when is None and not every and not triggers:
            raise BadInput(
                "Remind of it when? Give a time (when, every) or what calls it up (context, "
                "files, commands)"
            )
        zone = more.pop("zone", "")
        details = {
            **more.pop("details", {}),
            "priority": more.pop("priority", 0.5),
            "zone": zone,
            "every": every,
        }
        if when is not None:
            details["when"] = parse_time_ahead(when, self._now(), zone or self._context.time_zone())
        # A path without wildcards is also a file that the reminder is about.
        normalized = [intention.normalize_path_glob(path) for path in paths]
        plain = [path for path in normalized if not set("*?[") & set(path)]
        return self.remember(
            text, kind=INTENTION, triggers=triggers, details=details, files=plain, **more
        )

    def keep_new(
        self,
        text: str,
        home: str,
        besides: Callable[[Memory], list[Change]] | None = None,
        about: Iterable[str] = (),
        **fields: Any,
    ) -> Memory:
        """A new memory, written in one transaction with the changes that `besides` derives."""
        now = self._now()
        season = find_season(self._store, self._visible_spaces(home), now)
        memory = stamp_season(self._build_new(text, home, now, **fields), season)
        # Last, for anchors stand in the details that are checked before.
        memory = self._with_anchors(memory, about)
        self._refuse_duplicate(memory)
        changes = [*to_add_changes(memory), *(besides(memory) if besides else ())]
        self._apply_changes(changes, "remember", home, now, session=memory.session)
        return memory

    def _refuse_duplicate(self, memory: Memory) -> None:
        """Raise Refused if this nearly says what is known, where the settings do not want that."""
        if self._settings.duplicates != "refuse":
            return
        from reverie.reconciliation.paraphrase.statement_comparison import compare_memories
        from reverie.retrieval.near_duplicates import find_near_duplicate

        twin = find_near_duplicate(self._store, memory, self._now())
        # Another value in the same words is news.
        if twin and compare_memories(twin.memory, memory, None).relation in ("same", "near"):
            raise Refused(
                f"It is known already, as {twin.memory.id}: {twin.memory.text!r}. Revise that "
                f'one if there is more to say, or set duplicates = "keep" in config.toml'
            )

    def _build_new(self, text: Any, home: str, now: float, **fields: Any) -> Memory:
        """A new memory, not written yet; nobody has approved it, whatever a caller says."""
        details = fields.get("details")
        if isinstance(details, Mapping):
            fields["details"] = protect_details(details)
        built = build_memory(
            clock.new_id(),
            now,
            text,
            space=home,
            **fields,
            policy=self._policy,
        )
        equipped = equip_for_kind(built, now, self._context.time_zone)
        return self._context.sign_memory(apply_curate_setting(equipped, self._settings.curate))

    def _with_anchors(self, memory: Memory, places: Iterable[str]) -> Memory:
        # The code map need not be imported for the many that are about no code.
        if not places:
            return memory
        from reverie.code.anchor_reader import anchor_places

        anchors = anchor_places(self._work, check_text_list(places, "about"))
        return memory._replace(details=details_with_anchors(memory, anchors))

    def _build_item(
        self,
        item: Mapping[str, Any],
        place: int,
        default: str,
        now: float,
    ) -> Memory:
        """The memory of one item of `remember_many`; BadInput names the item's place."""
        try:
            values = dict(item)
            if unknown := [name for name in values if name not in (*MEMORY_FIELDS, "about")]:
                raise BadInput(f"{unknown[0]!r} is not one of {', '.join(MEMORY_FIELDS)}")
            home = self._writable_space(
                values.pop("space", default),
                values.get("session", ""),
            )
            about = values.pop("about", ())
            memory = self._build_new(values.pop("text", None), home, now, **values)
            return self._with_anchors(memory, about)
        except (BadInput, TypeError, ValueError) as err:
            raise BadInput(f"Item {place}: {err}. Nothing was kept") from err


def to_add_changes(memory: Memory) -> list[Change]:
    """The changes that add a memory, with the edges to the code that it is about."""
    return [
        Add(memory=memory),
        *map(
            Link,
            about_edges(memory, anchors_of(memory)).values(),
        ),
    ]
