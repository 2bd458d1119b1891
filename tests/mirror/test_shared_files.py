"""Memories as a file of JSON lines that a team commits: export, import, and kept in step."""

import json
import os

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reverie.core.errors import BadInput, NotFound
from reverie.mirror import shared_lines
from reverie.testing import SPACE, memory
from tests.support.helpers import run_command, toy_home

ZONE = "Europe/Berlin"
JAATO = [
    {
        "id": "mem_20260301_091500_1234",
        "content": "Widget cache is invalidated by the build id.",
        "description": "Widget cache invalidation",
        "tags": ["Widget_Cache", "build_id"],
        "timestamp": "2026-03-01T09:15:00.123456",
        "usage_count": 2,
        "last_accessed": "2026-03-04T10:00:00",
        "maturity": "validated",
        "confidence": 0.8,
        "scope": "project",
        "evidence": "stale widget seen after deploy",
    },
    {
        "id": "mem_20231211_143022",
        "content": "Old form.",
        "description": "First generation record",
        "tags": ["legacy"],
        "timestamp": "2023-12-11T14:30:22",
        "usage_count": 0,
        "last_accessed": None,
    },
]


def lines(path):
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def write(path, *records):
    path.write_text(
        "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in records),
        "utf-8",
    )
    os.utime(path, (1, 1))  # long ago: nobody is just writing it


@pytest.fixture
def team(tmp_path, clock):
    """Two people, each with a memory of their own, and one file."""
    with (
        memory(tmp_path / "ann", now=clock, zone=ZONE) as ann,
        memory(tmp_path / "bob", now=clock, zone=ZONE) as bob,
    ):
        yield ann, bob, tmp_path / "memories.jsonl"


@pytest.mark.proves("E14", "E31", "E32", "E34", "E36")
def test_a_file_in_the_documents_format(team):
    """The seven fields, one object a line, last_accessed null until used."""
    ann, _, path = team
    kept = ann.remember(
        "The cache is keyed by the build id.", title="Cache key", tags=["widget_cache"], space=SPACE
    )
    untitled = ann.remember("Line one.\nLine two of it.", space=SPACE)
    done = ann.data.share(path, space=SPACE)
    one, two = lines(path)
    assert one == {
        "id": kept.id,
        "content": kept.text,
        "description": "Cache key",
        "tags": ["widget_cache"],
        "timestamp": "2025-10-09T10:53:20",
        "usage_count": 0,
        "last_accessed": None,
    }
    assert list(one) == [
        "id",
        "content",
        "description",
        "tags",
        "timestamp",
        "usage_count",
        "last_accessed",
    ]
    assert (two["id"], two["description"]) == (untitled.id, "Line one. Line two of it.")
    assert (done.lines, done.written, done.new) == (2, True, 0)


@pytest.mark.proves("E23", "E5", "CC-11")
def test_personal_memories_are_not_shared(team):
    """Preferences, what was said and what happened, other spaces, guesses: none of it is shared."""
    ann, _, path = team
    ann.remember("I like tabs.", kind="preference", space=SPACE)
    ann.remember("We met on Monday.", kind="event", space=SPACE)
    ann.remember("Hello there, how are you?", session="s", speaker="Ann", space=SPACE)
    ann.remember("Perhaps it leaks.", provenance="inferred", space=SPACE)
    ann.remember("A secret of mine.", space="me")
    ann.remember("Of another project.", space="me/other")
    ann.data.share(path, space=SPACE)
    assert path.read_bytes() == b""


@pytest.mark.parametrize(
    "private",
    [
        "Sam lives in Oslo and prefers dark mode.",
        "Katrin wohnt in Köln und ist gerade krankgeschrieben.",
        "Mi cumpleaños es el 4 de julio.",
        "Le mari de Chloé est médecin.",
        "小王对花生过敏。",
    ],
)
@pytest.mark.proves("E23")
def test_what_is_about_a_person_stays_out_of_the_teams_file(team, private):
    """Kept as a fact like any other; what somebody does in the project is shared, and so is what
    its owner tags, or what stands in the file by hand.
    """
    ann, _, path = team
    kept = ann.remember(private, space=SPACE)
    ann.remember("Sam owns billing and reviews its PRs.", space=SPACE)
    ann.data.share(path, space=SPACE)
    assert [one["content"] for one in lines(path)] == ["Sam owns billing and reviews its PRs."]
    ann.tag(kept.id, [shared_lines.SHARE_TAG])
    ann.data.share(path, space=SPACE)
    assert private in [one["content"] for one in lines(path)]


@pytest.mark.proves("E23")
@pytest.mark.parametrize("trusted", [False, True])
def test_a_private_line_that_a_person_wrote_into_the_file_stays(team, trusted):
    """People who review the file decide what stands there: nothing of theirs is taken out."""
    ann, _, path = team
    write(path, {"id": "theirs", "content": "Reach Sam on his private mobile, 555 0134."})
    ann.data.share(path, space=SPACE, trusted=trusted)
    ann.data.share(path, space=SPACE, trusted=trusted)
    assert [one["id"] for one in lines(path)] == ["theirs"]


@pytest.mark.proves("E23")
def test_what_stood_in_the_file_before_it_was_known_to_be_private_leaves_it(team, monkeypatch):
    """A file that was written by an earlier version loses the line at the next round."""
    ann, _, path = team
    ann.remember("Sam lives in Oslo and prefers dark mode.", space=SPACE)
    monkeypatch.setattr(shared_lines, "is_personal", lambda _text: False)
    ann.data.share(path, space=SPACE)
    assert len(lines(path)) == 1
    monkeypatch.undo()
    ann.data.share(path, space=SPACE)
    assert path.read_bytes() == b""
    assert [one.text for one in ann.browse(space=SPACE)]


def test_jaatos_files_are_taken_in(team):
    """Content, description, tags, time, use, evidence and what is claimed; ids lead back; twice
    adds nothing.
    """
    ann, _, path = team
    write(path, *JAATO)
    before = path.read_bytes()
    done = ann.data.share(path, space=SPACE, once="import")
    assert (done.new, done.written, path.read_bytes()) == (2, False, before)
    old, new = ann.browse(space=SPACE)
    assert (new.text, new.title) == (JAATO[0]["content"], JAATO[0]["description"])
    assert new.tags == ("widget_cache", "build_id")
    assert (new.at, new.access_count, new.confidence) == (1772352900.123456, 2, 0.3)
    assert new.details["claims"] == {"maturity": "validated", "confidence": 0.8}
    assert new.details["evidence"] == "stale widget seen after deploy"
    assert old.details["imported_from"] == {
        "system": "jaato",
        "id": "mem_20231211_143022",
        "zone": ZONE,
    }
    assert ann.data.share(path, space=SPACE, once="import").new == 0
    assert [] == ann.data.verify()

    other = path.with_name("again.jsonl")
    ann.data.share(other, space=SPACE, once="export")
    back = {one["id"]: one for one in lines(other)}
    for record in JAATO:
        assert {
            name: back[record["id"]][name]
            for name in ("content", "description", "timestamp", "usage_count", "last_accessed")
        }.items() <= record.items()


@pytest.mark.proves("E48", "E49", "E56")
def test_changes_reach_the_other_side_with_the_same_id(team):
    """What one adds, alters or forgets the other has after the next look, with the same id."""
    ann, bob, path = team
    kept = ann.remember("Deploy with make ship.", title="Deploying", tags=["deploy"], space=SPACE)
    ann.data.share(path, space=SPACE)
    assert bob.data.share(path, space=SPACE).new == 1 and bob.get(kept.id)[0].text == kept.text
    bob.revise(kept.id, text="Deploy with make ship-it.")
    own = bob.remember("The cache needs a restart.", space=SPACE)
    bob.settle()
    assert [one["content"] for one in lines(path)] == ["Deploy with make ship-it.", own.text]
    os.utime(path, (1, 1))
    ann.settle()
    assert (
        ann.get(kept.id)[0].text == "Deploy with make ship-it."
        and ann.get(own.id)[0].space == SPACE
    )
    ann.forget(own.id)
    ann.settle()
    os.utime(path, (2, 2))
    bob.settle()
    assert [one["id"] for one in lines(path)] == [kept.id] and not bob.get(own.id)[0].active
    event = bob.history(own.id)[-1].event
    assert event.verb == "shared" and bob.undo(event.seq)


def test_what_was_pulled_counts_from_the_first_turn_on(team):
    """A conversation that begins takes in what others have written meanwhile."""
    ann, _, path = team
    ann.data.share(path, space=SPACE)
    write(path, *JAATO)
    with ann.companion(space=SPACE) as companion:
        companion.turn([{"role": "user", "content": "hello"}])
        assert companion.wait(120)
    assert len(ann.browse(space=SPACE)) == 2


@pytest.mark.proves("E50", "E54", "E55")
def test_people_edit_the_file(team):
    """A line that is altered, added or deleted by hand is so in memory: the person's word holds."""
    ann, _, path = team
    one, _, three = (ann.remember(f"Fact number {n} of all.", space=SPACE) for n in "abc")
    ann.data.share(path, space=SPACE)
    a, b, _ = lines(path)
    write(
        path,
        {**a, "content": "Fact a, corrected.", "extra": 7},
        b,
        {"id": "mem_by_hand", "content": "Written by hand.", "tags": ["x"]},
    )
    done = ann.data.share(path, space=SPACE)
    assert (done.new, done.revised, done.forgotten) == (1, 1, 1)
    assert ann.get(one.id)[0].text == "Fact a, corrected." and not ann.get(three.id)[0].active
    assert "Written by hand." in [memory.text for memory in ann.browse(space=SPACE)]
    assert lines(path)[0]["extra"] == 7 and lines(path)[1] == b


def test_use_does_not_rewrite_the_file(team):
    """Who used a memory and when is no reason to write a file that is under version control."""
    ann, _, path = team
    kept = ann.remember("Deploy with make ship.", space=SPACE)
    ann.data.share(path, space=SPACE)
    before = path.read_bytes()
    ann.retrieve([kept.id], space=SPACE)
    ann.settle()
    assert path.read_bytes() == before and not ann.data.share(path, space=SPACE).written


def test_an_emptied_file_forgets_nothing(team):
    """Many lines gone, or the file itself: they are written anew, and that is said."""
    ann, _, path = team
    for n in range(12):
        ann.remember(f"Fact number {n} of all.", space=SPACE)
    ann.data.share(path, space=SPACE)
    whole = path.read_bytes()
    for spoil in (lambda: path.write_bytes(b""), path.unlink):
        spoil()
        done = ann.data.share(path, space=SPACE)
        assert (done.forgotten, path.read_bytes()) == (
            0,
            whole,
        ) and "written anew" in done.troubles[0]
    assert len(ann.browse(space=SPACE)) == 12


@pytest.mark.proves("CC-9")
def test_unreadable_lines_are_kept(team):
    """Broken lines, records of nothing, a BOM, CRLF: told, kept as they stand, and the others are
    taken in.
    """
    ann, _, path = team
    odd = [
        "{broken",
        '{"id": "mem_x"}',
        "[]",
        '{"id": "mem_y", "content": "fine", "tags": "no list"}',
        "null",
    ]
    path.write_bytes(
        b"\xef\xbb\xbf" + "\r\n".join([json.dumps(JAATO[0]), *odd, json.dumps(JAATO[1])]).encode()
    )
    done = ann.data.share(path, space=SPACE)
    assert (done.new, len(done.troubles), done.lines) == (2, 5, 7)
    ann.remember("One more fact about it.", space=SPACE)
    ann.data.share(path, space=SPACE)
    assert path.read_text("utf-8").splitlines()[1:6] == odd


def test_a_file_with_the_marks_of_a_merge_waits(team):
    """Neither side is taken in or written over until somebody has solved it."""
    ann, _, path = team
    text = (
        f"<<<<<<< HEAD\n{json.dumps(JAATO[0])}\n=======\n{json.dumps(JAATO[1])}\n>>>>>>> theirs\n"
    )
    path.write_text(text)
    done = ann.data.share(path, space=SPACE)
    assert done.stuck and "marks of a merge (lines 1, 3, 5)" in done.troubles[0]
    assert path.read_text() == text and ann.browse(space=SPACE) == []


def test_a_file_that_is_left_alone_is_told_everywhere(tmp_path, monkeypatch):
    """share lists it as such and ends with a code of its own, settle and status say what to do,
    JSON has it.
    """
    home = toy_home(tmp_path)
    monkeypatch.setenv("REVERIE_HOME", str(home))
    monkeypatch.setenv("REVERIE_SPACE", SPACE)
    path = tmp_path / "team.jsonl"
    path.write_text("")
    run_command("data", "share", str(path), "--space", SPACE)
    path.write_text(
        f"<<<<<<< HEAD\n{json.dumps(JAATO[0])}\n=======\n{json.dumps(JAATO[1])}\n>>>>>>> theirs\n"
    )
    done = run_command("data", "share", str(path), "--space", SPACE, code=4)
    assert "lines 1, 3, 5" in done.stderr and "merge=union" in done.stderr
    assert json.loads(
        run_command("--json", "data", "share", str(path), "--space", SPACE, code=4).stdout
    )["stuck"]
    listed = run_command("data", "share", "--space", SPACE)
    assert f"{path}  (not in step)" in listed.stdout and "marks of a merge" in listed.stderr
    for words in (("data", "share", "--space", SPACE), ("data", "settle"), ("status",)):
        told = json.loads(run_command("--json", *words).stdout)
        assert "marks of a merge" in str(told.get("troubles", told.get("shares"))[str(path)])
    assert (
        "marks of a merge" in run_command("data", "settle").stderr
        and "marks of a merge" in run_command("status").stdout
    )
    path.write_text("\n".join(map(json.dumps, JAATO)) + "\n")
    assert "not in step" not in run_command("data", "share", "--space", SPACE).stdout


def test_a_merge_that_keeps_both_sides(team):
    """Of two lines with one id the later one holds, and one of them is left (merge=union)."""
    ann, _, path = team
    kept = ann.remember("Deploy with make ship.", space=SPACE)
    ann.data.share(path, space=SPACE)
    (line,) = lines(path)
    write(path, line, {**line, "content": "Deploy with make ship-it."})
    ann.data.share(path, space=SPACE)
    assert (
        [one["content"] for one in lines(path)]
        == ["Deploy with make ship-it."]
        == [ann.get(kept.id)[0].text]
    )


@pytest.mark.proves("CC-89")
def test_secrets_do_not_come_in(team):
    """A secret in a teammate's line is taken out on the way in, and out of the file."""
    ann, _, path = team
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    write(path, {**JAATO[0], "content": f"The token is {token} for now.", "description": token})
    ann.data.share(path, space=SPACE)
    assert token not in path.read_text() and token not in str(list(ann.data.export()))


def test_lines_refused_here_stay_for_the_others(tmp_path, clock):
    """Lines that are refused, put away, private, or wait for a look here are nobody's to delete, in
    any round.
    """
    path = tmp_path / "team.jsonl"
    rest: dict[str, object] = {
        "description": "s",
        "tags": ["s1"],
        "timestamp": "2026-03-01T09:15:00",
    }
    some: list[tuple[str, dict[str, object]]] = [
        ("The cache is called redis-7.", {}),
        ("Ask ann@example.org on search.", {}),
        (
            "The deploy host is marten.",
            {"generated_by": {"kind": "ai", "agent_id": "jaato", "model": "gem"}},
        ),
        ("Put away.", {"maturity": "dismissed"}),
        ("<private>all</private>", {}),
    ]
    said = [
        {"id": f"t{place}", "content": text, **rest, **more}
        for place, (text, more) in enumerate(some)
    ]
    write(path, *said)
    with memory(tmp_path / "ann", now=clock, zone=ZONE, contact="refuse", curate="model") as mind:
        for _ in range(3):
            mind.data.share(path, space=SPACE, trusted=True)
            mind.settle()
            assert [line["id"] for line in lines(path)] == [line["id"] for line in said]
        edited = [
            {**lines(path)[0], "content": "The cache is redis-8, ask bob@example.org."},
            *said[1:],
        ]
        write(path, *edited)
        for _ in range(2):
            mind.data.share(path, space=SPACE)
            assert lines(path)[0]["content"] == edited[0]["content"]


def test_purge_leaves_nothing_in_the_file(team):
    """What is erased for good leaves shared files too, also if somebody had just
    altered the line.
    """
    ann, _, path = team
    gone, stays = (
        ann.remember(text, space=SPACE)
        for text in ("The launch code is blue.", "Another fact of it.")
    )
    ann.data.share(path, space=SPACE)
    one, two = lines(path)
    write(path, {**one, "content": "The launch code is dark blue."}, two)
    ann.data.purge(gone.id)
    ann.settle()
    assert [line["id"] for line in lines(path)] == [stays.id] and "launch" not in str(
        list(ann.data.export())
    )


def test_sharing_is_asked_for_and_ended(team):
    """Only files that somebody named are written; an end leaves them as they are."""
    ann, _, path = team
    ann.data.share(path, space=SPACE)
    assert ann.data.shares(space=SPACE) == [str(path)] and ann.data.shares(space="me/other") == []
    ann.data.unshare(path, space=SPACE)
    ann.remember("Nobody else hears of it.", space=SPACE)
    ann.settle()
    assert path.read_bytes() == b"" and ann.data.shares(space=SPACE) == []
    for call in (
        lambda: ann.data.unshare(path, space=SPACE),
        lambda: ann.data.share(path.parent / "no", space=SPACE, once="import"),
    ):
        with pytest.raises(NotFound):
            call()
    for wrong in (path.parent, path.parent / "none" / "x.jsonl"):
        with pytest.raises(BadInput):
            ann.data.share(wrong, space=SPACE)
    with pytest.raises(BadInput):
        ann.data.share(path, space=SPACE, once="both")


def test_the_command(tmp_path, monkeypatch):
    """reverie data share: begin, list, import, export, stop."""
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    path, here = tmp_path / "memories.jsonl", ("--space", SPACE)
    write(path, *JAATO)
    assert (
        json.loads(run_command("data", "share", str(path), "--import", *here, "--json").stdout)[
            "new"
        ]
        == 2
    )
    assert "Begin: reverie data share --start" in run_command("data", "share", *here).stdout
    assert "2 lines" in run_command("data", "share", str(path), *here).stdout
    assert str(path) in run_command("data", "share", *here).stdout
    other = tmp_path / "other.jsonl"
    run_command("data", "share", str(other), "--export", *here)
    assert {one["id"] for one in lines(other)} == {one["id"] for one in JAATO}
    run_command("data", "share", str(path), "--stop", *here)
    assert json.loads(run_command("data", "share", *here, "--json").stdout)["files"] == []
    run_command("data", "share", str(path), "--stop", "--export", *here, code=2)


@pytest.mark.proves("E35")
def test_where_the_file_is_unless_one_says(tmp_path, monkeypatch):
    """`.jaato/memories.jsonl` of the project, from any folder of it; no folder is made to read from
    it.
    """
    monkeypatch.setenv("REVERIE_HOME", str(toy_home(tmp_path)))
    (tmp_path / "p" / ".git").mkdir(parents=True)
    (tmp_path / "p" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "p" / "src")
    file = tmp_path / "p" / ".jaato" / "memories.jsonl"
    assert str(file) in run_command("data", "share", "--import", code=2).stderr
    assert not file.parent.exists()
    run_command("remember", "The cache is keyed by the build id.")
    run_command("data", "share", "--start")
    assert [one["content"] for one in lines(file)] == ["The cache is keyed by the build id."]
    assert json.loads(run_command("data", "share", "--json").stdout)["files"] == [str(file)]
    run_command("data", "share", "--stop")
    write(file, *JAATO)
    assert json.loads(run_command("data", "share", "--import", "--json").stdout)["new"] == 2
    assert json.loads(run_command("data", "share", "--json").stdout)["files"] == []


def test_a_page_is_written_as_it_was_read():
    """Taking nothing in and having nothing to say alters no line."""
    text = "".join(json.dumps(record, separators=(",", ":")) + "\n" for record in JAATO)
    assert (
        shared_lines.merge_shared_file(
            shared_lines.parse_shared_file(text.encode()), (), frozenset()
        ).text
        == text
    )


RECORDS = st.fixed_dictionaries(
    {"id": st.text(min_size=1, max_size=8), "content": st.text(max_size=20)},
    optional={
        "tags": st.lists(st.text(max_size=6), max_size=3) | st.none(),
        "description": st.text(max_size=8),
        "timestamp": st.text(max_size=12),
        "confidence": st.floats() | st.text(max_size=3),
        "more": st.none(),
    },
)


@example(["\x00\r"], b"")
@example(["{}\r\r", "", "a\rb\r\n"], b"\r")
@example(["", "\ufeff{}"], b"")
@example(["\ufeff\ufeff{}"], b"\xef\xbb\xbf{}")
@given(st.lists(RECORDS.map(json.dumps) | st.text(max_size=30), max_size=6), st.binary(max_size=40))
@pytest.mark.proves("CC-9")
def test_any_file_can_be_read(some, noise):
    """Nothing is too odd to be read; what is read is written as it stood; saying it again alters
    nothing.
    """
    page = shared_lines.parse_shared_file(
        "\n".join(some).encode("utf-8", "replace") + b"\n" + noise
    )
    again = shared_lines.parse_shared_file(page.text.encode())
    assert again.text == page.text
    assert [line.raw for line in again.lines] == [line.raw for line in page.lines]
    for record in page.records.values():
        shared_lines.from_shared_record(record, ZONE)
    told = shared_lines.merge_shared_file(page, page.records.values(), frozenset())
    assert told.records.keys() == page.records.keys()
    assert shared_lines.merge_shared_file(told, page.records.values(), frozenset()) == told
