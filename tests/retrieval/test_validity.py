"""What is no longer true, by what it says itself, is said to be so and stands behind what is."""

import pytest

from reverie.core.errors import BadInput
from reverie.core.validity import describe_validity, format_validity

DAY = 86_400.0
CASES = (
    (
        "The on-call engineer is Ann.",
        "The on-call engineer is Bob.",
        "who is the on-call engineer?",
    ),
    (
        "The build runs on Node 18.",
        "The build runs on Node 22.",
        "on which Node does the build run?",
    ),
    (
        "Die Miete läuft über Konto 17.",
        "Die Miete läuft über Konto 23.",
        "über welches Konto läuft die Miete?",
    ),
    ("部署用的服务器是白鹭", "部署用的服务器是苍鹰", "部署用的服务器是哪台"),
)


@pytest.mark.parametrize(("earlier", "later", "question"), CASES)
def test_what_is_no_longer_true_stands_behind_and_says_so(mind, clock, earlier, later, question):
    """Also if it is the newer line; unasked it does not come at all."""
    held = mind.remember(later, space="me/demo", valid_from=clock() - DAY)
    over = mind.remember(earlier, space="me/demo", valid_to=clock() - DAY)
    mind.settle()
    hits = mind.recall(question, space="me/demo", mode="words")
    assert [hit.memory.id for hit in hits][:2] == [held.id, over.id]
    assert any("no longer true since" in why for why in hits[1].why)
    assert not any("true" in why for why in hits[0].why)
    assert over.id not in [hint.id for hint in mind.hints(question, space="me/demo")]
    assert "no longer true since" in str(mind.explain(over.id)) or "True until" in str(
        mind.explain(over.id)
    )


def test_what_is_not_true_yet_says_so(mind, clock):
    """It is found by who asks, and becomes true by itself."""
    memory = mind.remember("The office is in Bonn.", space="me/demo", valid_from=clock() + 9 * DAY)
    assert describe_validity(memory, clock()).startswith("true only from")
    (hit,) = mind.recall("where is the office?", space="me/demo")
    assert any("true only from" in why for why in hit.why)
    clock.tick(days=10)
    (hit,) = mind.recall("where is the office?", space="me/demo")
    assert not any("true only from" in why for why in hit.why)


def test_its_days_are_told(mind):
    memory = mind.remember("Ann is on call.", valid_from="2026-03-01", valid_to="2026-03-08")
    assert format_validity(memory) == "from 2026-03-01 until 2026-03-08"
    with pytest.raises(BadInput, match="valid_to"):
        mind.remember("Ann is on call.", valid_to="soon")
