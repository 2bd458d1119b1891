# mypy: no-check-untyped-defs
"""What must be so whatever settling and sleep decide about memories."""

from reverie.core.model import Filter

MANY = 1_000_000


def all_memories(store):
    """All memories of a store, by id."""
    return {m.id: m for m in store.browse(Filter(active=None, limit=MANY))}


def find_last_successor(after, id):
    """Where the successors of a memory lead."""
    seen = set()
    while not after[id].active and after[id].superseded_by:
        assert id not in seen, f"a circle of successors: {seen}"
        seen.add(id)
        id = after[id].superseded_by
    return after[id]


def belief_rank(m):
    return m.provenance == "user_corrected", m.trust


def assert_nothing_lost(before, after):
    """What must be so whatever settling and sleep decide: nothing lost, each loser leads to a
    better one.
    """
    assert before.keys() <= after.keys()
    # A session's summary is written anew when the session goes on; its history keeps the old one.
    assert not [
        id for id, m in before.items() if m.text != after[id].text and m.kind != "session"
    ], "a text was altered"
    born = after.keys() - before.keys()
    gone = [m for id, m in after.items() if not m.active and (id in born or before[id].active)]
    for m in gone:
        assert m.retired_why in ("merged", "superseded", "faded")
        if m.retired_why == "faded":
            assert m.provenance != "user_corrected"
            continue
        heir = after[m.superseded_by]
        assert belief_rank(heir) >= belief_rank(m), "a memory stepped back for a weaker one"
        end = find_last_successor(after, m.id)
        assert end.active or end.retired_why == "faded"
    assert not [id for id in before if after[id].active and not before[id].active], (
        "something came back by itself"
    )
    left = sum(m.strength for m in after.values() if m.active)
    left += sum(m.strength for m in gone if m.retired_why != "merged")
    # What is said again in the same words strengthens and adds no memory: there may be more, never
    # less.
    assert left >= len(born) + sum(m.strength for m in before.values() if m.active)
