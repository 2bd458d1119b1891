"""Exports of ChatGPT and Claude: conversations as they were shown, times, trust, undo; hostile files."""

import json
import zipfile

import pytest

from reverie.core.errors import BadInput
from reverie.core.model import Filter
from reverie.porting import importers
from reverie.porting.importers import foreign_archives
from tests.support.chat_exports import (
    CHAT_ID,
    SECRET,
    chatgpt,
    claude_ai,
    gpt_conversation,
    write_zip,
)
from tests.support.helpers import run_command

SPACE = "me/p"
MAKERS = {"chatgpt": chatgpt, "claude-ai": claude_ai}


@pytest.fixture(params=MAKERS)
def export(request, tmp_path):
    """(program, its archive)"""
    return request.param, MAKERS[request.param](tmp_path / "theirs")


def texts(mind, *, active=None):
    """What all memories say."""
    return {one.text for one in mind.store.browse(Filter(active=active, limit=1_000))}


def said(mind, words):
    """The passages of conversations that fit."""
    mind.settle()
    found = mind.recall(words, space=SPACE, limit=5)
    return [hit.memory.text for hit in found]


def test_the_program_is_known_by_what_stands_in_the_file(export, tmp_path):
    """Of an archive, of the folder it unpacks to, and of its one file under any name."""
    name, path = export
    with zipfile.ZipFile(path) as archive:
        archive.extractall(tmp_path / "unpacked")
    first = min((tmp_path / "unpacked").glob("conversations*.json"))
    alone = tmp_path / "talk.json"
    alone.write_bytes(first.read_bytes())
    for one in (path, tmp_path / "unpacked", alone):
        assert importers.choose_format(one).name == name


def test_only_the_branch_that_was_shown_is_taken_in(mind, tmp_path):
    """An edited question, tools and hidden messages stay out; times are the messages' own."""
    done = mind.data.import_from(chatgpt(tmp_path), space=SPACE, trusted=True)
    assert (done.talk.conversations, done.talk.known) == (2, 0)
    (talk,) = [one for one in mind.sessions.browse(space=SPACE) if CHAT_ID in one.session]
    assert [
        (one.role, one.text[:24], one.at)
        for one in mind.sessions.read(talk.session, space=SPACE).lines
    ] == [
        ("user", "How do I ship sourdough?", 1_750_000_100.5),
        ("assistant", "Wrap the sourdough loave", 1_750_000_120.0),
        ("user", "Thanks. Remember: our pa", 1_750_000_130.0),
    ]


def test_words_are_found_and_secrets_are_not(export, mind):
    """What was said is evidence; the token in it never reached the store."""
    name, path = export
    done = mind.data.import_from(path, space=SPACE, trusted=True)
    assert "github-token" in done.talk.redacted
    asked, answer = {
        "chatgpt": ("How should sourdough loaves be wrapped?", "waxed paper"),
        "claude-ai": ("Where are the invoices of May?", "blue binder"),
    }[name]
    assert any(answer in text for text in said(mind, asked))
    assert SECRET not in json.dumps(list(mind.data.export()), default=str)
    assert [] == mind.data.verify()


def test_what_the_program_kept_of_its_user_are_memories(export, mind):
    """The user's own come into their own space, a project's into the one that is named."""
    name, path = export
    mind.data.import_from(path, space=SPACE, trusted=True)
    kept = {one.text: one for one in mind.store.browse(Filter(limit=100))}
    own = {
        "chatgpt": (
            "I run a small bakery in Graz.",
            "Always answer in metric units.",
            "User bakes sourdough on Tuesdays.",
        ),
        "claude-ai": ("Ann keeps the books of a bakery.",),
    }[name]
    assert {kept[text].space for text in own} == {"me"}
    if name == "claude-ai":
        shop = kept["The shop sells by weight."]
        assert (shop.space, shop.tags) == (SPACE, ("bakery shop",))


def test_twice_adds_nothing_and_a_grown_conversation_what_is_new(mind, tmp_path):
    """The same archive is known; a later one adds the messages that came since."""
    path = tmp_path / "conversations.json"
    talk = gpt_conversation()
    path.write_text(json.dumps([talk]))
    mind.data.import_from(path, space=SPACE, trusted=True)
    before = list(mind.data.export())
    again = mind.data.import_from(path, space=SPACE, trusted=True)
    assert (again.event, again.talk.conversations, again.talk.known) == (0, 0, 1)
    assert before == list(mind.data.export())

    talk["mapping"]["thanks"]["children"] = ["more"]
    talk["mapping"]["more"] = {
        "id": "more",
        "parent": "thanks",
        "children": [],
        "message": {
            "author": {"role": "assistant"},
            "create_time": 1_750_000_200.0,
            "content": {"content_type": "text", "parts": ["Heronpost collects at noon."]},
        },
    }
    path.write_text(json.dumps([{**talk, "current_node": "more"}]))
    grown = mind.data.import_from(path, space=SPACE, trusted=True)
    assert (grown.talk.conversations, grown.talk.known) == (1, 0)
    (one,) = mind.sessions.browse(space=SPACE)
    assert len(mind.sessions.read(one.session, space=SPACE).lines) == 4


def test_undo_takes_back_what_was_taught_and_what_is_found(export, mind):
    """One undo for all of it; its own undo brings all of it back."""
    name, path = export
    asked, answer = {
        "chatgpt": ("How should sourdough loaves be wrapped?", "waxed paper"),
        "claude-ai": ("Where are the invoices of May?", "blue binder"),
    }[name]
    done = mind.data.import_from(path, space=SPACE, trusted=True)
    kept = texts(mind, active=True)
    assert any(answer in text for text in said(mind, asked))
    back = mind.undo(done.event)
    assert texts(mind, active=True) == set()
    assert not any(answer in text for text in said(mind, asked))
    mind.undo(back)
    assert texts(mind, active=True) == kept
    assert any(answer in text for text in said(mind, asked))
    assert [] == mind.data.verify()


def test_a_killed_import_goes_on_and_is_undone_as_a_whole(mind, tmp_path, monkeypatch):
    """What was taken in before the end stays, and the next run names it in its event."""
    path = chatgpt(tmp_path)

    def stop(count):
        if count > 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mind.data.import_from(path, space=SPACE, trusted=True, on_item=stop)
    assert len(mind.sessions.browse(space=SPACE)) == 1
    done = mind.data.import_from(path, space=SPACE, trusted=True)
    assert (done.talk.conversations, done.talk.known) == (1, 1)
    mind.undo(done.event)
    assert not any("waxed paper" in text for text in said(mind, "How to wrap sourdough loaves?"))


def test_nothing_is_learned_of_what_may_be_somebody_elses(export, mind):
    """Without --trusted conversations stay out, and it is said how they come in."""
    _, path = export
    done = mind.data.import_from(path, space=SPACE)
    assert done.talk.left_out == (2 if export[0] == "chatgpt" else 1)
    assert mind.sessions.browse(space=SPACE) == []
    assert {one.provenance for one in mind.store.browse(Filter(limit=100))} == {"untrusted"}
    (said,) = [one for one in done.plan.remarks if "conversations left out" in one]
    assert "--trusted" in said


def test_the_command_says_what_came(export, tmp_path):
    """A dry run writes nothing; then counts, and the way back."""
    _, path = export
    home = ("--home", str(tmp_path / "home"), "--space", SPACE)
    would = run_command("data", "import", str(path), "--trusted", "--dry-run", *home)
    assert "conversation" in would.stdout and "would bring" in would.stdout
    did = run_command("data", "import", str(path), "--trusted", *home)
    assert "conversation" in did.stdout and "Back: reverie undo" in did.stdout
    assert (
        "0 memories, 0 links" in run_command("data", "import", str(path), "--trusted", *home).stdout
    )


# Hostile and broken files


def test_a_bomb_is_not_opened(tmp_path, monkeypatch):
    """An archive that says it holds a thousand times its size ends with a sentence."""
    monkeypatch.setattr(foreign_archives, "UNCHECKED_BYTES", 1_000)
    path = write_zip(tmp_path / "bomb.zip", {"conversations.json": "[" + " " * 3_000_000 + "]"})
    with (
        pytest.raises(BadInput, match="no export packs so well"),
        foreign_archives.ForeignFiles(path),
    ):
        pass
    for more in ((), ("--from", "chatgpt")):
        home = ("--home", str(tmp_path / "h"))
        answer = run_command("data", "import", str(path), *more, *home, code=2)
        assert "no export packs so well" in answer.stderr


def test_paths_of_an_archive_lead_nowhere(mind, tmp_path):
    """Members above the archive, absolute ones and what macOS added are passed over."""
    talk = json.dumps([gpt_conversation()])
    names = ("../conversations.json", "/etc/conversations.json", "__MACOSX/conversations.json")
    path = write_zip(tmp_path / "in" / "x.zip", {**dict.fromkeys(names, talk), "a.txt": ""})
    assert importers.detect_format(path) is None
    assert sorted(one.name for one in tmp_path.rglob("*")) == ["in", "x.zip"]


def test_a_broken_archive_ends_with_a_sentence(tmp_path):
    """Cut off, encrypted or no archive at all."""
    whole = chatgpt(tmp_path / "w").read_bytes()
    cut = tmp_path / "cut.zip"
    cut.write_bytes(whole[:-30])
    locked = tmp_path / "locked.zip"
    at = whole.rindex(b"PK\x01\x02")
    locked.write_bytes(whole[: at + 8] + b"\x01" + whole[at + 9 :])
    for path, why in ((cut, "broken ZIP archive"), (locked, "is encrypted")):
        home = ("--home", str(tmp_path / "h"))
        assert why in run_command("data", "import", str(path), *home, code=2).stderr


@pytest.mark.parametrize(
    "data",
    [
        b'[{"mapping": {}}, {"mapping": broken}, ',
        json.dumps([gpt_conversation(), gpt_conversation()])[:-40].encode(),
        b"\xff\xfe" + json.dumps([gpt_conversation()]).encode("utf-16-le"),
        json.dumps([gpt_conversation()]).replace("sourdough", "\xe4").encode("latin-1"),
        b'[{"mapping": ' + b'{"a":' * 50_000 + b"1" + b"}" * 50_000 + b"}]",
        b'[{"mapping": {"a": {"parent": "b"}, "b": {"parent": "a"}}, "current_node": "a"}]',
        b'[{"mapping": [], "current_node": 7}, 3, null, {"mapping": {"x": null}}]',
    ],
)
def test_broken_json_loses_no_other_conversation(data, mind, tmp_path):
    """What can be read is taken in, the rest is named by its record."""
    good = json.dumps({**gpt_conversation(), "id": "good", "conversation_id": "good"}).encode()
    path = tmp_path / "conversations.json"
    path.write_bytes(data)
    done = mind.data.import_from(path, "chatgpt", space=SPACE, trusted=True)
    assert all(one.where.startswith("conversations.json") for one in done.plan.bad)
    path.write_bytes(b"[" + good + b', {"mapping": oops}, ' + good.replace(b"good", b"late") + b"]")
    done = mind.data.import_from(path, "chatgpt", space=SPACE, trusted=True)
    assert (done.talk.conversations, len(done.plan.bad)) == (2, 1)


def test_a_list_is_read_piece_by_piece(tmp_path, monkeypatch):
    """Records that are longer than a piece, and more of them than one holds."""
    monkeypatch.setattr(foreign_archives, "PIECE_BYTES", 64)
    records = [{"mapping": {"text": "ä" * size}} for size in (1, 100, 1_000, 3)]
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps(records, ensure_ascii=False), encoding="utf-8")
    with foreign_archives.ForeignFiles(path) as files:
        found = list(files.records(path.name, "UTC", bool))
    assert [getattr(one, "values", None) for one in found] == records
