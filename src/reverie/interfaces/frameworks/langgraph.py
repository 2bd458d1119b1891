"""LangGraph and LangChain: a `BaseStore` whose items are memories.

    graph = builder.compile(store=MemoryStore(mind, "me/shop"))

An item is a memory of kind "file": kept whole, never merged, never faded, and it does not pop up by
itself; searching is Reverie's `recall`. All items are in one space; their namespaces are in
`details["item"]` and, joined by dots, among the tags. Deleting retires, and what is put in the
place of something leaves a history, so both can be taken back (`restore`, `undo`). Secrets are
taken out of values. As a store is asked on purpose, trouble is raised here. No TTL: what is put
stays.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import chain
from json import dumps
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
    get_text_at_path,
    tokenize_path,
)

from reverie.core.clock import derive_id
from reverie.core.errors import BadInput
from reverie.core.kinds import FILE
from reverie.core.model import Filter, Memory
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.memory.memory_validation import MAX_TAG_CHARS, resolve_space, validate_tags
from reverie.privacy.redacted_text import redact_short_text
from reverie.storage import GENERATION
from reverie.storage.paging import read_memory_pages

if TYPE_CHECKING:
    from reverie.runtime.mind import Mind
    from reverie.storage import Store

ITEM = "item"  # the detail that makes a memory an item
PAGE_SIZE = 1_000  # memories that are read at once
NEWEST_PAGE_SIZE = 10  # where there are few new ones among those that are known
NOT_KEPT = "Nothing was kept; give JSON values: texts, finite numbers, booleans, None, and lists and mappings of them"
FIRST_RANKED = 100  # hits of a search that are ranked at first, for most pages end before
MAX_RANKED = 1_000  # … and at most; further items follow without a score

Namespace = tuple[str, ...]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": lambda value, other: bool(value == other),
    "$ne": lambda value, other: bool(value != other),
    "$gt": lambda value, other: to_comparable(value) > to_comparable(other),
    "$gte": lambda value, other: to_comparable(value) >= to_comparable(other),
    "$lt": lambda value, other: to_comparable(value) < to_comparable(other),
    "$lte": lambda value, other: to_comparable(value) <= to_comparable(other),
}


class ItemEntry(NamedTuple):
    """An item as it is kept."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    indexed: bool  # found by searching
    memory: Memory


class MemoryStore(BaseStore):
    """The items of one space; `fields` are the paths of a value that are searched, "$" being all of
    it.
    """

    def __init__(
        self, mind: Mind, space: str | None = None, *, fields: Sequence[str] = ("$",)
    ) -> None:
        self.mind, self.fields = mind, tuple(fields)
        self._space = resolve_space(space)
        self._index = NamespaceIndex(mind.store, self._space)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """What each operation answers; what is read is as it was before anything of this batch is
        put.
        """
        asked = list(ops)
        if strange := next(
            (op for op in asked if not isinstance(op, tuple(OPERATION_HANDLERS))), None
        ):
            raise ValueError(f"Unknown operation type: {type(strange)}")
        answers = [OPERATION_HANDLERS[type(op)](self, op) for op in asked]
        last = {(op.namespace, op.key): op for op in asked if isinstance(op, PutOp)}
        if last:
            with self.mind.store.transaction():
                self._put(list(last.values()))
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        found = self._entry(op.namespace, op.key)
        return None if found is None else Item(**to_langgraph_fields(found))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        best = self._ranked(op) if op.query else []
        rest: list[ItemEntry] = []
        if len(best) < op.offset + op.limit:
            known = {entry.memory.id for entry, _ in best}
            rest = sorted(
                (
                    entry
                    for entry in self._entries(op.namespace_prefix)
                    if entry.memory.id not in known and matches_filter(entry.value, op.filter or {})
                ),
                key=lambda entry: (-entry.memory.updated_at, entry.memory.id),
            )
        found = [*best, *((entry, None) for entry in rest)][op.offset : op.offset + op.limit]
        return [SearchItem(**to_langgraph_fields(entry), score=score) for entry, score in found]

    def _ranked(self, op: SearchOp) -> list[tuple[ItemEntry, float | None]]:
        """What the query finds, best first. More than the first hits are asked for only where a
        page needs them, and follow those, so that pages do not overlap.
        """
        tags, found = (
            to_namespace_tags(op.namespace_prefix)[-1:],
            dict[str, tuple[ItemEntry, float | None]](),
        )
        for many in (FIRST_RANKED, MAX_RANKED):
            hits = self.mind.recall(
                op.query or "", space=self._space, kinds=(FILE,), tags=tags, limit=many
            )
            entries = [
                (to_item_entry(hit.memory), hit.score) for hit in hits if ITEM in hit.memory.details
            ]
            found |= {
                entry.memory.id: (entry, score)
                for entry, score in entries
                if entry.memory.id not in found
                and entry.indexed
                and is_in_namespace(entry, op.namespace_prefix)
                and matches_filter(entry.value, op.filter or {})
                and self._is_newest(entry)
            }
            if len(hits) < many or len(found) >= op.offset + op.limit:
                break
        return list(found.values())

    def _is_newest(self, entry: ItemEntry) -> bool:
        """Whether it is what its key stands for."""
        newest = self._entry(entry.namespace, entry.key)
        return newest is not None and newest.memory.id == entry.memory.id

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        found = {
            namespace[: op.max_depth]
            for namespace in self._index.namespaces()
            if all(
                matches_condition(condition, namespace) for condition in op.match_conditions or ()
            )
        }
        return sorted(found)[op.offset : op.offset + op.limit]

    def _put(self, ops: Sequence[PutOp]) -> None:
        """Put and delete, each item once."""
        new = []
        for op in ops:
            fields = None if op.value is None else self._fields(op, op.value)
            old = self._entry(op.namespace, op.key)
            if fields is not None and old is None:
                new.append({**fields, "kind": FILE})
            elif fields is not None and old is not None:
                self.mind.revise(old.memory.id, **fields)
            elif old is not None:
                self.mind.forget(old.memory.id, "deleted")
        if new:
            self.mind.remember_many(new, space=self._space)

    def _fields(self, op: PutOp, value: Mapping[str, Any]) -> dict[str, Any]:
        """An item as a memory's fields."""
        for name in (*op.namespace, op.key):
            if redact_short_text(name, self.mind.settings.policy) != name:
                raise BadInput(
                    "That key or namespace holds a secret. It is written down as it is; choose another"
                )
        text = (
            ""
            if op.index is False
            else extract_searched_text(value, self.fields if op.index is None else op.index)
        )
        name = "/".join((*op.namespace, op.key))
        return {
            "text": text or name,
            "title": name,
            "tags": to_namespace_tags(op.namespace),
            "session": derive_item_session(op.namespace, op.key),
            "details": {
                ITEM: {
                    "namespace": list(op.namespace),
                    "key": op.key,
                    "value": check_json_value(value),
                    "indexed": bool(text),
                }
            },
        }

    def _entry(self, namespace: Namespace, key: str) -> ItemEntry | None:
        """The newer one of two with one key, such as after a restore."""
        where = Filter(
            spaces=(self._space,),
            kinds=(FILE,),
            session=derive_item_session(namespace, key),
            having=ITEM,
            limit=PAGE_SIZE,
        )
        return next(
            (
                entry
                for entry in map(to_item_entry, self.mind.store.browse(where))
                if (entry.namespace, entry.key) == (tuple(namespace), key)
            ),
            None,
        )

    def _entries(self, prefix: Namespace) -> Iterator[ItemEntry]:
        """Every item below a namespace, each key once, newest first."""
        seen = set[tuple[Namespace, str]]()
        for entry in map(to_item_entry, browse_items(self.mind.store, self._space, prefix)):
            if is_in_namespace(entry, prefix) and (entry.namespace, entry.key) not in seen:
                seen.add((entry.namespace, entry.key))
                yield entry


class NamespaceIndex:
    """The namespaces of a space's items, as they were after the event `_seen`; only what changed
    since is read.
    """

    def __init__(self, store: Store, space: str) -> None:
        self._store, self._space = store, space
        self._known: dict[str, Namespace] = {}  # by the id of an item's memory
        self._seen = 0
        self._generation: str | None = None
        self._one_at_a_time = Lock()

    def namespaces(self) -> set[Namespace]:
        """Those that have an item now, whoever put it."""
        with self._one_at_a_time:
            self._catch_up(self._store.last_event(), self._store.meta(GENERATION) or "")
            return set(self._known.values())

    def _catch_up(self, last: int, generation: str) -> None:
        if generation != self._generation:
            self._known = {}
        for one in browse_items(
            self._store, self._space, (), NEWEST_PAGE_SIZE if self._known else PAGE_SIZE
        ):
            if one.id in self._known:
                # newest first: an import, of which no event tells, comes before what is known
                break
            self._known[one.id] = to_item_entry(one).namespace
        if generation == self._generation and last != self._seen:
            changed = {record.memory_id for record in self._store.changes_after(self._seen)}
            for id in changed:
                self._known.pop(id, None)
            self._known |= {
                one.id: to_item_entry(one).namespace
                for one in self._store.get(sorted(changed))
                if one.active
                and one.space == self._space
                and one.kind == FILE
                and ITEM in one.details
            }
        self._seen, self._generation = last, generation


def browse_items(
    store: Store, space: str, prefix: Namespace, page: int | None = None
) -> Iterator[Memory]:
    """The memories of all items below a namespace, newest first, and of some that its tag cannot
    tell from those.
    """
    where = Filter(
        spaces=(space,),
        kinds=(FILE,),
        tags=to_namespace_tags(prefix)[-1:],
        having=ITEM,
        limit=page or PAGE_SIZE,
    )
    return chain.from_iterable(read_memory_pages(store, where))


OPERATION_HANDLERS: dict[type, Callable[[MemoryStore, Any], Any]] = {
    GetOp: MemoryStore._get,
    SearchOp: MemoryStore._search,
    ListNamespacesOp: MemoryStore._namespaces,
    PutOp: lambda _store, _op: None,
}


def to_item_entry(memory: Memory) -> ItemEntry:
    """A memory as an item."""
    item = memory.details[ITEM]
    return ItemEntry(tuple(item["namespace"]), item["key"], item["value"], item["indexed"], memory)


def is_in_namespace(entry: ItemEntry, prefix: Namespace) -> bool:
    """Whether an item is in this namespace or one within it."""
    return entry.namespace[: len(prefix)] == tuple(prefix)


def derive_item_session(namespace: Namespace, key: str) -> str:
    """The session that an item's memory is kept under: its own, by which it is looked up however
    many there are.
    """
    return derive_id(dumps([*namespace, key]), 0.0, "item")


def check_json_value(value: Any, path: str = "value") -> Any:
    """A value as it is kept, or BadInput: only what JSON has comes back as it was."""
    if isinstance(value, Mapping):
        if strange := [key for key in value if not isinstance(key, str)]:
            raise BadInput(f"{path} has the key {strange[0]!r:.60}, which is no text. {NOT_KEPT}")
        return {key: check_json_value(inner, f"{path}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [check_json_value(inner, f"{path}[{place}]") for place, inner in enumerate(value)]
    if not (value is None or isinstance(value, (str, int, float))) or (
        isinstance(value, float) and not math.isfinite(value)
    ):
        raise BadInput(f"{path} is {value!r:.60}, of the type {type(value).__name__}. {NOT_KEPT}")
    return value


def to_langgraph_fields(entry: ItemEntry) -> dict[str, Any]:
    """An item's fields as LangGraph names them."""
    return {
        "namespace": entry.namespace,
        "key": entry.key,
        "value": dict(entry.value),
        "created_at": datetime.fromtimestamp(entry.memory.created_at, UTC),
        "updated_at": datetime.fromtimestamp(entry.memory.updated_at, UTC),
    }


def to_namespace_tags(namespace: Namespace) -> tuple[str, ...]:
    """A tag for a namespace and each above it, as far as tags can be that long: users,
    users.ann.
    """
    paths = (".".join(namespace[: length + 1]) for length in range(len(namespace)))
    # `_fields` has looked at names
    return validate_tags((path for path in paths if len(path) <= MAX_TAG_CHARS), DEFAULT_POLICY)


def extract_searched_text(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """What of a value is found by searching, a line for each piece."""
    pieces = (
        list_leaf_lines(value)
        if "$" in paths
        else [text for path in paths for text in get_text_at_path(value, tokenize_path(path))]
    )
    return "\n".join(pieces).strip()


def list_leaf_lines(value: Any, name: str = "") -> list[str]:
    """Each value within a value, with its name."""
    if isinstance(value, Mapping):
        return [line for key, inner in value.items() for line in list_leaf_lines(inner, str(key))]
    if isinstance(value, (list, tuple)):
        return [line for inner in value for line in list_leaf_lines(inner, name)]
    return [] if value is None else [f"{name}: {value}"]


def matches_filter(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter wants it: equal, by operators, or in each part."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(find_operator(name)(value, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(
            matches_filter(value.get(name), other) for name, other in wanted.items()
        )
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(value, (list, tuple))
            and len(value) == len(wanted)
            and all(map(matches_filter, value, wanted))
        )
    return bool(value == wanted)


def find_operator(name: str) -> Callable[[Any, Any], bool]:
    """An operator of a filter."""
    if name not in OPERATORS:
        raise ValueError(f"Unsupported operator: {name}; there are {', '.join(OPERATORS)}")
    return OPERATORS[name]


def to_comparable(value: Any) -> float:
    """A value to be compared by size; what is no number is neither less nor more than any."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return float("nan")


def matches_condition(condition: MatchCondition, namespace: Namespace) -> bool:
    """Whether a namespace begins or ends like this; "*" is any one label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
