"""LangGraph and LangChain: a `BaseStore` whose items are memories.

    graph = builder.compile(store=MemoryStore(mind, "me/shop"))

An item is a memory of kind "file": kept whole, never merged or archived, and never injected;
searching is Reverie's `recall`. All items are in one space; their namespaces are in
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

# The detail that makes a memory an item.
ITEM = "item"
# Memories that are read at once, and the same where only few of them are new.
PAGE_SIZE = 1_000
NEWEST_PAGE_SIZE = 10
# Hits of a search that are ranked at first, for most pages end before, and at most; further items
# follow without a score.
FIRST_RANKED = 100
MAX_RANKED = 1_000
NOT_KEPT = (
    "Nothing was kept; give JSON values: "
    "texts, finite numbers, booleans, None, and lists and mappings of them"
)

Namespace = tuple[str, ...]
# Those of LangGraph's own in-memory store, which compares as numbers too.
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
    indexed: bool  # can be found by searching
    memory: Memory


class MemoryStore(BaseStore):
    """The items of one space. `fields` are the paths of a value that are searched; "$" is all."""

    def __init__(
        self,
        mind: Mind,
        space: str | None = None,
        *,
        fields: Sequence[str] = ("$",),
    ) -> None:
        self.mind = mind
        self.fields = tuple(fields)
        self._space = resolve_space(space)
        self._index = NamespaceIndex(mind.store, self._space)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """The answer to each operation; reads see the state before the puts of the batch."""
        operations = list(ops)
        for op in operations:
            if not isinstance(op, tuple(OPERATION_HANDLERS)):
                raise ValueError(f"Unknown operation type: {type(op)}")
        # Reads first, whatever their place: so the protocol has it.
        answers = [OPERATION_HANDLERS[type(op)](self, op) for op in operations]
        # Of several puts of one key in a batch the last one counts.
        last = {(op.namespace, op.key): op for op in operations if isinstance(op, PutOp)}
        if last:
            with self.mind.store.transaction():
                self._put(list(last.values()))
        return answers

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same in a thread beside the event loop."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        found = self._entry(op.namespace, op.key)
        return None if found is None else Item(**to_langgraph_fields(found))

    def _search(self, op: SearchOp) -> list[SearchItem]:
        ranked = self._rank(op) if op.query else []
        rest: list[ItemEntry] = []
        if len(ranked) < op.offset + op.limit:
            # What no query finds is listed too, newest first, as without a query.
            known = {entry.memory.id for entry, _ in ranked}
            rest = [
                entry
                for entry in self._entries(op.namespace_prefix)
                if entry.memory.id not in known
                and matches_filter(
                    entry.value,
                    op.filter or {},
                )
            ]
            rest.sort(key=lambda entry: (-entry.memory.updated_at, entry.memory.id))
        found = [*ranked, *((entry, None) for entry in rest)][op.offset : op.offset + op.limit]
        return [SearchItem(**to_langgraph_fields(entry), score=score) for entry, score in found]

    def _rank(self, op: SearchOp) -> list[tuple[ItemEntry, float | None]]:
        """The items that the query finds, best first.

        More than FIRST_RANKED hits are asked for only where a page needs them. They follow the
        first ones, so that pages do not overlap.
        """
        tags = to_namespace_tags(op.namespace_prefix)[-1:]
        found: dict[str, tuple[ItemEntry, float | None]] = {}
        for limit in (FIRST_RANKED, MAX_RANKED):
            hits = self.mind.recall(
                op.query or "",
                space=self._space,
                kinds=(FILE,),
                tags=tags,
                limit=limit,
            )
            for hit in hits:
                if ITEM in hit.memory.details and hit.memory.id not in found:
                    entry = to_item_entry(hit.memory)
                    if self._answers_search(entry, op):
                        found[hit.memory.id] = (entry, hit.score)
            if len(hits) < limit or len(found) >= op.offset + op.limit:
                break
        return list(found.values())

    def _answers_search(self, entry: ItemEntry, op: SearchOp) -> bool:
        return (
            entry.indexed
            and is_in_namespace(entry, op.namespace_prefix)
            and matches_filter(entry.value, op.filter or {})
            and self._is_newest(entry)
        )

    def _is_newest(self, entry: ItemEntry) -> bool:
        """True if the key of an item stands for it, and not for a newer one."""
        newest = self._entry(entry.namespace, entry.key)
        return newest is not None and newest.memory.id == entry.memory.id

    def _namespaces(self, op: ListNamespacesOp) -> list[Namespace]:
        conditions = op.match_conditions or ()
        matching = [
            namespace
            for namespace in self._index.namespaces()
            if all(matches_condition(condition, namespace) for condition in conditions)
        ]
        found = {namespace[: op.max_depth] for namespace in matching}
        return sorted(found)[op.offset : op.offset + op.limit]

    def _put(self, ops: Sequence[PutOp]) -> None:
        """Put and delete items, at most one operation for each."""
        new = []
        for op in ops:
            fields = None if op.value is None else self._to_memory_fields(op, op.value)
            old = self._entry(op.namespace, op.key)
            if fields is not None and old is None:
                new.append({**fields, "kind": FILE})
            elif fields is not None and old is not None:
                self.mind.revise(old.memory.id, **fields)
            elif old is not None:
                self.mind.forget(old.memory.id, "deleted")
        if new:
            self.mind.remember_many(new, space=self._space)

    def _to_memory_fields(
        self,
        op: PutOp,
        value: Mapping[str, Any],
    ) -> dict[str, Any]:
        """An item as fields of a memory."""
        for name in (*op.namespace, op.key):
            if redact_short_text(name, self.mind.settings.policy) != name:
                raise BadInput(
                    "That key or namespace holds a secret. It is written down as it is; "
                    "choose another"
                )
        text = ""
        if op.index is not False:
            text = extract_searched_text(value, self.fields if op.index is None else op.index)
        name = "/".join((*op.namespace, op.key))
        item = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": check_json_value(value),
            "indexed": bool(text),
        }
        return {
            "text": text or name,
            "title": name,
            "tags": to_namespace_tags(op.namespace),
            "session": derive_item_session(op.namespace, op.key),
            "details": {ITEM: item},
        }

    def _entry(self, namespace: Namespace, key: str) -> ItemEntry | None:
        """The item of a key; the newer one of two, such as after a restore."""
        where = Filter(
            spaces=(self._space,),
            kinds=(FILE,),
            session=derive_item_session(namespace, key),
            having=ITEM,
            limit=PAGE_SIZE,
        )
        for entry in map(to_item_entry, self.mind.store.browse(where)):
            if (entry.namespace, entry.key) == (tuple(namespace), key):
                return entry
        return None

    def _entries(self, prefix: Namespace) -> Iterator[ItemEntry]:
        """Every item below a namespace, each key once, newest first."""
        seen = set[tuple[Namespace, str]]()
        for entry in map(
            to_item_entry,
            browse_items(self.mind.store, self._space, prefix),
        ):
            if is_in_namespace(entry, prefix) and (entry.namespace, entry.key) not in seen:
                seen.add((entry.namespace, entry.key))
                yield entry


class NamespaceIndex:
    """The namespaces of a space's items, kept up to date from the event log.

    They are known as of the event `_seen`; only what changed since is read.
    """

    def __init__(self, store: Store, space: str) -> None:
        self._store, self._space = store, space
        self._known: dict[str, Namespace] = {}  # id of an item's memory → its namespace
        self._seen = 0
        self._generation: str | None = None
        self._one_at_a_time = Lock()

    def namespaces(self) -> set[Namespace]:
        """The namespaces that have an item now, whoever put it."""
        with self._one_at_a_time:
            self._catch_up(
                self._store.last_event(),
                self._store.meta(GENERATION) or "",
            )
            return set(self._known.values())

    def _catch_up(self, last: int, generation: str) -> None:
        # After a purge, or when a backup was put back, no event tells what is gone.
        if generation != self._generation:
            self._known = {}
        page = NEWEST_PAGE_SIZE if self._known else PAGE_SIZE
        for memory in browse_items(self._store, self._space, (), page):
            # Newest first: an import, of which no event tells, comes before what is known.
            if memory.id in self._known:
                break
            self._known[memory.id] = to_item_entry(memory).namespace
        if generation == self._generation and last != self._seen:
            changed = {record.memory_id for record in self._store.changes_after(self._seen)}
            for id in changed:
                self._known.pop(id, None)
            for memory in self._store.get(sorted(changed)):
                if self._is_item(memory):
                    self._known[memory.id] = to_item_entry(memory).namespace
        self._seen, self._generation = last, generation

    def _is_item(self, memory: Memory) -> bool:
        is_here = memory.active and memory.space == self._space
        return is_here and memory.kind == FILE and ITEM in memory.details


def browse_items(
    store: Store,
    space: str,
    prefix: Namespace,
    page: int | None = None,
) -> Iterator[Memory]:
    """The memories of all items below a namespace, newest first.

    Also of some others whose namespace has the same tag.
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
    return ItemEntry(
        tuple(item["namespace"]),
        item["key"],
        item["value"],
        item["indexed"],
        memory,
    )


def is_in_namespace(entry: ItemEntry, prefix: Namespace) -> bool:
    """True if an item is in this namespace or one below it."""
    return entry.namespace[: len(prefix)] == tuple(prefix)


def derive_item_session(namespace: Namespace, key: str) -> str:
    """The session of an item's memory. It has one of its own, by which it is found quickly."""
    return derive_id(dumps([*namespace, key]), 0.0, "item")


def check_json_value(value: Any, path: str = "value") -> Any:
    """A JSON value as it is kept; BadInput for anything that would not come back as it was."""
    if isinstance(value, Mapping):
        if strange := [key for key in value if not isinstance(key, str)]:
            raise BadInput(f"{path} has the key {strange[0]!r:.60}, which is no text. {NOT_KEPT}")
        return {key: check_json_value(inner, f"{path}[{key!r}]") for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [check_json_value(inner, f"{path}[{place}]") for place, inner in enumerate(value)]
    # JSON has no infinity and no NaN; other programs would refuse the whole export.
    is_plain = value is None or isinstance(value, (str, int, float))
    if not is_plain or (isinstance(value, float) and not math.isfinite(value)):
        raise BadInput(f"{path} is {value!r:.60}, of the type {type(value).__name__}. {NOT_KEPT}")
    return value


def to_langgraph_fields(entry: ItemEntry) -> dict[str, Any]:
    """The fields of an item as LangGraph names them."""
    return {
        "namespace": entry.namespace,
        "key": entry.key,
        "value": dict(entry.value),
        "created_at": datetime.fromtimestamp(entry.memory.created_at, UTC),
        "updated_at": datetime.fromtimestamp(entry.memory.updated_at, UTC),
    }


def to_namespace_tags(namespace: Namespace) -> tuple[str, ...]:
    """Tags of a namespace and those above it (users, users.ann), as far as tags can be so long."""
    paths = (".".join(namespace[: length + 1]) for length in range(len(namespace)))
    # `_to_memory_fields` has checked the names.
    return validate_tags((path for path in paths if len(path) <= MAX_TAG_CHARS), DEFAULT_POLICY)


def extract_searched_text(value: Mapping[str, Any], paths: Sequence[str]) -> str:
    """The text of a value by which it is found, a line for each piece."""
    if "$" in paths:
        pieces = list_leaf_lines(value)
    else:
        pieces = []
        for path in paths:
            pieces += get_text_at_path(value, tokenize_path(path))
    return "\n".join(pieces).strip()


def list_leaf_lines(value: Any, name: str = "") -> list[str]:
    """A line with name and value for each leaf of a JSON value."""
    if isinstance(value, Mapping):
        return [line for key, inner in value.items() for line in list_leaf_lines(inner, str(key))]
    if isinstance(value, (list, tuple)):
        return [line for inner in value for line in list_leaf_lines(inner, name)]
    return [] if value is None else [f"{name}: {value}"]


def matches_filter(value: Any, wanted: Any) -> bool:
    """True if a value matches a filter: equal, by operators, or in each part."""
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
    """The function of a filter's operator; ValueError for an unknown one."""
    if name not in OPERATORS:
        raise ValueError(f"Unsupported operator: {name}; there are {', '.join(OPERATORS)}")
    return OPERATORS[name]


def to_comparable(value: Any) -> float:
    """A value as a number; what is none compares as neither less nor more than any."""
    try:
        return float(value)
    except (TypeError, ValueError):
        # Every comparison with it is False, so nothing matches and nothing is raised.
        return float("nan")


def matches_condition(condition: MatchCondition, namespace: Namespace) -> bool:
    """True if a namespace begins or ends like the condition's path; "*" is any one label."""
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = (
        namespace[: len(path)]
        if condition.match_type == "prefix"
        else namespace[len(namespace) - len(path) :]
    )
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))
