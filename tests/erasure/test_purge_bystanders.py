# mypy: no-check-untyped-defs
"""A purge or a scrub removes nothing else: other memories, pending edits and a team's lines stay."""

import json
from pathlib import Path

import pytest

from reverie.core.errors import StoreBusy
from reverie.erasure import purge, unfinished
from reverie.interfaces.hooks.spool import HookFiles, write_json_object
from reverie.mirror.mirror_sync import MIRROR
from reverie.testing import SPACE, memory
from tests.support.planted_text import find_files_holding

TEXT = 'The vault word is Zanzibarquartz, it stands on the "Xyloshelf" of the Plovergate.'
WORDS = ("Zanzibarquartz", "Xyloshelf", "Plovergate")  # nobody else says them
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture
def mind(home, clock):
    with memory(home, now=clock) as made:
        yield made


def page_of(mind, space=SPACE, name="MEMORY.md"):
    return mind.settings.mirror_root / space / name


def believed(mind, *ids):
    return {m.id: (m.text, m.title, m.tags, m.provenance, m.active) for m in mind.get(ids)}


def in_step(mind, clock, problems=()):
    """Time goes by, and everything is brought in step."""
    clock.tick(60)
    mind.settle()
    mind.data.mirror(afresh=True)
    assert [problem.what for problem in mind.data.verify()] == [*problems]


@pytest.mark.proves("X20")
def test_a_purge_does_not_blank_a_pending_edit(mind, clock):
    """The user has just quoted it in the line of another memory, and in a line of their own."""
    gone, other = (
        mind.remember(TEXT, space=SPACE),
        mind.remember("Ann keeps the keys.", space=SPACE),
    )
    mind.data.mirror(SPACE)
    page = page_of(mind)
    page.write_text(
        page.read_text().replace("Ann keeps the keys.", f"Ann keeps the keys: {TEXT}")
        + f"- Bob says: {TEXT}\n"
    )
    purged = mind.data.purge(gone.id)
    in_step(mind, clock)
    assert mind.get([other.id])[0].text == f"Ann keeps the keys: {TEXT}"
    assert {m.text for m in mind.browse(space=SPACE)} == {
        f"Ann keeps the keys: {TEXT}",
        f"Bob says: {TEXT}",
    }
    assert len(purged.repeated) == 2


@pytest.mark.proves("X20")
def test_a_line_of_another_space_that_lost_its_id_stays(mind, clock):
    """Equal texts in two spaces; an editor dropped the comment with the id."""
    gone = mind.remember("Use tabs.", space=SPACE)
    other = mind.remember("Use tabs.", space="me/other")
    more = [mind.remember(f"Another thing {n}.", space="me/other") for n in range(12)]
    mind.data.mirror()
    page = page_of(mind, "me/other")
    page.write_text(page.read_text().replace(f" <!-- {other.id} -->", ""))
    before = believed(mind, other.id, *(m.id for m in more))
    mind.data.purge(gone.id)
    in_step(mind, clock)
    assert believed(mind, other.id, *(m.id for m in more)) == before


@pytest.mark.parametrize(
    "text",
    [
        "He said <!-- {} --> twice",
        "a\n\n{}\n  and more",
        "x &lt;!-- {}",
        "{}",
        "  {}  \n",
        "{}\u2028end",
    ],
)
@pytest.mark.parametrize("what", [TEXT, "Vault\nword 7"])
@pytest.mark.proves("CC-4")
def test_a_blanked_record_is_no_edit(mind, clock, home, text, what):
    """Page, hidden copy and store say the same of it, however the page had to write it."""
    gone = mind.remember(what, space=SPACE)
    told = mind.remember(text.format(what), kind="event", space=SPACE)
    mind.data.mirror()
    mind.data.purge(gone.id)
    after = believed(mind, told.id)
    in_step(mind, clock)
    assert believed(mind, told.id) == after
    assert after[told.id][3] == "observed"
    if what == TEXT:
        assert find_files_holding(home, *WORDS) == []


@pytest.mark.proves("CC-4")
def test_an_old_buffer_brings_nothing_back(mind, clock, home):
    """An editor that had the page open saves it afterwards."""
    gone = mind.remember(TEXT, space=SPACE)
    told = mind.remember(f"Ann said: {TEXT}", kind="event", space=SPACE)
    mind.data.mirror()
    pages = list((mind.settings.mirror_root / SPACE).rglob("*.md"))
    buffers = {page: page.read_text() for page in pages}
    mind.data.purge(gone.id)
    after = believed(mind, told.id)
    for page, text in buffers.items():
        page.write_text(text)
    in_step(mind, clock)
    assert believed(mind, told.id) == after
    assert find_files_holding(home, *WORDS) == []


@pytest.mark.proves("A106")
def test_an_old_buffer_brings_no_secret_back(mind, clock, home):
    """An editor that had the page open when it was scrubbed saves it afterwards."""
    kept = mind.remember("The relay word is Zanzibar-Quartz 77, ask Ann.", space=SPACE)
    mind.data.mirror()
    buffer = page_of(mind).read_text()
    mind.data.scrub("Zanzibar-Quartz 77", write=True)
    after = believed(mind, kept.id)
    page_of(mind).write_text(buffer)
    in_step(mind, clock)
    assert believed(mind, kept.id) == after
    assert find_files_holding(home, "Zanzibar-Quartz") == []


@pytest.mark.proves("A106")
def test_a_scrub_reaches_what_somebody_has_just_written(mind, clock, home):
    """A page with an edit that is not taken in yet."""
    one = mind.remember("The relay word is Zanzibar-Quartz 77, ask Ann.", space=SPACE)
    other = mind.remember("Bob is away.", space=SPACE)
    mind.data.mirror()
    page = page_of(mind)
    page.write_text(
        page.read_text().replace("Bob is away.", "Bob is away, he knows Zanzibar-Quartz 77.")
    )
    done = mind.data.scrub("zanzibar-quartz 77", write=True)
    assert not done.holds
    in_step(mind, clock)
    assert find_files_holding(home, "Zanzibar-Quartz") == []
    assert mind.get([other.id])[0].text == "Bob is away, he knows [REDACTED:given]."
    assert mind.get([one.id])[0].text == "The relay word is [REDACTED:given], ask Ann."


@pytest.mark.proves("X20")
def test_a_purge_names_every_memory_that_repeats_the_text(mind, clock):
    """In a former wording, in details, in a title; otherwise it would be believed gone."""
    gone = mind.remember(TEXT, space=SPACE)
    was = mind.remember(f"Ann said: {TEXT}", space="me/other")
    mind.revise(was.id, text="Ann said nothing.")
    noted = mind.remember(
        "The gravel plant is closed.", space="me/other", details={"seen": [f"on {TEXT}"]}
    )
    mind.data.mirror()
    before = believed(mind, was.id, noted.id)
    history = [(r.before, r.after) for r in mind.history(was.id)]
    purged = mind.data.purge(gone.id)
    assert set(purged.repeated) == {was.id, noted.id}
    in_step(mind, clock)
    assert believed(mind, was.id, noted.id) == before
    assert [(r.before, r.after) for r in mind.history(was.id)] == history


@pytest.mark.proves("X20")
def test_a_backup_from_before_the_memory_was_learned_is_cleaned(mind, clock, home):
    """The daily copy was made before the memory was learned from what was said."""
    with mind.companion(f"{SPACE}/s1", session="s1") as companion:
        companion.turn([{"role": "user", "content": f"And by the way: {TEXT}"}])
        assert companion.wait(120)
    assert mind.browse(space=SPACE) == []
    mind.data.backup(home / "backups/reverie-20251009.db")
    gone = mind.remember(TEXT, space=SPACE)
    assert mind.data.purge(gone.id).unreached == ()
    assert find_files_holding(home, *WORDS) == []


CJK = "金库的密码是紫色香蕉皮并且放在书架第三层的左边"


@pytest.mark.proves("CC-4")
def test_a_text_without_spaces_is_found_within_a_sentence(mind, clock, home):
    """Chinese has no spaces, and says in ten characters what takes thirty letters."""
    for text in (CJK, "金库密码是紫色香蕉皮"):
        gone = mind.remember(text, space=SPACE)
        mind.record_tool(
            "bash",
            {"command": f"echo '请记住{text}谢谢'"},
            f"好的{text}知道了",
            ok=True,
            space=SPACE,
            session="s1",
            task=f"记住{text}吧",
        )
        mind.data.purge(gone.id)
        assert find_files_holding(home, text) == []


@pytest.mark.proves("E33")
def test_names_of_one_space_are_not_those_of_another(mind, clock, tmp_path):
    """Two teams' files may call different memories the same."""
    files = {space: tmp_path / f"{space[3:]}.jsonl" for space in (SPACE, "me/other")}
    for space, file in files.items():
        file.write_text(
            "".join(
                json.dumps({"id": name, "content": f"In {space} it is {name}.", "extra": 1}) + "\n"
                for name in ("m1", "m2")
            )
        )
        mind.data.share(file, space=space, trusted=True)
    before = files["me/other"].read_text()
    [gone] = [m for m in mind.browse(space=SPACE) if m.text.endswith("m1.")]
    others = believed(mind, *(m.id for m in mind.browse(space="me/other")))
    mind.data.purge(gone.id)
    assert files["me/other"].read_text() == before
    in_step(mind, clock)
    assert believed(mind, *others) == others
    assert "m1" not in files[SPACE].read_text()


@pytest.mark.proves("X20")
def test_a_short_text_alters_no_field_of_others(mind, clock, tmp_path):
    """What is a memory's text may be another's tag, or its author's name."""
    other = mind.remember(
        "The gravel plant is closed on Mondays.", space=SPACE, tags=["vault", "gravel"]
    )
    gone = [
        mind.remember(text, space=SPACE)
        for text in ("Vault", "Facts", "me/demo", "inferred", "shares", "mirror_spaces")
    ]
    team = tmp_path / "team.jsonl"
    mind.data.share(team, space=SPACE)
    mind.data.mirror()
    before = believed(mind, other.id)
    mind.data.purge([m.id for m in gone])
    assert mind.data.shares(space=SPACE) == [str(team)]
    mind.data.share(team, space=SPACE)
    in_step(mind, clock)
    assert believed(mind, other.id) == before
    assert json.loads(team.read_text())["tags"] == ["vault", "gravel"]


@pytest.mark.proves("X20")
def test_waiting_events_are_blanked_not_dropped(mind, clock, home):
    """The rest of what was said is still to be learned from."""
    gone, short = mind.remember(TEXT, space=SPACE), mind.remember("prompt", space=SPACE)
    room = HookFiles(str(home))
    write_json_object(
        f"{room.spool}/later.json",
        {"event": "prompt", "given": {"prompt": f"Note {TEXT} And Bob is away."}},
    )
    mind.data.purge([gone.id, short.id])
    assert json.loads(Path(f"{room.spool}/later.json").read_text()) == {
        "event": "prompt",
        "given": {"prompt": "Note [purged]. And Bob is away."},
    }


@pytest.mark.proves("A106", "X20")
def test_a_broken_character_does_not_stop_a_purge(mind, clock, tmp_path, home):
    """A shared line that is no valid Unicode does not stop a purge."""
    gone = mind.remember(TEXT, space=SPACE)
    keep = mind.remember("Ann keeps the keys.", space=SPACE)
    team = tmp_path / "team.jsonl"
    mind.data.share(team, space=SPACE)
    team.write_text(
        team.read_text()
        + '{"id": "x1", "content": "half \\ud83d and Zanzibar-Quartz 77", "tags": []}\n'
        + '{"id": "x2", "content": ""}\n'
    )
    mind.data.scrub("Zanzibar-Quartz 77", write=True)
    assert "Zanzibar" not in team.read_text().replace("Zanzibarquartz", "")
    mind.data.purge(gone.id)
    assert mind.get([keep.id])


@pytest.mark.proves("E33")
def test_a_file_of_one_line_keeps_its_form(mind, clock, tmp_path):
    """Lines stay lines, with their ends and their letters, so that git can merge them."""
    mind.remember("Grüße: Zanzibar-Quartz 77.", space=SPACE)
    team = tmp_path / "team.jsonl"
    mind.data.share(team, space=SPACE)
    mind.data.scrub("Zanzibar-Quartz 77", write=True)
    assert team.read_text().endswith("}\n") and "Grüße: [REDACTED:given]" in team.read_text()


@pytest.mark.proves("A106")
def test_a_cut_description_in_a_shared_file_is_no_edit(mind, clock, tmp_path):
    """A description that is made up ends within what was scrubbed."""
    kept = mind.remember("word " * 18 + "Zanzibar-Quartz 77 and so on.", space=SPACE)
    team = tmp_path / "team.jsonl"
    mind.data.share(team, space=SPACE)
    mind.data.scrub("Zanzibar-Quartz 77", write=True)
    after = believed(mind, kept.id)
    mind.data.share(team, space=SPACE)
    in_step(mind, clock)
    assert believed(mind, kept.id) == after


def test_what_is_not_ours_in_the_mirror_stays(mind, clock, tmp_path, home):
    """A day's page without our first line, and a link, are the user's."""
    gone = mind.remember(TEXT, space=SPACE)
    mind.data.mirror(SPACE)
    folder = mind.settings.mirror_root / SPACE
    (folder / "memory").mkdir(exist_ok=True)
    diary, real = folder / "memory/2025-01-02.md", tmp_path / "mine.md"
    diary.write_text(f"# My day\n\n{TEXT}\n")
    real.write_text(f"# Mine\n\n{TEXT}\n")
    link = folder / "memory/2025-01-03.md"
    link.symlink_to(real)
    mind.data.mirror(SPACE)
    mind.data.purge(gone.id)
    mind.data.scrub("Zanzibarquartz", write=True)
    assert TEXT in diary.read_text() and TEXT in real.read_text() and link.is_symlink()


@pytest.mark.proves("CC-4", "CC-12")
def test_a_purge_that_was_killed_is_finished(mind, clock, home, tmp_path, monkeypatch):
    """The store has let go and the files have not: the next one who looks finishes it."""
    gone, other = (
        mind.remember(TEXT, space=SPACE),
        mind.remember("Ann keeps the keys.", space=SPACE),
    )
    mind.data.share(tmp_path / "home/team.jsonl", space=SPACE)
    mind.data.mirror()
    mind.revise(gone.id, text=f"{TEXT} Ask Bob.")
    mind.data.mirror()
    mind.data.share(tmp_path / "home/team.jsonl", space=SPACE)
    mind.data.backup(home / "backups/reverie-20251009.db")
    with monkeypatch.context() as patch:

        def killed(*_a, **_k):
            raise KeyboardInterrupt

        patch.setattr(purge, "purge_from_index", killed)
        patch.setattr(purge, "purge_from_hooks", killed)
        patch.setattr("reverie.mirror.mirror_sync.erase_from_mirror", killed)
        with pytest.raises(KeyboardInterrupt):
            mind.data.purge(gone.id)
    assert unfinished.has_unfinished_erasure(mind.work)
    in_step(mind, clock, problems=["erasure"])
    assert [m.id for m in mind.browse(space=SPACE)] == [other.id]
    assert unfinished.finish_erasure(mind.work)
    in_step(mind, clock)
    assert find_files_holding(home, *WORDS) == []
    assert [m.id for m in mind.browse(space=SPACE)] == [other.id]


@pytest.mark.proves("X20")
def test_a_busy_mirror_does_not_misreport_a_purge(mind, clock, home, monkeypatch):
    """While another process is at the mirror it is not said that nothing was done, when the store
    has let go.
    """
    gone = mind.remember(TEXT, space=SPACE)
    mind.data.mirror()
    monkeypatch.setattr(
        "reverie.pipeline.leases.hold_lease.__wrapped__.__kwdefaults__",
        {"seconds": 30.0, "patience": 0.2},
    )
    assert mind.store.acquire(MIRROR, "other", 30.0, clock())
    try:
        purged = mind.data.purge(gone.id)
    except StoreBusy:
        assert mind.get([gone.id])
    else:
        assert purged.unreached and unfinished.has_unfinished_erasure(mind.work)
    mind.store.release(MIRROR, "other")
