"""The graph around some nodes, as a reader of some spaces sees it.

Every explicit recall asks, so a query about memories without edges costs two index lookups and
nothing else. A node that is no memory has a colon in its name (`tag:ops`); thousands may be tied to
it, so only its newest are read.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from reverie.core.model import Edge
from reverie.storage.sqlite.read_queries import split_batches, sql_placeholders

# Newest memories of one tag among which the visible ones are searched.
MAX_TAG_MEMBERS = 1_000


def read_edges_around(
    db: sqlite3.Connection, nodes: Sequence[str], spaces: Sequence[str], most: int
) -> list[Edge]:
    """Edges of these nodes whose memories may be seen, each once, in order."""
    found: set[Edge] = set()
    for ids in split_batches([node for node in nodes if ":" not in node]):
        found.update(iter_memory_edges(db, ids, spaces))
    for node in nodes:
        if ":" in node:
            found.update(iter_node_members(db, node, spaces, most))
    return sorted(found)


def iter_memory_edges(
    db: sqlite3.Connection, ids: Sequence[str], spaces: Sequence[str]
) -> Iterator[Edge]:
    """Edges from and to memories that the reader may see; the other end is checked."""
    ids_marks, spaces_marks = sql_placeholders(ids), sql_placeholders(spaces)
    outgoing = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e left join memory m on m.id = e.dst
        where e.src in ({ids_marks})
          and (instr(e.dst, ':')
               or m.space in ({spaces_marks}) and (m.retired_at is null or e.rel = 'supersedes'))
    """
    # `cross join` keeps SQLite from starting at the memories of a space, of which there may be a
    # hundred thousand.
    incoming = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e cross join memory m on m.id = e.src
        where e.dst in ({ids_marks}) and m.space in ({spaces_marks}) and m.retired_at is null
    """
    for sql in (outgoing, incoming):
        yield from (Edge(*row) for row in db.execute(sql, (*ids, *spaces)))


def iter_node_members(
    db: sqlite3.Connection, node: str, spaces: Sequence[str], most: int
) -> Iterator[Edge]:
    """The newest visible memories that are tied to a tag, a cluster or a file.

    Read from the end of the index until there are `most`, among the newest MAX_TAG_MEMBERS.
    """
    sql = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e cross join memory m on m.id = e.src
        where e.dst = ? and m.space in ({sql_placeholders(spaces)}) and m.retired_at is null
          and e.src >= coalesce(
              (select src from edge where dst = ? order by rel desc, src desc
               limit 1 offset {MAX_TAG_MEMBERS - 1}), '')
        order by e.rel desc, e.src desc
        limit ?
    """
    return (Edge(*row) for row in db.execute(sql, (node, *spaces, node, most)))
