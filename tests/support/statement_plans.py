# mypy: no-check-untyped-defs
"""Which shards a statement goes to, by reading its plan while a test runs it.

Each statement of a store is explained once, just before it is executed for the first time, in its
own transaction and with its own values. Statements about all tenants (`across_tenants`) are meant
to go to all shards and are left out.
"""

import re
from contextlib import contextmanager

import psycopg

from reverie.storage.postgres import ALL_TENANTS

EXPLAINABLE = re.compile(r"\s*(select|insert|update|delete|with)\b", re.IGNORECASE)
TASKS = re.compile(r"Task Count: (\d+)")
PULLED = re.compile(r"pull to coordinator|repartition", re.IGNORECASE)


class PlanReader:
    """What has been explained so far: statement → what is wrong with its plan, "" if nothing."""

    def __init__(self):
        self.seen = {}
        self.spread = set()  # the statements that went to a shard

    def read(self, db, query, params):
        """Explain what is new in a query that is about to be executed."""
        text = query.decode() if isinstance(query, bytes) else query
        if not isinstance(text, str):
            text = text.as_string(db)
        for part in text.split(";"):
            # Numbers and names that were written into a statement make it no other one.
            key = re.sub(r"'[^']*'|\b\d+\b|%\(\w+\)s", "?", part)
            if EXPLAINABLE.match(part) and key not in self.seen:
                self.seen[key] = ""
                with db.cursor() as cursor:
                    plan = read_plan(cursor, part, params)
                self.seen[key] = judge_plan(plan)
                if TASKS.search(plan):
                    self.spread.add(key)

    @property
    def wrong(self):
        """The statements that go to more than one shard, and why we think so."""
        return {statement: why for statement, why in self.seen.items() if why}


def read_plan(cursor, statement, params=None):
    """The plan of a statement as text."""
    execute = psycopg.Cursor.execute
    original = getattr(execute, "original", execute)
    # A node may not be able to explain what it can do; then its part of the transaction has failed.
    original(cursor, "savepoint read_plan")
    original(cursor, f"explain (costs off) {statement}", params, prepare=False)
    plan = "\n".join(line for (line,) in cursor.fetchall())
    original(cursor, "rollback to savepoint read_plan")
    original(cursor, "release savepoint read_plan")
    return plan


def judge_plan(plan):
    """What is wrong with a plan: "" if the statement goes to one shard, or to none."""
    tasks = [int(count) for count in TASKS.findall(plan)]
    if any(count > 1 for count in tasks):
        return f"{max(tasks)} shards:\n{plan}"
    return f"through the coordinator:\n{plan}" if PULLED.search(plan) else ""


@contextmanager
def reading_plans(reader):
    """Have every statement of every store explained during the block."""
    patched = patch_cursors(reader)
    try:
        yield reader
    finally:
        for owner, original in patched:
            owner.execute = original


def patch_cursors(reader):
    """Put the reader before `execute` of both kinds of cursors; what was there before."""
    patched = []
    for owner in (psycopg.Cursor, psycopg.ServerCursor):
        original = owner.execute
        owner.execute = explain_first(original, reader)
        patched.append((owner, original))
    return patched


def explain_first(original, reader):
    """An `execute` that has its statement explained."""

    def execute(self, query, params=None, **options):
        db = self.connection
        is_piped = db.pgconn.pipeline_status != psycopg.pq.PipelineStatus.OFF
        of_all = getattr(db, "tenant", "") in ("", ALL_TENANTS)
        if not is_piped and not of_all:
            reader.read(db, query, params)
        return original(self, query, params, **options)

    execute.original = original
    return execute
