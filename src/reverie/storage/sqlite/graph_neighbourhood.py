"""The graph around some nodes, as a reader in some spaces sees it.

A question about memories without edges costs two looks into an index and nothing else: every
explicit recall asks. A node that is no memory has a colon in its name (`tag:ops`); thousands may be
tied to it, so only its newest are read.
"""

import sqlite3
from collections.abc import Iterator, Sequence

from reverie.core.model import Edge
from reverie.storage.sqlite.read_queries import split_batches, sql_placeholders

MAX_TAG_MEMBERS = (
    1_000  # newest memories of one tag among which those that may be seen are looked for
)


def read_edges_around(
    db: sqlite3.Connection, nodes: Sequence[str], spaces: Sequence[str], most: int
) -> list[Edge]:
    """Edges of these nodes whose memories may be seen, each once, in order."""
    memories = [node for node in nodes if ":" not in node]
    found = {
        edge for some in split_batches(memories) for edge in iter_memory_edges(db, some, spaces)
    }
    for node in nodes:
        if ":" in node:
            found.update(iter_node_members(db, node, spaces, most))
    return sorted(found)


def iter_memory_edges(
    db: sqlite3.Connection, ids: Sequence[str], spaces: Sequence[str]
) -> Iterator[Edge]:
    """Edges from and to some memories. The reader is known to see these; the other end is looked
    at.

    `cross join` keeps SQLite from starting at the memories of a space, of which there may be a
    hundred thousand.
    """
    forth = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e left join memory m on m.id = e.dst
        where e.src in ({sql_placeholders(ids)})
          and (instr(e.dst, ':') or m.space in ({sql_placeholders(spaces)}) and (m.retired_at is null or e.rel = 'supersedes'))
    """
    back = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e cross join memory m on m.id = e.src
        where e.dst in ({sql_placeholders(ids)}) and m.space in ({sql_placeholders(spaces)}) and m.retired_at is null
    """
    for sql in (forth, back):
        yield from (Edge(*row) for row in db.execute(sql, (*ids, *spaces)))


def iter_node_members(
    db: sqlite3.Connection, node: str, spaces: Sequence[str], most: int
) -> Iterator[Edge]:
    """What is tied to a tag, a cluster or a file: the newest that may be seen.

    Read from the end of the index until there are enough; the thousandth newest is where looking
    ends.
    """
    sql = f"""
        select e.src, e.rel, e.dst, e.weight
        from edge e cross join memory m on m.id = e.src
        where e.dst = ? and m.space in ({sql_placeholders(spaces)}) and m.retired_at is null
          and e.src >= coalesce(
              (select src from edge where dst = ? order by rel desc, src desc limit 1 offset {MAX_TAG_MEMBERS - 1}), '')
        order by e.rel desc, e.src desc
        limit ?
    """
    return (Edge(*row) for row in db.execute(sql, (node, *spaces, node, most)))
