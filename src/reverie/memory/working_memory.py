"""Working memory: the scratch pad of one conversation. Pure.

It holds what the current task needs just now: the user's last words, which Reverie notes by itself,
and whatever the agent puts there: the state of its tools, intermediate reasoning, as a text or a
JSON object. There is one for each conversation; setting it replaces it. It is a memory of kind
`scratch` in the conversation's own space, below the project, so that it survives a crash and no
other conversation sees it. It ends with the conversation or its task, or by itself after
DEFAULT_MINUTES.
"""

import re
from typing import Any, NamedTuple

from reverie.core.errors import BadInput
from reverie.core.model import Memory
from reverie.core.privacy_policy import Policy
from reverie.memory.memory_validation import SEGMENT, build_memory, validate_details
from reverie.text.tokenization import fingerprint_text

KIND = "scratch"
DEFAULT_MINUTES = 60.0
# What is needed longer is no working memory.
MAX_MINUTES = 24 * 60.0
# Characters of what is held, as JSON: a task's notes, not its files.
MAX_HELD_CHARS = 8_000
# Characters of the user's last words.
MAX_TURN_CHARS = 500

_ODD = r"[\s/\x00-\x1f\x7f]+"


class HeldContent(NamedTuple):
    """What a conversation's working memory holds; false where there is none."""

    content: Any = None  # what was put there: a text or a JSON object
    turn: str = ""  # what the user said last
    at: float = 0.0
    until: float = 0.0
    id: str = ""  # of the memory

    def __bool__(self) -> bool:
        """True if anything is held."""
        return bool(self.id)


def conversation_space(home: str, session: str) -> str:
    """A conversation's own space: below the project, or the space itself if it is the
    conversation's.

    A project that is named like the conversation is still a project, which others read too: only
    what lies below one ("me/demo/s1", not "me/demo") can be a conversation's own. BadInput without
    a session.
    """
    if not session.strip():
        raise BadInput("Working memory belongs to a conversation; say which: session=…")
    name = session
    if not SEGMENT.fullmatch(session) or session in (".", ".."):
        # What cannot be a segment is told apart by its hash: two odd names may look alike.
        digest = fingerprint_text(session).hex()[:8]
        name = f"{re.sub(_ODD, '-', session)[:100]}-{digest}"
    own = home.count("/") > 1 and home.rpartition("/")[2] == name
    return home if own else f"{home}/{name}"


def validate_held_content(content: object) -> Any:
    """A text, or a JSON object, that is small enough; else BadInput."""
    from json import dumps

    is_blank = isinstance(content, str) and not content.strip()
    if not isinstance(content, (str, dict)) or not content or is_blank:
        raise BadInput(
            "What is held is a text or a mapping of names to JSON values, and not empty; "
            "mind.sessions.release(session) lets go"
        )
    size = len(content if isinstance(content, str) else dumps(content, default=str))
    if size > MAX_HELD_CHARS:
        raise BadInput(
            f"Working memory holds {MAX_HELD_CHARS:,} characters, not {size:,}: keep what the task "
            "at hand needs, and remember the rest"
        )
    return content


def validate_minutes(minutes: Any) -> float:
    """For how many minutes it is held; BadInput if that is no time or more than MAX_MINUTES."""
    is_number = isinstance(minutes, (int, float)) and not isinstance(minutes, bool)
    if not is_number or not 0 < minutes <= MAX_MINUTES:
        raise BadInput(f"minutes={minutes!r} must be above 0 and at most {MAX_MINUTES:g}")
    return float(minutes)


def read_held_content(memory: Memory, now: float) -> HeldContent:
    """What a scratch pad holds at a moment; nothing after its time."""
    until = memory.expires_at or 0.0
    if not memory.active or until <= now:
        return HeldContent()
    turn = str(memory.details.get("turn", ""))
    return HeldContent(
        memory.details.get("content"),
        turn,
        memory.at,
        until,
        memory.id,
    )


def build_scratch_pad(
    id: str,
    space: str,
    session: str,
    held: HeldContent,
    policy: Policy,
) -> Memory:
    """A scratch pad that holds this, written at `held.at` and lasting until `held.until`.

    Secrets are taken out of it as of every memory.
    """
    from json import dumps

    parts = {"content": held.content, "turn": held.turn[:MAX_TURN_CHARS]}
    details, _ = validate_details(
        {name: part for name, part in parts.items() if part},
        policy.within(space),
    )
    lines = [
        part if isinstance(part, str) else dumps(part, ensure_ascii=False)
        for part in details.values()
    ]
    return build_memory(
        id,
        held.at,
        "\n".join(lines),
        space=space,
        kind=KIND,
        session=session,
        details=details,
        expires_at=held.until,
        policy=policy,
    )


def changed_pad_fields(old: Memory, new: Memory) -> dict[str, Any]:
    """The fields of a scratch pad that a new one changes."""
    names = ("text", "details", "at", "expires_at", "updated_at")
    return {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}
