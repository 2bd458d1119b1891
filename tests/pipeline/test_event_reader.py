"""Readers of the event log: no event is lost when the rows behind a decision change concurrently."""

from reverie.core.errors import ModelAway
from reverie.core.model import Event, Revise
from reverie.pipeline.event_reader import MAX_ATTEMPTS, EventReader, ReaderDecision, run_reader
from reverie.testing import NOON

SPACE = "me/demo"


def add_tag(memory, tag):
    return Revise(memory.id, {"tags": (*memory.tags, tag)})


def tagging_reader(mind, memory, lost_races):
    """A reader of turns that tags a memory, which somebody else alters under its first decisions."""
    left = list(range(lost_races))

    def decide(work, _event):
        found = work.store.get([memory.id])
        if left:
            other = Event("revise", SPACE, NOON, payload={"id": memory.id})
            work.store.apply([add_tag(found[0], f"other{left.pop()}")], other)
        return ReaderDecision([add_tag(found[0], "read")], rests_on=found)

    return EventReader(name="tagging", verbs=("turn",), verb="tag", decide=decide)


def append_turn(mind):
    return mind.store.append([Event("turn", SPACE, NOON, "s1", {"messages": [], "first": 0})])


def test_a_decision_that_lost_a_race_is_made_again(mind):
    """A decision whose rows changed meanwhile is made again from the present rows."""
    memory = mind.remember("The staging server is called heron.", space=SPACE)
    append_turn(mind)

    report = run_reader(mind.work, tagging_reader(mind, memory, MAX_ATTEMPTS - 1))

    assert (1, 0) == (report.events, report.failed)
    assert "read" in mind.store.get([memory.id])[0].tags
    assert [] == mind.store.events(verbs=("failed",))


def test_an_event_that_lost_every_race_is_recorded_as_failed(mind, monkeypatch):
    """An event whose every try lost a race is recorded as failed, and sleep tries it again."""
    memory = mind.remember("The staging server is called heron.", space=SPACE)
    append_turn(mind)
    turn = mind.store.events(verbs=("turn",))[0]
    reader = tagging_reader(mind, memory, MAX_ATTEMPTS)

    report = run_reader(mind.work, reader)

    (failed,) = mind.store.events(verbs=("failed",))
    assert (1, 1) == (report.events, report.failed)
    assert (turn.seq, "tagging") == (failed.payload["event"], failed.payload["reader"])
    assert turn.seq == mind.store.cursor("tagging")
    assert "read" not in mind.store.get([memory.id])[0].tags

    monkeypatch.setattr("reverie.runtime.settle.READERS", (reader,))
    assert mind.sleep(["retro"]).steps == 1
    assert "read" in mind.store.get([memory.id])[0].tags


def test_an_event_that_loses_every_race_again_is_tried_the_next_night(mind, monkeypatch):
    """Although another failed event behind it goes well, and moves the cursor on."""
    memory = mind.remember("The staging server is called heron.", space=SPACE)
    append_turn(mind)
    append_turn(mind)
    first, _ = mind.store.events(verbs=("turn",))
    run_reader(mind.work, tagging_reader(mind, memory, 2 * MAX_ATTEMPTS))
    losing = tagging_reader(mind, memory, MAX_ATTEMPTS)
    monkeypatch.setattr("reverie.runtime.settle.READERS", (losing,))

    assert mind.sleep(["retro"]).steps == 1

    assert [first.seq] == [
        failed.payload["event"]
        for failed in mind.store.events(verbs=("failed",))
        if failed.payload.get("tries") == 1
    ]
    assert mind.sleep(["retro"]).steps == 1
    assert mind.sleep(["retro"]).steps == 0


def test_a_model_that_is_away_costs_an_event_no_try(mind, monkeypatch):
    """However many nights it is away, the event is tried again when it is back."""
    append_turn(mind)

    def raise_error(error):
        def decide(_work, _event):
            raise error

        return EventReader(name="asking", verbs=("turn",), verb="asked", decide=decide)

    run_reader(mind.work, raise_error(ValueError("no answer")))
    away = raise_error(ModelAway("the model is out"))
    monkeypatch.setattr("reverie.runtime.settle.READERS", (away,))
    for _ in range(4):
        assert mind.sleep(["retro"]).passes[0].skipped == "the model is out"
    assert 1 == len(mind.store.events(verbs=("failed",)))

    back = away._replace(decide=lambda _work, _event: ReaderDecision(payload={"items": 1}))
    monkeypatch.setattr("reverie.runtime.settle.READERS", (back,))
    assert mind.sleep(["retro"]).steps == 1
