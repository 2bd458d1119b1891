# mypy: no-check-untyped-defs
"""Given and then seen in what the agent does is used; given and ignored is not."""

import pytest

from reverie.consolidation import archiving
from reverie.core.kinds import DAY, half_life
from reverie.core.model import Event
from reverie.extraction.memory_uses import uses_memory
from reverie.testing import NOON, make_memory, memory

SPACE = "me/demo"
HERON = "The staging server is called heron and its deploys need a ticket."
CASES = {
    "said": (HERON, "where do i deploy this?", "To heron; I have filed a ticket."),
    "de": (
        "Der Testserver heißt Reiher und braucht ein Ticket.",
        "Wohin soll ich das ausrollen?",
        "Auf Reiher, das Ticket ist angelegt.",
    ),
    "es": (
        "El despliegue se hace con make publicar desde la rama principal.",
        "saca la nueva versión",
        "Hecho: make publicar en la rama principal.",
    ),
    "fr": (
        "Les migrations passent par Flyway, dans le dossier db/versions.",
        "ajoute une colonne email",
        "J'ai écrit une migration pour Flyway dans db/versions.",
    ),
    "zh": (
        "部署要用蓝色脚本,并通知小李。",
        "把它发布上线",
        "我用蓝色脚本部署,已经通知小李。",
    ),
}


@pytest.fixture
def given(clock):
    """A mind, and a function that lets a memory be given and the agent act."""
    with memory(now=clock, embedder="none") as mind:

        def act(kept, asked, *did, session="s1"):
            turn = {"messages": [{"role": "user", "text": asked}], "given": [kept.id]}
            mind.store.append([Event("turn", SPACE, clock(), session, turn)])
            clock.tick(5)
            for one in did:
                if isinstance(one, str):
                    payload = {"messages": [{"role": "assistant", "text": one}]}
                    mind.store.append([Event("turn", SPACE, clock(), session, payload)])
                else:
                    mind.activity.record_run(one, SPACE, session, is_redacted=True)
                    mind.activity.events(limit=0)
            mind.settle()
            return mind.get([kept.id])[0]

        yield mind, act


@pytest.mark.parametrize("case", CASES)
@pytest.mark.proves("A33", "B50")
def test_what_is_given_and_then_said_is_used(given, clock, case):
    """In several languages; once for each time that it was given."""
    mind, act = given
    text, asked, answer = CASES[case]
    kept = mind.remember(text, space=SPACE)

    used = act(kept, asked, answer)
    assert (used.access_count, used.last_accessed_at) == (1, clock())
    # Said twice after it was given once, it is one use.
    assert act(kept, asked, answer, answer, session="s2").access_count == 2
    assert used.confidence == kept.confidence
    told = str(mind.explain(kept.id))
    assert "used by an agent that had been given it" in told
    assert "looked at" not in told


def test_what_is_given_and_ignored_is_not_used(given):
    """Nor is a word that the user said as well, nor one that the agent had said before."""
    mind, act = given
    kept = mind.remember(HERON, space=SPACE)

    assert act(kept, "why is staging slow", "An index is missing.").access_count == 0
    assert act(kept, "heron deploys need a ticket?", "heron deploys: a ticket").access_count == 0


def test_tools_count_and_what_called_it_up_does_not(given):
    """A command holds what the memory says; the file that it is about it did not bring."""
    from reverie.activity.activity_events import ToolRunRecord

    mind, act = given
    kept = mind.remember("Releases are tagged with make stamp on the trunk.", space=SPACE)
    run = ToolRunRecord("Bash", {"command": "git checkout trunk && make stamp"}, "ok")
    assert act(kept, "cut a version", run).access_count == 1

    rule = make_memory("Ask Ann about src/pay/stripe.py.", files=("src/pay/stripe.py",))
    assert not uses_memory("src/pay/stripe.py", rule, ())
    assert uses_memory("I asked Ann.", rule, ())


def test_a_use_is_a_change_like_any_other(given):
    """It says where it came from, and `undo` takes it back."""
    mind, act = given
    kept = mind.remember(HERON, space=SPACE)
    act(kept, "where do i deploy this?", "To heron, with a ticket.")
    (event,) = mind.store.events(verbs=("used",))

    assert [record.memory_id for record in mind.store.changes_of(event.seq)] == [kept.id]
    mind.undo(event.seq)
    assert mind.get([kept.id])[0].access_count == 0


@pytest.mark.proves("A33", "A77", "B115", "B125")
def test_a_fact_in_use_is_there_on_day_140(given, clock):
    """Given in 20 sessions and recalled 20 times, as the issue has it."""
    from reverie.interfaces.recall_use import count_recall

    mind, act = given
    kept = mind.remember(HERON, space=SPACE, provenance="observed", kind="fact")
    for n in range(20):
        clock.tick(days=7)
        act(kept, "where do i deploy this?", "To heron, with a ticket.", session=f"s{n}")
        question = "where are deploys staged"
        count_recall(mind, question, mind.recall(question, space=SPACE), SPACE)
        mind.sleep()

    there = mind.get([kept.id])[0]
    assert there.active and there.access_count == 40
    assert there.last_accessed_at == clock()


@pytest.mark.proves("A77", "B125")
def test_what_was_used_or_given_within_its_half_life_does_not_fade(given, clock):
    """Even if hardly anybody believes it; without either it goes."""
    mind, _ = given
    faded = {"provenance": "inferred", "at": clock() - 300 * DAY}
    texts = ("Perhaps the cache is cold.", "Perhaps the disk is slow.", "Perhaps the net is down.")
    used, told, gone = (mind.remember(text, space=SPACE, **faded) for text in texts)
    clock.tick(days=60)
    mind.retrieve([used.id], space=SPACE)
    turn = {"messages": [{"role": "user", "text": "hm"}], "given": [told.id]}
    mind.store.append([Event("turn", SPACE, clock(), "s1", turn)])
    clock.tick(days=half_life(used) - 1)
    mind.sleep(["prune"])

    assert [one.active for one in mind.get([used.id, told.id, gone.id])] == [True, True, False]
    clock.tick(days=half_life(used) * 6 + 31)
    mind.sleep(["prune"])
    assert not any(one.active for one in mind.get([used.id, told.id]))


def test_a_rejected_memory_in_use_stays():
    """Its confidence is next to nothing, and it was used yesterday."""
    doubted = make_memory("x", at=NOON - 300 * DAY, kind="skill")._replace(
        created_at=NOON - 300 * DAY, confidence=0.01, last_accessed_at=NOON - 40 * DAY
    )
    assert not archiving.has_faded(doubted, NOON)
