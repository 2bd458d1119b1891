"""One line for the person, in the terminal of their host: what memory gave, learned or held back.

Quiet where there is nothing to say. It goes beside what the agent is told, and the agent does not
see it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple

from reverie.interfaces.hooks.hook_event import HookEvent, SessionNote
from reverie.interfaces.hooks.spool import HookFiles, read_json_object, to_file_name

# Texts that a line quotes, and characters of each.
MAX_QUOTED, MAX_QUOTED_CHARS = 2, 60
# After which an event that waits was left behind, and a session that says nothing may be over.
LATE_SECONDS, SILENT_SECONDS = 120.0, 900.0
# Of older sessions nothing is said.
FORGOTTEN_SECONDS = 3 * 86_400.0
WELCOME = (
    "memory is on: it keeps what you teach here and brings it back when it is needed. "
    "`reverie status` shows what there is, `reverie off` switches it off here, "
    "`reverie guards` lists what it stops"
)


class TurnNews(NamedTuple):
    """What a hook did of which a person is told."""

    text: str  # that the agent was told
    held: int  # memories that a silent session was not told
    begins: bool  # the session begins
    may_be_new: bool  # it begins, or somebody says something
    is_first: bool  # no hook of this host came before


def compose_turn_notice(
    seen: TurnNews, event: HookEvent, note: SessionNote, files: HookFiles, now: float
) -> str:
    """The line of a turn; empty if there is nothing to say."""
    return compose_notice(
        (
            WELCOME if seen.is_first and seen.may_be_new else "",
            describe_unsaved(event, note, files, now) if seen.begins else "",
            take_learned(files, note.space) if seen.may_be_new else "",
            describe_given(seen.text),
            f"held back {seen.held} (`reverie proof`)" if seen.held else "",
        )
    )


def describe_given(text: str) -> str:
    """What the agent was told, of the block that it was told in; empty if nothing."""
    lines = [line[2:] for line in text.splitlines() if line.startswith("- ")]
    texts = (line.rpartition(" (")[0] or line for line in lines)
    # What others wrote stands in quotation marks already.
    return quote_texts("gave", [text.removeprefix("“").removesuffix("”") for text in texts])


def quote_texts(verb: str, texts: Sequence[str], count: int = 0) -> str:
    """`gave 3: “…”, “…”`; empty for none. `count` is how many there are, if not all are here."""
    count = max(count, len(texts))
    if not count:
        return ""
    quoted = ", ".join(f"“{shorten(one)}”" for one in texts[:MAX_QUOTED])
    return f"{verb} {count}: {quoted}{', …' if count > MAX_QUOTED else ''}"


def shorten(text: str) -> str:
    """The beginning of a text, on one line."""
    plain = " ".join("".join(ch if ch.isprintable() else " " for ch in text).split())
    return plain if len(plain) <= MAX_QUOTED_CHARS else plain[:MAX_QUOTED_CHARS].rstrip() + "…"


def take_learned(files: HookFiles, space: str) -> str:
    """What was learned in a space since somebody was told; empty if nothing."""
    path = files.news_file(space)
    mine = f"{path}.{os.getpid()}"
    try:
        os.replace(path, mine)  # of two hooks one tells it
        found = read_json_object(mine) or {}
        os.unlink(mine)
    except OSError:
        return ""
    texts, count = found.get("texts"), found.get("learned")
    if not isinstance(texts, list) or not isinstance(count, int):
        return ""
    return quote_texts("learned", [str(one) for one in texts], count)


def describe_unsaved(event: HookEvent, note: SessionNote, files: HookFiles, now: float) -> str:
    """What was not saved of earlier sessions: events that nobody takes in, ends that never came."""
    late = sum(1 for path in files.list_events() if is_older(path, LATE_SECONDS, now))
    if late:
        return f"{late} events of earlier sessions are not taken in yet: `reverie doctor` says why"
    own = f"{to_file_name(event.session)}.json"
    for path in files.list_files("sessions"):
        if not path.endswith(".json") or path.endswith(f"/{own}"):
            continue
        if not is_older(path, SILENT_SECONDS, now) or is_older(path, FORGOTTEN_SECONDS, now):
            continue
        other = read_json_object(path) or {}
        mark = f"{path.removesuffix('.json')}.unended"
        if other.get("space") != note.space or not other.get("asked") or os.path.exists(mark):
            continue
        with open(mark, "w", encoding="utf-8"):
            pass  # said once
        return (
            "an earlier session here did not tell its end, so it is open elsewhere or was cut off; "
            "what was said in it is kept (`reverie session list`)"
        )
    return ""


def is_older(path: str, seconds: float, now: float) -> bool:
    """True if a file was written so long ago; False if it is gone."""
    try:
        return now - os.stat(path).st_mtime > seconds
    except OSError:
        return False


def compose_notice(parts: Sequence[str]) -> str:
    """The line, of what there is to say; empty if nothing."""
    said = [part for part in parts if part]
    return "Reverie: " + " · ".join(said) if said else ""
