# mypy: no-check-untyped-defs
"""What is not to be remembered: private passages, personal data by policy, sensitive files, sessions that are off.

Each way in is gone through with something planted; then every byte of the home is searched for it.
"""

import json

import pytest

from reverie import config
from reverie.errors import BadInput
from reverie.lifecycle.transfer import VERSION
from reverie.messages import MOST_CHARS, SPARE
from reverie.testing import Counting, memory, said
from tests.scripted import scripted

SPACE = "me/demo"
PLANTED = "zyxquokka4711"
MAIL = "quokka4711@example.org"
PRIVATE = f"heron is staging <private>the bride is {PLANTED}\nof {PLANTED}</private> since May"
PERSONAL = f"heron is run by {MAIL} since May"


def holding(folder, planted=PLANTED):
    """The files that hold it."""
    return [str(part.relative_to(folder)) for part in sorted(folder.rglob("*"))
            if part.is_file() and planted.encode() in part.read_bytes()]


def remember(mind, text, _tmp):
    mind.remember(text, space=SPACE, title=text[:200], tags=["a"], details={"note": text, "list": [text]})


def remember_many(mind, text, _tmp):
    mind.remember_many([{"text": text, "space": SPACE}, {"text": "b", "details": {text: 1}}], space=SPACE)


def revise(mind, text, _tmp):
    mind.revise(mind.remember("It is adder.", space=SPACE).id, text=text)


def teach(mind, text, _tmp):
    mind.teach("deploy", [text, "push"], space=SPACE, warnings=[text])


def remind(mind, text, _tmp):
    mind.remind(text, when="in 20 minutes", space=SPACE)


def save_note(mind, text, _tmp):
    mind.save_note(text, space=SPACE)


def hold(mind, text, _tmp):
    mind.hold({"doing": text}, session="s1", space=SPACE)


def feel(mind, text, _tmp):
    mind.feel("joy", why=text, space=SPACE)


def describe(mind, text, _tmp):
    mind.describe("heron", text, space=SPACE)


def update_file(mind, text, tmp):
    (tmp / "notes").mkdir()
    mind.add_folder(tmp / "notes", space=SPACE)
    mind.update_file(tmp / "notes" / "a.md", text, space=SPACE)


EXPLICIT = [remember, remember_many, revise, teach, remind, save_note, hold, feel, describe, update_file]


def record(mind, text, _tmp):
    mind.record("error", {"text": text, "inner": [text]}, space=SPACE)


def record_tool(mind, text, _tmp):
    mind.record_tool("Bash", {"command": f"echo '{text}'"}, text, space=SPACE, session="s1")
    mind.record_tool("Bash", {"command": "pytest"}, error=f"{text}\nError: no", space=SPACE, session="s1")
    mind.record_task("release", "failure", summary=text, error=text, space=SPACE)
    mind.deeds(limit=0)


def turns(mind, text, _tmp):
    with mind.companion(f"{SPACE}/s1") as companion:
        companion.turn(said(text, f"Remember that {text}."))
        companion.turn([*said(text), {"role": "assistant", "content": f"Yes: {text}"}, {"role": "tool", "content": text}])
        companion.wait(20)


def leaving(mind, text, _tmp):
    talk = [{"role": "user", "content": f"{n} {text} " + "word " * 300} for n in range(12)]
    talk = [one for pair in zip(talk, [{"role": "assistant", "content": text}] * 12, strict=True) for one in pair]
    with mind.companion(f"{SPACE}/s2") as companion:
        assert companion.fit(talk, limit=2_000, task=text).leaving
        assert companion.condense(talk, limit=3_000).done
        companion.wait(20)


def learn(mind, text, _tmp):
    mind.learn(said(text, f"Remember that {text}.") + [{"role": "user", "content": [
        {"type": "tool_result", "content": [{"type": "text", "text": text}]}, {"type": "text", "text": text}]}], space=SPACE)


def import_rows(mind, text, _tmp):
    row = {"type": "memory", "id": "m1", "at": 1.0, "space": SPACE, "text": text, "details": {"a": text}}
    event = {"type": "event", "seq": 9_000, "at": 1.0, "verb": "tool", "space": SPACE, "payload": {"result": text},
             "changes": [["m2", 0, "add", None, json.dumps({"text": text})]]}
    mind.import_([{"type": "reverie", "version": VERSION}, row, event], skip_bad=True)


def import_from(mind, text, tmp):
    (tmp / "claude" / "memory").mkdir(parents=True)
    (tmp / "claude" / "memory" / "MEMORY.md").write_text(f"# Notes\n\n- one {text}\n- two\n")
    (tmp / "claude" / "memory" / "topic.md").write_text(f"---\ntype: user\n---\n{text}\n\n# More\n\n{text}\n")
    mind.import_from(tmp / "claude", space=SPACE)


def share(mind, text, tmp):
    (tmp / "team.jsonl").write_text(json.dumps({"id": "n1", "content": text, "description": "heron", "tags": ["a"],
                                                "timestamp": "2026-01-01T00:00:00"}) + "\n")
    mind.share(tmp / "team.jsonl", space=SPACE)


def index_files(mind, text, tmp):
    (tmp / "texts").mkdir()
    (tmp / "texts" / "a.md").write_text(f"# Heron\n\n{text}\n\n## More\n\n" + "word " * 900 + f"\n{text}\n")
    mind.add_folder(tmp / "texts", space=SPACE)
    mind.sync_files(space=SPACE)


def index_code(mind, text, tmp):
    (tmp / "repo" / ".git").mkdir(parents=True)
    commented = "\n".join(f"    # {line}" for line in text.splitlines())
    (tmp / "repo" / "a.py").write_text(f'MAIL = """{text}"""\n\n\ndef deploy(a="{text.splitlines()[0]}"):\n'
                                       f'{commented}\n    return 1\n')
    mind.index_code(tmp / "repo")
    mind.remember("deploy runs it", space=SPACE, about=[str(tmp / "repo" / "a.py")])


PASSIVE = [record, record_tool, turns, leaving, learn, import_rows, import_from, share, index_files, index_code]


def through(way, text, tmp, clock, **settings):
    """Go one way in, and have everything done that follows; the folder of the home."""
    with memory(tmp / "home", now=clock, **settings) as mind:
        way(mind, text, tmp)
        mind.settle()
        mind.sleep()
        mind.mirror()
    return tmp / "home"


@pytest.mark.parametrize("way", [*EXPLICIT, *PASSIVE], ids=lambda way: way.__name__)
def test_a_private_passage_reaches_no_byte_of_the_home(way, tmp_path, clock):
    """Memories, events, tools, notes, imports, indexes, what leaves a context, the mirror (A108, A110, B119, CC-89)."""
    home = through(way, PRIVATE, tmp_path, clock)
    assert holding(home) == []
    assert holding(home, "heron") or way in (feel, index_code)


@pytest.mark.parametrize("way", [*EXPLICIT, *PASSIVE], ids=lambda way: way.__name__)
def test_what_is_to_be_masked_reaches_no_byte_of_the_home(way, tmp_path, clock):
    """E-mail where `contact = "mask"`, by the same ways (A108, B119)."""
    home = through(way, PERSONAL, tmp_path, clock, contact="mask")
    assert holding(home, MAIL) == []
    assert holding(home, "[REDACTED:email]")


@pytest.mark.parametrize("way", EXPLICIT, ids=lambda way: way.__name__)
def test_who_writes_what_is_refused_is_told(way, tmp_path, clock):
    """The kind and the setting are named, and nothing of it is kept, not even half of it (A108, B119)."""
    with pytest.raises(BadInput, match=r"\(email\), and contact = \"refuse\" in config.toml") as refusal:
        through(way, PERSONAL, tmp_path, clock, contact="refuse")
    assert MAIL not in str(refusal.value)
    assert holding(tmp_path / "home", MAIL) == []


@pytest.mark.parametrize("way", PASSIVE, ids=lambda way: way.__name__)
def test_what_is_refused_and_comes_by_itself_is_dropped(way, tmp_path, clock):
    """Nobody's turn, tool or import fails for it (A108, B119)."""
    home = through(way, PERSONAL, tmp_path, clock, contact="refuse")
    assert holding(home, MAIL) == []


def test_a_refused_message_leaves_its_place(tmp_path, clock):
    """The log says that there was one and why it is gone; the others of the turn are learned from."""
    with memory(tmp_path, now=clock, embedder="none", contact="refuse") as mind:
        with mind.companion(f"{SPACE}/s1") as companion:
            companion.turn(said(f"Ask {MAIL} about it.", "Remember that heron is staging."))
            companion.wait(20)
        mind.settle()
        messages = mind.store.events(verbs=["turn"])[0].payload["messages"]
        assert [one["text"] for one in messages][::2] == ["[REDACTED:email]", "Remember that heron is staging."]
        assert [one.text for one in mind.browse(space=SPACE)] == ["Heron is staging."]


def test_imports_say_which_record_was_refused(tmp_path, clock):
    """Row by row and record by record; the others come in (A108)."""
    with memory(tmp_path / "home", now=clock, embedder="none", contact="refuse") as mind:
        rows = [{"type": "memory", "id": f"m{n}", "at": 1.0, "space": SPACE, "text": text}
                for n, text in enumerate((PERSONAL, "heron is staging"))]
        done = mind.import_([{"type": "reverie", "version": VERSION}, *rows], skip_bad=True)
        assert (done.new["memory"], done.left_out) == (1, 1) and "email" in done.bad[0].why
        with pytest.raises(BadInput, match="row 2.*email"):
            mind.import_([{"type": "reverie", "version": VERSION}, rows[0]])

        (tmp_path / "memory").mkdir()
        (tmp_path / "memory" / "MEMORY.md").write_text(f"- {PERSONAL}\n- heron is staging\n")
        plan = mind.import_from(tmp_path / "memory", space=SPACE).plan
        assert ["email" in one.why for one in plan.bad] == [True] and len(plan.changes) == 1

        (tmp_path / "team.jsonl").write_text("".join(json.dumps(
            {"id": f"n{n}", "content": text, "description": "d"}) + "\n" for n, text in enumerate((PERSONAL, "kept"))))
        shared = mind.share(tmp_path / "team.jsonl", space=SPACE)
        assert shared.new == 1 and "email" in shared.troubles[0] and MAIL in (tmp_path / "team.jsonl").read_text()


def test_a_memory_of_nothing_but_private_text_is_not_kept(tmp_path, clock):
    """The caller is told; a note and a file line are no memory either."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        for text in (f"<private>{PLANTED}</private>", f" <private>{PLANTED}"):
            with pytest.raises(BadInput, match="all of the text is private"):
                mind.remember(text, space=SPACE)
            with pytest.raises(BadInput, match="all of the text is private"):
                mind.save_note(text, space=SPACE)
        with mind.companion(f"{SPACE}/s1") as companion:
            assert not companion.turn(said(f"<private>Remember that {PLANTED} is the bride.</private>"))
            companion.wait(20)
        mind.settle()
        assert mind.browse(space=SPACE) == [] and holding(tmp_path) == []


def test_no_cut_of_a_long_message_lets_a_passage_out(tmp_path, clock):
    """Of a message of half a million characters only the ends are kept: the passage may stand in the middle (CC-89)."""
    with memory(tmp_path, now=clock, embedder="none") as mind, mind.companion(f"{SPACE}/s1") as companion:
        for before in (0, 8_000, MOST_CHARS, 8_000 + SPARE, 200_000):
            companion.turn(said("word " * (before // 5) + f"<private>{PLANTED} " + f"{PLANTED} " * 20_000))
            companion.turn(said("word " * (before // 5) + f"<private> {PLANTED}" * 9_000 + "</private>" * 9_000 + " w" * 9))
        assert companion.wait(30)
        assert holding(tmp_path) == []


def test_neither_a_model_nor_an_embedder_is_told(tmp_path, clock):
    """What is private or personal is in no request, whoever asks (A108)."""
    embedder = Counting()
    with scripted(*["[]"] * 20) as script, memory(
            tmp_path, now=clock, embedder=embedder, llm=script.openai, llm_key="k", contact="mask") as mind:
        with mind.companion(f"{SPACE}/s1") as companion:
            for text in (PRIVATE, PERSONAL, f"Which host is staging? <private>{PLANTED}"):
                companion.turn(said(text, text))
                companion.wait(20)
        talk = [one for n in range(8) for one in said(f"{n} {PRIVATE} {PERSONAL} " + "word " * 300, "And?")]
        mind.condense(talk, limit=3_000, ask=True, space=SPACE)
        mind.recall(f"staging <private>{PLANTED}</private> {MAIL}", space=SPACE)
        mind.settle()
        asked = [str(one) for one in script.asked]

    assert embedder.asked and asked
    assert not any(PLANTED in text or MAIL in text for text in (*asked, *embedder.asked))


def test_a_page_of_the_mirror_keeps_what_its_owner_wrote(tmp_path, clock):
    """A passage of several lines stays in the page as it stands, and no line of it becomes a memory."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        mind.remember("Heron is staging.", space=SPACE)
        page = next(tmp_path.glob("spaces/**/MEMORY.md")) if mind.mirror(SPACE) else None
        page.write_text(page.read_text() + f"\n- Adder is live.\n\n<private>\n- The bride is {PLANTED}.\n- She is.\n</private>\n")
        mind.mirror(SPACE)
        assert sorted(one.text for one in mind.browse(space=SPACE)) == ["Adder is live.", "Heron is staging."]
        assert PLANTED in page.read_text()
    assert holding(tmp_path) == [str(page.relative_to(tmp_path))]


# Choosing

def test_an_unknown_choice_is_refused_by_name(tmp_path):
    """In config.toml and in Settings."""
    (tmp_path / "config.toml").write_text('contact = "hide"\n')
    with pytest.raises(BadInput, match="contact = 'hide' is not one of off, mask, refuse"):
        config.load(tmp_path)
    with pytest.raises(BadInput, match="personal = 'no' is not one of off, mask, refuse"):
        _ = config.Settings(tmp_path, personal="no").policy
    with memory(tmp_path / "b", sensitive=("[z-a]",)) as mind, pytest.raises(BadInput, match="no pattern"):
        mind.record("tool", {"parameters": {"file_path": "a.md"}}, space=SPACE)


def test_a_choice_off_keeps_cards(tmp_path, clock):
    """`personal = "off"`: it is the owner's affair."""
    with memory(tmp_path, now=clock, embedder="none", personal="off") as mind:
        assert "4242" in mind.remember("The test card is 4242 4242 4242 4242.", space=SPACE).text
    with memory(tmp_path, now=clock, embedder="none") as mind:
        assert "4242" not in mind.remember("The test card is 4242 4242 4242 4242.", space=SPACE).text
