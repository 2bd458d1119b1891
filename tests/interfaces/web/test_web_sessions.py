"""Sessions in the browser: past conversations, and one as a replay."""

import pytest

from reverie.core.errors import NotFound
from reverie.core.model import Event, Revise
from reverie.interfaces.web.rendering import name_part
from reverie.testing import SPACE
from tests.interfaces.web.web_client import NASTY, open_site

SESSION = f"a/b {NASTY}"


def talk(mind):
    """A conversation of two turns, what was given in it and what was learned."""
    heron = mind.remember("The staging server is called heron.", space=SPACE)
    now = mind.context.now()
    first = [
        {"role": "user", "text": f"What is the staging server called? {NASTY}"},
        {"role": "assistant", "text": "heron"},
    ]
    second = [{"role": "user", "text": "It is called otter now."}]
    mind.store.append(
        [
            Event(
                "turn",
                SPACE,
                now,
                SESSION,
                {"messages": first, "first": 0, "given": [heron.id, "mem_gone"], "why": [[NASTY]]},
            ),
            Event("turn", SPACE, now + 60, SESSION, {"messages": second, "first": 2}),
        ]
    )
    otter = mind.remember("Staging is otter.", space=SPACE, session=SESSION)
    return heron, otter


def test_a_replay_tells_what_was_given_and_learned_at_each_step(mind):
    """A step is a message of the user with the answer; what was learned stands where it was said."""
    heron, otter = talk(mind)
    steps = mind.sessions.replay(SESSION, space=SPACE)
    assert [(step.number, len(step.messages)) for step in steps] == [(0, 2), (2, 1)]
    assert [one.id for one in steps[0].given] == [heron.id, "mem_gone"]
    assert steps[0].given[0].why == (NASTY,) and steps[0].given[1].memory is None
    assert otter.id in [memory.id for step in steps for memory in step.learned]
    with pytest.raises(NotFound):
        mind.sessions.replay("another", space=SPACE)


def test_what_rests_on_a_message_was_learned_there(mind):
    """A memory with the numbers of its messages belongs to the step that holds the last one."""
    from reverie.extraction.session_replay import build_replay

    _, otter = talk(mind)
    events = mind.store.events(session=SESSION, verbs=("turn",))
    steps = build_replay(events, [otter._replace(messages=(2, 2))], {})
    assert [len(step.learned) for step in steps] == [0, 1]
    steps = build_replay(events, [otter._replace(messages=(0, 1))], {})
    assert [len(step.learned) for step in steps] == [1, 0]


def test_a_conversation_is_found_and_led_to_whatever_its_name(mind):
    """A name with a slash and markup is a link that works, and text."""
    talk(mind)
    site = open_site(mind)
    page = site.get("/sessions?q=otter").text
    (path,) = [part.split('"')[0] for part in page.split('class="text" dir="auto" href="')[1:]]
    replay = site.get(path)
    assert replay.status_code == 200 and "<img" not in replay.text
    assert "heron" in replay.text and "Learned" in replay.text
    moment = site.get(f"{path}/0")
    assert moment.status_code == 200 and "<img" not in moment.text
    assert "What would be given here now" in moment.text
    assert site.get(f"{path}/1").status_code == 404
    assert site.get("/sessions/unknown").status_code == 404


def test_a_step_tells_what_was_known_then_and_not_what_came_later(mind, clock):
    """The same words find memories as they stood at that moment."""
    heron, _ = talk(mind)
    site = open_site(mind)
    clock.tick(minutes=60)
    mind.revise(heron.id, text="The staging server is called badger.")
    found = site.get(f"/sessions/{name_part(SESSION)}/0.json")
    assert found.status_code == 200
    known = [hit["memory"]["text"] for hit in found.json()["known"]]
    assert "The staging server is called heron." in known
    given = [one["hit"]["memory"]["text"] for one in found.json()["verdicts"]]
    assert "The staging server is called badger." in given


def test_long_lists_and_long_talks_have_pages(mind):
    """So many conversations, and so many steps, and a link to what comes next."""
    now = mind.context.now()
    for number in range(3):
        mind.store.append(
            [
                Event(
                    "turn",
                    SPACE,
                    now + step,
                    f"s{number}",
                    {"messages": [{"role": "user", "text": f"words {step}"}], "first": step},
                )
                for step in range(3)
            ]
        )
    site = open_site(mind)
    first = site.get("/sessions.json?limit=2").json()
    assert [one["session"] for one in first["conversations"]] == ["s2", "s1"]
    assert first["next"] == 2
    rest = site.get("/sessions.json?limit=2&skip=2").json()
    assert [one["session"] for one in rest["conversations"]] == ["s0"] and rest["next"] == 0
    talk_page = site.get("/sessions/s0.json?limit=2").json()
    assert len(talk_page["steps"]) == 2 and talk_page["next"] == 2
    assert len(site.get("/sessions/s0.json?limit=2&from=2").json()["steps"]) == 1


def test_a_memory_leads_to_the_very_message_it_rests_on(mind):
    """Also where that is in the middle of a step, and beyond the first page of steps."""
    _, otter = talk(mind)
    now = mind.context.now()
    mind.store.apply([Revise(otter.id, {"messages": (1, 1)})], Event("revise", SPACE, now))
    site = open_site(mind)
    page = site.get(f"/memory/{otter.id}").text
    address = f"/sessions/{name_part(SESSION)}?from=0#m1"
    assert f'href="{address}"' in page and "in its conversation" in page
    assert 'id="m1"' in site.get(address).text
    later = site.get(f"/sessions/{name_part(SESSION)}.json?from=1&limit=1").json()
    assert [step["number"] for step in later["steps"]] == [0]
