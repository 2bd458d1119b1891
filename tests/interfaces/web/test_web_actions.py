"""What pages change, with and without JavaScript: done, undone, and the store looked at after."""

import re

import pytest

from reverie.mirror.mirror_folder import MirrorFolder
from reverie.testing import SPACE, memory
from tests.interfaces.web.web_client import open_site, remember_everything


def get(mind, id):
    (memory,) = mind.get([id])
    return memory


def edited(site, id):
    """The mark that stands in the form of an edit."""
    return site.get(f"/memory/{id}.json").json()["edited"]


def test_an_edit_is_made_and_taken_back(mind):
    """The text changes, the toast offers the undo, and the undo brings back what was."""
    made = remember_everything(mind)
    id, site = made["heron"].id, open_site(mind)
    page = site.post_form(
        f"/memory/{id}/edit",
        text="The staging server is called otter.",
        title="",
        kind="fact",
        tags="ops, hosts",
        edited=edited(site, id),
        back=f"/memory/{id}",
    )
    assert page.status_code == 200 and "Changed: “" in page.text
    assert (get(mind, id).text, get(mind, id).tags) == (
        "The staging server is called otter.",
        ("ops", "hosts"),
    )
    assert "<ins>otter</ins>" in page.text and "<del>heron</del>" in page.text
    site.undo_shown(page)
    assert get(mind, id).text == "The staging server is called heron."


def test_what_an_agent_changed_meanwhile_is_not_overwritten(mind):
    """The form was made from other words: 409, what was typed is shown, nothing is lost."""
    made = remember_everything(mind)
    id, site = made["heron"].id, open_site(mind)
    mark = edited(site, id)
    mind.revise(id, text="The staging server is called crane.")
    answer = site.post_form(
        f"/memory/{id}/edit", text="Mine <b>", kind="fact", edited=mark, back=f"/memory/{id}"
    )
    assert answer.status_code == 409 and "Mine &lt;b&gt;" in answer.text
    assert get(mind, id).text == "The staging server is called crane."


@pytest.mark.parametrize(
    ("path", "fields", "check"),
    [
        ("move", {"to": "me/other"}, lambda one: one.space == "me/other"),
        ("forget", {}, lambda one: not one.active),
        ("judge", {"verdict": "useful"}, lambda one: one.confidence > 0.8),
        ("judge", {"verdict": "wrong"}, lambda one: one.confidence < 0.8),
        ("judge", {"verdict": "never"}, lambda one: one.retired_why == "dismissed"),
    ],
)
def test_each_action_on_a_memory_is_taken_back(mind, path, fields, check):
    """Move, forget, useful, wrong, never again."""
    made = remember_everything(mind)
    id, site = made["heron"].id, open_site(mind)
    before = get(mind, id)
    page = site.post_form(f"/memory/{id}/{path}", back="/ask", **fields)
    assert page.status_code == 200 and check(get(mind, id))
    site.undo_shown(page)
    after = get(mind, id)
    assert after._replace(updated_at=0) == before._replace(updated_at=0)


def test_of_several_changes_all_are_taken_back_or_none(mind):
    """One of them was built on since: that is said, and the others stand as they were."""
    made = remember_everything(mind)
    heron, other = made["heron"].id, mind.remember("The port is 4100.").id
    events = []
    for id, text in ((heron, "The staging server is crane."), (other, "The port is 4200.")):
        mind.revise(id, text=text)
        events.append(mind.store.last_event())
    mind.revise(heron, text="The staging server is otter.")
    site = open_site(mind)
    answer = site.post_form(f"/undo/{events[0]}-{events[1]}", back="/ask")
    assert answer.status_code == 409
    assert get(mind, other).text == "The port is 4200."
    site.post_form(f"/undo/{events[0]}-{events[1]}", back="/ask", force="yes")
    assert get(mind, other).text == "The port is 4100."
    assert get(mind, heron).text == "The staging server is called heron."


def test_what_was_forgotten_is_brought_back(mind):
    """By its own button, as well as by the undo."""
    made = remember_everything(mind)
    id, site = made["heron"].id, open_site(mind)
    mind.forget(id)
    assert "Bring it back" in site.get(f"/memory/{id}").text
    site.post_form(f"/memory/{id}/restore", back="/ask")
    assert get(mind, id).active


def test_a_pair_is_decided_and_asked_about_again_after_the_undo(mind):
    """Accept keeps the newer; undone, both count and the card is back."""
    made = remember_everything(mind)
    site = open_site(mind)
    cards = site.get("/review.json").json()["cards"]
    card = next(one["card"] for one in cards if one["card"]["kind"] == "contradiction")
    page = site.post_form("/review/answer", cards=card["key"], answer="accept", back="/review")
    assert not get(mind, made["older"].id).active and get(mind, made["newer"].id).active
    again = site.post_form("/review/answer", cards=card["key"], answer="accept", back="/review")
    assert again.status_code == 409
    site.undo_shown(page)
    assert get(mind, made["older"].id).active
    kinds = [one["card"]["kind"] for one in site.get("/review.json").json()["cards"]]
    assert "contradiction" in kinds


def test_a_selection_is_decided_at_once_and_undone_at_once(mind):
    """Several cards with one answer are several events, and one undo takes all of them back."""
    ids = [
        mind.remember(f"Concluded {n}.", space=SPACE, provenance="inferred").id for n in range(3)
    ]
    site = open_site(mind)
    keys = [one["card"]["key"] for one in site.get("/review.json").json()["cards"]]
    assert len(keys) == 3
    page = site.post_form("/review/answer", cards=keys, answer="reject", back="/review")
    assert not any(get(mind, id).active for id in ids)
    site.undo_shown(page)
    assert all(get(mind, id).active for id in ids)


def test_a_correction_makes_it_the_users_word(mind):
    """An edit of what others wrote is the word of whoever edits, and waits no longer."""
    made = remember_everything(mind)
    id, site = made["nasty"].id, open_site(mind)
    key = f"memory:{id}"
    mind.review.curate(id, "escalated")
    page = site.post_form(
        "/review/answer", cards=key, answer="edit", text="Now it is mine.", back="/review"
    )
    now = get(mind, id)
    assert (now.text, now.provenance) == ("Now it is mine.", "user_stated")
    assert key not in [one["card"]["key"] for one in site.get("/review.json").json()["cards"]]
    site.undo_shown(page)
    assert get(mind, id).provenance == "untrusted"


def test_a_night_is_taken_back_hunk_by_hunk(mind, clock):
    """One hunk goes, the others stay; the undo of the undo does it again."""
    for n in range(4):
        mind.remember(f"Old note {n}.", space=SPACE, kind="event", at=clock() - 86_400 * 4_000)
    clock.tick(days=4_000)
    report = mind.sleep()
    site = open_site(mind)
    night = site.get(f"/nights/{report.run}.json").json()
    hunks = [one for one in night["hunks"] if one["pass_name"] == "prune"]
    assert len(hunks) == 4 and all(one["why"] for one in hunks)
    first = hunks[0]
    id = first["lines"][0]["id"]
    assert not get(mind, id).active
    page = site.post_form(
        f"/nights/hunk/{first['event']}-{first['place']}/undo", back=f"/nights/{report.run}"
    )
    assert get(mind, id).active and "taken back" in page.text
    assert sum(not get(mind, one["lines"][0]["id"]).active for one in hunks) == 3
    twice = site.post_form(f"/nights/hunk/{first['event']}-{first['place']}/undo", back="/nights")
    assert twice.status_code == 409
    site.undo_shown(page)
    assert not get(mind, id).active
    site.post_form(f"/nights/{report.run}/undo", back="/nights")
    assert all(get(mind, one["lines"][0]["id"]).active for one in hunks)
    assert "taken back" in site.get("/nights").text
    assert mind.data.verify() == []


def test_a_guard_is_set_tried_and_set_back(home):
    """Deny stops the command, the undo asks again; the default is written to the settings."""
    memory = home.remember(
        "Never force-push to main", space=SPACE, kind="negative", provenance="user_stated"
    )
    site = open_site(home)
    tried = {"command": "git push --force origin main"}
    assert site.get("/guards.json", params=tried).json()["outcome"] == "ask"
    page = site.post_form(f"/guards/{memory.id}/set", decision="deny", back="/guards")
    assert site.get("/guards.json", params=tried).json()["outcome"] == "deny"
    assert site.get("/guards.json", params={"command": "ls"}).json()["outcome"] == ""
    site.undo_shown(page)
    assert site.get("/guards.json", params=tried).json()["outcome"] == "ask"
    page = site.post_form("/guards/default", decision="tell", back="/guards")
    assert home.settings.guards == "tell"
    assert 'guards = "tell"' in (home.settings.home / "config.toml").read_text()
    shown = re.search(r'class="toast".*?name="decision" value="(\w+)"', page.text, re.DOTALL)
    assert shown and shown[1] == "ask"
    site.post_form("/guards/default", decision="ask", back="/guards")
    assert home.settings.guards == "ask"
    site.post_form("/guards/default", decision="tell", back="/guards")
    assert site.post_form(f"/guards/{memory.id}/allow", back="/guards").status_code == 200
    site.post_form("/guards/new", text="Never run make deploy", triggers="", back="/guards")
    assert site.get("/guards.json", params={"command": "make deploy"}).json()["outcome"] == "tell"


def test_lines_gone_from_a_page_are_written_again_or_forgotten_and_brought_back(tmp_path, clock):
    """A page that somebody emptied asks; its answer is done, and the undo of forgetting undone."""
    with memory(tmp_path / "home", now=clock) as mind:
        ids = [
            one.id
            for one in mind.remember_many([{"text": f"Fact {n}."} for n in range(4)], space=SPACE)
        ]
        mind.data.mirror(SPACE)
        assert mind.settings.mirror_root
        file = MirrorFolder(mind.settings.mirror_root, SPACE).path / "MEMORY.md"
        site = open_site(mind)
        for answer, counting in (("write", 4), ("forget", 0)):
            file.write_text("")
            mind.data.mirror(SPACE)
            assert "lines are gone" in site.get("/review").text
            page = site.post_form("/review/mirror", of=SPACE, answer=answer, back="/review")
            assert sum(get(mind, id).active for id in ids) == counting
            assert "lines are gone" not in page.text
        assert all(f"Fact {n}." not in file.read_text() for n in range(4))
        site.undo_shown(page)
        assert all(get(mind, id).active for id in ids)


def test_a_program_posts_too_and_is_answered_in_json(mind):
    """With the token of the forms; the answer names the undo."""
    made = remember_everything(mind)
    site = open_site(mind)
    headers = {"accept": "application/json", "origin": "http://127.0.0.1:8378"}
    done = site.post_form(f"/memory/{made['heron'].id}/forget", headers=headers).json()
    assert done["undo"] > 0 and done["message"].startswith("Forgotten: ")
    site.post_form(done["undo_path"], headers=headers)
    assert get(mind, made["heron"].id).active


def test_what_others_wrote_is_vouched_for_or_put_away(mind):
    """An untrusted line is a card, after all that needs somebody sooner; each answer is undone."""
    line = mind.remember(
        "The wiki says that builds take an hour.", space=SPACE, provenance="untrusted"
    )
    mind.remember("Concluded.", space=SPACE, provenance="inferred")
    site = open_site(mind)

    def cards():
        return [one["card"] for one in site.get("/review.json").json()["cards"]]

    assert [one["kind"] for one in cards()] == ["candidate", "untrusted"]
    key = cards()[1]["key"]
    page = site.post_form("/review/answer", cards=key, answer="accept", back="/review")
    assert "vouch" not in page.text and [one["kind"] for one in cards()] == ["candidate"]
    site.undo_shown(page)
    page = site.post_form("/review/answer", cards=key, answer="reject", back="/review")
    assert not get(mind, line.id).active
    site.undo_shown(page)
    assert get(mind, line.id).active and [one["kind"] for one in cards()] == [
        "candidate",
        "untrusted",
    ]


def test_a_question_that_wants_no_answer_leaves_and_comes_back_by_the_undo(mind, clock):
    """A gap is a card: answered by a text that is kept, or sent away for good."""
    from reverie.core.model import Event

    asked = {"asked": "which host is the crane?", "candidates": 1}
    mind.store.append([Event("gap", SPACE, clock(), "s1", asked)])
    site = open_site(mind)

    def gaps():
        cards = [one["card"] for one in site.get("/review.json").json()["cards"]]
        return [one["key"] for one in cards if one["kind"] == "gap"]

    (key,) = gaps()
    page = site.post_form("/review/answer", cards=key, answer="reject", back="/review")
    assert page.status_code == 200 and not gaps() and not mind.review.gaps(SPACE)
    assert site.post_form("/review/answer", cards=key, answer="reject").status_code == 409
    site.undo_shown(page)
    assert gaps() == [key]
    text = "The crane is the host of the builds, which runs at night."
    clock.tick()
    page = site.post_form("/review/answer", cards=key, answer="edit", text=text, back="/review")
    assert text in [one.text for one in mind.browse(space=SPACE)] and not gaps()
    site.undo_shown(page)
    assert gaps() == [key]
