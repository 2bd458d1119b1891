"""The index of repositories' symbols and references.

All of it is derived: the files say everything again. It lives beside the store, in a database of
its own (`derived_database`), created by the first write; deleting it loses nothing but time. Of
each file it keeps the stamp and hash, the symbols, the facts that names are resolved from, and the
resolved edges. Containment is in the symbols (`parent`); all other kinds of edges are rows. No
source text is kept except the first lines of definitions.

Every writing method is one transaction. Any number of threads and processes may use one index.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from sqlite3 import Connection
from zlib import crc32

from reverie.storage import Names
from reverie.storage.indexed_code import (
    CodeEdge,
    IndexSize,
    LinkedFile,
    ParsedFile,
    Symbol,
    SymbolDefinition,
    SymbolGraph,
    SymbolLocation,
    find_detached_members,
)
from reverie.storage.sqlite.connection import fetch_value
from reverie.storage.sqlite.sql_conditions import split_batches, sql_placeholders
from reverie.storage.sqlite.term_bags import TermBagIndex, delete_unused_terms
from reverie.storage.sqlite.word_search import (
    best_first,
    select_affordable_terms,
    to_match_expression,
)
from reverie.text.tokenization import to_index_text

EDGES = """
    select f.path, e.scope, e.kind, e.name, e.line, coalesce(t.path, ''), e.symbol, e.how
    from edge e join file f on f.num = e.file left join file t on t.num = e.target
    where f.root = ?
"""
INSERT_FILE = """
    insert into file
    (num, root, path, size, mtime, inode, hash, language, facts, modules, body)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_SYMBOL = """
    insert into symbol
    (file, idx, name, qual, kind, parent, owner, first, last, head, type, value, body)
    values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
INSERT_EDGE = """
    insert into edge (file, scope, kind, name, line, target, symbol, how)
    values (?, ?, ?, ?, ?, ?, ?, ?)
"""
MARK_ROOT = """
    insert into root (path, resolved) values (?, ?)
    on conflict (path) do update set resolved = excluded.resolved
"""
DEFINITIONS = "select f.path, s.idx, f.language, s.name, s.kind, s.owner, s.parent from file f join"
TEXTS = (
    "select path, facts, modules, body from file",
    "select name, qual, owner, head, type, value from symbol",
    "select name from edge",
    "select text from term",
)
WHOLE_KINDS = ("function", "class", "method")
IN_ROOT = "in (select num from file where root = ?)"
# How a symbol is found by name: the first condition that finds any answers.
NAME_CONDITIONS = (
    "(s.name = ? or s.qual = ?)",
    "(s.name = ? collate nocase or s.qual = ? collate nocase)",
    "(substr(s.qual, -length(?) - 1) = '.' || ?)",
)


class SqliteCodeIndex(TermBagIndex):
    """Files of repositories, the symbols they define, and the uses of those."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 5  # to be raised, too, when facts or queries change
    tables = ("edge", "rest", "joining", "bag", "term", "symbol", "file", "root")
    parts = ("symbol", "symbols of code")
    worded = ("file", "files of code")

    # Writing

    def put(self, root: str, files: Sequence[ParsedFile]) -> None:
        if not files:
            return
        with self._connections().writing() as db:
            db.execute(MARK_ROOT, (root, 0))
            for file in files:
                delete_file(db, root, file.file.path)
                insert_file(db, root, file)

    def drop(self, root: str, paths: Collection[str]) -> None:
        if paths:
            with self._connections().writing() as db:
                db.execute(MARK_ROOT, (root, 0))
                for path in paths:
                    delete_file(db, root, path)

    def forget(self, root: str) -> None:
        self.drop(root, self.indexed_files(root))
        if self._exists():
            with self._connections().writing() as db:
                db.execute("delete from root where path = ?", (root,))
                delete_unused_terms(db)
                # FTS5 keeps deleted words in its segments until they are merged.
                db.execute("insert into words (words) values ('optimize')")
            self._connections().checkpoint()

    def amend(
        self,
        root: str,
        files: Sequence[ParsedFile],
        gone: Collection[str],
        linked: Sequence[LinkedFile],
        moved: Mapping[str, Mapping[int, int]],
    ) -> None:
        with self._connections().writing() as db:
            for path in gone:
                delete_file(db, root, path)
            for file in files:
                # Under its number, so that edges to it stay.
                insert_file(db, root, file, take_out_file(db, root, file.file.path))
            nums = read_file_numbers(db, root)
            for path, *_ in linked:
                for table in ("edge", "rest"):
                    db.execute(f"delete from {table} where file = ?", (nums[path],))
            for path, places in moved.items():
                renumber_targets(db, nums[path], places)
            insert_edges(db, nums, linked)

    def link(self, root: str, linked: Iterable[LinkedFile]) -> None:
        with self._connections().writing() as db:
            nums = read_file_numbers(db, root)
            for table in ("edge", "rest"):
                db.execute(f"delete from {table} where file {IN_ROOT}", (root,))
            insert_edges(db, nums, linked)
            # Last, in the same transaction: whoever sees the mark sees these edges.
            db.execute(MARK_ROOT, (root, 1))

    def scrub(self) -> bool:
        self.clear()
        return self._connections().compact() if self._exists() else True

    # Reading

    def texts(self) -> Iterator[str]:
        with self._reading() as db:
            if db is None:
                return
            for sql in TEXTS:
                for row in db.execute(sql):
                    yield from filter(None, row)

    def roots(self) -> list[str]:
        return [path for (path,) in self._rows("select path from root order by path")]

    def facts(
        self,
        root: str,
        paths: Names | None = None,
    ) -> dict[str, str]:
        sql = "select path, facts from file where root = ?"
        if paths is None:
            return dict(self._rows(sql, root))
        found: dict[str, str] = {}
        for path in paths:
            found.update(self._rows(f"{sql} and path = ?", root, path))
        return found

    def modules(
        self,
        root: str,
    ) -> dict[str, tuple[str, list[str]]]:
        rows = self._rows("select path, language, modules from file where root = ?", root)
        return {path: (language, json.loads(names)) for path, language, names in rows}

    def definitions(self, root: str, name: str) -> list[SymbolDefinition]:
        # The index of names ignores case.
        rows = self._rows(
            f"{DEFINITIONS} symbol s on s.file = f.num "
            "where s.name = ? collate nocase and f.root = ?",
            name,
            root,
        )
        found: list[SymbolDefinition] = []
        for row in rows:
            one = SymbolDefinition(*row)
            if one.name == name and (one.kind in WHOLE_KINDS or one.top):
                found.append(one)
        return sorted(found)

    def detached_members(self, root: str, name: str) -> list[SymbolDefinition]:
        rows = self._rows(
            f"{DEFINITIONS} joining j on j.file = f.num "
            "join symbol s on s.file = j.file and s.idx = j.idx "
            "where j.name = ? and f.root = ?",
            name,
            root,
        )
        return sorted(SymbolDefinition(*row) for row in rows)

    def files_resting_on(self, root: str, on: Collection[str]) -> set[str]:
        sql = """
            select f.path
            from rest r join file f on f.num = r.file
            where r.checksum = ? and f.root = ?
        """
        found: set[str] = set()
        for text in on:
            checksum = crc32(text.encode())
            found.update(path for (path,) in self._rows(sql, checksum, root))
        return found

    def resolved(self, root: str) -> bool:
        return not self._rows("select 1 from root where path = ? and not resolved", root)

    def size(self, root: str) -> IndexSize:
        return IndexSize(
            files=self._count("select count(*) from file where root = ?", root),
            symbols=self._count(f"select count(*) from symbol where file {IN_ROOT}", root),
            edges=self._count(f"select count(*) from edge where file {IN_ROOT}", root),
            resolved=self.resolved(root),
        )

    def find_symbols(
        self,
        root: str,
        name: str,
        limit: int,
    ) -> list[SymbolLocation]:
        for condition in NAME_CONDITIONS:
            found = self._symbols(condition, (root, name, name), limit)
            if found:
                return found
        return []

    def symbols_with_body(self, root: str, body: str) -> list[SymbolLocation]:
        return self._symbols("s.body = ?", (root, body))

    def symbols(
        self,
        root: str,
        paths: Names | None = None,
    ) -> list[SymbolLocation]:
        if paths is None:
            return self._symbols("1", (root,))
        found: list[SymbolLocation] = []
        for batch in split_batches(paths):
            found += self._symbols(f"f.path in ({sql_placeholders(batch)})", (root, *batch))
        return found

    def _symbols(
        self,
        condition: str,
        args: Sequence[object],
        limit: int = -1,
    ) -> list[SymbolLocation]:
        sql = f"""
            select f.path, s.idx, s.name, s.qual, s.kind, s.parent, s.owner, s.first, s.last,
                   s.head, s.type, s.value, s.body
            from symbol s join file f on f.num = s.file
            where f.root = ? and {condition}
            order by f.path, s.idx
            limit ?
        """
        rows = self._rows(sql, *args, limit)
        return [
            SymbolLocation(
                path,
                index,
                Symbol(*rest),
            )
            for path, index, *rest in rows
        ]

    def edges_into(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        condition = "and t.root = f.root and t.path = ? and e.symbol = ?"
        return self._edges(root, condition, [place[:2] for place in places])

    def edges_out_of(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        condition = "and f.path = ? and e.scope = ? and e.target is not null"
        return self._edges(root, condition, [place[:2] for place in places])

    def edges_of_file(
        self,
        root: str,
        path: str,
        kind: str,
    ) -> list[CodeEdge]:
        return self._edges(root, "and f.path = ? and e.kind = ?", [(path, kind)])

    def unresolved_edges(self, root: str, name: str) -> list[CodeEdge]:
        condition = "and e.name = ? and e.target is null and e.kind <> 'imports'"
        return self._edges(root, condition, [(name,)])

    def edges(self, root: str) -> list[CodeEdge]:
        return self._edges(root, "and e.target is not null", [()])

    def _edges(
        self,
        root: str,
        where: str,
        arg_sets: Sequence[Sequence[object]],
    ) -> list[CodeEdge]:
        """The edges that fulfil the condition for any of these arguments, each once."""
        found: set[CodeEdge] = set()
        for args in arg_sets:
            found.update(CodeEdge(*row) for row in self._rows(EDGES + where, root, *args))
        return sorted(found, key=lambda edge: (edge.path, edge.line, edge))

    def graph(self, root: str) -> SymbolGraph:
        files = "select num, path from file where root = ? order by path"
        symbols = """
            select s.file, s.idx, s.parent, s.name, s.qual, s.kind
            from file f join symbol s on s.file = f.num
            where f.root = ?
            order by f.path, s.idx
        """
        uses = f"""
            select file, scope, target, symbol, kind, count(*) from edge
            where target is not null and file {IN_ROOT}
            group by 1, 2, 3, 4, 5
        """
        return SymbolGraph(
            files=self._rows(files, root),
            symbols=self._rows(symbols, root),
            uses=self._rows(uses, root),
        )

    def search_files(
        self,
        root: str,
        terms: Names,
        limit: int,
    ) -> list[tuple[str, float]]:
        sql = """
            select f.path, -w.rank
            from words w cross join file f on f.num = w.rowid
            where w.words match ? and f.root = ?
            order by w.rank
            limit ?
        """
        with self._reading() as db:
            if db is None or not terms:
                return []
            last = fetch_value(db, "select coalesce(max(num), 0) from file")
            match = to_match_expression(select_affordable_terms(db, terms, last))
            rows = db.execute(sql, (match, root, limit)).fetchall()
        return sorted(rows, key=best_first)


def insert_edges(
    db: Connection,
    nums: Mapping[str, int],
    linked: Iterable[LinkedFile],
) -> None:
    """Insert the edges of files that have none; `nums` are the files' numbers by path."""
    for file in linked:
        if file.path not in nums:
            continue
        num = nums[file.path]
        for _, scope, kind, name, line, to, symbol, how in file.edges:
            target = nums.get(to)
            db.execute(
                INSERT_EDGE,
                (num, scope, kind, name, line, target, symbol, how),
            )
        for text in file.rests_on:
            checksum = crc32(text.encode())
            db.execute("insert or ignore into rest (checksum, file) values (?, ?)", (checksum, num))


def read_file_numbers(db: Connection, root: str) -> dict[str, int]:
    """The numbers of a repository's files, by path."""
    return dict(db.execute("select path, num from file where root = ?", (root,)))


def renumber_targets(
    db: Connection,
    num: int,
    places: Mapping[int, int],
) -> None:
    """Point the edges to symbols of a file at the symbols' new indices."""
    # First to numbers below zero, so that no new index meets an old one.
    sql = "update edge set symbol = ? where target = ? and symbol = ?"
    for old, new in places.items():
        if old != new:
            db.execute(sql, (-3 - new, num, old))
    db.execute("update edge set symbol = -3 - symbol where target = ? and symbol < -1", (num,))


def insert_file(
    db: Connection,
    root: str,
    parsed: ParsedFile,
    num: int | None = None,
) -> None:
    """Insert a file that is not there, by this number or a new one."""
    file = parsed.file
    # What a file is found by: its path, and the names in it, each once.
    names = dict.fromkeys(symbol.name for symbol in parsed.symbols)
    body = to_index_text("\n".join((file.path, *names)))
    identity = (num, root, file.path, *file.stamp, file.hash)
    content = (parsed.language, parsed.facts, json.dumps(parsed.modules), body)
    num = db.execute(INSERT_FILE, (*identity, *content)).lastrowid
    db.execute("insert into words (rowid, body) values (?, ?)", (num, body))
    for index, symbol in enumerate(parsed.symbols):
        db.execute(INSERT_SYMBOL, (num, index, *symbol))
    for name, index in find_detached_members(parsed.symbols):
        db.execute("insert into joining (name, file, idx) values (?, ?, ?)", (name, num, index))


def delete_file(
    db: Connection,
    root: str,
    path: str,
) -> None:
    """Delete a file, if it is there, and the edges to it."""
    num = take_out_file(db, root, path)
    db.execute("delete from edge where target = ?", (num,))


def take_out_file(
    db: Connection,
    root: str,
    path: str,
) -> int | None:
    """Delete a file, if it is there, but not the edges to it. Returns its number."""
    row: tuple[int, str] | None = db.execute(
        "select num, body from file where root = ? and path = ?", (root, path)
    ).fetchone()
    if row is None:
        return None
    # The word index keeps no text of its own, so deleting takes the text again.
    db.execute("insert into words (words, rowid, body) values ('delete', ?, ?)", row)
    for table in ("symbol", "joining", "edge", "rest", "bag"):
        db.execute(f"delete from {table} where file = ?", row[:1])
    db.execute("delete from file where num = ?", row[:1])
    return row[0]
