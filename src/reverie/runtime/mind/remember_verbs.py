"""Verbs that keep something: memories, procedures, reminders; and who stands behind a text.

Always true: what is returned is durable and found by its words. Secrets are redacted first, and an
approval that a caller claims for a new memory is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from reverie.core import clock
from reverie.core.authorship import apply_curate_setting, protect_details
from reverie.core.code_anchors import about_edges, anchors_of, details_with_anchors
from reverie.core.errors import BadInput
from reverie.core.kinds import INTENTION
from reverie.core.model import Add, Change, Filter, Link, Memory, visible_spaces
from reverie.memory.memory_validation import (
    MEMORY_FIELDS,
    Moment,
    build_memory,
    equip_for_kind,
    validate_texts,
)
from reverie.memory.named_period import find_season, stamp_season
from reverie.runtime.mind.mind_base import MindBase, run_exclusively
from reverie.text.argument_checks import check_question, check_text_list

if TYPE_CHECKING:
    from reverie.extraction.provenance_check import Claim
    from reverie.memory.intention import When

MAX_PROCEDURES = 10_000  # procedures of one space
# Memories of `remember_many` in one transaction; others can write in between.
TRANSACTION_SIZE = 500


class RememberVerbs(MindBase):
    """The verbs that keep a memory."""

    def remember(  # noqa: PLR0913 - the fields of a memory are its arguments
        self,
        text: str,
        *,
        space: str | None = None,
        kind: str = "fact",
        title: str = "",
        tags: Iterable[str] = (),
        at: Moment = None,
        session: str = "",
        speaker: str = "",
        provenance: str = "observed",
        files: Iterable[str] = (),
        triggers: Iterable[str] = (),
        details: Mapping[str, Any] | None = None,
        messages: tuple[int, int] | None = None,
        valid_from: Moment = None,
        valid_to: Moment = None,
        expires_at: Moment = None,
        trust: float | None = None,
        salience: float = 0.5,
        about: Iterable[str] = (),
    ) -> Memory:
        """Keep a memory. It is durable and found by its words when this returns.

        Secrets are taken out first and named in `details["redacted"]`. `at` is when it happened or
        was said (default: now), `session` and `speaker` say where and by whom, `files` what it is
        about, `triggers` patterns that call it up; a "negative" one without triggers takes those
        that its text plainly names, and says so in `details["derived_triggers"]`. `about` are files
        and symbols of an indexed repository, as of `anchor`: when they change it is told. Raises
        BadInput for what cannot be kept, Disabled where memory is switched off.
        """
        return self._keep_new(
            text,
            self._writable_space(space, session),
            kind=kind,
            title=title,
            tags=tags,
            at=at,
            session=session,
            speaker=speaker,
            provenance=provenance,
            files=files,
            triggers=triggers,
            details=details,
            messages=messages,
            valid_from=valid_from,
            valid_to=valid_to,
            expires_at=expires_at,
            trust=trust,
            salience=salience,
            about=about,
        )

    def remember_many(
        self, items: Iterable[Mapping[str, Any]], *, space: str | None = None
    ) -> list[Memory]:
        """Keep many memories, in order; each item has the names of `remember`'s arguments, `space`
        among them.

        Everything is checked before anything is kept. Written in transactions of 500: after a
        crash, those that were committed are there.
        """
        now = self._now()
        default = self._writable_space(space)
        built = [self._build_item(item, place, default, now) for place, item in enumerate(items)]
        # Looked up once for each space, not for each memory.
        seasons = {
            space: find_season(self.store, visible_spaces(space), now)
            for space in {memory.space for memory in built}
        }
        memories = [stamp_season(memory, seasons[memory.space]) for memory in built]
        for start in range(0, len(memories), TRANSACTION_SIZE):
            changes: list[Change] = []
            for memory in memories[start : start + TRANSACTION_SIZE]:
                changes += to_add_changes(memory)
            self._apply_changes(changes, "remember", default, now)
        return memories

    def vouch(
        self,
        text: str,
        kind: str = "fact",
        *,
        space: str | None = None,
        said: Iterable[str] = (),
        heard: Iterable[str] = (),
    ) -> Claim:
        """The provenance that a text may have which a model asks to keep, and why if that is lower.

        Its words are looked for in what the user said, and in what others wrote, in this space
        during the last day; `said` are further words of the user, `heard` further texts of others,
        such as files that were read. A model's own word is "observed" at most; hand the provenance
        to `remember`.
        """
        from reverie.extraction import provenance_check

        user_words = [("user", text) for text in check_text_list(said, "said")]
        foreign = [
            provenance_check.ForeignText(text, outside=False)
            for text in check_text_list(heard, "heard")
        ]
        evidence = provenance_check.to_evidence(user_words, foreign)
        recent = provenance_check.collect_recent_evidence(
            self.store, self._resolve_space(space), self._now()
        )
        return provenance_check.determine_provenance(
            check_question(text, "text"), kind, evidence.merged_with(recent)
        )

    @run_exclusively
    def teach(
        self,
        name: str,
        steps: Sequence[str],
        *,
        triggers: Iterable[str] = (),
        prerequisites: Sequence[str] = (),
        warnings: Sequence[str] = (),
        **more: Any,
    ) -> Memory:
        """Keep a procedure: its name, its steps in order, when it applies, its prerequisites and
        warnings.

        `triggers` are patterns as of `remember` (see `reverie.core.trigger_patterns`); further
        names are those of `remember`. Taught again under the same name in the same space, the new
        one supersedes the old. BadInput without a step.
        """
        from reverie.memory import procedure

        described = procedure.describe_procedure(name, steps, prerequisites, warnings)
        details = {**more.pop("details", {}), **described.pop("details")}
        home = self._writable_space(more.pop("space", None))
        known = self.store.browse(
            Filter(spaces=(home,), kinds=(procedure.KIND,), limit=MAX_PROCEDURES)
        )
        return self._keep_new(
            described.pop("text"),
            home,
            lambda kept: procedure.supersede_same_name(known, kept),
            **described,
            **more,
            kind=procedure.KIND,
            triggers=triggers,
            details=details,
        )

    def _keep_new(
        self,
        text: str,
        home: str,
        besides: Callable[[Memory], list[Change]] | None = None,
        about: Iterable[str] = (),
        **fields: Any,
    ) -> Memory:
        """A new memory, written in one transaction with the changes that `besides` derives."""
        now = self._now()
        season = find_season(self.store, visible_spaces(home), now)
        memory = stamp_season(self._build_new(text, home, now, **fields), season)
        memory = self._with_anchors(memory, about)
        changes = [*to_add_changes(memory), *(besides(memory) if besides else ())]
        self._apply_changes(changes, "remember", home, now, session=memory.session)
        return memory

    def _build_new(self, text: Any, home: str, now: float, **fields: Any) -> Memory:
        """A new memory, not written yet; nobody has approved it, whatever a caller says."""
        details = fields.get("details")
        if isinstance(details, Mapping):
            fields["details"] = protect_details(details)
        built = build_memory(clock.new_id(), now, text, space=home, **fields, policy=self._policy)
        return apply_curate_setting(equip_for_kind(built, now, self._zone), self.settings.curate)

    def _with_anchors(self, memory: Memory, places: Iterable[str]) -> Memory:
        if not places:
            return memory
        from reverie.code.anchor_reader import anchor_places

        anchors = anchor_places(self.work, check_text_list(places, "about"))
        return memory._replace(details=details_with_anchors(memory, anchors))

    def remind(
        self,
        text: str,
        *,
        when: When = None,
        every: str = "",
        context: Iterable[str] | str = (),
        files: Iterable[str] = (),
        commands: Iterable[str] = (),
        priority: float = 0.5,
        zone: str = "",
        **more: Any,
    ) -> Memory:
        """Keep a reminder of something to do: at a time, repeatedly, or when a context matches.

        `when`: words ("tomorrow at 9", "in 20 minutes"), ISO 8601, a datetime, or seconds since
        1970; `every`: "every weekday at 8:30", or cron. Both are meant in `zone` (an IANA name;
        default: the setting of that name, or the machine's) and keep to the clock on its wall.
        `context`: words, or patterns as of `remember`; `files`: globs of paths; `commands`: globs
        of what a shell is given. It fires at whichever comes first; `priority` is 0 to 1. Further
        names are those of `remember`. BadInput for a time that has passed or is not understood.
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
            raise BadInput("Remind of it when? Give when=, every=, context=, files= or commands=")
        details = {**more.pop("details", {}), "priority": priority, "zone": zone, "every": every}
        if when is not None:
            details["when"] = parse_time_ahead(when, self._now(), zone or self._zone())
        # A path without wildcards is also a file that the reminder is about.
        normalized = [intention.normalize_path_glob(path) for path in paths]
        plain = [path for path in normalized if not set("*?[") & set(path)]
        return self.remember(
            text, kind=INTENTION, triggers=triggers, details=details, files=plain, **more
        )

    def _build_item(self, item: Mapping[str, Any], place: int, default: str, now: float) -> Memory:
        """The memory of one item of `remember_many`; BadInput names the item's place."""
        try:
            values = dict(item)
            if unknown := [name for name in values if name not in (*MEMORY_FIELDS, "about")]:
                raise BadInput(f"{unknown[0]!r} is not one of {', '.join(MEMORY_FIELDS)}")
            home = self._writable_space(values.pop("space", default), values.get("session", ""))
            about = values.pop("about", ())
            memory = self._build_new(values.pop("text", None), home, now, **values)
            return self._with_anchors(memory, about)
        except (BadInput, TypeError, ValueError) as err:
            raise BadInput(f"Item {place}: {err}. Nothing was kept") from err


def to_add_changes(memory: Memory) -> list[Change]:
    """The changes that add a memory, with the edges to the code that it is about."""
    return [Add(memory=memory), *map(Link, about_edges(memory, anchors_of(memory)).values())]
