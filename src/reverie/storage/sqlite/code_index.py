"""`CodeIndex` on SQLite: a file of its own in the cache, created by the first write.

The protocol's docstrings hold; here is only how. It is opened, begun anew if damaged, and searched
by words as the index of files is.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from zlib import crc32

from reverie.storage.code_index_port import (
    NONE_MOVED,
    CodeEdge,
    IndexSize,
    LinkedFile,
    ParsedFile,
    Symbol,
    SymbolDefinition,
    SymbolGraph,
    SymbolLocation,
    TermBag,
    TermColumns,
    find_detached_members,
)
from reverie.storage.sqlite import term_bags
from reverie.storage.sqlite.derived_database import DerivedDatabase
from reverie.storage.sqlite.read_queries import (
    best_first,
    select_affordable_terms,
    split_batches,
    sql_placeholders,
    to_match_expression,
)
from reverie.text.tokenization import to_index_text

SYMBOL = (
    "s.name, s.qual, s.kind, s.parent, s.owner, s.first, s.last, s.head, s.type, s.value, s.body"
)
EDGES = """
    select f.path, e.scope, e.kind, e.name, e.line, coalesce(t.path, ''), e.symbol, e.how
    from edge e join file f on f.num = e.file left join file t on t.num = e.target
    where f.root = ?
"""
STRAYS = """
    select count(*)
    from symbol s
    where not exists (select 1 from file f where f.num = s.file)
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
DEFINITIONS = "select f.path, s.idx, f.language, s.name, s.kind, s.owner, s.parent from file f join"
TEXTS = (
    "select path, facts, modules, body from file",
    "select name, qual, owner, head, type, value from symbol",
    "select name from edge",
    "select text from term",
)
WHOLE_KINDS = ("function", "class", "method")
# How a symbol is found by name: the first condition that finds any answers.
NAME_CONDITIONS = (
    "(s.name = ? or s.qual = ?)",
    "(s.name = ? collate nocase or s.qual = ? collate nocase)",
    "(substr(s.qual, -length(?) - 1) = '.' || ?)",
)


class SqliteCodeIndex(DerivedDatabase):
    """The index of code beside one store."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 5  # to be raised, too, when facts or queries change
    emptying = (
        "insert into words (words) values ('delete-all')",
        "delete from edge",
        "delete from rest",
        "delete from joining",
        "delete from bag",
        "delete from term",
        "delete from symbol",
        "delete from file",
        "delete from root",
    )

    # Writing

    def put(self, root: str, files: Sequence[ParsedFile]) -> None:
        if not files:
            return
        with self._connections().writing() as db:
            mark_unresolved(db, root)
            for file in files:
                delete_file(db, root, file.file.path)
                insert_file(db, root, file)

    def drop(self, root: str, paths: Sequence[str]) -> None:
        if paths:
            with self._connections().writing() as db:
                mark_unresolved(db, root)
                for path in paths:
                    delete_file(db, root, path)

    def forget(self, root: str) -> None:
        self.drop(root, list(self.indexed_files(root)))
        if self._exists():
            with self._connections().writing() as db:
                db.execute("delete from root where path = ?", (root,))
                term_bags.delete_unused_terms(db)
                # FTS5 keeps deleted words in its segments until they are merged.
                db.execute("insert into words (words) values ('optimize')")
            self._connections().checkpoint()

    def amend(
        self,
        root: str,
        files: Sequence[ParsedFile],
        gone: Collection[str],
        linked: Sequence[LinkedFile],
        moved: Mapping[str, Mapping[int, int]] = NONE_MOVED,
    ) -> None:
        with self._connections().writing() as db:
            for path in gone:
                delete_file(db, root, path)
            for file in files:
                replace_indexed_file(db, root, file)
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
                sql = f"delete from {table} where file in (select num from file where root = ?)"
                db.execute(sql, (root,))
            insert_edges(db, nums, linked)
            db.execute(
                "insert into root (path, resolved) values (?, 1) "
                "on conflict (path) do update set resolved = 1",
                (root,),
            )

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
        with self._reading() as db:
            rows = db.execute("select path from root order by path") if db else ()
            return [path for (path,) in rows]

    def facts(self, root: str, paths: Sequence[str] | None = None) -> dict[str, str]:
        sql = "select path, facts from file where root = ?"
        with self._reading() as db:
            if db is None:
                return {}
            if paths is None:
                return dict(db.execute(sql, (root,)))
            found: dict[str, str] = {}
            for path in paths:
                found.update(db.execute(f"{sql} and path = ?", (root, path)))
            return found

    def modules(self, root: str) -> dict[str, tuple[str, list[str]]]:
        sql = "select path, language, modules from file where root = ?"
        with self._reading() as db:
            rows = db.execute(sql, (root,)) if db else ()
            return {path: (language, json.loads(names)) for path, language, names in rows}

    def definitions(self, root: str, name: str) -> list[SymbolDefinition]:
        # The index of names ignores case.
        found = self._definitions(
            f"{DEFINITIONS} symbol s on s.file = f.num "
            "where s.name = ? collate nocase and f.root = ?",
            (name, root),
        )
        return [
            definition
            for definition in found
            if definition.name == name and (definition.kind in WHOLE_KINDS or definition.top)
        ]

    def detached_members(self, root: str, name: str) -> list[SymbolDefinition]:
        return self._definitions(
            f"{DEFINITIONS} joining j on j.file = f.num "
            "join symbol s on s.file = j.file and s.idx = j.idx "
            "where j.name = ? and f.root = ?",
            (name, root),
        )

    def _definitions(self, sql: str, args: Sequence[str]) -> list[SymbolDefinition]:
        with self._reading() as db:
            return sorted(SymbolDefinition(*row) for row in db.execute(sql, args)) if db else []

    def files_resting_on(self, root: str, on: Collection[str]) -> set[str]:
        sql = """
            select f.path
            from rest r join file f on f.num = r.file
            where r.checksum = ? and f.root = ?
        """
        found: set[str] = set()
        with self._reading() as db:
            if db is not None:
                for text in on:
                    rows = db.execute(sql, (crc32(text.encode()), root))
                    found.update(path for (path,) in rows)
        return found

    def resolved(self, root: str) -> bool:
        sql = "select 1 from root where path = ? and not resolved"
        with self._reading() as db:
            return db is None or not db.execute(sql, (root,)).fetchone()

    def size(self, root: str) -> IndexSize:
        with self._reading() as db:
            if db is None:
                return IndexSize()
            inside = "file in (select num from file where root = ?)"
            files, symbols, edges = (
                db.execute(f"select count(*) from {table} where {where}", (root,)).fetchone()[0]
                for table, where in (("file", "root = ?"), ("symbol", inside), ("edge", inside))
            )
            return IndexSize(files, symbols, edges, self.resolved(root))

    def find_symbols(self, root: str, name: str, limit: int) -> list[SymbolLocation]:
        with self._reading() as db:
            for condition in NAME_CONDITIONS if db else ():
                where = f"f.root = ? and {condition}"
                found = self._symbols(db, where, (root, name, name), limit)
                if found:
                    return found
        return []

    def symbols_with_body(self, root: str, body: str) -> list[SymbolLocation]:
        with self._reading() as db:
            return self._symbols(db, "f.root = ? and s.body = ?", (root, body))

    def symbols(self, root: str, paths: Sequence[str] | None = None) -> list[SymbolLocation]:
        with self._reading() as db:
            if db is None:
                return []
            if paths is None:
                return self._symbols(db, "f.root = ?", (root,))
            found: list[SymbolLocation] = []
            for batch in split_batches(paths):
                where = f"f.root = ? and f.path in ({sql_placeholders(batch)})"
                found += self._symbols(db, where, (root, *batch))
            return found

    def _symbols(
        self, db: sqlite3.Connection | None, where: str, args: Sequence[object], limit: int = -1
    ) -> list[SymbolLocation]:
        sql = f"""
            select f.path, s.idx, {SYMBOL}
            from symbol s join file f on f.num = s.file
            where {where}
            order by f.path, s.idx
            limit ?
        """
        rows = db.execute(sql, (*args, limit)) if db else ()
        return [SymbolLocation(path, index, Symbol(*rest)) for path, index, *rest in rows]

    def edges_into(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        return self._edges(
            root,
            "and t.root = f.root and t.path = ? and e.symbol = ?",
            [(place.path, place.num) for place in places],
        )

    def edges_out_of(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        return self._edges(
            root,
            "and f.path = ? and e.scope = ? and e.target is not null",
            [(place.path, place.num) for place in places],
        )

    def edges_of_file(self, root: str, path: str, kind: str) -> list[CodeEdge]:
        return self._edges(root, "and f.path = ? and e.kind = ?", [(path, kind)])

    def unresolved_edges(self, root: str, name: str) -> list[CodeEdge]:
        return self._edges(
            root, "and e.name = ? and e.target is null and e.kind <> 'imports'", [(name,)]
        )

    def edges(self, root: str) -> list[CodeEdge]:
        return self._edges(root, "and e.target is not null", [()])

    def _edges(self, root: str, where: str, arg_sets: Sequence[Sequence[object]]) -> list[CodeEdge]:
        """The edges that fulfil the condition for any of these arguments, each once."""
        found: set[CodeEdge] = set()
        with self._reading() as db:
            if db is not None:
                for args in arg_sets:
                    rows = db.execute(EDGES + where, (root, *args))
                    found.update(CodeEdge(*row) for row in rows)
        return sorted(found, key=lambda edge: (edge.path, edge.line, edge))

    def graph(self, root: str) -> SymbolGraph:
        with self._reading() as db:
            if db is None:
                return SymbolGraph([], [], [])
            here = "in (select num from file where root = ?)"
            return SymbolGraph(
                db.execute(
                    "select num, path from file where root = ? order by path", (root,)
                ).fetchall(),
                db.execute(
                    "select s.file, s.idx, s.parent, s.name, s.qual, s.kind from file f "
                    "join symbol s on s.file = f.num where f.root = ? order by f.path, s.idx",
                    (root,),
                ).fetchall(),
                db.execute(
                    "select file, scope, target, symbol, kind, count(*) from edge "
                    f"where target is not null and file {here} group by 1, 2, 3, 4, 5",
                    (root,),
                ).fetchall(),
            )

    def search_files(self, root: str, terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
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
            last = db.execute("select coalesce(max(num), 0) from file").fetchone()[0]
            match = to_match_expression(select_affordable_terms(db, terms, last))
            rows = db.execute(sql, (match, root, limit)).fetchall()
        return sorted(rows, key=best_first)

    def bag_hashes(self, root: str) -> dict[str, bytes]:
        with self._reading() as db:
            return term_bags.read_bag_hashes(db, root) if db else {}

    def put_bags(self, root: str, some: Sequence[TermBag]) -> None:
        if some:
            with self._connections().writing() as db:
                term_bags.put_term_bags(db, root, some)

    def bags(self, root: str) -> TermColumns:
        with self._reading() as db:
            return term_bags.read_term_columns(db, root) if db else term_bags.NO_TERMS

    def symbol_names(self, root: str, kinds: Collection[str]) -> list[tuple[str, str]]:
        with self._reading() as db:
            return term_bags.read_symbol_names(db, root, kinds) if db else []

    def state_digest(self, root: str) -> bytes:
        with self._reading() as db:
            return term_bags.compute_index_state(db, root) if db else b""

    def verify(self) -> str:
        with self._reading() as db:
            if db is None:
                return ""
            strays = db.execute(STRAYS).fetchone()[0]
            files, words = (
                db.execute(f"select count(*) from {table}").fetchone()[0]
                for table in ("file", "words_docsize")
            )
        if strays:
            return f"{strays:,} symbols of code belong to no file"
        return "" if words == files else f"{files:,} files of code, but words of {words:,}"


def insert_edges(
    db: sqlite3.Connection, nums: Mapping[str, int], linked: Iterable[LinkedFile]
) -> None:
    """Insert the edges of files that have none; `nums` are the files' numbers by path."""
    for file in linked:
        if file.path not in nums:
            continue
        num = nums[file.path]
        db.executemany(
            "insert into edge (file, scope, kind, name, line, target, symbol, how) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (num, e.scope, e.kind, e.name, e.line, nums.get(e.to), e.symbol, e.how)
                for e in file.edges
            ),
        )
        db.executemany(
            "insert or ignore into rest (checksum, file) values (?, ?)",
            ((crc32(text.encode()), num) for text in file.rests_on),
        )


def read_file_numbers(db: sqlite3.Connection, root: str) -> dict[str, int]:
    """The numbers of a repository's files, by path."""
    return dict(db.execute("select path, num from file where root = ?", (root,)))


def renumber_targets(db: sqlite3.Connection, num: int, places: Mapping[int, int]) -> None:
    """Point the edges to symbols of a file at the symbols' new indices."""
    # First to numbers below zero, so that no new index meets an old one.
    db.executemany(
        "update edge set symbol = ? where target = ? and symbol = ?",
        [(-3 - new, num, old) for old, new in places.items() if old != new],
    )
    db.execute("update edge set symbol = -3 - symbol where target = ? and symbol < -1", (num,))


def mark_unresolved(db: sqlite3.Connection, root: str) -> None:
    """Record that the edges of a repository are no longer those of its files."""
    db.execute(
        "insert into root (path, resolved) values (?, 0) "
        "on conflict (path) do update set resolved = 0",
        (root,),
    )


def insert_file(
    db: sqlite3.Connection, root: str, parsed: ParsedFile, num: int | None = None
) -> None:
    """Insert a file that is not there, by this number or a new one."""
    file = parsed.file
    modules = json.dumps(parsed.modules)
    body = to_index_text("\n".join(iter_file_words(parsed)))
    num = db.execute(
        INSERT_FILE,
        (
            *(num, root, file.path, *file.stamp, file.hash),
            *(parsed.language, parsed.facts, modules, body),
        ),
    ).lastrowid
    db.execute("insert into words (rowid, body) values (?, ?)", (num, body))
    db.executemany(
        INSERT_SYMBOL, ((num, index, *symbol) for index, symbol in enumerate(parsed.symbols))
    )
    db.executemany(
        "insert into joining (name, file, idx) values (?, ?, ?)",
        ((name, num, index) for name, index in find_detached_members(parsed.symbols)),
    )


def iter_file_words(parsed: ParsedFile) -> Iterator[str]:
    """What a file is found by: its path, and the names in it, each once."""
    yield parsed.file.path
    yield from dict.fromkeys(symbol.name for symbol in parsed.symbols)


def replace_indexed_file(db: sqlite3.Connection, root: str, parsed: ParsedFile) -> None:
    """Replace a file under its number. Edges to it stay."""
    insert_file(db, root, parsed, take_out_file(db, root, parsed.file.path))


def delete_file(db: sqlite3.Connection, root: str, path: str) -> None:
    """Delete a file, if it is there, and the edges to it."""
    num = take_out_file(db, root, path)
    db.execute("delete from edge where target = ?", (num,))


def take_out_file(db: sqlite3.Connection, root: str, path: str) -> int | None:
    """Delete a file, if it is there, but not the edges to it. Returns its number."""
    row: tuple[int, str] | None = db.execute(
        "select num, body from file where root = ? and path = ?", (root, path)
    ).fetchone()
    if row is None:
        return None
    db.execute("insert into words (words, rowid, body) values ('delete', ?, ?)", row)
    for table in ("symbol", "joining", "edge", "rest", "bag"):
        db.execute(f"delete from {table} where file = ?", row[:1])
    db.execute("delete from file where num = ?", row[:1])
    return row[0]
