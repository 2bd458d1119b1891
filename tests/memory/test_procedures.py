"""Know-how: what never to do, offered before it is done; procedures and how they went."""

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import Event
from reverie.memory.procedure import read_practice_record
from reverie.retrieval.rescoring import compute_prior
from reverie.testing import SPACE


@pytest.mark.proves("B60", "B61", "B62")
def test_a_negative_memory_comes_before_the_tool_runs(mind):
    """Exactly when it is about to be done, and not otherwise."""
    mind.remember("Fixtures live in tests/data", space=SPACE, triggers=["git push"])
    never = mind.remember(
        "Never force-push to main",
        space=SPACE,
        kind="negative",
        triggers=["tool:Bash(git push*--force*)"],
    )
    found = mind.warnings("Bash", {"command": "git push --force origin main"}, space=SPACE)
    assert [never.id] == [hit.memory.id for hit in found][:1]
    assert 2 == len(found)
    assert ("trigger 'tool:Bash(git push*--force*)'",) == found[0].why
    assert [] == mind.warnings("Bash", {"command": "git status"}, space=SPACE)
    assert [] == mind.warnings("Read", {"file_path": "a.py"}, space=SPACE)


@pytest.mark.proves("CC-11")
def test_warnings_are_of_this_project_and_still_count(mind, clock):
    """Another project's rules are its own; what was forgotten or has expired does not warn."""
    elsewhere = mind.remember(
        "Never touch prod", space="me/other", kind="negative", triggers=["prod"]
    )
    gone = mind.remember("Never touch prod.db", space=SPACE, kind="negative", triggers=["prod"])
    short = mind.remember(
        "Freeze: no prod deploys", space=SPACE, triggers=["prod"], expires_at=clock() + 60
    )
    mine = mind.remember(
        "Never drop tables in prod", space="me", kind="negative", triggers=["prod"]
    )
    mind.forget(gone.id)
    clock.tick(minutes=5)
    found = {hit.memory.id for hit in mind.warnings("Bash", "psql prod", space=SPACE)}
    assert found == {mine.id}
    assert found.isdisjoint({elsewhere.id, short.id})


@pytest.mark.proves("B62")
def test_a_negative_memory_surfaces_in_the_conversation_too(mind):
    """Near the words, whatever else is asked."""
    never = mind.remember(
        "Never use println! here, use tracing", space=SPACE, kind="negative", triggers=["println!"]
    )
    hits = mind.recall("I add a println!(x) here", space=SPACE)
    assert never.id == hits[0].memory.id
    assert "trigger 'println!'" in hits[0].why


@pytest.mark.proves("X45", "CC-13")
def test_use_does_not_restore_a_memory(mind):
    """A use, an outcome or a verdict that comes after a decision changes nothing of it."""
    gone, old, new = (mind.procedures.teach(f"Deploy {n}", ["go"], space=SPACE) for n in range(3))
    mind.forget(gone.id)
    mind.supersede(old.id, new.id)
    for one in (gone, old):
        mind.feedback(one.id, True)
        mind.procedures.outcome(one.id, worked=True)
    ids = [gone.id, old.id]
    mind.store.append([Event("prepared", SPACE, 0.0, payload={"ids": ids, "verified": ids})])
    mind.settle()

    first, second = mind.get(ids)
    assert (first.active, first.retired_why, first.details["worked"]) == (False, "forgotten", 1)
    assert (second.active, second.superseded_by) == (False, new.id)


@pytest.mark.proves("B63", "B64", "B65")
def test_a_procedure_is_found_by_any_of_its_steps(mind):
    """Name, trigger, ordered steps, prerequisites, warnings."""
    kept = mind.procedures.teach(
        "Release a version",
        ["bump the number", "tag it.", "push the tag"],
        triggers=["release"],
        prerequisites=["a clean tree"],
        warnings=["never from a branch"],
        space=SPACE,
    )
    assert ("procedure", "Release a version") == (kept.kind, kept.title)
    assert (
        "Release a version: First: a clean tree. 1. bump the number. 2. tag it. 3. push the tag. "
        "Careful: never from a branch."
    ) == kept.text
    assert ["bump the number", "tag it.", "push the tag"] == kept.details["steps"]
    assert kept.id == mind.recall("how do I push the tag?", space=SPACE, mode="words")[0].memory.id


def test_a_procedure_without_steps_is_none(mind):
    with pytest.raises(BadInput, match="at least one step"):
        mind.procedures.teach("Nothing", [], space=SPACE)
    with pytest.raises(BadInput, match="list of texts"):
        mind.procedures.teach("A", "abc", space=SPACE)


@pytest.mark.proves("CC-66")
def test_a_procedure_is_ranked_by_how_it_went(mind, clock):
    """0.5 → 0.55 → 0.595, and 0.5 → 0.45; what lately worked is recommended."""
    kept = mind.procedures.teach("Deploy", ["push"], space=SPACE)
    before = compute_prior(kept, clock())
    assert [0.55, 0.595] == [
        pytest.approx(read_practice_record(mind.procedures.outcome(kept.id, True)).rate)
        for _ in range(2)
    ]
    assert compute_prior(mind.get(kept.id)[0], clock()) > before
    other = mind.procedures.teach("Other", ["push"], space=SPACE)
    record = read_practice_record(mind.procedures.outcome(other.id, False))
    assert (0, 1) == record[:2]
    assert [0.45, 1 / 3] == pytest.approx([record.rate, record.chance])
    mind.undo(mind.history(other.id)[-1].event.seq)
    assert (0, 0, 0.5) == read_practice_record(mind.get(other.id)[0])


def test_only_a_procedure_has_outcomes(mind):
    fact = mind.remember("A fact", space=SPACE)
    with pytest.raises(BadInput, match="outcomes belong"):
        mind.procedures.outcome(fact.id, True)


@pytest.mark.proves("CC-52")
def test_a_judges_verdict_weighs_less_than_a_users(mind):
    """+0.05 / −0.10 from who used it, +0.02 / −0.01 from who looked at it."""

    def moved(helpful, by):
        memory = mind.remember(f"A fact {helpful} {by}", space=SPACE)
        return round(mind.feedback(memory.id, helpful, by=by).confidence - memory.confidence, 3)

    assert [0.05, -0.10] == [moved(True, "host"), moved(False, "host")]
    assert [0.02, -0.01] == [moved(True, "judge"), moved(False, "judge")]
    with pytest.raises(BadInput, match="nobody who judges"):
        moved(True, "crowd")


@pytest.mark.proves("B61")
def test_a_prohibition_takes_its_trigger_from_its_words(mind):
    """Told without a trigger, it takes one from its words, says that it did, and follows when they
    change.
    """
    never = mind.remember("Never force-push to main.", space=SPACE, kind="negative")
    found = mind.warnings("Bash", "git push --force origin main", space=SPACE)
    assert [never.id] == [hit.memory.id for hit in found]
    assert never.details["derived_triggers"] is True
    revised = mind.revise(never.id, text="Never use println! here")
    assert (("println!",), True) == (revised.triggers, revised.details["derived_triggers"])
    assert ("println!",) == mind.revise(never.id, details={"why": "tracing"}).triggers
    bare = mind.revise(never.id, text="Never be careless")
    assert ((), {"why": "tracing"}) == (bare.triggers, bare.details)


def test_triggers_that_were_given_stay(mind):
    """What a person chose is neither added to nor replaced; other kinds take nothing."""
    given = mind.remember(
        "Never use println! here", space=SPACE, kind="negative", triggers=["dbg!"]
    )
    assert ("dbg!",) == mind.revise(given.id, text="Never use eprintln! here").triggers
    own = mind.remember("Never use moment here", space=SPACE, kind="negative")
    chosen = mind.revise(own.id, triggers=["luxon"])
    assert (("luxon",), {}) == (chosen.triggers, chosen.details)
    assert ("luxon",) == mind.revise(own.id, text="Never use axios").triggers
    assert () == mind.remember("Never use moment here", space=SPACE, kind="note").triggers
    many = mind.remember_many([{"text": "Never use moment in js", "kind": "negative"}], space=SPACE)
    assert ("moment",) == many[0].triggers
    turned = mind.revise(mind.remember("Never use axios", space=SPACE).id, kind="negative")
    assert ("axios",) == turned.triggers


def test_matching_patterns_before_a_tool_is_bounded(mind, monkeypatch):
    """What must never be done is tried first; what was not tried is said."""
    never = mind.remember("Never drop prod", space=SPACE, kind="negative", triggers=["re:prod"])
    mind.remember("Prod is in Paris", space=SPACE, triggers=["re:prod"])
    monkeypatch.setattr("reverie.retrieval.TOOL_WARNING_SECONDS", 0.1)
    clock = iter(range(1_000))
    monkeypatch.setattr("reverie.retrieval.trigger_search.ticks", lambda: next(clock))
    monkeypatch.setattr("reverie.retrieval.ticks", lambda: 2 - 0.1)
    found = mind.warnings("Bash", "psql prod", space=SPACE)
    assert [never.id] == [hit.memory.id for hit in found]
    assert 1 == found.untried


@pytest.mark.proves("B71", "CC-52")
def test_a_warning_that_was_rejected_says_so_and_falls_silent(mind):
    """Its confidence stands beside it, and below a fifth it does not warn."""
    never = mind.remember(
        "Never drop prod", space=SPACE, kind="negative", triggers=["prod"], provenance="user_stated"
    )
    mind.feedback(never.id, False)
    assert [("trigger 'prod'", "believed at 85%")] == [
        hit.why for hit in mind.warnings("Bash", "prod", space=SPACE)
    ]
    for _ in range(9):
        mind.feedback(never.id, False)
    assert [] == mind.warnings("Bash", "prod", space=SPACE)
