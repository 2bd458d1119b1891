"""The passes of sleep, as pure functions: what they would change, and what they leave alone."""

import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.consolidation import archiving, clusters, co_use_links, tag_tidying
from reverie.consolidation.nearest_neighbours import SearchStopped, find_nearest
from reverie.consolidation.sleep_passes import PASSES, SAFE_PASSES
from reverie.core.kinds import DAY, effective_confidence, retention
from reverie.core.model import Add, Edge, Event, Link, Retire, Revise
from reverie.reconciliation import merge_rules, pair_passes
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.pass_view import (
    ClosePair,
    PassView,
    apply_to_memory,
    index_edges,
    render_step_diff,
)
from reverie.testing import NOON, make_memory, memory

SPACE = "me/demo"


def view(*memories, cosine=0.97, edges=(), **more):
    """Everything a pass is shown; the memories are all close to each other."""
    ids = sorted(memory.id for memory in memories)
    close = [ClosePair(a, b, cosine) for i, b in enumerate(ids) for a in ids[:i]]
    return PassView(NOON, {m.id: m for m in memories}, index_edges(edges), close, **more)


def retired(steps):
    return [change.id for step in steps for change in step.changes if isinstance(change, Retire)]


def links_of(steps):
    return [change.edge for step in steps for change in step.changes if isinstance(change, Link)]


HERON = "The staging server is called heron and listens on port 8080."
AGAIN = "The staging server is called heron, and listens on port 8080"


# Merge


@pytest.mark.proves("B109", "B122")
def test_duplicates_merge_into_a_stronger_memory():
    """One goes as "merged" and points to the one that stays, which is as strong as both."""
    one = make_memory(HERON, tags=["host"], session="s1")
    other = make_memory(AGAIN, tags=["staging"], session="s2", files=["a.py"])._replace(strength=2)
    steps = pair_passes.merge_duplicates(view(one, other))
    kept = apply_to_memory(other, steps[0].changes)
    gone = apply_to_memory(one, steps[0].changes)
    assert (gone.retired_why, gone.superseded_by, kept.active) == ("merged", other.id, True)
    assert (kept.strength, set(kept.tags), kept.files, set(kept.sources)) == (
        3,
        {"host", "staging"},
        ("a.py",),
        {"s1", "s2"},
    )
    assert (other.id, one.id, "same") == steps[0].ruling


@pytest.mark.parametrize(
    ("said", "again"),
    [
        (HERON, HERON.replace("8080", "9090")),
        (HERON, HERON.replace("heron", "osprey")),
        ("Ann reviews the parser.", "Bob reviews the parser."),
    ],
)
@pytest.mark.proves("B122")
def test_what_differs_in_a_number_or_name_is_never_merged(said, again):
    """However near the vectors, another port, host or person is another thing."""
    assert [] == pair_passes.merge_duplicates(
        view(make_memory(said), make_memory(again), cosine=0.999)
    )


@pytest.mark.proves("B109")
def test_a_merge_loses_no_number_or_name():
    """The source is retired only if its numbers, identifiers and names stand in the replacement."""
    assert merge_rules.holds_marks(
        "heron (10.0.0.8:8080) runs `make deploy`", "Heron is 10.0.0.8:8080"
    )
    assert not merge_rules.holds_marks("The server is heron", "The server is heron, port 8080")
    assert not merge_rules.holds_marks("listens on 80801", "listens on 8080")
    assert not merge_rules.holds_marks("calls get_user_name", "calls get_user")


@given(st.text(max_size=200), st.text(max_size=200))
@pytest.mark.proves("B109")
def test_a_longer_text_covers_what_the_shorter_covers(text, more):
    """A text covers itself, and adding a sentence never loses what it covered before."""
    assert merge_rules.holds_marks(f"{text} {more}", text) or merge_rules.find_marks(
        text
    ) - merge_rules.find_marks(f"{text} {more}")


@pytest.mark.proves("CC-55", "X22")
def test_spaces_kinds_decisions_and_better_sources_forbid_merging():
    """Across spaces nothing merges, nor what a person has decided, nor a better source into a worse
    one.
    """
    one = make_memory(HERON)
    assert [] == pair_passes.merge_duplicates(view(one, make_memory(AGAIN, space="me/other")))
    other = make_memory(AGAIN)
    assert [] == pair_passes.merge_duplicates(
        view(one, other, settled=frozenset({frozenset((one.id, other.id))}))
    )
    assert [one.id] == retired(
        pair_passes.merge_duplicates(view(one, make_memory(AGAIN, provenance="user_stated")))
    )


@pytest.mark.proves("CC-54")
def test_three_of_a_kind_become_one():
    """Within one batch each step sees what the one before has done."""
    three = [make_memory(HERON) for _ in range(3)]
    steps = pair_passes.merge_duplicates(view(*three))
    left = [m for m in three if all(apply_to_memory(m, step.changes).active for step in steps)]
    changes = [change for step in steps for change in step.changes]
    assert (1, 3) == (len(left), apply_to_memory(left[0], changes).strength)


@pytest.mark.proves("B109")
def test_edges_move_to_the_one_that_stays():
    """Edges of a merged memory move to the one that stays."""
    one, other = make_memory(HERON), make_memory(AGAIN)
    steps = pair_passes.merge_duplicates(
        view(one, other, edges=[Edge(other.id, "relates_to", "mem_third", 0.7)])
    )
    assert Link(Edge(one.id, "relates_to", "mem_third", 0.7)) in steps[0].changes


# A text from elsewhere


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "   ",
        None,
        7,
        "Something else.",
        "The staging server is called heron.",
        HERON * 30,
        {"text": HERON},
    ],
)
@pytest.mark.proves("CC-71")
def test_a_malformed_answer_merges_nothing(answer, monkeypatch):
    """An empty, partial, endless or wrong answer of whoever writes texts never retires anything."""
    one, other = make_memory(HERON), make_memory("Its name is heron; staging listens on 8443.")
    monkeypatch.setattr(
        pair_passes, "compare_memories", lambda *_, **__: Verdict("same", 1.0, "told so")
    )
    assert [] == pair_passes.merge_duplicates(
        view(one, other), lambda _a, _b: answer, lambda: "mem_new"
    )


@pytest.mark.proves("A80")
def test_a_text_that_holds_both_replaces_both(monkeypatch):
    """Two wordings of which neither holds all become a third, believed as they were."""
    one = make_memory(HERON, provenance="inferred")
    other = make_memory("Its name is heron; staging listens on 8443.", provenance="inferred")
    monkeypatch.setattr(
        pair_passes, "compare_memories", lambda *_, **__: Verdict("same", 1.0, "told so")
    )
    text = (
        "The staging server is called heron and listens on port 8080 and 8443. Its name is heron."
    )
    steps = pair_passes.merge_duplicates(view(one, other), lambda _a, _b: text, lambda: "mem_new")
    added = [change.memory for change in steps[0].changes if isinstance(change, Add)]
    assert ([text], {one.id, other.id}) == ([m.text for m in added], set(retired(steps)))
    assert (added[0].trust, added[0].provenance, added[0].strength) == (other.trust, "inferred", 2)


@pytest.mark.parametrize("provenance", ["user_stated", "user_corrected", "inferred"])
@pytest.mark.proves("CC-71")
def test_no_written_text_replaces_a_better_source(provenance, monkeypatch):
    """What the user said stays in the user's words; of two unlike sources neither yields to a third
    text.
    """
    one = make_memory(HERON, provenance="observed" if provenance == "inferred" else provenance)
    other = make_memory("Its name is heron; staging listens on 8443.", provenance=provenance)
    monkeypatch.setattr(
        pair_passes, "compare_memories", lambda *_, **__: Verdict("same", 1.0, "told so")
    )
    text = (
        "The staging server is called heron and listens on port 8080 and 8443. Its name is heron."
    )
    assert [] == pair_passes.merge_duplicates(
        view(one, other), lambda _a, _b: text, lambda: "mem_new"
    )


# Redundancy, contradictions, relations


@pytest.mark.proves("B111", "B124")
def test_contradictions_are_flagged_and_nobody_loses():
    """Both know of each other, both count."""
    one, other = make_memory(HERON), make_memory(HERON.replace("8080", "9090"))
    steps = pair_passes.flag_contradictions(view(one, other, cosine=0.9))
    assert {(one.id, "contradicts", other.id), (other.id, "contradicts", one.id)} == {
        change.edge[:3] for change in steps[0].changes if isinstance(change, Link)
    }
    assert ([], (other.id,)) == (
        retired(steps),
        apply_to_memory(one, steps[0].changes).conflicts_with,
    )
    known = [Edge(one.id, "contradicts", other.id)]
    assert [] == pair_passes.flag_contradictions(view(one, other, cosine=0.9, edges=known))


@pytest.mark.proves("B110", "B123")
def test_what_may_be_the_same_is_shown_not_merged():
    """An edge for a person to decide, one for each newer memory."""
    one = make_memory("We deploy with make release.")
    other = make_memory("We deploy with make release on Fridays after lunch.")
    steps = pair_passes.flag_near_duplicates(view(one, other, cosine=0.85))
    assert [] == retired(steps)
    assert [("resembles", 0.85)] == [(edge.rel, edge.weight) for edge in links_of(steps)]


@pytest.mark.proves("B116", "B118")
def test_sessions_about_one_file_are_linked():
    """Links between sessions about one file are found, never within one session or between
    projects.
    """
    one = make_memory("The lexer drops comments.", session="s1", files=["lexer.py"])
    other = make_memory("Comments confuse the tokenizer.", session="s2", files=["lexer.py"])
    first, then = sorted((one.id, other.id))
    assert [Edge(first, "relates_to", then, 0.5)] == links_of(
        pair_passes.relate_memories(view(one, other, cosine=0.7))
    )
    assert [] == pair_passes.relate_memories(view(one, other._replace(session="s1"), cosine=0.7))
    assert [] == pair_passes.relate_memories(
        view(one, other._replace(space="me/other"), cosine=0.7)
    )
    assert [] == pair_passes.relate_memories(view(one, other._replace(files=()), cosine=0.7))


# Fading


WEAK = {"provenance": "inferred", "at": NOON - 60 * DAY}


def old(text="Perhaps the cache is cold.", **fields):
    memory = make_memory(text, **{**WEAK, **fields})
    return memory._replace(created_at=memory.at, updated_at=memory.at)


@pytest.mark.proves("A76", "A77", "B115", "B125", "CC-53")
def test_faded_memories_are_archived():
    """A memory of low retention is retired as "faded"; nothing else is."""
    memory = old()
    steps = archiving.archive_faded(PassView(NOON, {memory.id: memory}))
    assert (Retire(memory.id, NOON, why="faded"),) == steps[0].changes


@pytest.mark.parametrize(
    "memory",
    [
        old(provenance="user_stated", kind="scratch"),
        old(provenance="user_corrected", kind="scratch"),
        old()._replace(strength=2),
        old()._replace(last_accessed_at=NOON - 29 * DAY),
        old(at=NOON - 29 * DAY),
        old()._replace(created_at=NOON - DAY),
        old(kind="skill", provenance="observed"),
    ],
    ids=["stated", "corrected", "confirmed", "used", "young", "imported lately", "never fades"],
)
@pytest.mark.proves("B125", "CC-53")
def test_one_reason_is_enough_to_keep_a_memory(memory):
    """A memory that is important, new or confirmed is not archived: one reason is enough."""
    assert [] == archiving.archive_faded(PassView(NOON, {memory.id: memory}))


@pytest.mark.proves("CC-50", "A75")
def test_effective_confidence_is_half_at_the_half_life():
    """Confidence times retention."""
    memory = make_memory("x", at=NOON - 7 * DAY, provenance="inferred")
    assert (0.25, 0.5) == (effective_confidence(memory, NOON), retention(memory, NOON))


# Tags


@given(st.dictionaries(st.text("abs-_ .", min_size=1, max_size=8), st.integers(1, 9), max_size=12))
@pytest.mark.proves("B128")
def test_tag_variants_map_to_one_spelling(counts):
    """No chains, no circles, and doing it twice changes nothing more."""
    instead = tag_tidying.map_tag_variants(counts)
    assert set(instead.values()).isdisjoint(instead)
    assert {} == tag_tidying.map_tag_variants(
        {tag: n for tag, n in counts.items() if tag not in instead}
    )


@pytest.mark.proves("B110")
def test_why_it_was_learned_is_no_difference():
    """What is told about a memory, such as what was being discussed, keeps no two apart; what it
    says does.
    """
    one, other = (
        make_memory("Never push to main.", details={"about": about, "because": "x"})
        for about in ("a", "b")
    )
    assert merge_rules.can_replace(one, other) and not merge_rules.can_replace(
        one, make_memory("Never push to main before 9:30.")
    )


@pytest.mark.proves("B128")
def test_variants_are_spelling_not_meaning():
    """Case, hyphen, underscore and plural are spelling; css, redis and class are words of their
    own.
    """
    counts = dict.fromkeys(
        ("unit-test", "unit_tests", "Unit Test", "css", "cs", "redis", "redi", "class", "clas"), 1
    )
    assert {"unit_tests", "Unit Test", "unit-test"} == {
        *tag_tidying.map_tag_variants(counts),
        *tag_tidying.map_tag_variants(counts).values(),
    }
    assert {"bugs": "bug"} == tag_tidying.map_tag_variants({"bug": 3, "bugs": 2})
    assert {"library": "libraries"} == tag_tidying.map_tag_variants({"library": 1, "libraries": 2})


@pytest.mark.proves("B128")
def test_retagging_keeps_each_tag_once():
    """A memory with both forms has one afterwards."""
    memory = make_memory("x", tags=["bugs", "api", "bug"])
    steps = tag_tidying.retag_memories(PassView(NOON, {memory.id: memory}), {"bugs": "bug"})
    assert ("bug", "api") == apply_to_memory(memory, steps[0].changes).tags


@pytest.mark.proves("B129")
def test_tag_edges_without_their_tag_are_orphans():
    """An edge goes if its memory carries the tag no more, or if nobody does."""
    memory = make_memory("x", tags=["alive"])
    edges = index_edges(
        [
            Edge(memory.id, "has_tag", "tag:alive"),
            Edge(memory.id, "has_tag", "tag:dead"),
            Edge("tag:gone", "relates_to", "tag:alive"),
            Edge("mem_purged", "has_tag", "tag:alive"),
        ]
    )
    steps = tag_tidying.drop_orphan_edges(
        {memory.id: memory}, edges, lambda node: node == "tag:alive"
    )
    dead = [
        Edge(memory.id, "has_tag", "tag:dead", 0.0),
        Edge("tag:gone", "relates_to", "tag:alive", 0.0),
    ]
    assert dead == links_of(steps)


# Links


def turn(session, *ids):
    return Event("turn", "me/demo", NOON, session, {"given": list(ids)})


@pytest.mark.proves("B127", "CC-58", "B118")
def test_memories_used_together_in_several_sessions_are_linked():
    """Use together in one session links nothing, in two it links; again, the same link grows."""
    one, other = make_memory("a"), make_memory("b")
    ids = sorted((one.id, other.id))
    assert {} == co_use_links.count_joint_sessions([turn("s1", *ids), turn("s1", *ids)])
    met = co_use_links.count_joint_sessions([turn("s1", *ids), turn("s2", *reversed(ids))])
    first = links_of(co_use_links.strengthen_links(view(one, other), met))[0]
    assert Edge(ids[0], "relates_to", ids[1], 0.6) == first
    again = co_use_links.strengthen_links(
        view(one, other, edges=[first._replace(src=ids[1], dst=ids[0])]), met
    )
    assert [Edge(ids[1], "relates_to", ids[0], 0.65)] == links_of(again)
    assert [] == co_use_links.strengthen_links(
        view(one, other, edges=[first._replace(weight=0.95)]), met
    )


# Nearest and clusters


def around(centres, each, seed=1, spread=0.4):
    rng = np.random.default_rng(seed)
    middle = rng.standard_normal((centres, 64)).astype(np.float32)
    middle /= np.linalg.norm(middle, axis=1, keepdims=True)
    made = np.repeat(middle, each, axis=0) + spread / 8 * rng.standard_normal(
        (centres * each, 64)
    ).astype(np.float32)
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.proves("B109", "B110")
def test_cells_find_what_the_exact_search_finds():
    """Of pairs at 0.8 and above, 99 in 100 and more are found without looking at all."""
    vectors = around(40, 25)
    exact, cells = (find_nearest(vectors, 5, 0.8, exact=most) for most in (10_000, 10))
    found = {(i, j) for i, row in enumerate(cells.rows) for j in row if j >= 0}
    true = {(i, j) for i, row in enumerate(exact.rows) for j in row if j >= 0}
    assert len(found & true) >= 0.99 * len(true) > 0
    assert (cells.cosines[:, 0] >= cells.cosines[:, -1]).all()


@pytest.mark.proves("B140")
def test_the_search_is_deterministic_and_never_names_itself():
    """The same vectors give the same neighbours."""
    vectors = around(20, 20)
    one, other = (find_nearest(vectors, 5, 0.3, exact=10) for _ in range(2))
    assert np.array_equal(one.rows, other.rows)
    assert not (one.rows == np.arange(len(vectors))[:, None]).any()


def test_only_some_rows_can_be_asked_for():
    """What is new is compared with all, the rest with nothing."""
    vectors = around(5, 4)
    some = find_nearest(vectors, 3, 0.5, rows=np.array([7, 2]))
    assert [2, 7] == np.flatnonzero((some.rows >= 0).any(axis=1)).tolist()


@pytest.mark.proves("B24", "B25", "B28", "B29")
def test_groups_that_nobody_tagged_are_found():
    """Dense regions become clusters, what lies apart is in none."""
    vectors = np.concatenate([around(6, 12), np.eye(64, dtype=np.float32)[:10]])
    labels = clusters.find_clusters(find_nearest(vectors, 10, clusters.MIN_NEIGHBOUR_COSINE))
    groups = labels[:72].reshape(6, 12)
    assert ([True] * 6, 6) == (
        [len(set(group)) == 1 for group in groups.tolist()],
        len(set(groups[:, 0].tolist())),
    )
    assert {-1} == set(labels[72:].tolist())


@pytest.mark.parametrize("size", [5, 7, 10])
def test_few_groups_of_few_are_found_too(size):
    """Three topics, and as many memories as one says of each in a week."""
    near = find_nearest(around(3, size), 10, clusters.MIN_NEIGHBOUR_COSINE)
    groups = clusters.find_clusters(near).reshape(3, size).tolist()
    assert [set(group) for group in groups] == [{0}, {1}, {2}]


def test_a_stop_is_heeded_and_equal_rows_are_one_group(monkeypatch):
    """Between two looks; a hundred copies of one text are no hundred regions."""
    same = np.zeros((100, 64), np.float32)
    same[:, 0] = 1
    near = find_nearest(same, 10, clusters.MIN_NEIGHBOUR_COSINE)
    assert set(clusters.find_clusters(near).tolist()) == {0}
    monkeypatch.setattr(clusters, "PAIRS_PER_LOOK", 50)
    going = iter([True, False])
    with pytest.raises(SearchStopped):
        clusters.find_clusters(near, may_continue=lambda: next(going))
    assert list(going) == []


def test_it_finds_what_the_library_finds():
    """Groups of differing density that all lean one way, and noise: scikit-learn's HDBSCAN over all
    distances puts the same rows together, but for a few at the edges.
    """
    pytest.importorskip("sklearn")
    from sklearn.cluster import HDBSCAN
    from sklearn.metrics import adjusted_rand_score

    drawn = np.random.default_rng(3)
    centres = drawn.normal(size=(6, 64)) + 0.7
    spread = np.repeat([0.5, 0.8, 1.0, 0.5, 0.8, 1.0], 30)[:, None] * 0.5
    rows = np.repeat(centres, 30, axis=0) + drawn.normal(size=(180, 64)) * spread
    rows = np.concatenate([rows, drawn.normal(size=(60, 64))])
    rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    ours = clusters.find_clusters(find_nearest(rows, 10, clusters.MIN_NEIGHBOUR_COSINE))
    distances = np.clip(1 - rows @ rows.T, 0, 2).astype(np.float64)
    theirs = HDBSCAN(min_cluster_size=5, min_samples=4, metric="precomputed", copy=True)
    labels = theirs.fit(distances).labels_
    assert adjusted_rand_score(ours, labels) > 0.9


@pytest.mark.proves("B26", "B114", "B126")
def test_names_stay_as_long_as_most_members_stay():
    """A cluster is found again under its name, a new one gets words that its members share."""
    before = {"cluster:me:deploy": frozenset("abcd"), "cluster:me:old": frozenset("wxyz")}
    groups = {0: frozenset("abce"), 1: frozenset("mnop")}
    counts = {1: Counter(heron=4, secret=1, the=4)}
    named = clusters.name_clusters(
        "me", groups, before, counts, Counter(heron=4, secret=1, the=400), {}
    )
    assert {"cluster:me:deploy": groups[0], "cluster:me:heron": groups[1]} == named
    assert not any("secret" in name for name in named)


@pytest.mark.parametrize(
    ("counts", "name"),
    [
        ({"deploy": 5, "deploys": 3, "heron": 9, "tuesday": 2}, "heron-deploy"),
        ({"alpha": 2, "beta": 3, "gamma": 4}, "unnamed"),
        ({"common": 10}, "unnamed"),
        ({}, "unnamed"),
    ],
)
def test_a_name_is_what_half_of_the_members_say_and_few_others(counts, name):
    """At most two words, each in one form; else none: a name that few members bear out misleads."""
    everywhere = Counter({word: n + 2 for word, n in counts.items()} | {"common": 400})
    assert clusters.choose_distinctive_words(Counter(counts), 10, everywhere) == name


@pytest.mark.parametrize(
    ("name", "stands"),
    [
        ("release process", "release-process"),
        ("heron logins", "heron-logins"),
        ("secret logins", ""),
        ("port 8443", ""),
        ("", ""),
        (None, ""),
        ("; rm -rf /", "rm-rf"),
    ],
)
@pytest.mark.proves("B25")
def test_a_name_from_elsewhere_tells_no_secret(name, stands):
    """A given name may hold words of its own, never one that a single member says, nor a number."""
    assert stands == clusters.sanitize_cluster_name(name, Counter(heron=4, secret=1, the=4))


@pytest.mark.proves("B25", "B26")
def test_only_new_clusters_are_named():
    """A cluster that has a name keeps it; new ones take the name that a caller gives."""
    before, groups = (
        {"cluster:me:deploy": frozenset("abcd")},
        {0: frozenset("abce"), 1: frozenset("mnop")},
    )
    given = {0: "never", 1: "logins"}
    assert {
        "cluster:me:deploy": groups[0],
        "cluster:me:logins": groups[1],
    } == clusters.name_clusters("me", groups, before, {1: Counter()}, Counter(), given)


@pytest.mark.proves("B77", "B126")
def test_small_clusters_join_the_nearest_or_are_given_up():
    """A cluster that became too small goes where it is close to."""
    big, far, near_ = frozenset("abcdef"), frozenset("xy"), frozenset("mn")
    middle = {
        "big": np.array([1, 0], np.float32),
        "far": np.array([0, 1], np.float32),
        "near": np.array([0.9, 0.1], np.float32),
    }
    assert {"big": big | near_} == clusters.merge_small_clusters(
        {"big": big, "far": far, "near": near_}, middle
    )


@pytest.mark.proves("B8")
def test_a_centre_is_the_mean_of_its_members():
    """It is worked out from the members there are, so that it is never stale."""
    vectors = np.eye(4, dtype=np.float32)
    two, three = (
        clusters.compute_centres({"c": np.arange(n), "none": np.arange(0)}, vectors) for n in (2, 3)
    )
    assert {"c"} == set(two) == set(three)
    assert np.allclose(two["c"], [0.5**0.5, 0.5**0.5, 0, 0]) and np.allclose(
        three["c"][:3], 3**-0.5
    )


# The table


@pytest.mark.proves("CC-14", "B134")
def test_a_step_reads_as_a_diff():
    """− what goes, = what stands for it, ~ what is altered."""
    one, other = make_memory(HERON), make_memory(AGAIN)
    step = pair_passes.merge_duplicates(view(one, other))[0]
    lines = render_step_diff(step, {m.id: m.text for m in (one, other)})
    assert any(line.startswith(f"− {AGAIN}") for line in lines)
    assert any(line.startswith(f"= {HERON}") for line in lines)


@pytest.mark.proves("B135")
def test_no_pass_alters_a_text():
    """What a text says is nobody's to alter while its owner sleeps: vectors stay valid, undo is
    exact.
    """
    one, other = make_memory(HERON), make_memory(AGAIN)
    for row in PASSES.values():
        if row.decide is not None:
            for step in row.decide(view(one, other, old())):
                assert not any(isinstance(c, Revise) and "text" in c.fields for c in step.changes)
    assert "tags" not in SAFE_PASSES


# Episodes


def happened(mind, count, *, session="s1", **fields):
    return [
        mind.remember(
            f"Run {n} of the nightly export to bucket-{n} failed with code {n + 100}.",
            space=SPACE,
            kind="event",
            session=session,
            provenance=fields.get("provenance", "observed"),
        )
        for n in range(count)
    ]


@pytest.mark.proves("E59")
def test_old_episodes_of_a_session_become_one_that_says_all_of_them(clock):
    """After a month without use; it is found by any of them, and undone to the byte."""
    with memory(now=clock) as mind:
        happened(mind, 4)
        mind.settle()
        clock.tick(days=20)
        assert mind.sleep(["episodes"]).steps == 0
        clock.tick(days=15)
        before = [json.dumps(row, sort_keys=True) for row in mind.data.export(log=False)]
        slept = mind.sleep(["episodes"])
        (whole,) = mind.browse(space=SPACE)
        assert all(f"bucket-{n} failed with code {n + 100}" in whole.text for n in range(4))
        assert mind.recall("which run went to bucket-2", space=SPACE)[0].memory.id == whole.id
        assert mind.sleep(["episodes"]).steps == 0
        mind.undo(slept.run)
        after = [json.dumps(row, sort_keys=True) for row in mind.data.export(log=False)]
        # What the run made stays, retired: nothing is erased.
        assert before == [row for row in after if whole.id not in row]
        assert not mind.get(whole.id)[0].active


@pytest.mark.proves("E59")
def test_what_somebody_said_few_and_other_sessions_episodes_stay_as_they_are(clock):
    with memory(now=clock) as mind:
        happened(mind, 4, provenance="user_stated")
        happened(mind, 2, session="s2")
        happened(mind, 2, session="s3")
        clock.tick(days=40)
        assert mind.sleep(["episodes"]).steps == 0


@pytest.mark.proves("E59")
def test_many_episodes_become_several_texts_of_a_bounded_length(clock):
    with memory(now=clock) as mind:
        happened(mind, 60)
        clock.tick(days=40)
        assert mind.sleep(["episodes"]).steps == 3
        texts = [one.text for one in mind.browse(space=SPACE, limit=100)]
        assert all(f"bucket-{n} " in "\n".join(texts) for n in range(60))
        assert max(map(len, texts)) <= 1_600
