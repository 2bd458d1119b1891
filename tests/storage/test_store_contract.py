# mypy: no-check-untyped-defs
"""What every backend promises. A new backend joins by one row in BACKENDS.

Real databases, no mocks; nothing here knows how a backend keeps things. Where two answers are
allowed, a class attribute of the store decides (`Store.has_file` and its neighbours). What is
SQLite's own is in test_sqlite.py and test_column_cache.py.
"""

import json
import math
from functools import partial

import numpy as np
import pytest

from reverie.core.clock import new_id
from reverie.core.errors import BadInput, Conflict, NotFound, UnknownScheme
from reverie.core.kinds import EXCERPT
from reverie.core.model import (
    Add,
    Edge,
    Event,
    Filter,
    Link,
    Memory,
    Reinforcement,
    Retire,
    Revise,
    visible_spaces,
)
from reverie.storage import open_store
from reverie.storage.candidates import (
    EXPANDED_PER_CHANNEL,
    MAX_IDENTIFIER_MEMORIES,
    NEIGHBOUR_OFFSETS,
    CandidateRequest,
    NeighbourRequest,
)
from reverie.storage.sqlite import database_library
from reverie.testing import NOON, SPACE, make_event, make_memory
from reverie.text.tokenization import fingerprint_text, tokenize_query
from tests.support.encrypted_homes import make_encrypted_home
from tests.support.helpers import run_in_threads
from tests.support.postgres import fresh_tenant


def make_folder(request):
    return request.getfixturevalue("tmp_path_factory").mktemp("store")


def make_encrypted_url(folder):
    make_encrypted_home(folder / "home")
    return f"sqlite:///{folder / 'home' / 'reverie.db'}"


# Name → the address of a new, empty store, made when a test needs it. It gets pytest's `request`,
# by which a server's fixture is asked for: nobody starts a server for a test of SQLite.
BACKENDS = {
    "sqlite file": lambda request: f"sqlite:///{make_folder(request) / 'store.db'}",
    "sqlite encrypted": lambda request: make_encrypted_url(make_folder(request)),
    "sqlite memory": lambda _request: "sqlite://:memory:",
    "postgresql": lambda request: fresh_tenant(request.getfixturevalue("postgres_url")),
    "citus": lambda request: fresh_tenant(request.getfixturevalue("citus_url")),
}
PRIVATE = {"sqlite memory"}  # what one of them keeps no other can see: one store, one process

MODEL = "model/1"


@pytest.fixture(params=BACKENDS)
def backend(request):
    return request.param


@pytest.fixture
def url(backend, request):
    return BACKENDS[backend](request)


@pytest.fixture
def store(url):
    store = open_store(url)
    yield store
    store.close()


@pytest.fixture
def other_store(backend, url, store):
    """A second store object on the same database, as another process would have."""
    if backend in PRIVATE:
        pytest.skip("nobody else can see it")
    other = open_store(url)
    yield other
    other.close()


@pytest.fixture
def other_or_same_store(backend, request, store):
    """A second store object where the backend allows one."""
    return store if backend in PRIVATE else request.getfixturevalue("other_store")


@pytest.fixture
def empty_store(backend, request):
    """A further store with nothing in it."""
    store = open_store(BACKENDS[backend](request))
    yield store
    store.close()


def keep(store, *texts, **fields):
    """Memories with these texts, kept one by one."""
    kept = [make_memory(text, **fields) for text in texts]
    for memory in kept:
        store.apply([Add(memory=memory)], make_event(space=memory.space))
    return kept if len(kept) > 1 else kept[0]


def find(store, question, space=SPACE, limit=10):
    return [
        id for id, _ in store.search_words(tokenize_query(question), visible_spaces(space), limit)
    ]


def vector(*numbers):
    row = np.zeros(8, np.float32)
    row[: len(numbers)] = numbers
    return row / np.linalg.norm(row)


def embed(store, memory, *numbers, model=MODEL):
    return store.put_vectors(
        model, {memory.id: vector(*numbers)}, {memory.id: fingerprint_text(memory.text)}
    )


def ask(store, vector, *spaces, **fields):
    """The candidates of a question in these spaces."""
    return store.candidates(CandidateRequest(MODEL, vector, spaces or (SPACE,), **fields))


def columns(store, spaces=(SPACE,), model=MODEL):
    """What ranking sees of each memory that counts: None, or its vector's first two numbers."""
    active = store.browse(Filter(spaces=spaces, limit=1_000))
    words = tuple({word for memory in active for word in memory.text.split()})
    seen = {}
    for axis in (vector(1, 0), vector(0, 1)):
        # Each finds all: by its vector, or by its words.
        pool = store.candidates(CandidateRequest(model, axis, spaces, words, each=1_000))
        if pool is None:
            return dict.fromkeys(memory.id for memory in active)
        for id, cosine in zip(pool.ids, pool.dense.tolist(), strict=True):
            known = not math.isnan(cosine)
            seen[id] = (*(seen.get(id) or ()), round(cosine, 3)) if known else None
    return seen


def like(store, numbers):
    """As near to these numbers as this store keeps them."""
    return pytest.approx(numbers, abs=max(store.vector_precision, 1e-6))


# Atomicity


def broken(old):
    """Changes of which one in the middle cannot be made."""
    return [
        [
            Add(memory=make_memory("one")),
            Revise(id=new_id(), fields={"text": "x"}),
            Add(memory=make_memory("two")),
        ],
        [Retire(id=old.id, at=NOON), Add(memory=old)],
        [Revise(id=old.id, fields={"text": "other", "tags": ("t",)}), Retire(id=new_id(), at=NOON)],
        [
            Link(edge=Edge(src=old.id, rel="relates_to", dst=old.id)),
            Revise(id=old.id, fields={"colour": "red"}),
        ],
    ]


@pytest.mark.parametrize("case", range(4))
@pytest.mark.proves("X20")
def test_all_or_nothing(store, case):
    """A change that cannot be made leaves nothing: no event, no earlier change, no cursor."""
    old = keep(store, "the old text")
    before = (store.stats(), store.get([old.id]), store.events(), store.history(old.id))

    with pytest.raises((NotFound, Conflict, BadInput)):
        store.apply(broken(old)[case], make_event("sleep"), done=("reader", 99))

    assert before == (store.stats(), store.get([old.id]), store.events(), store.history(old.id))
    assert (store.cursor("reader"), find(store, "other one two"), store.verify()) == (0, [], [])


@pytest.mark.proves("X20")
def test_an_interrupt_leaves_nothing(store, monkeypatch):
    """Ctrl-C in the middle of a transaction takes all of it back, and the store goes on."""

    class Interrupting(dict):
        def items(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.apply(
            [Add(memory=make_memory("one")), Revise(id="x", fields=Interrupting())],
            make_event(payload=Interrupting(a=1)),
        )
    keep(store, "two")

    assert store.stats().memories == 1
    assert len(store.events()) == 1


def test_ids_are_found_by_a_part_of_them(store):
    """Newest first, by how they begin or end, and never by what merely resembles that."""
    ids = [f"mem_01abc{n}{'0' * 18}xy" for n in range(3)]
    for id in ids:
        memory = make_memory(id)._replace(id=id)
        store.apply([Add(memory=memory)], make_event(space=memory.space))
    assert store.match_ids("01abc", 9) == ids[::-1] and store.match_ids("01abc1", 9) == [ids[1]]
    assert store.match_ids("xy", 2) == ids[:0:-1]
    assert store.match_ids("mem_01abc", 9) == store.match_ids("%", 9) == []


def test_everything_commits_together(store):
    """Changes, their event and the reader's cursor are there together."""
    one, two = make_memory("one"), make_memory("two")
    seq = store.apply(
        [Add(memory=one), Add(memory=two)], make_event("learn", payload={"n": 2}), done=("learn", 7)
    )

    assert store.get([two.id, "mem_none", one.id]) == [two, one]
    assert store.event(seq) == make_event("learn", payload={"n": 2}, seq=seq)
    assert store.cursor("learn") == 7


def test_events_append_all_or_none(store):
    """Several events are written in one transaction and numbered in order."""
    numbers = store.append([make_event("turn", payload={"n": n}) for n in range(5)])
    with pytest.raises(Exception):  # noqa: B017 - whatever the backend says to a session that is no text
        store.append([make_event("turn"), make_event("turn", session=object())])

    assert numbers == sorted(numbers)
    assert [e.payload["n"] for e in store.events(verbs=["turn"])] == [0, 1, 2, 3, 4]


# Memories


@pytest.mark.proves(
    "CC-1",
    "A26",
    "A27",
    "A28",
    "A29",
    "A30",
    "A31",
    "A32",
    "A33",
    "A34",
    "A35",
    "A36",
    "A37",
    "A38",
    "A39",
    "B46",
    "B47",
    "B48",
    "B49",
    "B50",
    "B51",
    "B52",
    "B53",
)
def test_every_field_comes_back(store):
    """Nothing of a memory is lost on the way to the disk and back."""
    memory = Memory(
        id=new_id(),
        text="text",
        space=SPACE,
        kind="decision",
        title="title",
        tags=("a", "b"),
        session="s",
        speaker="Ann",
        messages=(3, 9),
        files=("src/a.py",),
        provenance="user_stated",
        triggers=("x*",),
        details={"steps": ["a", {"b": 1.5}], "none": None},
        trust=0.95,
        confidence=0.9,
        salience=0.7,
        strength=3,
        access_count=2,
        reinforcements=(Reinforcement(session="s2", message=4, at=NOON),),
        at=NOON - 5,
        created_at=NOON,
        updated_at=NOON + 1,
        last_accessed_at=NOON + 2,
        valid_from=1.0,
        valid_to=2.0,
        expires_at=3.0,
        retired_at=NOON + 3,
        retired_why="superseded",
        superseded_by=None,
        conflicts_with=("mem_x",),
    )
    store.apply([Add(memory=memory)], make_event())

    assert store.get([memory.id]) == [memory]


@pytest.mark.proves("CC-1", "A26", "A33", "A34", "A37")
def test_a_new_memory_is_fresh(store):
    """Strength 1, never used, active, named mem_…."""
    memory = store.get([keep(store, "fresh").id])[0]

    assert (memory.strength, memory.access_count, memory.active, memory.id[:4]) == (
        1,
        0,
        True,
        "mem_",
    )


def test_an_id_is_used_once(store):
    """A second memory of the same id is refused, the first one stays."""
    first = keep(store, "first")
    with pytest.raises(Conflict):
        store.apply([Add(memory=make_memory("second", id=first.id))], make_event())

    assert store.get([first.id]) == [first]


@pytest.mark.proves("A87", "E51")
def test_history_keeps_what_was_there_before(store):
    """Each change is appended with its event and the old values; what was written before stays."""
    memory = keep(store, "old", tags=("a",))
    store.apply(
        [Revise(id=memory.id, fields={"text": "new", "tags": ("b",), "title": ""})],
        make_event("revise"),
    )
    store.apply([Retire(id=memory.id, at=NOON + 9)], make_event("forget"))
    add, revise, retire = store.history(memory.id)
    store.apply([Revise(id=memory.id, fields={"text": "newest"})], make_event("revise"))
    assert store.history(memory.id)[:3] == [add, revise, retire]

    assert (add.op, add.event.verb, dict(add.before)) == ("add", "remember", {})
    assert (revise.op, dict(revise.before), dict(revise.after)) == (
        "revise",
        {"text": "old", "tags": ("a",)},
        {"text": "new", "tags": ("b",)},
    )
    assert retire.before["retired_at"] is None
    assert retire.after == {"retired_at": NOON + 9, "retired_why": "forgotten"}
    assert store.changes_of(revise.event.seq) == [revise]


def test_only_fields_of_a_memory_can_be_revised(store):
    """An unknown field, and the id, are refused."""
    memory = keep(store, "text")
    for fields in ({"colour": "red"}, {"id": "mem_other"}):
        with pytest.raises(BadInput):
            store.apply([Revise(id=memory.id, fields=fields)], make_event())
    assert store.get([memory.id]) == [memory]


def test_what_is_not_there_cannot_be_changed(store):
    """Changing or retiring an unknown id says so."""
    for change in (Revise(id="mem_none", fields={"text": "x"}), Retire(id="mem_none", at=NOON)):
        with pytest.raises(NotFound):
            store.apply([change], make_event())


def test_memories_are_counted_by_day(store):
    """A memory comes on the day it was written down and goes on that of its retirement."""
    day = 86_400.0
    keep(store, "one", now=3 * day)
    two = keep(store, "two", now=3 * day + 5)
    keep(store, "three", now=5 * day)
    store.apply([Retire(id=two.id, at=5 * day + 9)], make_event("forget"))
    assert store.memories_by_day() == [(3, 2, 0), (5, 1, 1)]


# Tags, edges, superseding


@pytest.mark.proves("CC-2", "B95", "E37")
def test_tags_are_counted(store):
    """Tags make edges, are counted, and lead to memories, of this space and above it only."""
    one, two = keep(store, "one", tags=("rust", "async")), keep(store, "two", tags=("rust",))
    keep(store, "three", tags=("rust",), space="me/other")

    assert store.tag_counts(visible_spaces(SPACE)) == {"rust": 2, "async": 1}
    assert len(store.edges([one.id, two.id], ["has_tag"])) == 3
    assert {m.id for m in store.browse(Filter(spaces=(SPACE,), tags=("rust",)))} == {two.id, one.id}
    assert {m.id for m in store.browse(Filter(spaces=(SPACE,), tags=("async",)))} == {one.id}


@pytest.mark.proves("CC-3")
def test_tagging_twice_counts_once(store):
    """The same tag again adds nothing; untagging lowers the count."""
    memory = keep(store, "one", tags=("rust",))
    store.apply([Revise(id=memory.id, fields={"tags": ("rust", "async")})], make_event("tag"))
    store.apply([Revise(id=memory.id, fields={"tags": ("rust", "async")})], make_event("tag"))
    twice = store.tag_counts([SPACE])
    store.apply([Revise(id=memory.id, fields={"tags": ("async",)})], make_event("tag"))

    assert (twice, store.tag_counts([SPACE])) == ({"rust": 1, "async": 1}, {"async": 1})
    assert store.get([memory.id])[0].tags == ("async",)
    assert store.verify() == []


@pytest.mark.proves("CC-4")
def test_purging_takes_edges_and_counts_along(store):
    """What is purged leaves no edge, no count, no word, no vector, no text behind."""
    one, two = keep(store, "the heron secretly nests", "two", tags=("rust",))
    store.apply(
        [
            Link(edge=Edge(src=a, rel="relates_to", dst=b))
            for a, b in ((one.id, two.id), (two.id, one.id))
        ],
        make_event("link"),
    )
    store.append(
        [make_event("turn", payload={"messages": [{"text": "I said: the heron secretly nests!"}]})]
    )
    embed(store, one, 1)

    assert store.purge([one.id, one.id, "mem_none"]) == 1
    assert (store.get([one.id]), store.history(one.id), store.edges([one.id])) == ([], [], [])
    assert (store.tag_counts([SPACE]), find(store, "heron"), columns(store)) == (
        {"rust": 1},
        [],
        {two.id: None},
    )
    assert "heron" not in json.dumps(list(store.dump()))
    assert store.verify() == []


@pytest.mark.parametrize("verb, ids", [("turn", "given"), ("prepared", "ids")])
def test_a_purge_takes_the_reasons_of_what_is_purged(store, verb, ids):
    """An event that gave two memories keeps the one that stays, with its own reasons only."""
    gone, stays = keep(store, "The vault word is Zanzibar.", "Deploy with make ship.")
    why = [["trigger 'tool:Bash(vault*)'"], ["words 4.3"]]
    store.append([Event(verb, SPACE, 1.0, payload={ids: [gone.id, stays.id], "why": why})])

    store.purge([gone.id])

    (event,) = store.events(verbs=(verb,))
    assert event.payload == {ids: [stays.id], "why": [["words 4.3"]]}


def test_purging_one_leaves_the_others_whole(store):
    """Those that pointed to a purged memory stay, can be read, and their changes can
    be taken back.
    """
    old, new, friend = keep(store, "old", "new", "friend")
    supersede = store.apply(
        [
            Retire(id=old.id, at=NOON, why="superseded", superseded_by=new.id),
            Link(edge=Edge(src=new.id, rel="supersedes", dst=old.id)),
            Link(edge=Edge(src=friend.id, rel="relates_to", dst=new.id)),
            Revise(id=friend.id, fields={"conflicts_with": (new.id, old.id)}),
        ],
        make_event("x"),
    )
    store.purge([new.id])
    left, alone = store.get([old.id, friend.id])

    assert (left.active, left.superseded_by, alone.conflicts_with) == (False, None, (old.id,))
    assert [(r.memory_id, r.op, "retired_at" in r.before) for r in store.changes_of(supersede)] == [
        (old.id, "retire", True),
        (friend.id, "revise", False),
    ]
    assert new.id not in json.dumps(list(store.dump()))
    assert store.verify() == []


@pytest.mark.proves("CC-5", "A38", "X25")
def test_superseding_keeps_the_older_readable(store):
    """The older no longer counts, names its successor, and is still there by id."""
    old, new = keep(store, "vim", "helix")
    store.apply(
        [
            Retire(id=old.id, at=NOON, why="superseded", superseded_by=new.id),
            Link(edge=Edge(src=new.id, rel="supersedes", dst=old.id)),
        ],
        make_event("supersede"),
    )
    kept = store.get([old.id])[0]

    assert (kept.active, kept.superseded_by, kept.text) == (False, new.id, "vim")
    assert store.edges([old.id]) == [Edge(src=new.id, rel="supersedes", dst=old.id)]
    assert find(store, "vim") == []


@pytest.mark.proves("CC-58")
def test_linking_again_sets_the_weight(store):
    """A pair has one edge per relation; weight 0 takes it away; the history has what was before."""
    one, two = keep(store, "one", "two")
    for weight in (0.5, 0.6, 0.0):
        store.apply(
            [Link(edge=Edge(src=one.id, rel="relates_to", dst=two.id, weight=weight))],
            make_event("link"),
        )

    assert store.edges([two.id]) == []
    assert [r.before["weight"] for r in store.history(one.id)[1:]] == [0.0, 0.5, 0.6]


# Cursors, leases, meta


def test_cursors_never_move_back(store):
    """A reader that is told an older number stays where it is."""
    store.advance("reader", 5)
    store.advance("reader", 3)

    assert (store.cursor("reader"), store.cursor("another")) == (5, 0)


@pytest.mark.proves("A8")
def test_two_settlers_apply_an_event_once(store):
    """Who comes second to the same event changes nothing: a settler that slept too long cannot
    learn it again.
    """
    store.apply([Add(memory=make_memory("lesson"))], make_event("learn"), done=("learn", 4))
    with pytest.raises(Conflict):
        store.apply([Add(memory=make_memory("lesson"))], make_event("learn"), done=("learn", 4))

    assert (store.stats().memories, store.stats().events, store.cursor("learn")) == (1, 1, 4)


@pytest.mark.proves("A8")
def test_one_holder_at_a_time(store):
    """A lease is for one; the holder renews it, another waits until it ends."""
    assert store.acquire("settle", "one", 30, NOON)
    assert store.acquire("settle", "one", 30, NOON + 10)
    assert not store.acquire("settle", "two", 30, NOON + 39)
    assert (store.holder("settle", NOON + 39), store.holder("settle", NOON + 41)) == ("one", None)
    assert store.acquire("settle", "two", 30, NOON + 41)
    assert not store.acquire("settle", "one", 30, NOON + 42)


def test_only_the_holder_gives_back(store):
    """Releasing somebody else's lease does nothing."""
    store.acquire("settle", "one", 30, NOON)
    store.release("settle", "two")
    held = store.holder("settle", NOON)
    store.release("settle", "one")

    assert (held, store.holder("settle", NOON)) == ("one", None)


def test_a_jumping_clock_blocks_nobody_for_long(store):
    """After a jump back a lease from the future is taken over; after a jump forward it
    has ended.
    """
    store.acquire("settle", "one", 30, NOON)
    forward = store.acquire("settle", "two", 30, NOON + 86_400)
    back = store.acquire("settle", "three", 30, NOON)

    assert (forward, back) == (True, True)


def test_meta_keeps_the_last_value(store):
    """The last value of each named meta entry is kept."""
    store.set_meta("model", "a")
    store.set_meta("model", "b")

    assert (store.meta("model"), store.meta("none")) == ("b", None)


# Events


def test_events_are_found_by_session_verb_and_order(store):
    """Filters combine; pages follow each other; the newest come newest first."""
    seqs = store.append(
        [
            make_event(verb, session=session)
            for session in ("s1", "s2", "")
            for verb in ("turn", "tool")
        ]
    )

    def read(**asked):
        return [(e.session, e.verb) for e in store.events(**asked)]

    assert read(session="s1") == [("s1", "turn"), ("s1", "tool")]
    assert read(session="") == [("", "turn"), ("", "tool")]
    assert read(verbs=["turn"], newest=True, limit=2) == [("", "turn"), ("s2", "turn")]
    assert read(verbs=["tool"], session="s2") == [("s2", "tool")]
    assert read(verbs=["tool", "turn"], after=seqs[3]) == [("", "turn"), ("", "tool")]
    assert [e.seq for e in store.events(after=seqs[0], limit=2)] == seqs[1:3]
    assert store.events(space="me/none") == [] == store.events(limit=0)
    assert store.event(10_000) is None


@pytest.mark.proves("X23", "B88")
def test_conversations_are_listed_with_what_they_hold(store):
    """The latest first, of a space and below it, never of a sibling; every text occurs somewhere."""
    talks = [
        ("s1", "me/demo", "the Heron"),
        ("s2", "me/demo/x", "a crane"),
        ("s1", "me/demo", "50% of a crane"),
        ("s3", "me/demolition", "the heron"),
        ("", "me/demo", "the heron"),
    ]
    store.append(
        [
            make_event("turn", session=session, space=space, at=float(n), payload={"text": text})
            for n, (session, space, text) in enumerate(talks)
        ]
    )
    store.append([make_event("tool", session="s4", space="me/demo")])

    def listed(**asked):
        return [
            (t.session, t.events, t.began, t.ended) for t in store.session_spans(("turn",), **asked)
        ]

    assert listed(space="me/demo") == [("s1", 2, 0.0, 2.0), ("s2", 1, 1.0, 1.0)]
    assert [name for name, *_ in listed()] == ["s3", "s1", "s2"]
    assert listed(space="me/demo", containing=["HERON", "crane"]) == [("s1", 2, 0.0, 2.0)]
    assert listed(containing=["%"]) == [("s1", 2, 0.0, 2.0)]
    assert listed(limit=1) == [("s3", 1, 3.0, 3.0)]
    assert listed(space="me/none") == [] == listed(containing=["nothing"]) == listed(limit=0)
    assert store.session_spans(("turn", "tool"), limit=1)[0].session == "s4"


def test_of_many_conversations_the_latest_are_listed_whatever_texts_they_must_hold(store):
    """Each with all of its events: of two verbs, interleaved, in two spaces, some long ago."""
    said = [
        make_event(
            ("turn", "heard", "tool")[n % 3],
            session=f"s{n * n % 97}",
            space=("me/demo", "me/demo/x", "me/other")[n % 7 % 3],
            at=float(n),
            payload={"text": ("often " if n % 2 else "") + ("once" if n == 3 else "")},
        )
        for n in range(900)
    ]
    seqs = store.append(said)

    def expect(space, words, limit):
        spans = {}
        for seq, one in zip(seqs, said, strict=True):
            if one.verb != "tool" and (one.space + "/").startswith(space):
                spans.setdefault((one.session, one.space), []).append((seq, one))
        held = [
            (*key, some[0][0], some[-1][0], some[0][1].at, some[-1][1].at, len(some))
            for key, some in spans.items()
            if all(any(word in one.payload["text"] for _, one in some) for word in words)
        ]
        return sorted(held, key=lambda span: -span[3])[:limit]

    for space in ("", "me/demo", "me/other"):
        for words in ((), ("often",), ("once",), ("often", "once"), ("never",)):
            for limit in (1, 5, 40, 1_000):
                found = store.session_spans(
                    ("turn", "heard"), space=space, containing=words, limit=limit
                )
                assert list(map(tuple, found)) == expect(space and f"{space}/", words, limit)


def test_events_between_two_numbers(store):
    """Without either end, oldest or newest first."""
    first, *_, last = store.append([make_event("tool") for _ in range(5)])
    between = [event.seq for event in store.events(after=first, before=last)]
    assert between == list(range(first + 1, last))
    assert [event.seq for event in store.events(before=last, newest=True, limit=2)] == between[
        :0:-1
    ]


@pytest.mark.proves("D15")
def test_events_of_one_verb_are_listed_in_order(store):
    """One verb between two numbers, oldest first, in a space, above it and below it, in parts."""
    spaces = ("me", "me/demo", "me/demo/s", "me/demolition", "me/demo")
    store.append(
        [
            make_event(verb, space=space, at=float(n), session="s", payload={"n": n})
            for n, space in enumerate(spaces)
            for verb in ("tool", "file")
        ]
    )
    whole = store.event_rows("tool", after=0, until=store.last_event(), limit=10)
    assert [(*row[:4], json.loads(row[4])["n"]) for row in whole] == [
        (2 * n + 1, float(n), space, "s", n) for n, space in enumerate(spaces)
    ]
    near = [
        row[0] for row in store.event_rows("tool", space="me/demo", after=0, until=10, limit=10)
    ]
    assert near == [1, 3, 5, 9]
    assert [
        row[0] for row in store.event_rows("tool", space="me/demo", after=1, until=8, limit=10)
    ] == [3, 5]
    assert [row[0] for row in store.event_rows("tool", after=1, until=9, limit=2)] == [3, 5]


@pytest.mark.proves("D7", "D11")
def test_recorded_activity_is_searched(store):
    """By verb, space (above and below, never beside), words as they were written, and time; newest
    first.
    """
    rows = [
        ("tool", "me/demo", 30.0, "make test"),
        ("tool", "me/demo/s", 10.0, 'say "häh" C:\\x'),
        ("file", "me", 20.0, "a"),
        ("tool", "me/demolition", 40.0, "make test"),
        ("turn", "me/demo", 50.0, "make test"),
    ]
    store.append(
        [
            make_event(verb, space=space, at=at, payload={"text": text})
            for verb, space, at, text in rows
        ]
    )

    def at(*verbs, **asked):
        return [event.at for event in store.search_events(verbs or ("tool", "file"), **asked)]

    assert at() == [40.0, 30.0, 20.0, 10.0]
    assert at(space="me/demo") == [30.0, 20.0, 10.0]
    assert at(space="me/demo/s") == [30.0, 20.0, 10.0] == at("tool", "file", space="me/demo/s/t")
    assert at(space="me/demo", containing=["MAKE", "test"]) == [30.0]
    assert at(containing=['"HäH" C:\\x']) == [10.0] and at(containing=["%"]) == []
    assert at(containing=["HÄH"]) == [] == at(containing=["long " * 20_000])
    assert at(since=20.0, until=30.0) == [30.0, 20.0]
    assert at(limit=1) == [40.0] and at(limit=0) == []


@pytest.mark.proves("CC-14")
def test_reading_the_queue_does_not_change_it(store):
    """Asking what waits, twice, gives the same and moves nothing."""
    kept = keep(store, "one", "two", "three")
    store.append([make_event("turn")])
    before = (store.unembedded_texts(10), store.events(), store.cursor("learn"), store.stats())

    assert [id for id, _ in before[0]] == [m.id for m in reversed(kept)]
    assert before == (
        store.unembedded_texts(10),
        store.events(),
        store.cursor("learn"),
        store.stats(),
    )


# Browsing


@pytest.mark.proves("A60")
def test_browsing_filters_combine(store):
    """By space, kind, all tags, session, state; newest first."""
    a = keep(store, "a", tags=("x", "y"), kind="fact", session="s")
    b = keep(store, "b", tags=("x",), kind="note", session="s")
    c = keep(store, "c", space="me")
    store.apply([Retire(id=b.id, at=NOON)], make_event("forget"))

    def seen(**where):
        found = store.browse(Filter(**where))
        assert store.browse_texts(Filter(**where)) == [(m.id, m.text) for m in found]
        return [m.text for m in found]

    assert seen() == ["c", "a"]
    assert seen(active=None) == ["c", "b", "a"]
    assert seen(active=False) == ["b"]
    assert seen(spaces=(SPACE,)) == ["a"]
    assert seen(tags=("x", "y")) == ["a"]
    assert seen(tags=("x",), active=None) == ["b", "a"]
    assert seen(kinds=("note",), active=None) == ["b"]
    assert seen(session="s", kinds=("fact",)) == ["a"]
    assert seen(limit=0) == []
    assert seen(after=c.id) == ["a"]
    assert seen(after=a.id) == []


def test_pages_follow_each_other(store):
    """Page after page gives each memory once."""
    kept = keep(store, *(f"memory {n}" for n in range(10)))
    pages, last = [], ""
    while page := store.browse(Filter(limit=3, after=last)):
        pages += page
        last = page[-1].id

    assert [m.id for m in pages] == [m.id for m in reversed(kept)]


def test_triggered_memories_of_the_lineage(store):
    """Only those that count, carry patterns and can be seen."""
    met = keep(store, "never println", triggers=("println!",))
    keep(store, "no pattern")
    keep(store, "elsewhere", triggers=("x",), space="me/other")
    gone = keep(store, "gone", triggers=("x",))
    store.apply([Retire(id=gone.id, at=NOON)], make_event("forget"))

    assert store.with_triggers(visible_spaces(SPACE)) == [met]


# Words


@pytest.mark.proves("CC-11", "B85", "B86", "B87", "B88")
def test_words_stay_in_their_space(store):
    """A reader sees its space and those above, never a sibling or what lies below."""
    for space in ("me", "me/demo", "me/demo/s1", "me/demo/s2", "me/demonstration", "you"):
        keep(store, f"heron in {space}", space=space)

    def seen(space):
        return {m.space for m in store.get(find(store, "heron", space))}

    assert seen("me/demo/s1") == {"me/demo/s1", "me/demo", "me"}
    assert seen("me/demo") == {"me/demo", "me"}
    assert seen("me/none") == {"me"}
    assert seen("you/x") == {"you"}


@pytest.mark.proves("CC-25", "X25")
def test_what_no_longer_counts_is_not_found(store):
    """Retired and superseded memories never surface; restored ones do."""
    memory = keep(store, "heron")
    store.apply([Retire(id=memory.id, at=NOON)], make_event("forget"))
    gone = find(store, "heron")
    store.apply(
        [Revise(id=memory.id, fields={"retired_at": None, "retired_why": ""})],
        make_event("restore"),
    )

    assert (gone, find(store, "heron")) == ([], [memory.id])


@pytest.mark.proves("CC-32")
def test_equal_scores_stand_in_order_of_id(store):
    """The same question gives the same answer; nothing wanted, nothing given."""
    kept = keep(store, *["the heron nests"] * 5)
    found = find(store, "heron nests")

    assert found == sorted(m.id for m in kept)
    assert found == find(store, "heron nests")
    assert find(store, "heron", limit=0) == []
    assert len(find(store, "heron", limit=2)) == 2


@pytest.mark.proves("CC-28", "CC-23")
def test_a_better_match_scores_higher(store):
    """More of the words, and rarer ones, score higher."""
    both, one = keep(store, "staging deploys to heron", "staging deploys to crane")
    keep(store, "staging deploys often", "staging deploys at night")
    found = store.search_words(tokenize_query("deploys heron"), [SPACE], 10)

    assert found[0][0] == both.id
    assert found[0][1] > found[1][1] > 0
    assert one.id in dict(found)


ODD = [
    "it's",
    '"quoted',
    "a-b",
    "AND",
    "OR",
    "NOT",
    "NEAR(a b)",
    "(",
    ")",
    "*",
    "^",
    "a:b",
    "body:heron",
    "heron*",
    "'",
    "\x00",
    "\ud800",
    "🐦",
    "שלום",
    "日本",
    "",
    " ",
    ";drop table memory;",
    "{",
    "}",
    "+",
    "-heron",
    "%",
    "_",
    "\\",
]


@pytest.mark.parametrize("odd", ODD)
@pytest.mark.proves("CC-29")
def test_any_query_is_safe(store, odd):
    """No text is an operator, an error, or a way into the database."""
    keep(store, "a heron")

    assert isinstance(find(store, odd), list)
    assert len(find(store, f"heron {odd}")) == 1
    assert len(find(store, f"{odd} heron")) == 1


@pytest.mark.parametrize(
    "text", ["error-handler", "error_handler", "error/handler", "error.handler"]
)
@pytest.mark.parametrize(
    "asked",
    [
        "error-handler",
        "error_handler",
        "error/handler",
        "error.handler",
        "error handler",
        "  ERROR   handler ",
    ],
)
@pytest.mark.proves("CC-31")
def test_separators_do_not_matter(store, text, asked):
    """`-`, `_`, `/`, `.` and spaces find the same memory."""
    memory = keep(store, f"see the {text} first")

    assert find(store, asked) == [memory.id]


@pytest.mark.proves("CC-30")
def test_title_tags_and_files_are_words_too(store):
    """A memory is found by all that it says, and by what it says now."""
    memory = keep(store, "body", title="headline", tags=("tagword",), files=("src/filename.py",))
    found = [find(store, word) for word in ("headline", "tagword", "filename", "body")]
    store.apply(
        [Revise(id=memory.id, fields={"text": "corpus", "title": "", "tags": ()})],
        make_event("revise"),
    )

    assert found == [[memory.id]] * 4
    assert [find(store, word) for word in ("headline", "tagword", "body", "corpus")] == [
        [],
        [],
        [],
        [memory.id],
    ]


def test_a_search_out_of_time_finds_nothing(store):
    """A search whose deadline has passed gives an empty answer and no error."""
    store.apply([Add(memory=make_memory(f"heron {n}")) for n in range(500)], make_event())

    assert store.search_words(["heron"], [SPACE], 10, within=-1.0) in (
        [],
        store.search_words(["heron"], [SPACE], 10),
    )
    assert len(store.search_words(["heron"], [SPACE], 10, within=60.0)) == 10


# Vectors


@pytest.mark.proves("CC-26", "X13")
def test_models_are_never_mixed(store):
    """A vector of another model is not compared; its memory is still found by words."""
    old, new = keep(store, "old heron", "new heron")
    embed(store, old, 1, 0, model="model/1")
    embed(store, new, 0, 1, model="model/2")

    assert columns(store, model="model/1") == {old.id: (1.0, 0.0), new.id: None}
    assert columns(store, model="model/2") == {old.id: None, new.id: (0.0, 1.0)}
    assert find(store, "heron") == sorted([old.id, new.id])


@pytest.mark.proves("X13")
def test_a_change_of_model_queues_everything(store):
    """Each text waits for its vector of the new model."""
    one, two = keep(store, "one", "two")
    embed(store, one, 1)
    embed(store, two, 1)

    assert (
        store.unembedded_texts(9),
        store.await_vectors(MODEL),
        store.await_vectors("model/2"),
    ) == (
        [],
        0,
        2,
    )
    assert store.unembedded_texts(9) == [(two.id, "two"), (one.id, "one")]
    assert embed(store, one, 1, model="model/2") == 1
    assert store.unembedded_texts(9) == [(two.id, "two")]


@pytest.mark.proves("CC-26", "X13")
def test_two_models_share_a_store(store, other_or_same_store):
    """Each model has its queue and its vectors; neither throws the other's away."""
    one, two = keep(store, "one", "two")
    assert (store.await_vectors("model/1"), other_or_same_store.await_vectors("model/2")) == (2, 2)
    for memory in (one, two):
        embed(store, memory, 1, 0, model="model/1")
        embed(other_or_same_store, memory, 0, 1, model="model/2")
    three = keep(store, "three")

    assert [store.await_vectors(model) for model in ("model/1", "model/2", "model/1")] == [1, 1, 1]
    assert [store.unembedded_texts(9, model) for model in ("model/1", "model/2")] == [
        [(three.id, "three")]
    ] * 2
    assert len(store.unembedded_texts(9, "model/3")) == 3
    assert columns(store, model="model/1") == {
        one.id: (1.0, 0.0),
        two.id: (1.0, 0.0),
        three.id: None,
    }
    assert columns(store, model="model/2") == {
        one.id: (0.0, 1.0),
        two.id: (0.0, 1.0),
        three.id: None,
    }
    assert (store.stats("model/2").waiting, store.stats().vectors, store.verify(repair=True)) == (
        1,
        4,
        [],
    )


@pytest.mark.proves("CC-4", "CC-26", "A25", "B93")
def test_every_vector_goes_with_its_text(store, empty_store):
    """Revising or purging takes the vectors of all models along, and every model waits anew."""
    revised, purged, kept = keep(store, "old", "gone", "kept")
    for model in ("model/1", "model/2"):
        store.await_vectors(model)
        for memory in (revised, purged, kept):
            embed(store, memory, 1, model=model)
    store.apply([Revise(id=revised.id, fields={"text": "new"})], make_event("revise"))
    store.purge([purged.id])

    for model in ("model/1", "model/2"):
        assert store.unembedded_texts(9, model) == [(revised.id, "new")]
        assert store.vectors(model, [revised.id, kept.id]).keys() == {kept.id}
    assert empty_store.load(store.dump())["vector"] == 2
    assert [json.dumps(row) for row in empty_store.dump()] == [
        json.dumps(row) for row in store.dump()
    ]
    assert empty_store.await_vectors("model/2") == 1
    assert (store.verify(), empty_store.verify()) == ([], [])


def test_a_stale_vector_is_refused(store):
    """A text that was revised or purged while it was embedded does not get the old
    text's vector.
    """
    revised, purged = keep(store, "old", "gone")
    store.apply([Revise(id=revised.id, fields={"text": "new"})], make_event("revise"))
    store.purge([purged.id])
    kept = store.put_vectors(
        MODEL,
        {revised.id: vector(1), purged.id: vector(1)},
        {revised.id: fingerprint_text("old"), purged.id: fingerprint_text("gone")},
    )

    assert (kept, store.unembedded_texts(9)) == (0, [(revised.id, "new")])
    assert store.verify() == []


@pytest.mark.proves("C71")
def test_a_text_is_embedded_once(store):
    """Vectors are found again by the hash of their text, for the same model only."""
    memory = keep(store, "text")
    embed(store, memory, 3, 4)
    hash = fingerprint_text("text")

    known = store.known_vectors(MODEL, [hash, b"other"])
    assert known.keys() == {hash} and known[hash][:2].tolist() == like(store, [0.6, 0.8])
    assert store.known_vectors("model/2", [hash]) == {} == store.known_vectors(MODEL, [])


@pytest.mark.proves("C71", "CC-26")
def test_vectors_are_given_by_id(store):
    """Those of the model asked about, whatever the memory's state; what is missing is left out."""
    one, two, bare = keep(store, "one", "two", "bare")
    embed(store, one, 3, 4)
    embed(store, two, 0, 1)
    store.apply([Retire(id=two.id, at=NOON)], make_event("forget"))
    found = store.vectors(MODEL, [two.id, bare.id, one.id, "mem_none", one.id])

    seen = {id: [round(float(x), 3) for x in row[:2]] for id, row in found.items()}
    assert seen == {one.id: [0.6, 0.8], two.id: [0, 1]}
    assert all(row.dtype == np.float32 and row.shape == (8,) for row in found.values())
    assert store.vectors("model/2", [one.id]) == {} == store.vectors(MODEL, [])


def test_vectors_of_very_many_are_given_at_once(store):
    """More ids than one question can hold are no trouble."""
    kept = [make_memory(f"number {n}") for n in range(1_201)]
    store.apply([Add(memory=memory) for memory in kept], make_event())
    store.put_vectors(
        MODEL,
        {memory.id: vector(1) for memory in kept},
        {m.id: fingerprint_text(m.text) for m in kept},
    )

    assert store.vectors(MODEL, [memory.id for memory in kept]).keys() == {
        memory.id for memory in kept
    }


def test_columns_follow_every_change(store):
    """Added, embedded, revised, retired, restored, moved, purged: ranking sees it at once."""
    one, two = keep(store, "one", "two")
    embed(store, one, 1, 0)
    assert columns(store) == {one.id: (1.0, 0.0), two.id: None}

    three = keep(store, "three")
    embed(store, two, 0, 1)
    assert columns(store) == {one.id: (1.0, 0.0), two.id: (0.0, 1.0), three.id: None}

    store.apply([Revise(id=one.id, fields={"text": "uno"})], make_event("revise"))
    assert columns(store) == {one.id: None, two.id: (0.0, 1.0), three.id: None}

    store.apply([Retire(id=two.id, at=NOON)], make_event("forget"))
    assert columns(store) == {one.id: None, three.id: None}

    store.apply(
        [Revise(id=two.id, fields={"retired_at": None, "retired_why": ""})], make_event("restore")
    )
    assert columns(store) == {one.id: None, two.id: (0.0, 1.0), three.id: None}

    store.apply([Revise(id=two.id, fields={"space": "me/other"})], make_event("revise"))
    assert columns(store) == {one.id: None, three.id: None}
    assert columns(store, ("me/other",)) == {two.id: (0.0, 1.0)}

    store.purge([three.id])
    assert columns(store) == {one.id: None}
    assert columns(store, ("me/other", SPACE)) == {two.id: (0.0, 1.0), one.id: None}


@pytest.mark.proves("CC-12")
def test_columns_follow_other_processes(store, other_store):
    """What another store object does is seen at the next question."""
    one = keep(store, "one")
    assert columns(other_store) == {one.id: None}

    embed(store, one, 1, 0)
    two = keep(other_store, "two")
    assert columns(other_store) == columns(store) == {one.id: (1.0, 0.0), two.id: None}

    other_store.apply([Retire(id=one.id, at=NOON)], make_event("forget"))
    assert columns(store) == {two.id: None}

    store.purge([two.id])
    assert columns(other_store) == {}
    assert find(other_store, "one two") == []


@pytest.mark.proves("CC-12")
def test_many_threads_read_and_write_at_once(store):
    """Threads share a store: nothing is lost, no question fails."""
    trouble = []

    def work(name):
        try:
            for n in range(25):
                memory = keep(store, f"heron {name} {n}")
                embed(store, memory, 1, n)
                assert find(store, name)
                assert memory.id in columns(store)
        except BaseException as err:
            trouble.append(err)

    run_in_threads(*(partial(work, name) for name in ("ann", "ben", "cat", "dan")))

    assert trouble == []
    assert (store.stats().memories, store.stats().vectors, store.verify()) == (100, 100, [])


# Candidates


def test_without_a_vector_to_compare_with_there_are_no_candidates(store):
    """No vector of this model, of this length or in these spaces: the caller asks by words."""
    one = keep(store, "heron")
    assert ask(store, vector(1), terms=("heron",)) is None

    embed(store, one, 1, model="model/2")
    assert ask(store, vector(1), terms=("heron",)) is None

    embed(store, one, 1)
    assert ask(store, vector(1), "me/other") is None
    assert ask(store, np.ones(4, np.float32) / 2) is None
    assert ask(store, vector(1)).ids == [one.id]


def test_candidates_come_by_vectors_and_by_words(store):
    """In each space the nearest and what has the words, each once; nothing else."""
    near, worded, both, _ = keep(store, "near", "a heron", "the heron", "nothing")
    above = keep(store, "above", space="me")
    embed(store, near, 1), embed(store, both, 9, 1), embed(store, above, 1, 9)
    pool = ask(store, vector(1), SPACE, "me", terms=("heron",), each=2)
    found = dict(zip(pool.ids, pool.dense.tolist(), strict=True))

    assert len(pool) == 4 and math.isnan(found.pop(worded.id))
    assert found == like(
        store, {near.id: 1.0, both.id: float(vector(9, 1)[0]), above.id: float(vector(1, 9)[0])}
    )
    by_words = [id for id, bm25 in zip(pool.ids, pool.words, strict=True) if bm25 > 0]
    assert sorted(by_words) == sorted([worded.id, both.id])


def test_so_many_candidates_come_from_each_channel(store):
    """The best of each in a space, however many there are."""
    near, worded = [], []
    for n in range(30):
        near.append(keep(store, f"near {n}"))
        embed(store, near[-1], 100, n)
        worded.append(keep(store, f"heron {'word ' * n}"))
        embed(store, worded[-1], -1)
    pool = ask(store, vector(1), terms=("heron",), each=3)

    assert set(pool.ids) == {memory.id for memory in (*near[:3], *worded[:3])}


def test_candidates_carry_bm25_of_the_spaces_asked(store):
    """Robertson's formula, k1 = 1.2 and b = 0.75, lengths in characters over their mean; what is
    retired counts among the texts, and other spaces do not.
    """
    texts = ["the heron and the heron", "a heron", "nothing at all of the kind", "a retired crane"]
    kept = keep(store, *texts)
    for memory in kept:
        embed(store, memory, 1)
    keep(store, *(f"heron {n}" for n in range(9)), space="me/other")
    store.apply([Retire(id=kept[3].id, at=NOON)], make_event("forget"))
    pool = ask(store, vector(1), terms=("heron",))
    found = dict(zip(pool.ids, pool.words.tolist(), strict=True))

    mean, idf = sum(map(len, texts)) / 4, math.log((4 - 2 + 0.5) / (2 + 0.5))
    expected = {}
    for memory, times in zip(kept[:3], (2, 1, 0), strict=True):
        size = 1.2 * (1 - 0.75 + 0.75 * len(memory.text) / mean)
        expected[memory.id] = max(idf, 1e-6) * times * 2.2 / (times + size)
    assert found == pytest.approx(expected, rel=1e-4)
    assert pool.memories == 4


@pytest.mark.parametrize(
    ("bad", "asked"),
    [
        ({"kind": "fact"}, {"kinds": ("preference", "decision")}),
        ({"kind": "fact"}, {"without": ("fact", "decision")}),
        ({"tags": ("one",)}, {"tags": ("two", "one")}),
        ({"expires_at": NOON}, {"now": NOON}),
        ({"at": NOON + 1}, {"before": NOON}),
        ({"session": "now"}, {"not_session": "now"}),
        ({"session": "now"}, {"not_session": "now", "session_in": (SPACE,)}),
    ],
)
def test_what_is_not_allowed_takes_no_place(store, bad, asked):
    """Neither by vector nor by words, nor as a neighbour or by its name, does it crowd out others."""
    good = {
        "kind": "preference",
        "tags": ("one", "two"),
        "expires_at": NOON + 1,
        "session": "then",
        "at": NOON,
    }
    crowd = keep(store, *(f"heron E4021 {n}" for n in range(4)), **{**good, **bad})
    one = keep(store, "a heron of quite another kind", **good)
    for memory in crowd:
        embed(store, memory, 1)
    embed(store, one, 1, 2)
    fields = {"terms": ("heron",), "identifiers": ("e4021",), "each": 2}

    assert ask(store, vector(1), **fields, **asked).ids == [one.id]
    assert set(ask(store, vector(1), **fields, now=0.0).ids) >= {memory.id for memory in crowd}


def test_only_the_session_of_these_spaces_is_left_out(store):
    """Elsewhere its name is another's; an excerpt of it, which has left its context, stays."""
    own = keep(store, "own", session="now")
    excerpt = keep(store, "kept", session="now", kind=EXCERPT)
    other = keep(store, "other", session="now", space="me/other")
    for memory in (own, excerpt, other):
        embed(store, memory, 1)
    pool = ask(store, vector(1), SPACE, "me/other", not_session="now", session_in=(SPACE,))

    assert dict(zip(pool.ids, pool.excerpt.tolist(), strict=True)) == {
        excerpt.id: True,
        other.id: False,
    }


def test_an_identifier_finds_what_it_stands_in(store):
    """Wherever it occurs, if that is in few memories that count; otherwise it names nothing."""
    rare, *crowd = keep(
        store, "error E4021", *(f"note E5 {n}" for n in range(MAX_IDENTIFIER_MEMORIES + 1))
    )
    near = keep(store, "near")
    embed(store, near, 1)
    fields = {"identifiers": ("e4021", "e5", "e6"), "each": 1}
    pool = ask(store, vector(1), **fields)
    assert dict(zip(pool.ids, pool.named.tolist(), strict=True)) == {rare.id: 1.0, near.id: 0.0}

    store.apply([Retire(id=crowd[0].id, at=NOON)], make_event("forget"))
    named = {memory.id for memory in (rare, *crowd[1:])}
    assert set(ask(store, vector(1), **fields).ids) == named | {near.id}


def test_turns_around_a_candidate_are_seen(store):
    """Cosine and BM25 of the turns beside it, in order of arrival within its session and space."""
    texts = ("a heron", "is it so?", "yes", "a heron again", "bye")
    talk = []
    for n, text in enumerate(texts):
        talk.append(keep(store, text, session="s", speaker="Ann" if n % 2 else "Ben"))
        keep(store, f"elsewhere {n}", session="other")
    keep(store, "of another space", session="s", space="me")
    for n in (0, 1, 3):
        embed(store, talk[n], 1, n)
    pool = ask(store, vector(1), SPACE, "me", terms=("heron",), each=2)
    place = {id: n for n, id in enumerate(pool.ids)}
    middle = place[talk[2].id]
    dense = [1.0, float(vector(1, 1)[0]), float(vector(1, 3)[0]), math.nan]

    assert NEIGHBOUR_OFFSETS == (-2, -1, 1, 2)
    assert pool.near_dense[middle].tolist() == pytest.approx(
        dense, abs=max(store.vector_precision, 1e-6), nan_ok=True
    )
    assert (pool.near_words[middle] > 0).tolist() == [True, False, True, False]
    assert np.isnan(pool.near_dense[place[talk[0].id]][:2]).all()
    flags = [(bool(pool.asks[place[m.id]]), bool(pool.asked[place[m.id]])) for m in talk]
    assert flags == [(False, False), (True, False), (False, True), (False, False), (False, False)]
    said = [pool.names[pool.speaker[place[memory.id]]] for memory in talk]
    assert said == ["Ben", "Ann", "Ben", "Ann", "Ben"]
    assert len({int(pool.session[place[memory.id]]) for memory in talk}) == 1
    assert pool.sessions == 1


def test_turns_beside_the_very_best_are_candidates(store):
    """Of the best by each channel, and not of what comes after these; what is retired is none."""
    texts = ("before", "heron", "gone", "after")
    first = [keep(store, text, session="s") for text in texts]
    store.apply([Retire(id=first[2].id, at=NOON)], make_event("forget"))
    crowd = [keep(store, "heron", session=f"s{n}") for n in range(EXPANDED_PER_CHANNEL + 5)]
    beside = [keep(store, "beside", session=f"s{n}") for n in range(EXPANDED_PER_CHANNEL + 5)]
    embed(store, first[1], 1)
    for n, memory in enumerate(crowd):
        embed(store, memory, 100, n + 1)
    found = set(ask(store, vector(1), each=100).ids)

    assert found >= {first[n].id for n in (0, 1, 3)} and first[2].id not in found
    assert [memory.id in found for memory in beside] == [True] * (EXPANDED_PER_CHANNEL - 1) + [
        False
    ] * 6


def test_candidates_know_the_background(store):
    """Mean and spread of the cosines, median length and count, of the space with the most."""
    kept = keep(store, "one", "three", "thirteen")
    for memory, numbers in zip(kept, ((1, 0), (0, 1), (-1, 0)), strict=True):
        embed(store, memory, *numbers)
    embed(store, keep(store, "a text of another space", space="me"), 1)
    pool = ask(store, vector(1), SPACE, "me")
    cosines = np.array([1.0, 0.0, -1.0])

    assert (pool.mean, pool.spread) == like(store, (float(cosines.mean()), float(cosines.std())))
    assert (pool.typical, pool.memories, pool.sessions) == (5.0, 4, 0)
    lengths = dict(zip(pool.ids, pool.length.tolist(), strict=True))
    assert [lengths[memory.id] for memory in kept] == [3, 5, 8]
    assert set(pool.at.tolist()) == {NOON} and set(pool.session.tolist()) == {0}


def test_candidates_follow_a_revised_text(store):
    """Whether a text asks, how long it is and when it expires follow every change."""
    one, other = keep(store, "is it the heron?", "other")
    embed(store, other, 1)
    pool = ask(store, vector(1), terms=("heron",), each=1)
    assert dict(zip(pool.ids, pool.asks.tolist(), strict=True)) == {one.id: True, other.id: False}

    changed = {"text": "it is the heron", "expires_at": NOON}
    store.apply([Revise(id=one.id, fields=changed)], make_event("revise"))
    pool = ask(store, vector(1), terms=("heron",), each=1, now=NOON - 1)
    assert dict(zip(pool.ids, pool.asks.tolist(), strict=True)) == {one.id: False, other.id: False}
    assert sorted(pool.length.tolist()) == [5, 15]
    assert ask(store, vector(1), terms=("heron",), each=1, now=NOON).ids == [other.id]


# Neighbours


def near(store, *memories, spaces=(SPACE,), numbers=((1,),), **fields):
    """The neighbours of memories whose vectors are these."""
    values = {"floor": 0.5, "limit": 9, **fields}
    vectors = np.stack([vector(*row) for row in numbers])
    ids = tuple(memory.id for memory in memories)
    return store.nearest(NeighbourRequest(MODEL, ids, vectors, spaces, **values))


def test_neighbours_are_the_nearest_from_the_least_cosine_on(store):
    """Best first, ties by id, without the memory itself; of several memories at once."""
    one, two, far, other = keep(store, "one", "two", "far", "other")
    for memory, numbers in ((one, (1,)), (two, (3, 4)), (far, (-1,)), (other, (3, 4))):
        embed(store, memory, *numbers)
    bare = keep(store, "bare")
    found = near(store, one, two, bare, numbers=((1,), (3, 4), (0, 0, 1)))

    assert found.keys() == {one.id, two.id, bare.id}
    assert [n.id for n in found[one.id]] == sorted([two.id, other.id])
    assert [n.cosine for n in found[one.id]] == like(store, [0.6, 0.6])
    assert [n.id for n in found[two.id]] == [other.id, one.id] and found[bare.id] == []
    assert near(store, one, floor=0.7) == {one.id: []}
    (nearest,) = near(store, one, limit=1, floor=-1.0)[one.id]
    assert nearest.id in (two.id, other.id)
    assert len(near(store, one, floor=-1.0)[one.id]) == 3


def test_neighbours_are_limited_in_each_space(store):
    """So many of each space, however near those of another one are."""
    asked, here, farther = keep(store, "asked", "here", "farther")
    above = keep(store, "above", space="me")
    for memory, numbers in ((asked, (1,)), (here, (9, 1)), (farther, (9, 2)), (above, (9, 9))):
        embed(store, memory, *numbers)
    found = near(store, asked, spaces=(SPACE, "me"), limit=1)

    assert [n.id for n in found[asked.id]] == [here.id, above.id]
    assert near(store, asked, spaces=("me/other",)) == {asked.id: []}


def test_neighbours_are_active_or_retired(store):
    """One kind at a time, and only with a vector of this model and length."""
    asked, active, gone, foreign = keep(store, "asked", "active", "gone", "foreign")
    for memory in (asked, active, gone):
        embed(store, memory, 1)
    embed(store, foreign, 1, model="model/2")
    store.apply([Retire(id=gone.id, at=NOON)], make_event("forget"))

    assert [n.id for n in near(store, asked)[asked.id]] == [active.id]
    assert [n.id for n in near(store, asked, retired=True)[asked.id]] == [gone.id]
    short = NeighbourRequest(MODEL, (asked.id,), np.ones((1, 4), np.float32) / 2, (SPACE,), 0.5, 9)
    assert store.nearest(short) == {asked.id: []}


def test_older_neighbours_were_there_before(store):
    """In the memory's own space; what lies in another one counts whenever it came."""
    first, asked, later = keep(store, "first", "asked", "later")
    above = keep(store, "above", space="me")
    for memory in (first, asked, later, above):
        embed(store, memory, 1)
    found = near(store, asked, first, spaces=(SPACE, "me"), numbers=((1,), (1,)), older=True)

    assert {n.id for n in found[asked.id]} == {first.id, above.id}
    assert {n.id for n in found[first.id]} == {above.id}


def test_speakers_are_known_by_their_names(store):
    """To the letter, in these spaces, of what is retired too; a session's name is none."""
    keep(store, "one", speaker="Ann", session="Lyon")
    gone = keep(store, "two", speaker="Mary Lou", space="me")
    keep(store, "three", speaker="Ben", space="me/other")
    store.apply([Retire(id=gone.id, at=NOON)], make_event("forget"))
    names = ["Ann", "ann", "Ben", "Lyon", "Mary", "Mary Lou"]

    assert store.speakers(names, (SPACE, "me")) == {"Ann", "Mary Lou"}
    assert store.speakers(names, (SPACE,)) == {"Ann"}
    assert store.speakers([], (SPACE,)) == store.speakers(["Ann"], ()) == set()
    keep(store, "four", speaker="Cleo")
    assert store.speakers(["Cleo"], (SPACE,)) == {"Cleo"}


# Trust


def filled(store):
    """A store with some of everything."""
    one, two, three = keep(
        store, "one", "two", "three", tags=("t",), details={"a": [1, {"b": None}]}
    )
    store.apply(
        [
            Link(edge=Edge(src=one.id, rel="relates_to", dst=two.id, weight=0.3)),
            Retire(id=two.id, at=NOON, why="superseded", superseded_by=three.id),
            Link(edge=Edge(src=three.id, rel="supersedes", dst=two.id)),
        ],
        make_event("x"),
    )
    store.apply(
        [Revise(id=one.id, fields={"tags": ("u",), "text": "uno"})],
        make_event("revise"),
        done=("learn", 2),
    )
    store.append(
        [make_event("turn", session="s", payload={"messages": [{"role": "user", "text": "é"}]})] * 2
    )
    embed(store, three, 1, 2)
    return one, two, three


@pytest.mark.proves("CC-7", "CC-90", "A94", "B6", "B16")
def test_export_and_import_are_identical(store, empty_store):
    """Memories, edges, history, events, vectors, cursors return the same to the letter."""
    filled(store)
    rows = list(store.dump())
    through_json = [json.loads(json.dumps(row)) for row in rows]
    new = empty_store.load(through_json)

    assert [json.dumps(row) for row in empty_store.dump()] == [json.dumps(row) for row in rows]
    assert new["memory"] == 3
    assert new["vector"] == 1
    assert columns(empty_store) == columns(store)
    assert find(empty_store, "three") == find(store, "three")
    assert empty_store.verify() == []


@pytest.mark.proves("CC-8", "CC-90")
def test_importing_twice_adds_nothing(store, empty_store):
    """What is already there is left alone, whatever happened to it since."""
    one, *_ = filled(store)
    rows = list(store.dump())
    empty_store.load(rows)
    again = empty_store.load(rows)
    before = list(store.dump())
    same = store.load(rows)
    store.apply([Revise(id=one.id, fields={"tags": ()})], make_event("tag"))
    store.load(rows)

    assert (again, same, list(empty_store.dump())) == ({}, {}, before)
    assert store.get([one.id])[0].tags == ()
    assert store.verify() == []


@pytest.mark.proves("CC-12")
def test_two_exports_come_together(store, empty_store):
    """Importing into a store that has something keeps both, with both histories."""
    mine = keep(empty_store, "mine")
    theirs, *_ = filled(store)
    empty_store.load(store.dump())

    assert {m.text for m in empty_store.browse(Filter())} == {"mine", "uno", "three"}
    assert [r.op for r in empty_store.history(theirs.id)] == [
        r.op for r in store.history(theirs.id)
    ]
    assert len(empty_store.history(mine.id)) == 1
    assert empty_store.verify() == []


@pytest.mark.proves("CC-9")
def test_one_bad_row_never_loses_the_others(store, empty_store):
    """Unknown keys are ignored, missing ones get defaults, broken rows are counted, the rest is
    kept.
    """
    one, *_ = filled(store)
    rows = list(store.dump())
    bad = [
        {"type": "memory"},
        {"type": "memory", "id": 5, "text": None},
        {"type": "vector", "id": one.id, "vec": "?"},
        {"type": "event"},
        {"type": "edge", "src": "mem_none", "rel": "relates_to", "dst": one.id, "weight": 1.0},
        {
            "type": "memory",
            "id": "mem_bad",
            "text": "x",
            "space": "me",
            "at": 1.0,
            "reinforcements": 7,
        },
        {"type": "edge", "src": one.id},
        {"type": "novelty", "x": 1},
        {},
        [],
        None,
        "text",
        {"type": "memory", "id": "mem_halved", "text": "\ud800", "space": "me", "at": 1.0},
    ]
    short = {
        "type": "memory",
        "id": "mem_short",
        "text": "short",
        "space": "me",
        "at": 5.0,
        "colour": "red",
    }
    new = empty_store.load([*bad[:6], *rows, *bad[6:], short])

    assert new["memory"] == 4
    assert new["refused"] >= 8
    kept = empty_store.get(["mem_short"])[0]
    assert (kept.text, kept.created_at, kept.updated_at, kept.kind, kept.strength) == (
        "short",
        5.0,
        5.0,
        "fact",
        1,
    )
    assert empty_store.verify() == []


def test_an_export_is_one_moment(store, other_store):
    """Whoever reads slowly still gets one consistent state, while others write."""
    keep(store, "one", "two")
    rows = store.dump()
    first = next(rows)
    keep(other_store, "three")
    rest = list(rows)

    assert len([r for r in (first, *rest) if r["type"] == "memory"]) == 2


@pytest.mark.proves("X20")
def test_a_backup_is_whole_and_refuses_to_overwrite(store, tmp_path):
    """A copy taken while others write opens by itself with everything in it; a file that exists is
    kept.
    """
    filled(store)
    # An encrypted copy opens as a store where its home's key is; PostgreSQL's is never encrypted.
    path = getattr(store, "path", None)
    folder = database_library.home_of_database(path) if path else None
    target = (folder / "backups" if folder else tmp_path) / "copy.db"
    target.parent.mkdir(exist_ok=True)
    if not store.has_file:
        with pytest.raises(BadInput):
            store.backup(target)
        with pytest.raises(BadInput):
            store.restore_backup(target, tmp_path / "kept.db")
        return
    store.backup(target)
    keep(store, "later")
    with pytest.raises(BadInput):
        store.backup(target)
    copy = open_store(f"sqlite:///{target}")
    try:
        assert copy.stats().memories == store.stats().memories - 1
        assert copy.verify() == []
    finally:
        copy.close()
    assert [p.name for p in target.parent.glob("copy.db*")] == ["copy.db"]


def test_stats_count_everything(store):
    """Counts of each thing, by kind and space."""
    filled(store)
    stats = store.stats()

    assert (stats.memories, stats.retired, stats.vectors, stats.waiting) == (2, 1, 1, 2)
    assert (stats.kinds, stats.spaces) == ({"fact": 2}, {SPACE: 2})
    assert stats.events == len(store.events())
    assert stats.edges == 5
    assert stats.bytes > 0


def test_a_full_store_is_clean(store):
    """`verify` has nothing to say about a store that nobody damaged."""
    filled(store)

    assert store.verify() == []
    assert store.verify(repair=True) == []


def test_an_unknown_address_is_refused():
    """The message names the backends there are."""
    with pytest.raises(UnknownScheme, match="sqlite"):
        open_store("paper:///notes")


def test_text_of_every_kind_survives(store):
    """A megabyte, emoji, right-to-left and control characters come back as they were."""
    texts = ["x" * 1_000_000, "👩‍👩‍👧 heron", "שלום עולם", "a\u202eb", "tab\tnew\nline", "日本語"]
    kept = keep(store, *texts)

    assert [m.text for m in store.get([k.id for k in kept])] == texts
    assert store.verify() == []


def test_an_event_needs_no_payload(store):
    """An empty payload comes back empty."""
    seq = store.append([Event(verb="turn", space="me", at=1.0)])[0]

    assert store.event(seq) == Event(verb="turn", space="me", at=1.0, seq=seq)


def test_what_was_altered_since_a_moment(store):
    """The newest first, of the asked spaces, and nothing that was only added or linked."""
    one, other, new = (make_memory(text) for text in ("one", "other", "new"))
    elsewhere = make_memory("elsewhere", space="me/else")
    store.apply([Add(one), Add(other), Add(elsewhere)], make_event(at=NOON))
    store.apply([Revise(one.id, {"text": "first"})], make_event("revise", at=NOON + 1))
    store.apply(
        [Revise(one.id, {"text": "last"}), Retire(other.id, NOON + 2)],
        make_event("mixed", at=NOON + 2),
    )
    store.apply(
        [
            Revise(elsewhere.id, {"text": "there"}),
            Add(new),
            Link(Edge(new.id, "relates_to", one.id)),
        ],
        make_event("others", at=NOON + 3),
    )
    found = [
        (r.memory_id, r.op, dict(r.before))
        for r in store.changes_since(NOON + 1, visible_spaces(SPACE))
    ]
    assert [(other.id, "retire"), (one.id, "revise")] == [row[:2] for row in found]
    assert {"text": "first"} == found[1][2]
    assert 3 == len(store.changes_since(NOON, visible_spaces(SPACE)))
    assert all(
        not r.after and not r.event.payload and r.event.seq
        for r in store.changes_since(NOON, visible_spaces(SPACE))
    )
    assert [] == store.changes_since(NOON + 3, visible_spaces(SPACE))


def test_what_was_altered_after_an_event(store):
    """Oldest first, what was added too, no matter what the clock said; ties are left out."""
    one, other = (make_memory(text) for text in ("one", "other"))
    assert store.last_event() == 0
    first = store.apply([Add(one)], make_event(at=NOON))
    store.apply([Add(other), Revise(one.id, {"text": "first"})], make_event("mixed", at=NOON - 99))
    last = store.apply(
        [Retire(other.id, NOON), Link(Edge(one.id, "relates_to", other.id))], make_event("others")
    )
    found = store.changes_after(first)

    assert [(other.id, "add"), (one.id, "revise"), (other.id, "retire")] == [
        (r.memory_id, r.op) for r in found
    ]
    assert {"text": "one"} == dict(found[1].before)
    assert all(not record.after and not record.event.payload for record in found)
    assert (last, []) == (store.last_event(), store.changes_after(last))


# The graph around some nodes


def tie(store, src, rel, dst, weight=1.0):
    store.apply([Link(edge=Edge(src=src, rel=rel, dst=dst, weight=weight))], make_event("link"))
    return Edge(src=src, rel=rel, dst=dst, weight=weight)


@pytest.mark.proves("CC-19")
def test_edges_around_lead_to_visible_memories(store):
    """Edges to memories that count, in the spaces of the asker; never a sibling's, never what was
    let go of.
    """
    here, above, gone = keep(store, "here"), keep(store, "above", space="me"), keep(store, "gone")
    elsewhere = keep(store, "elsewhere", space="me/other")
    seen = [
        tie(store, here.id, "relates_to", above.id, 0.4),
        tie(store, above.id, "derived_from", here.id),
    ]
    for other in (gone, elsewhere):
        tie(store, here.id, "relates_to", other.id)
        tie(store, other.id, "contradicts", here.id)
    store.apply([Retire(id=gone.id, at=NOON)], make_event("forget"))

    assert store.edges_around([here.id], visible_spaces(SPACE), 10) == sorted(seen)
    assert store.edges_around([above.id], ["me"], 10) == []
    assert (
        store.edges_around([new_id(), "tag:none"], visible_spaces(SPACE), 10)
        == store.edges_around([], visible_spaces(SPACE), 10)
        == []
    )


def test_edges_around_show_what_superseded(store):
    """The edge `supersedes` is listed from either end, and no more once the newer memory is
    retired.
    """
    old, new = keep(store, "old", "new")
    edge = tie(store, new.id, "supersedes", old.id)
    store.apply([Retire(id=old.id, at=NOON, superseded_by=new.id)], make_event("supersede"))

    assert (
        store.edges_around([new.id], [SPACE], 10)
        == [edge]
        == store.edges_around([old.id], [SPACE], 10)
    )
    store.apply([Retire(id=new.id, at=NOON)], make_event("forget"))
    assert store.edges_around([old.id], [SPACE], 10) == []


def test_edges_around_a_tag_lead_to_its_newest(store):
    """So many of its memories that count and may be seen, the newest; a memory names its tags."""
    some = [make_memory(f"note {n}", tags=["t"]) for n in range(5)]
    store.apply([Add(memory=m) for m in some], make_event())
    keep(store, "a sibling's", tags=["t"], space="me/other")
    store.apply([Retire(id=some[4].id, at=NOON)], make_event("forget"))

    assert [e.src for e in store.edges_around(["tag:t"], [SPACE], 2)] == [some[2].id, some[3].id]
    assert store.edges_around([some[0].id], [SPACE], 2) == [
        Edge(src=some[0].id, rel="has_tag", dst="tag:t")
    ]


def test_edges_around_a_large_tag_are_bounded(store):
    """Looking for what may be seen ends somewhere: a sibling's thousand hide what is older."""
    old = keep(store, "old", tags=["t"])
    store.apply(
        [Add(memory=make_memory(str(n), tags=["t"], space="me/other")) for n in range(1_000)],
        make_event(),
    )
    assert store.edges_around(["tag:t"], [SPACE], 5) == []

    store.apply(
        [Revise(id=store.browse(Filter(spaces=("me/other",), limit=1))[0].id, fields={"tags": ()})],
        make_event(),
    )
    assert [e.src for e in store.edges_around(["tag:t"], [SPACE], 5)] == [old.id]


def test_a_store_tells_whether_any_edge_is_of_a_relation(store):
    """Of any of the relations asked for, whatever became of the memories; a removed edge is none."""
    one, other = make_memory("a"), make_memory("b")
    tie = Edge(one.id, "depends_on", other.id)
    store.apply([Add(memory=one), Add(memory=other), Link(edge=tie)], make_event())
    assert store.has_edges(("resembles", "depends_on")) and not store.has_edges(("resembles",))
    store.apply([Retire(id=other.id, at=NOON)], make_event())
    assert store.has_edges(("depends_on",))
    store.apply([Link(edge=tie._replace(weight=0.0))], make_event())
    assert not store.has_edges(("depends_on",)) and not store.has_edges(())


@pytest.mark.proves("B124", "X43")
def test_pairs_that_wait_for_review_are_listed(store):
    """Pairs of memories that both count, each once, newest first, in the asked spaces only."""
    one, two, three, far = (
        make_memory("a"),
        make_memory("b"),
        make_memory("c"),
        make_memory("d", space="me/far"),
    )
    ties = [
        Edge(one.id, "contradicts", two.id),
        Edge(two.id, "contradicts", one.id),
        Edge(three.id, "resembles", one.id, 0.8),
        Edge(far.id, "resembles", one.id, 0.9),
    ]
    store.apply(
        [*(Add(memory=m) for m in (one, two, three, far)), *(Link(edge=tie) for tie in ties)],
        make_event(),
    )
    found = store.edges_between(("contradicts", "resembles"), (one.space,), 10)
    assert [{e.src, e.dst} for e in found] == [{one.id, three.id}, {one.id, two.id}]
    assert len(store.edges_between(("resembles",))) == 2 and store.stats().undecided == 3
    assert len(store.edges_between(("contradicts", "resembles"), limit=1)) == 1
    store.apply([Retire(id=three.id, at=NOON)], make_event())
    assert store.stats().undecided == 2 and store.edges_between(("resembles",), (one.space,)) == []


@pytest.mark.proves("CC-65")
def test_a_filter_by_time_and_kind(store):
    """Both ends of a range belong to it; newest by when it happened, whenever it was written down."""
    late, early, other = (
        make_memory(text, kind=kind, at=at)
        for text, kind, at in (
            ("late", "event", 300.0),
            ("early", "event", 100.0),
            ("other", "fact", 200.0),
        )
    )
    store.apply([Add(one) for one in (late, early, other)], make_event())
    told = lambda **fields: [one.text for one in store.browse(Filter(**fields))]
    assert ["other", "early", "late"] == told()
    assert ["late", "other", "early"] == told(by_time=True)
    assert ["late", "other"] == told(by_time=True, since=200.0)
    assert ["other", "early"] == told(by_time=True, until=200.0)
    assert ["other"] == told(since=200.0, until=200.0)
    assert ["early", "late"] == told(without=("fact",))


@pytest.mark.proves("CC-68")
def test_a_filter_by_what_stands_in_the_details(store):
    """A name in the details is looked for as it is, whatever characters it has."""
    odd = 'a "quoted" $.name'
    for text, details in (
        ("none", None),
        ("felt", {"emotion": {"name": "joy"}}),
        ("odd", {odd: 1}),
        ("within", {"other": {"emotion": 1}}),
    ):
        store.apply([Add(make_memory(text, details=details))], make_event())
    assert ["felt"] == [one.text for one in store.browse(Filter(having="emotion"))]
    assert ["odd"] == [one.text for one in store.browse(Filter(having=odd))]
    named = lambda name: [one.text for one in store.browse(Filter(naming=name))]
    assert (["within", "felt"], ["felt"], ["odd"]) == (*map(named, ("emotion", "joy", odd)),)
    assert named("jo") == [] == named("%")


def test_details_are_read_alone(store, clock):
    """When it was written down and what its details say, in the order of the memories."""
    for number in range(3):
        stored = make_memory(f"m{number}", details={"place": f"ä{number}"} if number else None)
        store.apply([Add(stored)], make_event())
    found = store.browse(Filter())
    assert store.read_details(Filter()) == [(one.created_at, one.details) for one in found]
    assert [{"place": "ä2"}] == [one.details for one in store.read_details(Filter(naming="ä2"))]
    assert 1 == len(store.read_details(Filter(having="place", limit=1)))


def test_a_filter_by_path(store):
    """A file is looked for by its path to the letter, or by the folder it lies in; nothing else has
    a path.
    """
    for path in ("/memories/a", "/memories/a%", "/memories/deep/a", "/memories/deeper"):
        store.apply([Add(make_memory(path, details={"path": path}))], make_event())
    store.apply(
        [Add(make_memory("none")), Add(make_memory("other", details={"path": {"odd": 1}}))],
        make_event(),
    )
    told = lambda **fields: [one.text for one in store.browse(Filter(**fields))]
    assert ["/memories/deep/a", "/memories/a"] == told(
        paths=("/memories/a", "/memories/deep/a", "/memories/none")
    )
    assert ["/memories/deep/a"] == told(below="/memories/deep") and [] == told(below="/memories/a")
    assert 4 == len(told(below="/memories"))


@pytest.mark.proves("CC-64")
def test_words_without_some_kinds(store):
    """What is left out by kind is not found by its words."""
    store.apply(
        [Add(make_memory("heron pad", kind="scratch")), Add(fact := make_memory("heron fact"))],
        make_event(),
    )
    found = store.search_words(["heron"], (SPACE,), 10, where=Filter(without=("scratch",)))
    assert [fact.id] == [id for id, _ in found]


def test_reads_that_belong_together_see_what_is_written_meanwhile(store, other_or_same_store):
    """By the same thread and by others; an error within is only that of the read it is of."""
    one = keep(store, "one")
    with store.reading():
        assert store.get([one.id]) == [one]
        two = keep(store, "two")
        three = keep(other_or_same_store, "three")
        with store.reading():
            assert [m.text for m in store.get([two.id, three.id])] == ["two", "three"]
        with pytest.raises(NotFound):
            store.apply([Retire("mem_nobody", at=NOON, why="x")], make_event())
        with store.transaction():
            four = keep(store, "four")
            assert store.get([four.id]) == [four]
        assert len(store.browse(Filter())) == 4
    with pytest.raises(KeyError), store.reading():
        store.get([one.id])
        raise KeyError
    assert store.get([one.id]) == [one]


def test_what_does_not_wait_for_the_disk_is_kept_all_the_same(store):
    """A transaction that is not durable is seen by all once it is committed, or not at all."""
    with store.transaction(durable=False):
        store.apply([Add(make_memory("The kiln is called Wren."))], make_event())
    with pytest.raises(BadInput), store.transaction(durable=False):
        store.apply([Add(make_memory("Nobody keeps this."))], make_event())
        raise BadInput("no")
    assert [one.text for one in store.browse(Filter(limit=10))] == ["The kiln is called Wren."]
