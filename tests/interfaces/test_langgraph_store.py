"""LangGraph's store over memories, held against LangGraph's own store in memory."""

import asyncio
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reverie.core.errors import BadInput, Disabled
from reverie.core.kinds import FILE
from reverie.testing import SPACE, memory

pytest.importorskip("langgraph.store.base")

from langgraph.store.base import (
    GetOp,
    InvalidNamespaceError,
    ListNamespacesOp,
    MatchCondition,
    PutOp,
    SearchOp,
)
from langgraph.store.memory import InMemoryStore

from reverie.interfaces.frameworks.langgraph import MemoryStore, matches_filter, to_namespace_tags

SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
ANN = ("users", "Ann")

LABELS = st.sampled_from(["users", "Ann", "ann", "日本", "#x", "a b"])
NAMESPACES = st.lists(LABELS, min_size=1, max_size=3).map(tuple)
LEAVES = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "red", "blue", "a\x00b"])
)
VALUES = st.dictionaries(
    st.sampled_from(["colour", "size", "inner"]),
    LEAVES | st.lists(LEAVES, max_size=2) | st.dictionaries(st.sampled_from("ab"), LEAVES),
    max_size=3,
)
FILTERS = st.none() | st.dictionaries(
    st.sampled_from(["colour", "inner"]),
    LEAVES | st.fixed_dictionaries({"$ne": LEAVES}) | st.fixed_dictionaries({"$eq": LEAVES}),
    max_size=2,
)
PATHS = st.lists(LABELS | st.just("*"), min_size=1, max_size=2).map(tuple)
OPS = st.one_of(
    st.builds(PutOp, NAMESPACES, st.sampled_from(["k1", "k2"]), st.none() | VALUES),
    st.builds(GetOp, NAMESPACES, st.sampled_from(["k1", "k2"])),
    st.builds(SearchOp, st.just(()) | NAMESPACES, FILTERS, st.just(100)),
    st.builds(
        ListNamespacesOp,
        st.none()
        | st.tuples(st.builds(MatchCondition, st.sampled_from(["prefix", "suffix"]), PATHS)),
        st.none() | st.integers(1, 3),
    ),
)


@pytest.fixture
def store(mind):
    return MemoryStore(mind, SPACE)


def plain(result):
    """What must be the same in both stores: not the times, nor the order of what was not ranked."""
    if isinstance(result, list):
        return sorted((plain(one) for one in result), key=str)
    return (
        result
        if result is None or isinstance(result, tuple)
        else (result.namespace, result.key, result.value)
    )


def full(theirs, depth):
    """The namespaces in which their store has something: it lists those that have become empty as
    well.
    """
    return {item.namespace[:depth] for item in theirs.search((), limit=1_000)}


@given(st.lists(st.lists(OPS, min_size=1, max_size=4), max_size=6))
@settings(max_examples=40, deadline=None)
def test_it_answers_as_langgraphs_own_store(batches):
    """Any batches of puts, deletions, reads, filters and listings: the same answers, and what is
    read in a batch is as it was before it.
    """
    theirs = InMemoryStore()
    with memory(embedder="none") as mind:
        ours = MemoryStore(mind, SPACE)
        for batch in batches:
            expected = [plain(result) for result in theirs.batch(batch)]
            answered = [plain(result) for result in ours.batch(batch)]
            for op, one, other in zip(batch, expected, answered, strict=True):
                same = (
                    one
                    if not isinstance(op, ListNamespacesOp)
                    else [namespace for namespace in one if namespace in full(theirs, op.max_depth)]
                )
                assert str(same).replace("\\x00", "␀") == str(other)
        assert [] == mind.data.verify()


def test_an_item_keeps_its_birth_and_tells_when_it_changed(store, clock):
    """Times are UTC; a value that is put again is another revision of the same item."""
    store.put(ANN, "food", {"likes": "tea"})
    born = datetime.fromtimestamp(clock(), UTC)
    clock.tick(days=1)
    store.put(ANN, "food", {"likes": "coffee", "more": {"deep": [1, None, 2.5]}})
    item = store.get(ANN, "food")
    assert ({"likes": "coffee", "more": {"deep": [1, None, 2.5]}}, born) == (
        item.value,
        item.created_at,
    )
    assert datetime.fromtimestamp(clock(), UTC) == item.updated_at
    assert (ANN, "food", None) == (item.namespace, item.key, store.get(ANN, "drink"))


def test_what_is_put_or_deleted_can_be_taken_back(store, mind):
    """A deletion retires, a revision keeps what was there before; `restore` and `undo` bring it
    back.
    """
    store.put(ANN, "food", {"likes": "tea"})
    store.put(ANN, "food", {"likes": "coffee"})
    (one,) = mind.browse(space=SPACE, kinds=[FILE])
    store.delete(ANN, "food")
    assert (
        store.get(ANN, "food") is None and [] == store.search(("users",)) == store.list_namespaces()
    )
    mind.restore(one.id)
    assert {"likes": "coffee"} == store.get(ANN, "food").value
    mind.undo(
        next(record.event.seq for record in mind.history(one.id) if record.op == "revise"),
        force=True,
    )
    assert {"likes": "tea"} == store.get(ANN, "food").value
    store.delete(ANN, "never there")


def test_searching_ranks_what_is_indexed_and_appends_the_rest(store):
    """By words and meaning, with a score, best first; then what is not indexed or does not match,
    without one; pages do not overlap.
    """
    store.put(ANN, "tea", {"text": "Ann drinks green tea in the morning."})
    store.put(ANN, "car", {"text": "The car is parked behind the house."})
    store.put(("users", "Bob"), "tea", {"text": "Bob drinks black tea."})
    store.put(ANN, "hidden", {"text": "green tea in the morning"}, index=False)
    store.put(
        ANN, "part", {"title": "Harbour", "body": "green tea in the morning"}, index=["title"]
    )
    found = store.search(ANN, query="green tea in the morning")
    assert "tea" == found[0].key and found[0].score > 0
    assert {"car", "hidden", "part"} == {item.key for item in found[1:]}
    assert [None] == [item.score for item in found if item.key == "hidden"]
    pages = [
        item.key
        for offset in range(4)
        for item in store.search(ANN, query="green tea", limit=1, offset=offset)
    ]
    assert sorted(pages) == sorted({"tea", "car", "hidden", "part"})
    assert "part" == store.search(ANN, query="harbour", limit=1)[0].key
    assert {"Ann", "Bob"} == {
        item.namespace[1] for item in store.search(("users",), query="tea", limit=10)
    }
    assert ["car"] == [
        item.key
        for item in store.search(
            ANN, query="tea", filter={"text": "The car is parked behind the house."}
        )
    ]


def test_pages_of_a_long_search_do_not_overlap(store):
    """Beyond the hits that are ranked at first further ones follow, then what the query does not
    find; each once.
    """
    store.batch(
        [
            PutOp(
                ("users", f"u{n % 3}"),
                f"k{n}",
                {"text": f"Tea number {n % 7} of {n % 11}.", "n": n},
            )
            for n in range(150)
        ]
        + [PutOp(("users", "u1"), "other", {"text": "A harbour."})]
    )
    for wanted in ({}, {"n": {"$gt": 20}}):
        pages = [
            item.key
            for offset in range(0, 160, 20)
            for item in store.search(
                ("users",), query="tea number 5", filter=wanted, limit=20, offset=offset
            )
        ]
        assert len(pages) == len(set(pages)) == (151 if not wanted else 129)
    first = store.search(("users", "u2"), query="tea number 5", limit=5)
    assert {"u2"} == {item.namespace[1] for item in first} and all(
        "5" in item.value["text"] for item in first
    )


@pytest.mark.parametrize(
    ("value", "wanted", "expected"),
    [
        ({"n": 5}, {"n": {"$gt": 4}}, True),
        ({"n": 5}, {"n": {"$gt": 5}}, False),
        ({"n": 5}, {"n": {"$gte": 5}}, True),
        ({"n": 5}, {"n": {"$lt": 6, "$gt": 4}}, True),
        ({"n": 5}, {"n": {"$lte": 4}}, False),
        ({}, {"n": {"$gt": 4}}, False),
        ({"n": "x"}, {"n": {"$lt": 4}}, False),
        ({"n": [1, {"a": 2}]}, {"n": [1, {"a": 2}]}, True),
        ({"n": [1]}, {"n": [1, 2]}, False),
        ({"n": {"a": 1, "b": 2}}, {"n": {"a": 1}}, True),
        ({"n": 1}, {"n": {"a": 1}}, False),
    ],
)
def test_filters_compare(value, wanted, expected):
    """$eq $ne $gt $gte $lt $lte, parts of objects, lists in order; what is missing or no number is
    in no range.
    """
    assert expected == matches_filter(value, wanted)


def test_what_is_not_understood_is_refused(store):
    """An operator, an operation, a namespace, a TTL that would not be kept."""
    store.put(ANN, "food", {"n": 1})
    with pytest.raises(ValueError, match=r"\$near"):
        store.search(ANN, filter={"n": {"$near": 1}})
    with pytest.raises(ValueError, match="Unknown operation"):
        store.batch([("what",)])
    with pytest.raises(InvalidNamespaceError):
        store.put(("a.b",), "k", {})
    with pytest.raises(NotImplementedError):
        store.put(ANN, "food", {}, ttl=5)


def test_the_async_side_is_the_same(store):
    """aput, aget, asearch, alist_namespaces, adelete, many at once."""

    async def story():
        await asyncio.gather(*(store.aput(ANN, f"k{n}", {"n": n}) for n in range(8)))
        found = await store.asearch(ANN, limit=20)
        await store.adelete(ANN, "k0")
        return (
            len(found),
            await store.aget(ANN, "k0"),
            (await store.aget(ANN, "k1")).value,
            (await store.alist_namespaces(prefix=("users",))),
        )

    assert (8, None, {"n": 1}, [ANN]) == asyncio.run(story())


def test_a_failed_batch_puts_nothing(store):
    """All of it or none."""
    with pytest.raises(BadInput, match="holds a secret"):
        store.batch([PutOp(ANN, "good", {"n": 1}), PutOp(ANN, SECRET, {"n": 2})])
    assert store.get(ANN, "good") is None


@pytest.mark.parametrize(
    "value",
    [
        b"ab",
        datetime(2026, 1, 1, tzinfo=UTC),
        float("nan"),
        float("inf"),
        {1: 2},
        {"x"},
        [{"a": (b"",)}],
        object(),
        {None: 1},
        {"": {0: 1}},
    ],
)
def test_what_cannot_be_kept_is_refused_before_anything_is(store, value):
    """It would come back as something else; the others of the batch are not put either, and the
    error says which.
    """
    store.put(ANN, "old", {"n": 1})
    with pytest.raises(BadInput, match=r"value\['inner'\]"):
        store.batch(
            [
                PutOp(ANN, "good", {"n": 1}),
                PutOp(ANN, "old", None),
                PutOp(ANN, "bad", {"inner": value}),
            ]
        )
    assert (None, {"n": 1}, None) == (
        store.get(ANN, "good"),
        store.get(ANN, "old").value,
        store.get(ANN, "bad"),
    )


def test_what_is_json_comes_back_as_it_was(store):
    """Numbers of any size, tuples as lists, subclasses of texts and numbers."""
    store.put(ANN, "a", {"big": 10**40, "pair": (1, 2.5), "no": False, "none": None, "": "é日\n"})
    assert {"big": 10**40, "pair": [1, 2.5], "no": False, "none": None, "": "é日\n"} == store.get(
        ANN, "a"
    ).value


def test_an_item_is_found_without_looking_at_the_others(store, mind, monkeypatch):
    """get, put and delete read the one memory, however many there are."""
    store.batch([PutOp(ANN, f"k{n}", {"n": n}) for n in range(200)])
    read, browse = [], mind.store.browse

    def noted(where):
        found = browse(where)
        read.extend(found)
        return found

    monkeypatch.setattr(mind.store, "browse", noted)
    assert {"n": 7} == store.get(ANN, "k7").value
    store.put(ANN, "k8", {"n": -8})
    store.put(ANN, "new", {"n": 0})
    store.delete(ANN, "k9")
    assert (
        3 == len(read) and {"n": -8} == store.get(ANN, "k8").value and store.get(ANN, "k9") is None
    )


def test_namespaces_are_listed_without_reading_all_items_again(store, mind, monkeypatch):
    """What another store puts, deletes, takes back or purges is seen; only that is read."""
    store.batch([PutOp(("users", f"u{n}"), "k", {"n": n}) for n in range(50)])
    assert 50 == len(store.list_namespaces(limit=100))
    read, browse = [], mind.store.browse

    def noted(where):
        found = browse(where)
        read.extend(found)
        return found

    monkeypatch.setattr(mind.store, "browse", noted)
    other = MemoryStore(mind, SPACE)
    other.put(("new",), "k", {"n": 1})
    other.delete(("users", "u7"), "k")
    assert ("new",) in store.list_namespaces(limit=100) and (
        "users",
        "u7",
    ) not in store.list_namespaces(limit=100)
    mind.undo(mind.store.events(verbs=("forget",), newest=True)[0].seq)
    assert ("users", "u7") in store.list_namespaces(limit=100)
    assert len(read) <= 50, "a few of the newest each time"
    with memory(embedder="none") as elsewhere:
        MemoryStore(elsewhere, SPACE).put(("imported",), "k", {"n": 1})
        mind.data.import_(
            [row for row in elsewhere.data.export() if row["type"] in ("reverie", "memory")]
        )
    other.put(("later",), "k", {"n": 1})
    assert {("imported",), ("later",)} <= set(store.list_namespaces(limit=100))
    (gone,) = [
        one.id for one in mind.browse(space=SPACE, kinds=[FILE], limit=100) if one.title == "new/k"
    ]
    mind.data.purge([gone])
    assert ("new",) not in store.list_namespaces(limit=100) and 52 == len(
        store.list_namespaces(limit=100)
    )


@pytest.mark.proves("CC-89", "A106")
def test_secrets_do_not_reach_the_store(store, mind):
    """Neither in values nor in names."""
    store.put(ANN, "login", {"note": f"the token is {SECRET}", "password": "hunter2!x"})
    kept = str(mind.browse(space=SPACE, kinds=[FILE])) + str(mind.store.events())
    assert SECRET not in kept and "hunter2!x" not in kept
    assert "REDACTED" in store.get(ANN, "login").value["note"]


@pytest.mark.proves("CC-11")
def test_spaces_are_apart_and_items_stay_themselves(store, mind, clock):
    """Neither a store of another space nor one above or below it sees them; night changes nothing
    of them.
    """
    store.put(ANN, "a", {"text": "Ann likes green tea very much."})
    store.put(ANN, "b", {"text": "Ann likes green tea very much."})
    for space in ("me/other", "me", f"{SPACE}/below"):
        other = MemoryStore(mind, space)
        assert (None, []) == (other.get(ANN, "a"), other.search((), query="green tea"))
    clock.tick(days=400)
    mind.settle()
    mind.sleep()
    assert ["a", "b"] == sorted(item.key for item in store.search(ANN))
    assert {"text": "Ann likes green tea very much."} == store.get(ANN, "a").value


def test_a_store_that_cannot_keep_says_so():
    """Work that failed is not called done."""
    with memory(off=(SPACE,)) as mind, pytest.raises(Disabled):
        MemoryStore(mind, SPACE).put(ANN, "a", {"n": 1})


def test_items_beyond_one_page_are_all_there(store, monkeypatch):
    """However many."""
    monkeypatch.setattr("reverie.interfaces.frameworks.langgraph.PAGE_SIZE", 3)
    store.batch([PutOp(ANN, f"k{n}", {"n": n}) for n in range(10)])
    assert (
        10
        == len(store.search((), limit=50))
        == len(store.search(ANN, filter={"n": {"$gte": 0}}, limit=50))
    )
    assert {"n": 0} == store.get(ANN, "k0").value


def test_a_namespace_is_a_tag_where_tags_can_be_that_long():
    """Each level by itself, so that `recall --tag users.ann` finds what is below it."""
    assert ("users", "users.ann") == to_namespace_tags(ANN)
    assert ("a",) == to_namespace_tags(("a", "b" * 100))


# An agent


def thread(name):
    return {"configurable": {"thread_id": name}}


@pytest.mark.proves("C115", "C116", "X12")
def test_memory_comes_up_before_the_model_of_a_graph(home):
    """As nodes before and after it, found by what a thread said; the state does not grow by it."""
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
    from langchain_core.runnables import RunnableLambda

    from reverie.interfaces.frameworks.langgraph_agent import AgentMemory

    with AgentMemory(home, SPACE) as memory:
        before, after = RunnableLambda(memory.before_model), RunnableLambda(memory.after_model)
        said: list[BaseMessage] = [HumanMessage("Remember that prices are always kept in cents.")]
        assert {"llm_input_messages": said} == before.invoke({"messages": said}, thread("monday"))
        call = {"name": "look", "args": {"n": 3}, "id": "call_1"}
        said += [
            AIMessage("", tool_calls=[call]),
            ToolMessage("seen 3", tool_call_id="call_1"),
            AIMessage("I will."),
        ]
        assert {} == after.invoke({"messages": said}, thread("monday"))
    home.settle()
    with AgentMemory(home, SPACE) as memory:
        asked = [HumanMessage("In which unit do we keep prices?")]
        sent = RunnableLambda(memory.before_model).invoke({"messages": asked}, thread("tuesday"))[
            "llm_input_messages"
        ]
        assert asked == sent[:1] and 1 == len(asked) and "kept in cents" in sent[1].content
        assert "" == memory.trouble
    turns = str([event.payload for event in home.store.events(verbs=("turn",), session="monday")])
    assert "I will." in turns and "seen 3" in turns


def test_a_graph_gets_what_it_would_have_got_when_memory_fails(home, monkeypatch):
    """Nothing of it reaches the graph; without a thread's name there is one conversation."""
    from langchain_core.messages import HumanMessage

    from reverie.core.errors import StoreFull
    from reverie.interfaces.frameworks.langgraph_agent import AgentMemory
    from reverie.runtime.mind import Mind

    def full(*_, **__):
        raise StoreFull

    monkeypatch.setattr(Mind, "companion", full)
    with AgentMemory(home, SPACE) as memory:
        for messages in ([object()], [HumanMessage("Well?")]):
            assert messages == memory.before_model({"messages": messages}, {})["llm_input_messages"]
            assert {} == memory.after_model({"messages": messages}, {})
            assert memory.trouble
