"""From what a caller passes to a Memory: checked, complete, and cleaned of secrets and of what the
policy takes out.

Nothing that is refused is half-kept, and the message says what to do. What was redacted is named in
`details["redacted"]`, never repeated.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, date, datetime, time
from typing import TYPE_CHECKING, Any, Required, TypedDict, Unpack

from reverie.core import config
from reverie.core.errors import BadInput, Refused
from reverie.core.foreign_numbers import MAX_TIMESTAMP
from reverie.core.kinds import INTENTION, NEGATIVE
from reverie.core.model import TRUST_BY_PROVENANCE, UNTRUSTED, Memory, Revise
from reverie.core.privacy_policy import Policy
from reverie.core.trigger_patterns import check_trigger
from reverie.memory.detail_changes import drop_details
from reverie.privacy.redacted_text import redact_short_text
from reverie.text.argument_checks import check_options
from reverie.text.text_cleaning import clean_text

if TYPE_CHECKING:
    from reverie.privacy import Redaction

Moment = float | int | str | datetime | date | None

MAX_TEXT_CHARS = 4_000_000  # characters of one memory
MAX_TAGS, MAX_TAG_CHARS = 64, 64
MAX_SPACE_DEPTH = 16  # segments of a space

KIND = re.compile(r"[a-z][a-z0-9_-]{0,31}")
SEGMENT = re.compile(r"[^\s/\x00-\x1f\x7f]{1,128}")

SECONDS = re.compile(r"-?\d{6,12}(?:\.\d+)?")

_LEADING = re.compile(r"^[\s#]+")


def validate_text(text: object) -> str:
    """A text worth keeping; BadInput if it is empty or longer than MAX_TEXT_CHARS."""
    if not isinstance(text, str):
        raise BadInput(f"The text must be a str, not {type(text).__name__}")
    if not text.strip():
        raise BadInput("There is nothing to remember: the text is empty")
    if len(text) > MAX_TEXT_CHARS:
        raise BadInput(
            f"The text has {len(text):,} characters; at most {MAX_TEXT_CHARS:,} are kept as one "
            "memory. Split it"
        )
    return clean_text(text)


def validate_space(space: str) -> str:
    """A space, which is a path of names: "me/project/session"; BadInput if it is none."""
    # "." and ".." would leave the folder of the space in the mirror.
    parts = space.split("/") if isinstance(space, str) else []
    is_path = all(SEGMENT.fullmatch(part) and part not in (".", "..") for part in parts)
    if not parts or len(parts) > MAX_SPACE_DEPTH or not is_path:
        raise BadInput(
            f"{space!r} is not a space. A space is a path such as me/project or me/project/session"
        )
    return clean_text(space)


def resolve_space(space: str | None) -> str:
    """That space, checked; None stands for that of the working directory."""
    return config.default_space() if space is None else validate_space(space)


def refuse_secret_space(space: str, policy: Policy) -> str:
    """The space, to write in; BadInput if its name holds a secret.

    A name cannot be redacted: others would not find it again.
    """
    from reverie.privacy import redact

    if redact(space, policy)[1]:
        raise BadInput(
            "That space's name holds a secret. Spaces are written down as they are; choose another "
            "name"
        )
    return space


def validate_kind(kind: str) -> str:
    """A kind of the table or one of somebody's own: a short lower-case word."""
    if not isinstance(kind, str) or not KIND.fullmatch(kind):
        raise BadInput(
            f"{kind!r} is not a kind. A kind is a short lower-case word such as fact or "
            f"preference; "
            "`reverie memory kinds` lists those that Reverie knows"
        )
    return kind


def validate_tags(tags: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """Tags without spaces around them, lower-case, each once, in the order given."""
    if isinstance(tags, str):
        raise BadInput(f"Tags are a list of words, not the one text {tags!r}")
    found: dict[str, None] = {}
    for tag in tags:
        # Secrets first: many are known by their capitals.
        plain = _LEADING.sub("", redact_or_refuse(tag, policy)).strip().lower()
        if plain:
            found[plain] = None
    # Counted after cleaning: spellings of one tag are one tag.
    if len(found) > MAX_TAGS or any(len(tag) > MAX_TAG_CHARS for tag in found):
        raise BadInput(f"At most {MAX_TAGS} tags of at most {MAX_TAG_CHARS} characters")
    return tuple(found)


def validate_title(title: object) -> str:
    """A short description, on one line."""
    if not isinstance(title, str):
        raise BadInput(f"The title must be a str, not {type(title).__name__}")
    return clean_text(title)


def validate_details(
    details: object, policy: Policy
) -> tuple[dict[str, Any], tuple[Redaction, ...]]:
    """(named JSON values without secrets, what was taken out of them)."""
    from json import dumps

    from reverie.privacy import redact_value

    if not isinstance(details, Mapping):
        raise BadInput(
            f"The details must be a mapping of names to values, not {type(details).__name__}"
        )
    try:
        plain, within = redact_value(to_clean_json(details), policy)
        refuse_personal_data(within, policy)
        # Tried now: what JSON cannot hold must not fail when it is written.
        dumps(plain)
    except RecursionError as err:
        raise BadInput("The details are nested too deeply to be kept") from err
    return dict(plain) if isinstance(plain, dict) else {}, within


def validate_messages(messages: Sequence[int]) -> tuple[int, int]:
    """The numbers of the first and the last message that a memory rests on."""
    try:
        first, last = map(int, messages)
    except (TypeError, ValueError) as err:
        raise BadInput(
            f"messages={messages!r} must be the numbers of the first and the last message"
        ) from err
    return first, last


def validate_provenance(provenance: str) -> str:
    """Who said so: a key of TRUST_BY_PROVENANCE, else BadInput."""
    if provenance not in TRUST_BY_PROVENANCE:
        raise BadInput(
            f"{provenance!r} is not a provenance; there are {', '.join(TRUST_BY_PROVENANCE)}"
        )
    return provenance


def parse_moment(value: Moment, what: str = "at") -> float | None:
    """Seconds since 1970 from a number, a datetime, a date or ISO 8601; None for none.

    Without a zone, UTC is meant. BadInput if it is no time, or too large to be in seconds.
    """
    if value is None or value == "":
        return None
    try:
        if isinstance(value, str):
            value = float(value) if SECONDS.fullmatch(value) else datetime.fromisoformat(value)
        if isinstance(value, datetime):
            return (value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp()
        if isinstance(value, date):
            return datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp()
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        if is_number and abs(value) < MAX_TIMESTAMP:
            return float(value)
    except (ValueError, OverflowError, OSError) as err:
        raise BadInput(f"{what}={value!r} is not a time: {err}") from err
    raise BadInput(
        f"{what}={value!r} is not a time. "
        "Give seconds (not milliseconds) since 1970, a datetime or ISO 8601"
    )


def parse_moment_as_of(value: Moment, what: str = "as_of") -> float | None:
    """The same for a moment to look back from: a bare date means the end of that day."""
    day = value
    if isinstance(value, str) and not SECONDS.fullmatch(value):
        with suppress(ValueError):
            day = date.fromisoformat(value)
    # A datetime is a date for Python.
    if isinstance(day, date) and not isinstance(day, datetime):
        return datetime.combine(day, time.max, UTC).timestamp()
    return parse_moment(value, what)


def refuse_personal_data(found: Iterable[Redaction], policy: Policy) -> None:
    """Raise Refused if something was found that the policy refuses to keep at all."""
    if "refuse" not in (policy.personal, policy.contact, policy.intimate):
        return
    from reverie.privacy import KINDS_BY_FAMILY, refused_kinds

    for kind in refused_kinds(found, policy):
        name = next(name for name, kinds in KINDS_BY_FAMILY.items() if kind in kinds)
        raise Refused(
            f'There is personal data in it ({kind}), and {name} = "refuse" in config.toml says '
            f"that such a "
            f'text is not kept. Leave it out; {name} = "mask" would keep the text with a mark in '
            f"its place"
        )


def redaction_kinds(redactions: Sequence[Redaction]) -> list[str]:
    """The kinds of what was taken out, each once, sorted."""
    return sorted({redaction.kind for redaction in redactions})


class MemoryFields(TypedDict, total=False):
    """What a caller may say about a memory besides its text; all of it can be left out."""

    title: str
    kind: str  # "fact"; `reverie.core.kinds` has the others
    tags: Iterable[str]
    at: Moment  # when it happened or was said; now
    session: str  # in which conversation
    speaker: str  # who said it
    provenance: str  # "observed"; see `reverie.core.model.TRUST_BY_PROVENANCE`
    files: Iterable[str]  # paths that it is about
    triggers: Iterable[str]  # patterns that call it up
    details: Mapping[str, Any] | None  # anything else, as JSON
    messages: tuple[int, int] | None  # first and last message of the conversation
    valid_from: Moment
    valid_to: Moment
    expires_at: Moment
    trust: float | None  # 0 to 1; by default what the provenance is worth
    salience: float  # 0 to 1; 0.5


class PlacedFields(MemoryFields, total=False):
    """The same, with the space that it belongs to."""

    space: Required[str]


MEMORY_FIELDS = ("text", *PlacedFields.__annotations__)
# Of what is not here the default is None.
FIELD_DEFAULTS = {
    "title": "",
    "kind": "fact",
    "tags": (),
    "session": "",
    "speaker": "",
    "provenance": "observed",
    "files": (),
    "triggers": (),
    "salience": 0.5,
}


def build_memory(
    id: str,
    now: float,
    text: str,
    *,
    policy: Policy,
    **fields: Unpack[PlacedFields],
) -> Memory:
    """A new memory from what a caller passed, without secrets in any field of it.

    What others wrote has become what it may be (`untrusted_text.disarm_memory`). Refused if the
    policy refuses what is in it, or if nothing is in it but what is private.
    """
    check_options("build_memory", fields, PlacedFields)
    given: dict[str, Any] = {**FIELD_DEFAULTS, **fields}
    space = validate_space(given["space"])
    policy = policy.within(space)
    text, title, details = redact_new_texts(text, given, policy)
    provenance = given["provenance"]
    trust = resolve_trust(provenance, given.get("trust"))
    messages = given.get("messages")
    memory = Memory(
        id=id,
        text=text,
        space=refuse_secret_space(space, policy),
        kind=validate_kind(given["kind"]),
        title=title,
        tags=validate_tags(given["tags"] or (), policy),
        session=redact_short_text(given["session"], policy),
        speaker=redact_or_refuse(given["speaker"], policy),
        provenance=provenance,
        files=validate_texts(given["files"], policy),
        triggers=tuple(map(check_trigger, validate_texts(given["triggers"], policy))),
        details=details,
        messages=None if messages is None else validate_messages(messages),
        trust=trust,
        confidence=trust,
        salience=validate_share(given["salience"], "salience"),
        at=now if (at := parse_moment(given.get("at"))) is None else at,
        created_at=now,
        updated_at=now,
        valid_from=parse_moment(given.get("valid_from"), "valid_from"),
        valid_to=parse_moment(given.get("valid_to"), "valid_to"),
        expires_at=parse_moment(given.get("expires_at"), "expires_at"),
    )
    if provenance != UNTRUSTED:
        return memory
    from reverie.privacy.untrusted_text import disarm_memory

    return disarm_memory(memory)


def redact_new_texts(
    text: str,
    given: Mapping[str, Any],
    policy: Policy,
) -> tuple[str, str, dict[str, Any]]:
    """(text, title, details) of a new memory without secrets; `details` names what was taken out.

    Refused for personal data that the policy refuses, and for a text that is private as a whole.
    """
    # Not before something is kept: a cold recall needs none of it.
    from reverie.privacy import is_fully_redacted, redact

    text, redacted = redact(validate_text(text), policy)
    title = ""
    within: tuple[Redaction, ...] = ()
    if given["title"]:
        title, within = redact(validate_title(given["title"]), policy)
    redactions = (*redacted, *within)
    refuse_personal_data(redactions, policy)
    # A memory of nothing but marks would be found by nobody.
    if redacted and is_fully_redacted(text):
        raise Refused("There is nothing to remember: all of the text is private")
    details: dict[str, Any] = {}
    if given.get("details"):
        details, within = validate_details(given["details"], policy)
        redactions += within
    if redactions:
        details["redacted"] = redaction_kinds(redactions)
    return text, title, details


def resolve_trust(provenance: str, trust: float | None) -> float:
    """How far it is believed at first: as somebody said, else as what has this provenance is."""
    if trust is None:
        return TRUST_BY_PROVENANCE[validate_provenance(provenance)]
    return validate_share(trust, "trust")


def build_revision(
    old: Memory,
    now: float,
    fields: Mapping[str, Any],
    zone: Callable[[], str],
    policy: Policy,
) -> Revise:
    """The change of some fields of a memory, checked and cleaned like those of a new one.

    `zone` names the time zone in which the times of a reminder are meant that name none.
    """
    from reverie.memory.procedure import drop_reworded_parts

    merged = (
        {name: getattr(old, name) for name in MEMORY_FIELDS}
        | dict(fields)
        | revise_derived_triggers(old, fields)
        | drop_reworded_parts(old, fields)
    )
    if "provenance" in fields and "trust" not in fields:
        merged["trust"] = None
    # What somebody has approved of others' words was the words as they were.
    if merged["provenance"] == UNTRUSTED and "text" in fields:
        merged["details"] = drop_details(merged["details"], *CURATION_DETAILS)
    new = build_memory(old.id, now, **merged, policy=policy)
    # What decides about the triggers of a prohibition and the times of a reminder.
    if new.kind == INTENTION:
        deciding = {"kind", "details"}
    else:
        deciding = set() if "triggers" in fields else {"text", "kind"}
    if deciding & set(fields):
        new = equip_for_kind(new, now, zone)
    names = [*fields, "trust"] if "provenance" in fields else list(fields)
    for name in ("kind", "details", "triggers"):
        if getattr(new, name) != getattr(old, name):
            names.append(name)
    values = {name: getattr(new, name) for name in names}
    if new.provenance == UNTRUSTED:
        values["confidence"] = min(old.confidence, new.trust)
    return Revise(old.id, {**values, "updated_at": now})


# In the details: that somebody looked at it, as it was then.
CURATION_DETAILS = ("maturity", "curated")
# In the details: the triggers were taken from the text and follow it.
DERIVED_TRIGGERS = "derived_triggers"


def equip_for_kind(
    memory: Memory,
    now: float,
    zone: Callable[[], str],
) -> Memory:
    """A memory with what its kind needs: a prohibition its triggers, an intention the time when it
    is due.

    `zone` names the time zone in which times are meant that name none.
    """
    if memory.kind != INTENTION:
        return with_derived_triggers(memory)
    from reverie.memory.intention import complete_intention_details

    return memory._replace(details=complete_intention_details(memory.details, now, zone))


def with_derived_triggers(memory: Memory) -> Memory:
    """A prohibition with triggers for what its text plainly names, unless it has some already."""
    if memory.kind != NEGATIVE or memory.triggers:
        return memory
    # Only where something is forbidden is this needed.
    from reverie.text.text_signals import derive_triggers

    found = derive_triggers(memory.text)
    if not found:
        return memory
    return memory._replace(triggers=found, details={**memory.details, DERIVED_TRIGGERS: True})


def revise_derived_triggers(
    old: Memory,
    fields: Mapping[str, Any],
) -> dict[str, Any]:
    """What to revise besides `fields`, of a memory whose triggers were derived from its text.

    They go with the text and kind they were taken from, and are no longer derived once somebody
    gives triggers.
    """
    details = fields.get("details", old.details)
    if not old.details.get(DERIVED_TRIGGERS) or not isinstance(details, Mapping):
        return {}
    plain = drop_details(details, DERIVED_TRIGGERS)
    if "triggers" in fields:
        return {"details": plain}
    if fields.keys().isdisjoint(("text", "kind")):
        return {"details": {**plain, DERIVED_TRIGGERS: True}}
    return {"details": plain, "triggers": ()}


def validate_share(value: float, what: str) -> float:
    """A number from 0 to 1, else BadInput."""
    if not isinstance(value, (int, float)) or not 0.0 <= value <= 1.0:
        raise BadInput(f"{what}={value!r} must lie between 0 and 1")
    return float(value)


def redact_or_refuse(text: str, policy: Policy) -> str:
    """A short text without secrets; Refused if the policy refuses what is in it."""
    from reverie.privacy import redact

    kept, found = redact(clean_text(str(text)), policy) if text else ("", ())
    refuse_personal_data(found, policy)
    return kept


def validate_texts(values: Iterable[str], policy: Policy) -> tuple[str, ...]:
    """A list of short texts without secrets, each once."""
    if isinstance(values, str):
        raise BadInput(f"A list of texts is wanted, not the one text {values!r}")
    return tuple(dict.fromkeys(redact_or_refuse(value, policy) for value in values or () if value))


def to_clean_json(value: Any) -> Any:
    """A JSON value in which every text is clean; what JSON does not know becomes its text."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, Mapping):
        return {clean_text(str(key)): to_clean_json(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [to_clean_json(inner) for inner in value]
    # A NaN is no JSON and becomes its text.
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return clean_text(str(value))
