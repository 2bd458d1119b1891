"""`CodeIndex` on SQLite: a file of its own in the cache, made at the first write.

The protocol's docstrings hold; here is only how. It is opened, begun anew where it is damaged, and
searched by words as the index of files is.
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
DEFINITIONS = "select f.path, s.idx, f.language, s.name, s.kind, s.owner, s.parent from file f join"
TEXTS = (
    "select path, facts, modules, body from file",
    "select name, qual, owner, head, type, value from symbol",
    "select name from edge",
    "select text from term",
)
WHOLE_KINDS = ("function", "class", "method")
NAME_CONDITIONS = (  # of finding a symbol: the first that finds any answers
    "(s.name = ? or s.qual = ?)",
    "(s.name = ? collate nocase or s.qual = ? collate nocase)",
    "(substr(s.qual, -length(?) - 1) = '.' || ?)",
)


class SqliteCodeIndex(DerivedDatabase):
    """The index of code beside one store."""

    schema = Path(__file__).with_suffix(".sql")
    edition = 5  # of facts and of queries, too
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
            for one in files:
                delete_file(db, root, one.file.path)
                insert_file(db, root, one)

    def drop(self, root: str, paths: Sequence[str]) -> None:
        if paths:
            with self._connections().writing() as db:
                mark_unresolved(db, root)
                for path in paths:
                    delete_file(db, root, path)

    def forget(self, root: str) -> None:
        self.drop(root, list(self.indexed_files(root)))
        if self._there():
            with self._connections().writing() as db:
                db.execute("delete from root where path = ?", (root,))
                term_bags.delete_unused_terms(db)
                # deleted words leave the segments
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
            for one in files:
                replace_indexed_file(db, root, one)
            nums = dict(db.execute("select path, num from file where root = ?", (root,)))
            for path, *_ in linked:
                for table in ("edge", "rest"):
                    db.execute(f"delete from {table} where file = ?", (nums[path],))
            for path, places in moved.items():
                renumber_targets(db, nums[path], places)
            insert_edges(db, nums, linked)

    def link(self, root: str, linked: Iterable[LinkedFile]) -> None:
        with self._connections().writing() as db:
            nums = dict(db.execute("select path, num from file where root = ?", (root,)))
            for table in ("edge", "rest"):
                db.execute(
                    f"delete from {table} where file in (select num from file where root = ?)",
                    (root,),
                )
            insert_edges(db, nums, linked)
            db.execute(
                "insert into root (path, resolved) values (?, 1) on conflict (path) do update set resolved = 1",
                (root,),
            )

    def scrub(self) -> bool:
        self.clear()
        return self._connections().compact() if self._there() else True

    # Reading

    def texts(self) -> Iterator[str]:
        with self._reading() as db:
            for sql in TEXTS if db else ():
                for row in db.execute(sql) if db else ():
                    yield from filter(None, row)

    def roots(self) -> list[str]:
        with self._reading() as db:
            return (
                [path for (path,) in db.execute("select path from root order by path")]
                if db
                else []
            )

    def facts(self, root: str, paths: Sequence[str] | None = None) -> dict[str, str]:
        with self._reading() as db:
            if db is None:
                return {}
            if paths is None:
                return dict(db.execute("select path, facts from file where root = ?", (root,)))
            return dict(
                row
                for path in paths
                for row in db.execute(
                    "select path, facts from file where root = ? and path = ?", (root, path)
                )
            )

    def modules(self, root: str) -> dict[str, tuple[str, list[str]]]:
        with self._reading() as db:
            rows = (
                db.execute("select path, language, modules from file where root = ?", (root,))
                if db
                else ()
            )
            return {path: (language, json.loads(names)) for path, language, names in rows}

    def definitions(self, root: str, name: str) -> list[SymbolDefinition]:
        return self._definitions(
            f"{DEFINITIONS} symbol s on s.file = f.num "
            "where s.name = ? collate nocase and f.root = ?",
            (name, root),
            name,
        )

    def detached_members(self, root: str, name: str) -> list[SymbolDefinition]:
        return self._definitions(
            f"{DEFINITIONS} joining j on j.file = f.num "
            "join symbol s on s.file = j.file and s.idx = j.idx "
            "where j.name = ? and f.root = ?",
            (name, root),
        )

    def _definitions(
        self, sql: str, given: Sequence[str], name: str = ""
    ) -> list[SymbolDefinition]:
        with self._reading() as db:
            rows = sorted(SymbolDefinition(*row) for row in db.execute(sql, given)) if db else []
        return [
            one
            for one in rows
            if not name or (one.name == name and (one.kind in WHOLE_KINDS or one.top))
        ]

    def files_resting_on(self, root: str, on: Collection[str]) -> set[str]:
        with self._reading() as db:
            sql = "select f.path from rest r join file f on f.num = r.file where r.checksum = ? and f.root = ?"
            return (
                {path for text in on for (path,) in db.execute(sql, (crc32(text.encode()), root))}
                if db
                else set()
            )

    def resolved(self, root: str) -> bool:
        with self._reading() as db:
            return (
                db is None
                or not db.execute(
                    "select 1 from root where path = ? and not resolved", (root,)
                ).fetchone()
            )

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
            for way in NAME_CONDITIONS if db else ():
                rows = self._symbols(db, f"f.root = ? and {way}", (root, name, name), limit)
                if rows:
                    return rows
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
            return [
                place
                for some in split_batches(paths)
                for place in self._symbols(
                    db, f"f.root = ? and f.path in ({sql_placeholders(some)})", (root, *some)
                )
            ]

    def _symbols(
        self, db: sqlite3.Connection | None, where: str, given: Sequence[object], limit: int = -1
    ) -> list[SymbolLocation]:
        sql = f"""
            select f.path, s.idx, {SYMBOL}
            from symbol s join file f on f.num = s.file
            where {where}
            order by f.path, s.idx
            limit ?
        """
        rows = db.execute(sql, (*given, limit)) if db else ()
        return [SymbolLocation(path, index, Symbol(*rest)) for path, index, *rest in rows]

    def edges_into(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        return self._edges(
            root,
            "and t.root = f.root and t.path = ? and e.symbol = ?",
            [(one.path, one.num) for one in places],
        )

    def edges_out_of(self, root: str, places: Sequence[SymbolLocation]) -> list[CodeEdge]:
        return self._edges(
            root,
            "and f.path = ? and e.scope = ? and e.target is not null",
            [(one.path, one.num) for one in places],
        )

    def edges_of_file(self, root: str, path: str, kind: str) -> list[CodeEdge]:
        return self._edges(root, "and f.path = ? and e.kind = ?", [(path, kind)])

    def unresolved_edges(self, root: str, name: str) -> list[CodeEdge]:
        return self._edges(
            root, "and e.name = ? and e.target is null and e.kind <> 'imports'", [(name,)]
        )

    def edges(self, root: str) -> list[CodeEdge]:
        return self._edges(root, "and e.target is not null", [()])

    def _edges(self, root: str, where: str, each: Sequence[Sequence[object]]) -> list[CodeEdge]:
        with self._reading() as db:
            rows = (
                [row for given in each for row in db.execute(EDGES + where, (root, *given))]
                if db
                else []
            )
        return sorted(
            {CodeEdge(*row) for row in rows}, key=lambda edge: (edge.path, edge.line, edge)
        )

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
        with self._reading() as db:
            if db is None or not terms:
                return []
            last = db.execute("select coalesce(max(num), 0) from file").fetchone()[0]
            sql = """
                select f.path, -w.rank
                from words w cross join file f on f.num = w.rowid
                where w.words match ? and f.root = ?
                order by w.rank
                limit ?
            """
            rows = db.execute(
                sql, (to_match_expression(select_affordable_terms(db, terms, last)), root, limit)
            ).fetchall()
        return sorted(rows, key=lambda row: (-row[1], row[0]))

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
    """Enter the edges of files that have none."""
    for one in linked:
        if one.path not in nums:
            continue
        db.executemany(
            "insert into edge (file, scope, kind, name, line, target, symbol, how) "
            "values (?, ?, ?, ?, ?, ?, ?, ?)",
            (
                (nums[one.path], e.scope, e.kind, e.name, e.line, nums.get(e.to), e.symbol, e.how)
                for e in one.edges
            ),
        )
        db.executemany(
            "insert or ignore into rest (checksum, file) values (?, ?)",
            ((crc32(text.encode()), nums[one.path]) for text in one.rests_on),
        )


def renumber_targets(db: sqlite3.Connection, num: int, places: Mapping[int, int]) -> None:
    """Let the edges to symbols of a file lead to where these are now: below zero first, so that
    none meets another.
    """
    db.executemany(
        "update edge set symbol = ? where target = ? and symbol = ?",
        [(-3 - new, num, old) for old, new in places.items() if old != new],
    )
    db.execute("update edge set symbol = -3 - symbol where target = ? and symbol < -1", (num,))


def mark_unresolved(db: sqlite3.Connection, root: str) -> None:
    """The edges of a repository are not those of its files any more."""
    db.execute(
        "insert into root (path, resolved) values (?, 0) on conflict (path) do update set resolved = 0",
        (root,),
    )


def insert_file(db: sqlite3.Connection, root: str, one: ParsedFile, num: int | None = None) -> None:
    """Enter a file that is not there, by this number or a new one."""
    body = to_index_text("\n".join(iter_file_words(one)))
    num = db.execute(
        "insert into file (num, root, path, size, mtime, inode, hash, language, facts, modules, body) "
        "values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            num,
            root,
            one.file.path,
            *one.file.stamp,
            one.file.hash,
            one.language,
            one.facts,
            json.dumps(one.modules),
            body,
        ),
    ).lastrowid
    db.execute("insert into words (rowid, body) values (?, ?)", (num, body))
    db.executemany(
        "insert into symbol (file, idx, name, qual, kind, parent, owner, first, last, head, type, value, "
        "body) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        ((num, index, *symbol) for index, symbol in enumerate(one.symbols)),
    )
    db.executemany(
        "insert into joining (name, file, idx) values (?, ?, ?)",
        ((name, num, index) for name, index in find_detached_members(one.symbols)),
    )


def iter_file_words(one: ParsedFile) -> Iterator[str]:
    """What a file is found by: its path, and the names in it, each once."""
    yield one.file.path
    yield from dict.fromkeys(symbol.name for symbol in one.symbols)


def replace_indexed_file(db: sqlite3.Connection, root: str, one: ParsedFile) -> None:
    """Enter a file in the place of what it was. Edges to it stay."""
    insert_file(db, root, one, take_out_file(db, root, one.file.path))


def delete_file(db: sqlite3.Connection, root: str, path: str) -> None:
    """Take a file out, if it is there, and the edges to it."""
    num = take_out_file(db, root, path)
    db.execute("delete from edge where target = ?", (num,))


def take_out_file(db: sqlite3.Connection, root: str, path: str) -> int | None:
    """Take a file out, if it is there; its number."""
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
