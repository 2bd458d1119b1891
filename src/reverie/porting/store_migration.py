"""A whole memory moved from one store to another, whatever database each of them is.

Carried are memories, links, the event log with every change and vectors: `Store.dump` into
`Store.load`, one transaction, so whoever is killed in between has moved nothing and does it again;
what is there already stays. Then both are read and compared, row by row, by digests: what did not
arrive as it left is counted. A vector is compared by its text and model, for a database may keep it
in half the precision. Not carried is what belongs to a machine or can be made again: settings,
keys, pages of the mirror, backups, indexes of code, files and conversations.

For a server's tenant, `me` becomes a user's private root, and back.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from reverie.core.config import ME
from reverie.core.errors import BadInput
from reverie.storage import Store

Row = dict[str, Any]
TYPES = ("memory", "edge", "event", "vector")
NOT_CARRIED = (
    "settings (config.toml)",
    "keys and logins",
    "pages of the mirror",
    "backups",
    "indexes of code, files and past conversations (made again)",
)
# Of a row, what each store says in its own way.
OWN_NAMES = {"memory": (), "edge": (), "event": ("seq",), "vector": ("vec",)}


class RootChange(NamedTuple):
    """A root of spaces that is called otherwise on the other side."""

    here: str = ""
    there: str = ""

    def apply(self, space: str) -> str:
        """The space as the other side calls it."""
        root, slash, rest = space.partition("/")
        return f"{self.there}{slash}{rest}" if self.here and root == self.here else space


class MigrationReport(NamedTuple):
    """What a migration did."""

    new: Mapping[str, int]  # rows that were not there before, by type
    compared: Mapping[str, int]  # rows of the source, by type
    missing: Mapping[str, int]  # of them, those that are not in the target as they are here
    not_carried: tuple[str, ...] = NOT_CARRIED

    @property
    def is_complete(self) -> bool:
        """True if everything that is carried arrived."""
        return not any(self.missing.values())


def choose_root(user: str, *, is_back: bool) -> RootChange:
    """`me` and a user's private root, in one direction or the other; without a user, neither."""
    if not user:
        return RootChange()
    private = f"~{user}"
    return RootChange(private, ME) if is_back else RootChange(ME, private)


def migrate_store(
    source: Store,
    target: Store,
    root: RootChange = RootChange(),  # noqa: B008 - a value that nobody alters
) -> MigrationReport:
    """Copy everything, and compare. BadInput if source and target are one."""
    if source.url == target.url:
        raise BadInput("That is the same store: name another one")
    new = target.load(rename_rows(source.dump(), root))
    there = {name: frozenset(digests) for name, digests in digest_rows(target.dump()).items()}
    here = digest_rows(rename_rows(source.dump(), root))
    missing = {
        name: sum(one not in there[name] for one in digests) for name, digests in here.items()
    }
    return MigrationReport(new, {name: len(found) for name, found in here.items()}, missing)


def rename_rows(rows: Iterable[Row], root: RootChange) -> Iterator[Row]:
    """The rows, with spaces as the other side calls them, in the history too."""
    for row in rows:
        if not root.here:
            yield row
            continue
        named = dict(row)
        if isinstance(named.get("space"), str):
            named["space"] = root.apply(named["space"])
        if named.get("type") == "event":
            named["changes"] = [rename_change(one, root) for one in named.get("changes", ())]
        yield named


def rename_change(change: Iterable[Any], root: RootChange) -> list[Any]:
    """A change of an event, its values before and after renamed where they hold a space."""
    memory, place, op, *values = change
    return [memory, place, op, *(rename_values(value, root) for value in values)]


def rename_values(text: str | None, root: RootChange) -> str | None:
    """Values of a change as JSON text; untouched if they hold no space."""
    if not text or '"space"' not in text:
        return text
    values = json.loads(text)
    if not isinstance(values.get("space"), str):
        return text
    return json.dumps({**values, "space": root.apply(values["space"])}, ensure_ascii=False)


def digest_rows(rows: Iterable[Row]) -> dict[str, list[bytes]]:
    """A digest of each row, by type."""
    found: dict[str, list[bytes]] = {name: [] for name in TYPES}
    for row in rows:
        if row.get("type") in found:
            found[row["type"]].append(digest_row(row))
    return found


def digest_row(row: Row) -> bytes:
    """A digest of what a row says."""
    said = {name: one for name, one in row.items() if name not in OWN_NAMES[row["type"]]}
    if row["type"] == "event":
        said["changes"] = [
            [memory, place, op, *(json.loads(one) if one else None for one in values)]
            for memory, place, op, *values in row.get("changes", ())
        ]
    text = json.dumps(even_numbers(said), sort_keys=True)
    return blake2b(text.encode(), digest_size=16).digest()


def even_numbers(value: Any) -> Any:
    """A JSON value whose whole numbers are written in one way."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, Mapping):
        return {name: even_numbers(one) for name, one in value.items()}
    return [even_numbers(one) for one in value] if isinstance(value, list | tuple) else value
