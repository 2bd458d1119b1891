"""Finding memories by their vectors: all of a space compared, or by an index where there are many.

Up to MAX_EXACT_VECTORS memories in a space every vector is compared, in the database. Above, an
HNSW index of the model proposes, if there is one (`ensure_vector_indexes`). Row security allows it:
an index that only orders reveals nothing, and the space is compared with `=`, which may run before
a policy does.

Vectors are of unit length, so the inner product is the cosine; `<#>` is its negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

from psycopg import Connection, sql

from reverie.storage.postgres.connection import TenantConnection

# Memories of a space up to which every vector is compared. Measured: comparing takes half a
# microsecond each, the index 3 ms (`python -m bench.postgres.speed`).
MAX_EXACT_VECTORS = 20_000
# The index is of all spaces of all tenants. A space that is a smaller share of it is compared as a
# whole: the index would hand over fifty strangers for one of its own.
MIN_INDEX_SHARE = 0.02
# Vectors that the index looks at, at least: with 200 it finds 0.999 of the true hundred best of
# 100,000 clustered vectors.
MIN_EF_SEARCH, MAX_EF_SEARCH = 200, 1_000

# The nearest of one space. A vector of another length is none of this model's.
EXACT_NEAREST = """
    select n.num, n.cosine, {allowed}, m.retired_at is null
    from (
        select v.num,
               -case when vector_dims(v.vec) = %(dims)s then v.vec <#> %(vector)s::halfvec end
                   as cosine
        from vector v
        where v.tenant = %(tenant)s and v.space = %(near_space)s and v.model = %(model)s
        order by cosine desc nulls last
        limit %(most)s
    ) as n
    join memory m on m.tenant = %(tenant)s and m.num = n.num
    where n.cosine is not null
"""
# The nearest of one space, each with the mean and the standard deviation of the cosines of all that
# are active there.
WHOLE_NEAREST = """
    select n.num, n.cosine, {allowed}, m.retired_at is null,
           avg(n.cosine) filter (where m.retired_at is null) over (),
           stddev_pop(n.cosine) filter (where m.retired_at is null) over ()
    from (
        select v.num,
               -case when vector_dims(v.vec) = %(dims)s then v.vec <#> %(vector)s::halfvec end
                   as cosine
        from vector v
        where v.tenant = %(tenant)s and v.space = %(near_space)s and v.model = %(model)s
        offset 0
    ) as n
    join memory m on m.tenant = %(tenant)s and m.num = n.num
    where n.cosine is not null
    order by n.cosine desc
    limit %(most)s
"""
# The nearest of one space, of what is allowed alone: for where little of it is.
ALLOWED_NEAREST = """
    select n.num, n.cosine, true, true
    from (
        select v.num, -(v.vec <#> %(vector)s::halfvec) as cosine
        from vector v
        join memory m on m.tenant = v.tenant and m.num = v.num
        where v.tenant = %(tenant)s and v.space = %(near_space)s and v.model = %(model)s
          and vector_dims(v.vec) = %(dims)s and m.space = v.space and {allowed}
        offset 0
    ) as n
    order by n.cosine desc
    limit %(most)s
"""
# The nearest of one space by the index of a model: model and length are part of the statement, as
# they are of the index.
INDEXED_NEAREST = """
    select n.num, n.cosine, {allowed}, m.retired_at is null
    from (
        select v.num, 1 - (v.vec::halfvec({dims}) <=> %(vector)s::halfvec({dims})) as cosine
        from vector v
        where v.tenant = %(tenant)s and v.space = %(near_space)s and v.model = {model}
        order by v.vec::halfvec({dims}) <=> %(vector)s::halfvec({dims})
        limit %(most)s
    ) as n
    join memory m on m.tenant = %(tenant)s and m.num = n.num
"""
FIND_INDEX = """
    select c.reltuples
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    where c.relname = %(name)s and c.relnamespace = 'reverie'::regnamespace and i.indisvalid
"""
MAY_CREATE = """
    select pg_has_role(current_user, relowner, 'usage') from pg_class
    where oid = 'reverie.vector'::regclass
"""
# Models with more vectors in a space than are compared one by one.
CROWDED_MODELS = """
    select distinct crowded.model,
           (select vector_dims(v.vec) from vector v
            where v.tenant = %(tenant)s and v.space = crowded.space and v.model = crowded.model
            limit 1)
    from (
        select space, model
        from vector
        where tenant = %(tenant)s
        group by space, model
        having count(*) > %(most)s
    ) as crowded
"""


class NearRow(NamedTuple):
    """A row of the nearest of a space."""

    num: int
    cosine: float
    allowed: bool
    active: bool
    # Of WHOLE_NEAREST: of the cosines of all that are active in the space.
    mean: float | None = None
    spread: float | None = None


class VectorIndex(NamedTuple):
    """The HNSW index of a model."""

    model: str
    dims: int
    vectors: float  # about how many, as far as PostgreSQL has counted; 0 or less if it has not


class IndexedModel(NamedTuple):
    """A model that had no index though a tenant has many of its vectors in a space."""

    model: str
    created: bool  # False: who asks does not own the tables


def vector_index_name(model: str, dims: int) -> str:
    """The name of a model's index; a model's own name may hold anything."""
    digest = blake2b(model.encode(), digest_size=6).hexdigest()
    return f"vector_near_{digest}_{dims}"


def find_vector_index(db: TenantConnection, model: str, dims: int) -> VectorIndex | None:
    """The index of a model, if there is one that may be used."""
    vectors = db.fetch_value(FIND_INDEX, name=vector_index_name(model, dims))
    return None if vectors is None else VectorIndex(model, dims, vectors)


def find_crowded_models(db: TenantConnection) -> list[tuple[str, int]]:
    """(model, dims) of the models that a tenant needs an index of."""
    return [tuple(row) for row in db.fetch_rows(CROWDED_MODELS, most=MAX_EXACT_VECTORS)]


def ensure_vector_indexes(db: Connection[Any], model: str, dims: int) -> bool:
    """Create the index of a model unless it is there or somebody else is at it. True if it was
    created.

    `db` is a connection of the owner of the tables, in no transaction: others go on reading and
    writing meanwhile. It takes half a minute for 100,000 vectors. On Citus the coordinator creates
    it on every node.
    """
    name = vector_index_name(model, dims)
    # Nobody waits for this lock: creating waits for the statements of everybody else.
    lock = db.execute("select pg_try_advisory_lock(hashtextextended(%s, 0))", (name,)).fetchone()
    if not (lock and lock[0]):
        return False
    try:
        found = db.execute(FIND_INDEX, {"name": name}).fetchone()
        if found:
            return False
        index = sql.Identifier("reverie", name)
        # What an interrupted attempt left behind is not valid.
        db.execute(sql.SQL("drop index if exists {}").format(index))
        statement = sql.SQL(
            "create index concurrently {name} on reverie.vector "
            "using hnsw ((vec::halfvec({dims})) halfvec_cosine_ops) where model = {model}"
        )
        db.execute(
            statement.format(
                name=sql.Identifier(name), dims=sql.Literal(dims), model=sql.Literal(model)
            )
        )
        return True
    finally:
        db.execute("select pg_advisory_unlock(hashtextextended(%s, 0))", (name,))


def index_crowded_models(
    db: Connection[Any],
    crowded: Sequence[tuple[str, int]],
) -> list[IndexedModel]:
    """Create the indexes that these models lack, over a connection in no transaction."""
    missing = [
        (model, dims)
        for model, dims in crowded
        if not db.execute(FIND_INDEX, {"name": vector_index_name(model, dims)}).fetchone()
    ]
    may_create = missing and db.execute(MAY_CREATE).fetchone() == (True,)
    if not may_create:
        return [IndexedModel(model, created=False) for model, _ in missing]
    return [
        IndexedModel(model, created=True)
        for model, dims in missing
        if ensure_vector_indexes(db, model, dims)
    ]


def indexed_nearest(index: VectorIndex, allowed: str) -> str:
    """The statement that asks the index of a model."""
    model = model_literal(index.model)
    return INDEXED_NEAREST.format(dims=int(index.dims), model=model, allowed=allowed)


def model_literal(model: str) -> str:
    """A model's name as part of a statement with parameters."""
    return sql.Literal(model).as_string(None).replace("%", "%%")


def is_crowded(memories: int) -> bool:
    """True if a space has too many memories to compare all."""
    return memories > MAX_EXACT_VECTORS


def is_worth_index(memories: int, index: VectorIndex | None) -> bool:
    """True if the index of a model finds the nearest of a space of so many memories sooner."""
    if index is None or not is_crowded(memories):
        return False
    return index.vectors <= 0 or memories >= MIN_INDEX_SHARE * index.vectors


def set_index_breadth(db: Connection[Any], most: int) -> None:
    """Let the index look at enough vectors for `most` results, and go on where filters took some
    away; until the transaction ends.
    """
    breadth = min(max(MIN_EF_SEARCH, most), MAX_EF_SEARCH)
    db.execute("set local hnsw.iterative_scan = 'relaxed_order'")
    db.execute(f"set local hnsw.ef_search = {breadth}".encode())


def order_nearest(rows: Sequence[NearRow], limit: int) -> list[int]:
    """The numbers of the nearest that are allowed, best first, ties by number."""
    best = sorted(
        (row for row in rows if row.allowed),
        key=lambda row: (-row.cosine, row.num),
    )
    return [row.num for row in best[:limit]]
