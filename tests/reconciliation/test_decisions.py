"""What follows from comparing two memories, as pure functions from values to changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.core.model import (
    TRUST_BY_PROVENANCE,
    Link,
    Memory,
    Reinforcement,
    Retire,
    Revise,
    with_fields,
)
from reverie.memory.memory_changes import unmerge_memory
from reverie.reconciliation import merge_rules
from reverie.reconciliation.merge_rules import (
    Neighbour,
    absorb_memory,
    can_merge,
    diff_memory,
    is_reconcilable,
    is_worth_review,
    pick_believed,
    resolve_merged,
)
from reverie.reconciliation.paraphrase.statement_comparison import Verdict
from reverie.reconciliation.reconciliation_plan import ReconciliationPlan
from reverie.testing import NOON, SPACE, make_memory

SAME, CONTRARY, UPDATE, CLOSE = (
    Verdict(relation, 0.95, "") for relation in ("same", "contradicts", "updates", "near")
)


def made(changes, *memories):
    """The memories as the changes leave them."""
    left = {memory.id: memory for memory in memories}
    for change in changes:
        if isinstance(change, Revise):
            left[change.id] = with_fields(left[change.id], change.fields)
        elif isinstance(change, Retire):
            left[change.id] = left[change.id]._replace(
                retired_at=change.at, retired_why=change.why, superseded_by=change.superseded_by
            )
    return [left[memory.id] for memory in memories]


def edges(changes):
    return {(c.edge.src, c.edge.rel, c.edge.dst) for c in changes if isinstance(c, Link)}


def met(monkeypatch, verdict, *memories, settled=frozenset(), wordings=None):
    """The ledger after the last memory was held against all others, when `compare` finds this."""
    said = verdict if callable(verdict) else lambda *_a, **_k: verdict
    monkeypatch.setattr(merge_rules, "compare_memories", said)
    ledger = ReconciliationPlan(memories, wordings or {}, settled, NOON)
    ledger.place_memory(memories[-1].id, [Neighbour(memory.id, 0.9) for memory in memories[:-1]])
    return ledger


def pair(**new):
    """An old memory and a new one."""
    return make_memory("tabs", at=NOON - 10), make_memory("spaces", **new)


# Merging


@pytest.mark.proves("CC-54", "A78", "A79", "A80", "A81", "B69")
def test_a_duplicate_strengthens_the_older_memory(monkeypatch):
    """Strength, breadcrumb, sources, the better trust, all tags; the new wording points to it."""
    old = make_memory("Use tabs.", tags=["a"], provenance="inferred", session="s1", files=["x.py"])
    new = make_memory(
        "Tabs, please.", tags=["b"], provenance="user_stated", session="s2", messages=(7, 8)
    )
    ledger = met(monkeypatch, SAME, old, new)
    kept, gone = made(ledger.list_changes(), old, new)

    assert (kept.strength, kept.sources, kept.tags, kept.files) == (
        2,
        ("s1", "s2"),
        ("a", "b"),
        ("x.py",),
    )
    assert (kept.trust, kept.provenance, kept.text) == (0.95, "user_stated", "Use tabs.")
    assert kept.confidence == 1.0 and kept.reinforcements[0].message == 7
    assert (gone.retired_why, gone.superseded_by, gone.text) == ("merged", old.id, "Tabs, please.")
    assert edges(ledger.list_changes()) == {(old.id, "derived_from", new.id)}


def test_a_merged_one_leads_to_the_one_that_counts(monkeypatch):
    """What resembles a wording that was merged meets the memory that it was merged into."""
    end = make_memory("c")
    middle = make_memory("b")._replace(retired_at=NOON, retired_why="merged", superseded_by=end.id)
    first = make_memory("a")._replace(
        retired_at=NOON, retired_why="merged", superseded_by=middle.id
    )
    new = make_memory("d")
    ledger = met(monkeypatch, SAME, first, middle, end, new)
    assert made(ledger.list_changes(), end, new)[0].strength == 2
    assert ledger.after[new.id].superseded_by == end.id


def test_circular_merges_end():
    """Memories that name each other as successor have no heir, and the search ends."""
    one, other = make_memory("a"), make_memory("b")
    one = one._replace(retired_at=NOON, retired_why="merged", superseded_by=other.id)
    other = other._replace(retired_at=NOON, retired_why="merged", superseded_by=one.id)
    assert resolve_merged({one.id: one, other.id: other}, one.id) is None


def test_what_was_forgotten_is_not_brought_back_by_a_repetition(monkeypatch):
    """Who says again what was forgotten keeps something new; the forgotten one stays forgotten."""
    old = make_memory("a")._replace(retired_at=NOON, retired_why="forgotten")
    assert met(monkeypatch, SAME, old, make_memory("a")).list_changes() == []


def test_a_new_wording_may_join_two(monkeypatch):
    """Two that were kept apart become one when a third says the same as both."""
    one, two, new = make_memory("a"), make_memory("b"), make_memory("ab")
    kept, other, third = made(met(monkeypatch, SAME, one, two, new).list_changes(), one, two, new)
    assert (kept.strength, other.superseded_by, third.superseded_by) == (3, one.id, one.id)


@pytest.mark.proves("CC-55", "X15")
def test_the_global_request_survives_a_duplicate_in_a_project(monkeypatch):
    """A new wish of the user's own never vanishes into a project's memory."""
    project, own = make_memory("Use tabs.", space="me/demo"), make_memory("Use tabs.", space="me")
    assert met(monkeypatch, SAME, project, own).list_changes() == []


@pytest.mark.proves("X15", "CC-11")
def test_a_project_strengthens_the_global_memory_and_tells_it_nothing(monkeypatch):
    """Repeating the user's own in a project counts for it; nobody elsewhere learns which session
    did.
    """
    own = make_memory("Use tabs.", space="me", tags=["style"], session="s1")
    project = make_memory("Tabs.", space="me/demo", session="rocket", messages=(3, 4))
    project = project._replace(
        reinforcements=(Reinforcement(session="rocket-2", at=NOON),), strength=2
    )
    kept, gone = made(met(monkeypatch, SAME, own, project).list_changes(), own, project)
    assert (kept.strength, kept.tags, kept.sources, gone.superseded_by) == (
        3,
        ("style",),
        ("s1",),
        own.id,
    )
    assert [(crumb.session, crumb.message) for crumb in kept.reinforcements] == [
        ("", None),
        ("", None),
    ]
    (apart,) = made(unmerge_memory(kept, gone, NOON), kept)
    assert (apart.strength, apart.reinforcements) == (1, ())


@pytest.mark.parametrize(
    "more",
    [
        {"triggers": ["println!"]},
        {"files": ["demo.py"]},
        {"tags": ["secret-plan"]},
        {"expires_at": NOON + 9},
    ],
)
@pytest.mark.proves("CC-55", "X15")
def test_what_only_a_project_has_stays_there(monkeypatch, more):
    """A project's memory with patterns, files, tags or an end of its own stands beside the user's
    own.
    """
    own, project = (
        make_memory("Use tabs.", space="me"),
        make_memory("Use tabs.", space="me/demo", **more),
    )
    assert met(monkeypatch, SAME, own, project).list_changes() == []
    same = own._replace(**{name: getattr(project, name) for name in more})
    assert can_merge(same, project) and can_merge(own._replace(space="me/demo"), project)


def test_a_project_keeps_what_is_believed_more_there(monkeypatch):
    """What the user said in a project is not hidden behind something that was only concluded
    elsewhere.
    """
    own, project = (
        make_memory("Use tabs.", space="me", provenance="inferred"),
        make_memory("Tabs.", space="me/demo"),
    )
    assert met(monkeypatch, SAME, own, project).list_changes() == []


def test_a_project_may_differ_from_the_users_own(monkeypatch):
    """What holds in one project neither replaces nor contradicts what holds in general."""
    own, project = make_memory("Use tabs.", space="me"), make_memory("Use spaces.", space="me/demo")
    assert met(monkeypatch, UPDATE, own, project).list_changes() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"session": "s", "speaker": "Ann"},
        {"kind": "observation", "session": "s"},
        {"kind": "event"},
        {"kind": "intention"},
        {"kind": "feeling"},
        {"kind": "scratch"},
        {"expires_at": NOON - 1},
        {"valid_from": NOON + 1},
        {"valid_to": NOON - 1},
    ],
)
def test_some_memories_are_not_compared(fields):
    """Conversation turns, events, reminders, feelings and what is not valid now are never
    duplicates.
    """
    assert not is_reconcilable(make_memory("Thanks!", **fields), NOON)
    assert is_reconcilable(make_memory("Thanks!"), NOON)


def test_extracted_lessons_are_compared():
    """A lesson out of a conversation has a session and a speaker too, and takes part."""
    assert is_reconcilable(
        make_memory("x", session="s", speaker="user", provenance="user_stated"), NOON
    )


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ({}, {"kind": "preference"}, True),
        ({}, {"kind": "negative"}, False),
        ({}, {"kind": "recipe"}, False),
        ({"kind": "recipe"}, {"kind": "recipe"}, True),
        ({}, {"valid_to": NOON + 9}, False),
        (
            {"kind": "procedure", "details": {"steps": ["a"]}},
            {"kind": "procedure", "details": {"steps": ["b"]}},
            False,
        ),
        (
            {"kind": "procedure", "details": {"steps": ["a"]}},
            {"kind": "procedure", "details": {"steps": ["a"]}},
            True,
        ),
        (
            {"kind": "procedure", "details": {"steps": ["a"], "worked": 2, "rate": 0.6}},
            {"kind": "procedure", "details": {"steps": ["a"], "warnings": []}},
            True,
        ),
        (
            {"kind": "negative", "details": {"rule": "never", "about": "x"}},
            {"kind": "negative", "details": {"rule": "extract", "model": "m", "reason": "y"}},
            True,
        ),
    ],
)
@pytest.mark.proves("CC-55")
def test_which_kinds_may_merge(one, other, may):
    """Kinds of lasting knowledge may meet; others only their like, with the same steps and the same
    time.
    """
    assert can_merge(make_memory("x", **one), make_memory("x", **other)) is may


def test_the_longer_lived_kind_stays():
    """An observation that turns out to be a correction is one from then on, and what has no end
    does not get one.
    """
    kept = absorb_memory(
        make_memory("x", kind="observation", expires_at=NOON + 5),
        make_memory("x", kind="correction"),
        NOON,
    )
    assert (kept.kind, kept.expires_at) == ("correction", None)


def test_of_documents_only_the_same_words_are_the_same():
    """A page is no statement that could be weighed: it is repeated, it resembles, or it is another
    one.
    """
    page = "the port is 8080 and " * 50
    old = make_memory(page)
    assert merge_rules.judge_pair(old, make_memory(page.upper()), 0.99, ()).relation == "same"
    assert merge_rules.judge_pair(old, make_memory(page + " 9090"), 0.99, ()).relation == "near"
    assert (
        merge_rules.judge_pair(old, make_memory(page.replace("8080", "9090")), 0.94, ()).relation
        == "apart"
    )


# Contradicting


@pytest.mark.parametrize(
    ("verdict", "old", "new", "outcome"),
    [
        (UPDATE, "user_stated", "user_stated", "new"),  # of equals the newer
        (UPDATE, "observed", "user_stated", "new"),  # the better source
        (UPDATE, "user_stated", "inferred", "flagged"),  # a weaker one replaces nothing
        (
            UPDATE,
            "user_corrected",
            "user_stated",
            "flagged",
        ),  # nothing but a correction beats a correction
        (UPDATE, "user_corrected", "user_corrected", "new"),
        (
            CONTRARY,
            "user_stated",
            "user_stated",
            "flagged",
        ),  # nobody said that it replaces anything
        (CONTRARY, "user_stated", "user_corrected", "new"),
        (Verdict("contradicts", 0.6, ""), "user_stated", "user_corrected", "flagged"),
        (Verdict("updates", 0.4, ""), "user_stated", "user_stated", "flagged"),
    ],
)
@pytest.mark.proves("A82", "A83", "A84", "A85", "A86", "B31", "B105", "CC-6", "CC-57")
def test_who_wins_a_contradiction(monkeypatch, verdict, old, new, outcome):
    """Corrections win, then trust, then recency; else both stay and are flagged."""
    before, after = pair(provenance=new)
    before = before._replace(provenance=old, trust=TRUST_BY_PROVENANCE[old])
    ledger = met(monkeypatch, verdict, before, after)
    one, other = made(ledger.list_changes(), before, after)
    if outcome == "new":
        assert (one.retired_why, one.superseded_by, other.active) == ("superseded", after.id, True)
        assert edges(ledger.list_changes()) == {(after.id, "supersedes", before.id)}
    else:
        assert one.active and other.active
        assert (one.conflicts_with, other.conflicts_with) == ((other.id,), (one.id,))
        assert edges(ledger.list_changes()) == {
            (one.id, "contradicts", other.id),
            (other.id, "contradicts", one.id),
        }


@pytest.mark.proves("A85")
def test_a_statement_of_an_earlier_time_does_not_supersede(monkeypatch):
    """What was said earlier but is written down later is the one that steps back."""
    before, after = make_memory("Port 1 now.", at=NOON), make_memory("Port 2 now.", at=NOON - 99)
    one, other = made(met(monkeypatch, UPDATE, before, after).list_changes(), before, after)
    assert one.active and other.superseded_by == before.id


@pytest.mark.parametrize(
    "fields", [{"kind": "negative"}, {"expires_at": NOON + 99}, {"kind": "skill"}]
)
def test_which_memories_supersede_nothing(monkeypatch, fields):
    """A rule is not weighed against a fact, and what expires soon supersedes nothing."""
    before, after = pair(**fields)
    assert made(met(monkeypatch, UPDATE, before, after).list_changes(), before, after)[0].active


def test_a_correction_puts_one_thing_right(monkeypatch):
    """Of several that a correction may contradict the surest steps back, the others are flagged."""
    one, two, new = (
        make_memory("a"),
        make_memory("b"),
        make_memory("c", provenance="user_corrected"),
    )
    sure = {one.id: 0.8, two.id: 0.9}
    ledger = met(
        monkeypatch, lambda old, *_a, **_k: Verdict("contradicts", sure[old.id], ""), one, two, new
    )
    first, second, _ = made(ledger.list_changes(), one, two, new)
    assert first.active and first.conflicts_with == (new.id,) and second.superseded_by == new.id


@pytest.mark.proves("CC-87")
def test_contradictions_of_one_memory_are_limited(monkeypatch):
    """Whoever contradicts many is flagged with a few of them: a queue that nobody can read helps
    nobody.
    """
    many = [make_memory(f"attempt {n}") for n in range(9)]
    new = make_memory("attempt 9")
    assert len(met(monkeypatch, CONTRARY, *many, new).after[new.id].conflicts_with) == 3


def test_a_repetition_supports_one_side(monkeypatch):
    """A correction that says again what is known settles the contradiction that it had."""
    tabs, spaces, new = (
        make_memory("tabs"),
        make_memory("spaces"),
        make_memory("No, tabs!", provenance="user_corrected"),
    )
    ledger = met(
        monkeypatch,
        lambda old, *_a, **_k: SAME if old.id == tabs.id else CONTRARY,
        tabs,
        spaces,
        new,
    )
    kept, loser, gone = made(ledger.list_changes(), tabs, spaces, new)
    assert (kept.provenance, loser.superseded_by, gone.superseded_by) == (
        "user_corrected",
        tabs.id,
        tabs.id,
    )


# Reporting, and leaving alone


@pytest.mark.proves("X42", "CC-86")
def test_a_near_duplicate_is_tied_to_its_nearest(monkeypatch):
    """Both stay; the nearest is named once, with how near it is."""
    one, two, new = (
        make_memory(f"Deploys wait for the {who} review.") for who in ("first", "second", "last")
    )
    ledger = met(monkeypatch, CLOSE, one, two, new)
    assert [c.edge for c in ledger.list_changes() if isinstance(c, Link)] == [
        (new.id, "resembles", one.id, 0.9)
    ]
    assert all(memory.active for memory in ledger.after.values())


PLAN = "Deploys wait for the release review."


@pytest.mark.parametrize(
    ("one", "other", "cosine", "worth"),
    [
        ({}, {}, 0.80, True),
        ({}, {}, 0.1, True),
        ({}, {}, None, True),
        ({"text": "Deploys wait for nobody."}, {}, 0.79, False),
        ({"text": "Deploys wait for nobody."}, {}, 0.80, True),
        ({"text": "The heron is a bird."}, {}, 0.95, False),
        ({"kind": "procedure"}, {"kind": "negative"}, 0.95, False),
        ({"kind": "negative"}, {"kind": "negative"}, 0.95, True),
        ({"kind": "procedure"}, {}, 0.95, False),
        ({"kind": "preference"}, {}, 0.95, True),
    ],
)
@pytest.mark.proves("X42", "CC-87")
def test_near_duplicates_that_are_asked_about(one, other, cosine, worth):
    """Near-duplicates are close in meaning or in words, share what they are about, and are of one
    type.
    """
    old, new = (make_memory(**{"text": PLAN, **fields}) for fields in (one, other))
    assert is_worth_review(old, new, cosine) is worth


@pytest.mark.parametrize("verdict", [CONTRARY, CLOSE])
@pytest.mark.proves("CC-87")
def test_open_questions_about_one_memory_are_limited(monkeypatch, verdict):
    """Of one that three open questions name only the first about what is new is asked, rather of
    another.
    """
    monkeypatch.setattr(merge_rules, "compare_memories", lambda *_a, **_k: verdict)
    busy, busier, free, new = [make_memory(f"{PLAN} {n}") for n in range(4)]
    for others, asked in (((busy, busier), {busy.id}), ((busy, busier, free), {free.id})):
        ledger = ReconciliationPlan(
            [*others, new], {}, frozenset(), NOON, {busy.id: 3, busier.id: 7}
        )
        ledger.place_memory(new.id, [Neighbour(old.id, 0.9) for old in others])
        assert {id for edge in edges(ledger.list_changes()) for id in edge[::2]} == {new.id, *asked}


@pytest.mark.parametrize("verdict", [SAME, CONTRARY, UPDATE, CLOSE])
@pytest.mark.proves("X22")
def test_what_somebody_has_decided_is_left_alone(monkeypatch, verdict):
    """A pair that was reviewed, or that somebody took apart again, is not decided again."""
    one, other = pair()
    assert (
        met(
            monkeypatch, verdict, one, other, settled=frozenset({frozenset((one.id, other.id))})
        ).list_changes()
        == []
    )


@pytest.mark.parametrize("verdict", [SAME, CONTRARY, UPDATE])
def test_doing_it_again_changes_nothing(monkeypatch, verdict):
    """Deciding about a decided pair again changes nothing."""
    one, other = pair()
    one, other = made(met(monkeypatch, verdict, one, other).list_changes(), one, other)
    assert met(monkeypatch, verdict, one, other).list_changes() == []


provenances = st.sampled_from(sorted(TRUST_BY_PROVENANCE))
ours = st.sampled_from(sorted(set(TRUST_BY_PROVENANCE) - {"untrusted"}))


@given(provenances, provenances, st.integers(-9, 9))
def test_at_most_one_is_believed_more(old, new, later):
    """The weaker never wins, and somebody always wins among equals."""
    one, other = make_memory("a", provenance=old), make_memory("b", provenance=new, at=NOON + later)
    winner = pick_believed(one, other, other.at)
    if winner is None:
        assert (new != "user_corrected" and old == "user_corrected") or TRUST_BY_PROVENANCE[
            new
        ] < TRUST_BY_PROVENANCE[old]
    elif old != new:
        assert winner is other
    else:
        assert winner is (other if later >= 0 else one)


@given(ours, ours, st.integers(1, 9), st.integers(1, 9), st.lists(st.sampled_from("abc")))
def test_a_merge_loses_nothing(old, new, strong, weak, tags):
    """Strength adds up; trust, confidence, tags and sources never fall."""
    one = make_memory("a", provenance=old, session="s1", tags=tags)._replace(strength=strong)
    other = make_memory("b", provenance=new, session="s2", tags=["z"])._replace(strength=weak)
    kept = absorb_memory(one, other, NOON)
    assert kept.strength == strong + weak and kept.sources == ("s1", "s2")
    assert kept.trust == max(one.trust, other.trust) and kept.confidence >= max(
        one.confidence, other.confidence
    )
    assert {*one.tags, *other.tags} == set(kept.tags) and kept.text == one.text


def test_no_change_without_a_difference():
    """Equal values are no change."""
    memory = make_memory("a")
    assert (
        diff_memory(memory, memory) == [] and isinstance(memory, Memory) and memory.space == SPACE
    )
