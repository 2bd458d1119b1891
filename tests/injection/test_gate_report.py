"""What would be given, and which gate stops the rest."""

from reverie.testing import SPACE


def gates(mind, text, **more):
    return {one.hit.memory.id: one.gate for one in mind.sessions.weigh(text, space=SPACE, **more)}


def test_each_gate_names_itself(mind):
    """Not likely, not approved, not true now, said already; what would be given has no gate."""
    mind.remember("The staging server is called heron.", space=SPACE)
    asked = "Which host is the staging server?"
    given = [one for one in mind.sessions.weigh(asked, space=SPACE) if one.is_given]
    waits = mind.remember("The staging server may be slow.", space=SPACE, provenance="inferred")
    past = mind.remember("The staging server was crane.", space=SPACE, valid_to="2001-01-01")
    found = gates(mind, asked)
    assert found[waits.id] == "not approved" and found[past.id] == "not true now"
    assert all(one.gate == "" and one.why for one in given)
    assert gates(mind, "What is 17% of 240?") == {} or "" not in gates(mind, "thanks").values()


def test_it_agrees_with_what_a_turn_is_given(mind):
    """What a companion's next block holds is what the report says would be given."""
    heron = mind.remember(
        "The staging server is called heron.", space=SPACE, triggers=["staging server"]
    )
    with mind.companion(space=SPACE, session="s1") as companion:
        block = companion.turn([{"role": "user", "content": "deploy to the staging server"}])
    report = mind.sessions.weigh("deploy to the staging server", space=SPACE)
    assert list(block.ids) == [one.hit.memory.id for one in report if one.is_given] == [heron.id]


def test_nothing_is_written(mind):
    """It only looks."""
    mind.remember("The staging server is called heron.", space=SPACE)
    before = mind.store.last_event()
    mind.sessions.weigh("staging server", space=SPACE, session="s1")
    assert mind.store.last_event() == before
    assert mind.sessions.weigh("staging server", space=SPACE, limit=0) == []
