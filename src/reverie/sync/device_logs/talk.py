"""What was said in sessions, told to the user's other devices where the user asked for it.

An entry of the log is what one event of the event log holds: some messages of one session, with
their numbers and moments. It is known by a key made of what it said when it was first told, so that
two devices which read one transcript have one entry. An erasure, here or there, makes another
version of it: of two versions the later holds; of two that were made knowing nothing of each other
each message is erased as far as either was, and where neither is what is left of the other, as a
whole. What was written down first is never altered here: messages that say less now stand in an
event of their own, and the words that went are purged like any others.

Nothing is learned from what came from another device: what it taught comes as memories.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from reverie.core.config import ME, Settings
from reverie.core.errors import BadInput
from reverie.core.model import Event, is_within
from reverie.memory.memory_validation import validate_space
from reverie.pipeline.conversation_events import iterate_messages
from reverie.storage import Store
from reverie.storage.erased_texts import PURGED
from reverie.sync.device_logs.space_names import SpaceNames, to_here, to_logs
from reverie.sync.wire_format import check_characters, is_number

MESSAGE_VERBS = ("turn", "heard")
TALK_META = "devices:talk:"  # key → what is known of it
EVENT_META = "devices:talk-event:"  # number of an event → key
HAS_TALK = "devices:has-talk"  # anything was ever told, or came
ERASING_META = "devices:talk-erasing"  # texts that are still to be purged here
MARK = re.compile(r"\[(?:REDACTED:[^\]]*|purged)\]")
MAX_MESSAGES = 1_000  # of one entry
MAX_SESSION_EVENTS = 10_000
# In the payload of an event: the device that it came from, and which messages it stands for.
FROM, INSTEAD = "device", "instead"


class Said(NamedTuple):
    """One message."""

    number: int  # in its conversation
    role: str
    text: str
    at: float


class TalkEntry(NamedTuple):
    """Some messages of one session, as a log tells them."""

    key: str
    version: int
    space: str
    session: str
    at: float
    said: tuple[Said, ...]
    own: bool = False  # the session has a space of its own


class KnownTalk(NamedTuple):
    """What is known here of an entry."""

    events: tuple[int, ...]  # the one that has all of it, then those with messages that say less
    version: int = 1
    digest: str = ""
    is_told: bool = False  # it stands in the own log
    was_erased: bool = False  # here, of which others are to be told


def is_included(spaces: Iterable[str], space: str) -> bool:
    """True if the talk of a space is told: it, or one above it, was named."""
    return any(is_within(space, one) for one in spaces)


def load_talk(store: Store, key: str) -> KnownTalk | None:
    """What is known of an entry; None for nothing."""
    written = store.meta(TALK_META + key)
    if not written:
        return None
    events, version, digest, is_told, was_erased = json.loads(written)
    return KnownTalk(tuple(events), version, digest, bool(is_told), bool(was_erased))


def save_talk(store: Store, key: str, known: KnownTalk) -> None:
    """Keep what is known of an entry."""
    store.set_meta(TALK_META + key, json.dumps(list(known), separators=(",", ":")))
    if not store.meta(HAS_TALK):
        store.set_meta(HAS_TALK, "yes")
    for event in known.events:
        store.set_meta(f"{EVENT_META}{event}", key)


def find_key(store: Store, event: int) -> str:
    """The key of the entry that an event belongs to; "" for none."""
    return store.meta(f"{EVENT_META}{event}") or ""


def read_event(event: Event) -> list[Said]:
    """The messages of an event that are still there."""
    if not isinstance(event.payload.get("messages"), list):
        return []
    return [Said(*one) for one in iterate_messages(event)]


def read_talk(store: Store, events: Sequence[int]) -> list[Said]:
    """The messages of an entry as they are now."""
    said: list[Said] = []
    for number in events:
        event = store.event(number)
        found = read_event(event) if event else []
        places = event.payload.get(INSTEAD) if event else None
        if places is None:
            said += found
            continue
        for place, one in zip(places, found, strict=False):
            if 0 <= place < len(said):
                said[place] = one
    return said


def digest_said(said: Sequence[Said]) -> str:
    """A digest of what some messages say."""
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def make_key(space: str, session: str, said: Sequence[Said]) -> str:
    """The key of messages that are told for the first time; `space` as the logs call it."""
    text = json.dumps([space, session, list(said)])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def note_talk(store: Store, names: SpaceNames, event: Event) -> tuple[str, KnownTalk]:
    """(the key, what is known) of the entry of an event, after looking what has become of it."""
    key = find_key(store, event.seq)
    if not key:
        said = read_event(event)
        key = make_key(to_logs(names, event.space), event.session, said)
        known = load_talk(store, key) or KnownTalk((event.seq,), digest=digest_said(said))
        save_talk(store, key, known)
        store.set_meta(f"{EVENT_META}{event.seq}", key)
        return key, known
    known = load_talk(store, key) or KnownTalk((event.seq,))
    return key, note_erased(store, key, known)


def note_erased(store: Store, key: str, known: KnownTalk) -> KnownTalk:
    """What is known of an entry, a version later if it says less than it did."""
    said = read_talk(store, known.events)
    digest = digest_said(said)
    # An erasure leaves a mark. What differs without one is another event under this number, as
    # after a restore or an import, and nothing that others should lose.
    if digest == known.digest or not any(MARK.search(one.text) for one in said):
        return known
    known = known._replace(version=known.version + 1, digest=digest, was_erased=True)
    save_talk(store, key, known)
    return known


def is_telling_due(
    event: Event,
    known: KnownTalk,
    *,
    is_asked: bool,
    relays: bool,
) -> bool:
    """True if the own log is to have an entry: it was asked for, or says less than it did."""
    if known.events[0] != event.seq:
        return False  # it goes with the event that has all of it
    if known.was_erased:
        return True
    is_ours = FROM not in event.payload
    return is_asked and (is_ours or relays or known.is_told)


def is_wanted_talk(event: Event, settings: Settings) -> bool:
    """True if an event holds messages of the user's own spaces that are not switched off."""
    is_mine = event.space.partition("/")[0] == ME
    return is_mine and bool(read_event(event)) and not settings.is_off(event.space, event.session)


def tell_talk(
    store: Store, names: SpaceNames, event: Event, key: str, known: KnownTalk
) -> dict[str, Any]:
    """The entry of some messages, which then counts as told."""
    if not known.is_told:
        save_talk(store, key, known._replace(is_told=True))
    said = read_talk(store, known.events)
    return {
        "said": {
            "key": key,
            "version": known.version,
            "space": to_logs(names, event.space),
            "session": event.session,
            "at": event.at,
            "messages": [list(one) for one in said],
            **({"own": True} if event.payload.get("own") else {}),
        }
    }


def size_of(entry: Mapping[str, Any]) -> int:
    """About how many bytes an entry has."""
    return sum(len(text) * 2 + 100 for _, _, text, _ in entry["said"]["messages"])


def read_talk_entry(values: Any) -> TalkEntry:
    """An entry that a device told; BadInput for what is none."""
    try:
        said = tuple(read_said(one) for one in values["messages"])
        key, version = values["key"], values["version"]
        entry = TalkEntry(
            str(key),
            version,
            validate_space(values["space"]),
            str(values["session"]),
            read_moment(values["at"]),
            said,
            values.get("own") is True,
        )
    except (KeyError, TypeError, ValueError, AttributeError) as err:
        raise BadInput(f"What was said in a session cannot be read: {err}") from err
    is_version = isinstance(version, int) and not isinstance(version, bool) and 0 < version < 2**31
    if not re.fullmatch(r"[0-9a-f]{20}", entry.key) or not is_version:
        raise BadInput("What was said in a session has no key or version")
    check_characters([entry.session, *(text for one in said for text in (one.role, one.text))])
    if not 0 < len(said) <= MAX_MESSAGES:
        raise BadInput("What was said in a session has no messages, or too many")
    return entry


def read_moment(value: Any) -> float:
    """When something was; ValueError for what is no moment."""
    if not is_number(value):
        raise ValueError(f"{str(value)[:40]} is no moment")
    return float(value)


def read_said(values: Any) -> Said:
    """One message that a device told."""
    number, role, text, at = values
    is_right = isinstance(number, int) and isinstance(role, str) and isinstance(text, str)
    if not is_right or isinstance(number, bool):
        raise ValueError(f"{str(values)[:40]} is no message")
    return Said(number, role, text, read_moment(at))


class TalkIntake:
    """What one file of another device says of sessions, taken in within one transaction."""

    def __init__(self, store: Store, names: SpaceNames, device: str) -> None:
        self.store, self.names, self.device = store, names, device
        self._twins: dict[tuple[str, str], dict[str, Event]] = {}
        self.told: list[str] = []  # keys of what was made here: others are to be told
        self.new = self.revised = 0

    def take(self, entry: TalkEntry, *, relays: bool) -> None:
        """Take in one entry."""
        here = to_here(self.names, entry.space)
        known = load_talk(self.store, entry.key) or self._find_twin(entry, here)
        if known is None:
            number = self._append(entry, here, entry.said)
            said = read_talk(self.store, (number,))
            known = KnownTalk((number,), entry.version, digest_said(said))
            save_talk(self.store, entry.key, known)
            self.new += 1
        else:
            before = known
            known = note_erased(self.store, entry.key, known)
            known = self._merge(entry, here, known)
            if known == before:
                return
            self.revised += 1
        if relays:
            self.told.append(entry.key)

    def _merge(self, entry: TalkEntry, here: str, known: KnownTalk) -> KnownTalk:
        ours = read_talk(self.store, known.events)
        theirs = [*entry.said]
        if known.version > entry.version or digest_said(theirs) == known.digest:
            kept = max(known.version, entry.version)
            if kept != known.version:
                known = known._replace(version=kept)
                save_talk(self.store, entry.key, known)
            return known
        # Two versions of one number were made knowing nothing of each other.
        wanted = join_said(ours, theirs) if known.version == entry.version else theirs
        version = entry.version
        if wanted != theirs:
            version += 1
            self.told.append(entry.key)
            known = known._replace(was_erased=True)
        changed = [n for n, one in enumerate(ours) if n >= len(wanted) or wanted[n] != one]
        if changed:
            left = [wanted[n] if n < len(wanted) else blank(ours[n]) for n in changed]
            number = self._append(entry, here, left, instead=changed)
            known = known._replace(events=(*known.events, number))
            note_erasing(self.store, [ours[n].text for n in changed])
        digest = digest_said(read_talk(self.store, known.events))
        known = known._replace(version=version, digest=digest)
        save_talk(self.store, entry.key, known)
        return known

    def _find_twin(self, entry: TalkEntry, here: str) -> KnownTalk | None:
        """What is known of the entry, if this home has read the same transcript itself."""
        place = (here, entry.session)
        if place not in self._twins:
            events = self.store.events(
                session=entry.session,
                space=here,
                verbs=MESSAGE_VERBS,
                limit=MAX_SESSION_EVENTS,
            )
            there = to_logs(self.names, here)
            self._twins[place] = {
                make_key(there, one.session, read_event(one)): one
                for one in events
                if not find_key(self.store, one.seq)
            }
        twin = self._twins[place].get(entry.key)
        if twin is None:
            return None
        known = KnownTalk((twin.seq,), digest=digest_said(read_event(twin)))
        save_talk(self.store, entry.key, known)
        return known

    def _append(
        self,
        entry: TalkEntry,
        here: str,
        said: Sequence[Said],
        instead: Sequence[int] | None = None,
    ) -> int:
        """Write messages down; the number of their event."""
        payload: dict[str, Any] = {
            "messages": [{"role": one.role, "text": one.text} for one in said],
            "first": said[0].number,
            "places": [one.number for one in said],
            "moments": [one.at for one in said],
            FROM: self.device,
        }
        if entry.own:
            payload["own"] = True
        if instead is not None:
            payload[INSTEAD] = list(instead)
        return self.store.append([Event("heard", here, entry.at, entry.session, payload)])[0]


def join_said(ours: Sequence[Said], theirs: Sequence[Said]) -> list[Said]:
    """What two versions of some messages come to, neither made knowing the other: the same
    whichever is ours.
    """
    if len(ours) != len(theirs):
        shorter = sorted((ours, theirs), key=lambda said: (len(said), digest_said(said)))
        return list(shorter[0])
    return [join_messages(one, other) for one, other in zip(ours, theirs, strict=True)]


def join_messages(one: Said, other: Said) -> Said:
    """A message erased as far as either version of it is."""
    if one == other or is_rest_of(one.text, other.text):
        return one
    if is_rest_of(other.text, one.text):
        return other
    return blank(min(one, other))


def is_rest_of(rest: str, whole: str) -> bool:
    """True if a text is what is left of another after something was taken out."""
    pieces = map(re.escape, MARK.split(rest))
    return re.fullmatch(".*".join(pieces), whole, re.DOTALL) is not None


def blank(said: Said) -> Said:
    """A message of which nothing is left."""
    return said._replace(text=PURGED)


def note_erasing(store: Store, texts: Iterable[str]) -> None:
    """Have texts purged here that a message no longer holds. In the transaction that says so."""
    known = load_erasing(store)
    fresh = (text for text in texts if text.strip() and text != PURGED)
    store.set_meta(ERASING_META, json.dumps(list(dict.fromkeys((*known, *fresh)))))


def load_erasing(store: Store) -> list[str]:
    """The texts that are still to be purged here."""
    found: list[str] = json.loads(store.meta(ERASING_META) or "[]")
    return found


def drop_erasing(store: Store, texts: Iterable[str]) -> None:
    """Keep no longer in mind that texts are to be purged."""
    left = [text for text in load_erasing(store) if text not in set(texts)]
    store.set_meta(ERASING_META, json.dumps(left) if left else "")
