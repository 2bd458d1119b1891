"""The life of a memory, its ties, and how many there were over time."""

from reverie.llm.daily_spending import SpendingDay, sum_spending
from reverie.memory.growth import sum_growth
from reverie.memory.lifeline import trace_life
from reverie.memory.memory_relations import list_relations
from reverie.storage import DayCount
from reverie.testing import SPACE, make_event


def test_a_life_is_told_in_its_order(mind, clock):
    """Said, written down, amended, confirmed, archived, restored: each with its moment."""
    id = mind.remember("The host is heron.", space=SPACE, at=clock() - 86_400).id
    for change in (
        lambda: mind.revise(id, text="The host is crane."),
        lambda: mind.feedback(id, True),
        lambda: mind.forget(id),
        lambda: mind.restore(id),
    ):
        clock.tick(days=1)
        change()
    story = mind.explain(id)
    life = trace_life(story.memory, story.history)
    names = ["said", "written down", "amended", "confirmed", "archived", "restored"]
    assert [moment.what for moment in life] == names
    assert [moment.at for moment in life] == sorted(moment.at for moment in life)


def test_what_stands_on_a_memory_is_told_from_what_it_stands_on(mind):
    """A link is read from the end that one looks from."""
    reason = mind.remember("Traffic is low on Fridays.", space=SPACE)
    result = mind.remember("We deploy on Fridays.", space=SPACE, tags=["ops"])
    mind.link(result.id, reason.id, "depends_on")
    others = {one.id: one for one in (reason, result)}
    (tie,) = list_relations(reason, mind.explain(reason.id).edges, others)
    assert (tie.memory, tie.stands_on_it, tie.phrase) == (result, True, "It is the reason for")
    (tie,) = list_relations(result, mind.explain(result.id).edges, others)
    assert (tie.memory, tie.stands_on_it) == (reason, False)


def test_growth_is_what_came_less_what_went(mind, clock):
    """The number at the end of each day on which something happened."""
    days = sum_growth([DayCount(0, 3, 0), DayCount(2, 1, 2)])
    assert [(day.date, day.counted) for day in days] == [("1970-01-01", 3), ("1970-01-03", 2)]
    mind.remember("One.", space=SPACE)
    assert [day.counted for day in mind.data.growth()] == [1]


def test_spending_is_summed_by_day():
    """Calls whose price nobody knows are counted apart."""
    calls = [
        make_event("llm", at=86_400.0 * n, payload={"tokens_in": 5, "tokens_out": 2, "cost": cost})
        for n, cost in ((1, 0.5), (1, None), (0, 0.25))
    ]
    assert sum_spending(calls) == [
        SpendingDay("1970-01-02", 2, 14, 0.5, 1),
        SpendingDay("1970-01-01", 1, 7, 0.25, 0),
    ]
