"""The command line over one home: what people type, what comes back."""

import json
import re

import pytest

import reverie
from reverie.core.errors import ModelUnavailable
from reverie.core.model import Edge, Event, Link
from reverie.memory.short_ids import shorten_id
from tests.support.helpers import run_command, toy_home

pytestmark = pytest.mark.filterwarnings("default::DeprecationWarning")


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path)


@pytest.fixture
def run(home, monkeypatch):
    """Run a command in the space me/demo; the result."""
    monkeypatch.setenv("REVERIE_HOME", str(home))
    return lambda *words, space=True, **more: run_command(
        *(["--space", "me/demo"] if space else []), *words, **more
    )


@pytest.fixture
def run_json(run):
    """Run a command with --json; the one document on stdout."""

    def answer(*words, **more):
        return json.loads(run(*words, "--json", **more).stdout)

    return answer


@pytest.fixture
def keep_text(run_json):
    """Keep a text; its id."""
    return lambda *words, **more: run_json("remember", *words, **more)["memory"]["id"]


# Keeping


def test_a_picture_is_not_remembered(run, run_json):
    """Bytes that are no text are refused with a sentence; letters of another encoding are not."""
    out = run("remember", "-", stdin=b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xff", code=2)
    assert "binary, not text" in out.stderr
    assert "binary, not text" in run("remember", "--each-line", stdin=b"a\n\0\xff", code=2).stderr
    assert run_json("list")["memories"] == []
    assert run_json("remember", "-", stdin="Café".encode("latin-1"))["memory"]["text"] == "Caf�"


def test_what_goes_into_a_pipe_has_no_spaces_at_the_end_of_a_line(run, keep_text):
    """Lines are filled up for a terminal alone."""
    id = keep_text("The staging server is called heron.", "--tag", "infra")
    run("recall", "heron", "--mode", "words")
    for command in (["recall", "heron"], ["list"], ["undo"], ["memory", "history", id], ["status"]):
        lines = run(*command).stdout.split("\n")
        assert len(lines) > 2 or command == ["undo"], lines
        assert lines == [line.rstrip() for line in lines], command


def test_a_history_tells_moments_as_dates(run, keep_text):
    """Also of what nobody typed, such as when it was used last."""
    id = keep_text("The staging server is called heron.")
    run("memory", "feedback", id, "--helpful")
    run("recall", "heron", "--mode", "words")
    told = run("memory", "history", id).stdout
    assert "access_count: 0 → 1" in told
    assert re.search(r"last_accessed_at: nothing → \d{4}-\d\d-\d\d \d\d:\d\d UTC", told), told


@pytest.mark.proves("A57", "A59", "A60", "A61", "A101", "A102", "B17", "X47")
def test_what_is_remembered_is_recalled(run, run_json, keep_text):
    """`remember` with content and kind, `recall` with a query, `list`, and `forget` by id."""
    id = keep_text(
        "The staging server is called heron.", "--kind", "entity", "--tag", "Infra", "-t", "#ops"
    )
    hits = run_json("recall", "staging", "server")["hits"]
    assert (hits[0]["id"], hits[0]["memory"]["kind"], hits[0]["memory"]["tags"]) == (
        id,
        "entity",
        ["infra", "ops"],
    )
    assert hits[0]["why"]
    assert [id] == [m["id"] for m in run_json("list")["memories"]]
    assert (
        "heron" in run("recall", "staging server").stdout and shorten_id(id) in run("list").stdout
    )

    assert run_json("forget", id)["forgotten"] == 1
    assert [] == run_json("list")["memories"] == run_json("recall", "staging server")["hits"]
    assert [id] == [m["id"] for m in run_json("list", "--forgotten")["memories"]]
    assert run_json("memory", "restore", id)["memories"][0]["retired_at"] is None
    assert [id] == [m["id"] for m in run_json("list")["memories"]]


@pytest.mark.proves("A57")
def test_a_part_of_an_id_names_its_memory(run, run_json, keep_text):
    """The first or last characters do, if nothing else begins or ends so; else what could be meant
    is listed, and nothing happens. People are shown the short ones, programs the whole.
    """
    one, other = keep_text("The staging host is heron."), keep_text("Backups run at night.")
    short = shorten_id(one)
    assert short == f"mem_{one[-6:]}" and shorten_id("said_12") == "said_12"
    assert short in run("list").stdout and one not in run("list").stdout
    assert run_json("show", short)["memories"][0]["id"] == one

    both = run("forget", one[:8], code=2).stderr
    assert "could be 2 memories" in both and one in both and "Backups run at night." in both
    assert len(run_json("list")["memories"]) == 2

    run("memory", "link", short, f"mem_{other[-5:]}")
    assert run_json("forget", f"mem_{other[-5:]}", short)["ids"] == [other, one]
    assert run_json("memory", "restore", short)["memories"][0]["id"] == one
    assert "no memory" in run("explain", "mem_zzz", code=1).stderr
    assert "no memory" in run("explain", "mem_", code=1).stderr


@pytest.mark.proves("A57")
def test_memories_move_to_another_space(run, run_json, keep_text):
    """What is so in all projects is put where all see it, and comes back by undo."""
    id, here = keep_text("Tests run by pytest."), run_json("list")["memories"][0]["space"]
    assert "Say where to" in run("move", id, space=False, code=2).stderr
    assert "no memory" in run("move", id, "mem_none", "--space", "me", code=1).stderr
    assert run_json("show", id)["memories"][0]["space"] == here != "me"

    assert f"from {here} to me" in run("move", shorten_id(id), "--space", "me").stdout
    assert run_json("show", id)["memories"][0]["space"] == "me"
    assert id in str(run_json("recall", "pytest", "--space", "me/other"))
    assert "already" in run("memory", "move", id, "--space", "me").stdout
    listed = run("undo").stdout
    event = next(line.split()[0] for line in listed.splitlines() if " revise" in line)
    assert "Took back" in run("undo", event).stdout, listed
    assert run_json("show", id)["memories"][0]["space"] == here


@pytest.mark.proves("A33")
def test_a_recall_counts_as_use(run_json, keep_text):
    """Each time; how things stood then is no use of anything."""
    id = keep_text("The staging server is called heron.")
    for _ in range(2):
        run_json("recall", "staging server")
    run_json("recall", "staging server", "--as-of", "2030-01-01")
    run_json("recall")

    assert run_json("list")["memories"][0]["id"] == id
    assert run_json("list")["memories"][0]["access_count"] == 2


@pytest.mark.proves("A58")
def test_recall_without_a_question_gives_the_newest(run_json, keep_text):
    """Recall with no arguments."""
    old, new = keep_text("first"), keep_text("second")
    assert [new, old] == [hit["id"] for hit in run_json("recall")["hits"]]


@pytest.mark.proves("B52")
def test_the_user_is_the_source(run_json, keep_text):
    """What is typed was said by the user."""
    id = keep_text(
        "I like tea.",
        "--speaker",
        "Ann",
        "--session",
        "s1",
        "--file",
        "tea.py",
        "--trigger",
        "kettle",
        "--title",
        "Tea",
    )
    memory = run_json("show", id)["memories"][0]
    assert (memory["provenance"], memory["speaker"], memory["session"]) == (
        "user_stated",
        "Ann",
        "s1",
    )
    assert (memory["files"], memory["triggers"], memory["title"]) == (["tea.py"], ["kettle"], "Tea")


def test_times_are_dates_or_spans(run_json, keep_text, run):
    """--at and --expires take ISO dates and spans."""
    memory = run_json("show", keep_text("dated", "--at", "2026-03-15", "--expires", "30d"))[
        "memories"
    ][0]
    assert memory["at"] == 1773532800.0
    assert 29 < (memory["expires_at"] - memory["created_at"]) / 86_400 < 31
    assert "is not a time" in run("remember", "x", "--at", "soonish", code=2).stderr


@pytest.mark.proves("A106", "A110")
def test_secrets_are_taken_out_and_named(run, run_json):
    """Nothing with a secret is kept, and the user hears of it."""
    result = run("remember", "The token is ghp_abcdefghijklmnopqrstuvwxyz0123456789 for CI")
    assert "Taken out before it was kept" in result.stderr
    assert "ghp_" not in run("list").stdout


@pytest.mark.parametrize("words", [["remember", ""], ["remember", "  \n"], ["remember", "-"]])
def test_nothing_to_remember_is_bad_input(run, words):
    """An empty text is refused with exit code 2."""
    assert "nothing to remember" in run(*words, stdin="", code=2).stderr


def test_stdin_may_hold_anything(run, run_json):
    """NUL bytes, broken UTF-8, emoji and right-to-left text come in as text, and go
    out harmless.
    """
    data = b"\xef\xbb\xbfgood \x00 bad \xff \xf0\x9f\x8e\x89 \xd7\xa2\xd7\x91\xd7\xa8\xd7\x99\xd7\xaa \x1b[31mred\r\n"
    memory = run_json("remember", stdin=data)["memory"]
    assert memory["text"].startswith("good ␀ bad \ufffd 🎉 עברית")
    assert "\x1b" not in run("list").stdout and "\\x1b[31mred" in run("list").stdout


def test_every_line_can_be_a_memory(run_json):
    """--each-line keeps each line of stdin that says something."""
    kept = run_json("remember", "--each-line", stdin="one\n\ntwo\nthree")["memories"]
    assert ["one", "two", "three"] == [m["text"] for m in kept]


def test_a_text_of_a_megabyte(run, run_json):
    """Long texts are kept whole."""
    memory = run_json("remember", stdin="word " * 200_000)["memory"]
    assert len(memory["text"]) > 900_000
    assert run("list").stdout


# Asking


def test_a_question_of_ten_thousand_words(run_json, keep_text):
    """Any question is safe, however long."""
    id = keep_text("needle in the haystack")
    assert id in [
        hit["id"] for hit in run_json("recall", " ".join(["hay", "needle"] * 5_000))["hits"]
    ]


@pytest.mark.parametrize("mode", ["auto", "convex", "rrf", "dense", "words"])
def test_every_search_mode_works(run_json, keep_text, mode):
    """--mode offers them all; explain says more."""
    id = keep_text("the build needs python 3.12")
    assert [id] == [hit["id"] for hit in run_json("recall", "python build", "--mode", mode)["hits"]]


def test_recall_says_that_words_alone_were_searched(run, run_json, keep_text, monkeypatch):
    """Where the model cannot be had: on stderr, with the remedy, and in the JSON."""
    id = keep_text("the build needs python 3.12")
    assert "note" not in run_json("recall", "python")

    def fail(*_):
        raise ModelUnavailable

    monkeypatch.setattr("reverie.embedding.toy.ToyEmbedder.embed", fail)
    said = run_json("recall", "python")
    assert [id] == [hit["id"] for hit in said["hits"]]
    assert said["note"].startswith("Words alone were searched") and "data settle" in said["note"]
    assert said["note"] in run("recall", "python").stderr
    assert "note" not in run_json("recall", "python", "--mode", "words")


def test_a_way_that_is_none(run):
    assert "not a way of searching" in run("recall", "x", "--mode", "magic", code=2).stderr


def test_recall_embeds_the_little_that_waits(run_json, keep_text):
    """A dense answer right after remembering is complete."""
    keep_text("kettle and tea")
    assert run_json("status")["waiting"] == 1
    assert any(
        "meaning" in why for hit in run_json("recall", "tea kettle")["hits"] for why in hit["why"]
    )
    assert run_json("status")["waiting"] == 0


def test_nothing_found_is_an_answer(run, run_json):
    """Nothing found is an empty list with exit code 0; so is limit 0."""
    assert [] == run_json("recall", "anything")["hits"]
    assert "Nothing found" in run("recall", "anything").stderr
    assert [] == run_json("recall", "anything", "--limit", "0")["hits"]


@pytest.mark.proves("E11", "E12")
def test_retrieve_reads_what_hints_name(run_json, keep_text):
    """Ids and tags fetch whole memories; what a session was hinted at is not hinted again."""
    id = keep_text("The staging server is called heron.", "--tag", "staging")
    ask = ("memory", "hints", "where is staging", "--session", "one")
    assert [hint["id"] for hint in run_json(*ask)["hints"]] == [id] and run_json(*ask)[
        "hints"
    ] == []
    for words in ((id,), ("--tag", "Staging")):
        found = run_json("memory", "retrieve", *words)
        assert ([one["id"] for one in found["memories"]], found["matched"], found["truncated"]) == (
            [id],
            1,
            False,
        )


def test_hints_hold_no_text(run_json, keep_text):
    """The light half of two-phase retrieval: ids and titles."""
    id = keep_text(
        "The staging server is called heron and lives in Bern.", "--title", "staging host"
    )
    hints = run_json("memory", "hints", "what is the staging server called")["hints"]
    assert all(set(hint) == {"id", "title", "kind", "tags"} for hint in hints)
    assert {id} >= {hint["id"] for hint in hints}


@pytest.mark.proves("A24")
def test_spaces_are_kept_apart(run_json, keep_text):
    """--space: a sibling is never seen, an ancestor always."""
    mine = keep_text("my own", "--space", "me")
    keep_text("of another project", "--space", "me/other")
    assert [mine] == [m["id"] for m in run_json("list")["memories"]]


@pytest.mark.parametrize(
    "words, said",
    [
        (("undo", "999"), "There is no event 999. Try: reverie undo"),
        (
            ("reminder", "snooze", "mem_nope", "3d"),
            "There is no memory with the id mem_nope. Try: reverie reminder list",
        ),
    ],
)
@pytest.mark.proves("A104")
def test_what_is_not_there_is_answered_with_where_to_look(run, words, said):
    """An error for an unknown id names the command that lists the ids."""
    assert run(*words, code=1).stderr == f"reverie: {said}\n"


@pytest.mark.parametrize(
    "words, said",
    [
        (("recal",), "No such command 'recal'. Did you mean 'recall'? Try: reverie --help"),
        ((), "Name a command. Try: reverie --help"),
        (("forget",), "Missing argument 'ID…'. Try: reverie forget --help"),
    ],
)
@pytest.mark.proves("A104")
def test_usage_is_told_in_sentences(run, words, said):
    """What is wrong, and where to read what is right."""
    assert run(*words, space=False, code=2).stderr.endswith(f"reverie: {said}\n")


@pytest.mark.parametrize(
    "command",
    ["show", "memory history", "explain", "forget", "memory restore", "memory feedback", "edit"],
)
def test_an_unknown_id_is_not_found(run, command):
    """Exit code 1, one line, and under --json a document all the same."""
    result = run(
        *command.split(), "mem_nope", *(["--title", "x"] if command == "edit" else []), code=1
    )
    assert result.stderr == "reverie: There is no memory with the id mem_nope. Try: reverie list\n"
    assert len(result.stderr.strip().splitlines()) == 1


def test_an_error_under_json_is_a_document(run):
    """--json: stdout always holds one JSON document."""
    assert json.loads(run("forget", "mem_nope", "--json", code=1).stdout)["error"]["exit"] == 1


@pytest.mark.parametrize(
    "words",
    [
        ["remember", "--nonsense"],
        ["recall", "--limit", "many"],
        ["nonsense"],
        ["show"],
        ["remember", "x", "--space", "a//b"],
        ["remember", "x", "--kind", "Not A Kind"],
    ],
)
def test_wrong_usage_is_one_line_and_code_2(run, words):
    result = run(*words, code=2)
    assert result.stderr.startswith("reverie: ") and "Traceback" not in result.stderr


# Changing


@pytest.mark.proves("B121")
def test_what_a_user_may_do_with_all_of_it(run_json, keep_text, run, home, tmp_path):
    """Read it as JSON, change and delete it, switch it off, take it out and bring it in again."""
    first, second = keep_text("The editor is vim."), keep_text("The shell is fish.")
    rows = [
        json.loads(line)
        for line in run("data", "export", "--state", space=False).stdout.splitlines()
    ]
    assert {row["text"] for row in rows if row["type"] == "memory"} == {
        "The editor is vim.",
        "The shell is fish.",
    }
    run_json("edit", first, "--text", "The editor is helix.")
    run_json("forget", second)
    file, other = tmp_path / "all.jsonl", tmp_path / "other"
    run("data", "export", str(file), space=False)
    run_command("data", "import", "--trusted", str(file), "--home", str(other))
    here, there = (
        run_command("data", "export", "--state", "--home", str(place)).stdout
        for place in (home, other)
    )
    assert here == there and "helix" in there
    run("off")
    assert run("remember", "more", code=3)
    run("on")
    assert [m["text"] for m in run_json("list")["memories"]] == ["The editor is helix."]


@pytest.mark.proves("A104", "B107")
@pytest.mark.proves("X48")
def test_when_a_memory_is_true_is_told_and_altered(run_json, run):
    """By days or spans; recall says what is over, `always` takes the end away."""
    told = run_json("remember", "Ann is on call.", "--valid-from", "2026-03-01", "--valid-to", "1d")
    id = told["memories"][0]["id"] if "memories" in told else told["memory"]["id"]
    assert "from 2026-03-01 until" in run("show", id).stdout
    assert run_json("edit", id, "--valid-to", "2026-03-08")["changed"] == ["valid_to"]
    assert "no longer true since 2026-03-08" in run("recall", "who is on call").stdout
    assert "True from 2026-03-01 until 2026-03-08." in run("explain", id).stdout
    assert run_json("edit", id, "--valid-to", "always")["memory"]["valid_to"] is None
    assert "--valid-to" in run("edit", id, "--valid-to", "soon", code=2).stderr


def test_edit_by_options(run_json, keep_text, run):
    """View, edit, delete by the user; unchanged means nothing happens."""
    id = keep_text("The editor is vim.")
    assert run_json("edit", id, "--text", "The editor is helix.", "--title", "editor")[
        "changed"
    ] == [
        "text",
        "title",
    ]
    assert run_json("edit", id, "--text", "The editor is helix.")["changed"] == []
    assert run_json("show", id)["memories"][0]["text"] == "The editor is helix."
    assert "nothing to remember" in run("edit", id, "--text", " ", code=2).stderr
    assert "text: The editor is vim." in run("memory", "history", id).stdout
    assert run_json("forget", id)["forgotten"] == 1 and run_json("list")["memories"] == []


@pytest.mark.parametrize(
    ("editor", "text"), [("true", "before"), ("sed -i s/before/after/", "after")]
)
@pytest.mark.proves("X47")
def test_edit_in_an_editor(run_json, keep_text, monkeypatch, editor, text):
    """$EDITOR gets the text; without a change nothing happens."""
    monkeypatch.setenv("EDITOR", editor)
    monkeypatch.delenv("VISUAL", raising=False)
    id = keep_text("before noon")
    events = run_json("status")["events"]
    edited = run_json("edit", id)
    assert edited["memory"]["text"] == f"{text} noon"
    assert edited["changed"] == ["text"] * (text == "after")
    assert run_json("status")["events"] == events + (text == "after")


def test_a_group_alone_answers_json_where_json_is_asked_for(run):
    """An error that names its commands, not the page of its help."""
    told = json.loads(run("--json", "code", space=False, code=2).stdout)
    assert "map" in told["error"]["message"]


def test_options_may_stand_between_a_group_and_its_command(run):
    """As before the group and behind the command; those behind win."""
    run("remind", "Call Ann", "--in", "3 days", "--space", "me/other", space=False)
    assert "Call Ann" in run("reminder", "--space", "me/other", "list", space=False).stdout


def test_an_editor_that_fails_changes_nothing(run, run_json, keep_text, monkeypatch):
    monkeypatch.setenv("VISUAL", "false")
    id = keep_text("as it was")
    assert "nothing was changed" in run("edit", id, code=2).stderr


def test_undo(run_json, keep_text, run):
    """Without a number what can be undone is listed; undoing an undo works."""
    id = keep_text("short-lived")
    run_json("forget", id)
    last = run_json("undo")["events"][0]
    assert (last["verb"], last["ids"]) == ("forget", [id])
    again = run_json("undo", str(last["event"]))["event"]
    assert [id] == [m["id"] for m in run_json("list")["memories"]]
    run_json("undo", str(again))
    assert [] == run_json("list")["memories"]
    run("undo", "4711", code=1)


def test_reading_is_not_listed_for_undo(run_json, keep_text):
    """That a memory was read by `recall` counts as a use, and is nothing that one takes back."""
    keep_text("kettle and tea")
    assert run_json("recall", "kettle")["hits"]
    assert {one["verb"] for one in run_json("undo")["events"]} == {"remember"}


@pytest.mark.proves("B33")
def test_tags_links_and_feedback(run_json, keep_text, run):
    """Tagging, tying together, and saying that something helped."""
    one, two = keep_text("a thing"), keep_text("another thing")
    assert run_json("memory", "tag", one, "x", "Y")["memory"]["tags"] == ["x", "y"]
    assert run_json("memory", "tag", one, "--remove", "x")["memory"]["tags"] == ["y"]
    assert run_json("memory", "tags")["tags"] == {"y": 1}
    run_json("memory", "link", one, two)
    assert any(edge["dst"] == two for edge in run_json("explain", one)["edges"])
    assert run_json("explain", one)["brought_up"] == []
    assert run_json("memory", "feedback", one, "--helpful")["memory"]["strength"] == 2
    assert run_json("memory", "feedback", two, "--unhelpful")["memory"]["confidence"] < 0.95
    run("memory", "link", one, one, code=2)


@pytest.mark.proves("B7")
def test_a_tag_is_a_name_a_count_and_a_description(run, run_json, keep_text):
    """What a tag means can be said here and above; the nearest, last word counts, without secrets."""
    keep_text("a thing", "--tag", "infra")
    run("memory", "tags", "--describe", "#Infra", "machines of everybody", "--space", "me")
    assert run_json("memory", "tags", "--describe", "infra", "servers")["meanings"] == {
        "infra": "servers"
    }
    assert run_json("memory", "tags", "--space", "me")["meanings"] == {
        "infra": "machines of everybody"
    }
    assert run_json(
        "memory", "tags", "--describe", "key", "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
    )["tags"] == {"infra": 1}
    assert (
        "ghp_" not in run("memory", "tags").stdout
        and "#infra: servers" in run("memory", "tags").stdout
    )
    assert (
        run_json("memory", "tags", "--describe", "infra", "")["meanings"]["infra"]
        == "machines of everybody"
    )
    assert "no tag to describe" in run("memory", "tags", "--describe", " ", "x", code=2).stderr


@pytest.mark.proves("B60", "B61", "B62", "B63", "B64", "B65")
def test_know_how(run, run_json, keep_text):
    """A procedure with its record; what to know before a tool runs, as words or as the host's JSON."""
    id = run_json(
        "procedure",
        "teach",
        "release",
        "--step",
        "bump it",
        "--step",
        "tag it",
        "--trigger",
        "tool:Bash(git tag*)",
    )
    id = id["memory"]["id"]
    assert "1. bump it. 2. tag it." in run("show", id).stdout
    assert run_json("procedure", "outcome", id, "--worked")["memory"]["details"]["worked"] == 1
    never = keep_text("Never delete tags", "--kind", "negative", "--trigger", "re:tag\\s+-d")
    hits = run_json("procedure", "warnings", "Bash", '{"command": "git tag -d v1"}')["hits"]
    assert [never, id] == [hit["memory"]["id"] for hit in hits]
    assert "Never delete tags" in run("procedure", "warnings", "Bash", "git tag -d v1").stdout
    assert "Nothing to beware of" in run("procedure", "warnings", "Bash", "ls").stdout
    assert "not a regular expression" in run("remember", "x", "--trigger", "re:(", code=2).stderr


def test_only_a_run_of_sleep_is_undone_as_one(run, keep_text, run_json):
    """Another event's number is named as such, and nothing is taken back."""
    id = keep_text("a thing")
    assert "not a run of sleep" in run("undo", "--sleep", "1", code=1).stderr
    assert run_json("show", id)["memories"][0]["retired_at"] is None


def test_a_stopped_sleep_does_not_report_success(run, keep_text):
    """A run that was stopped at once says so, and only that."""
    keep_text("a thing")
    done = run("sleep", "--within", "0")
    assert "nothing to tidy" not in done.stdout and "Stopped before the end" in done.stderr


def test_a_review_answer_may_close_further_questions(run, keep_text):
    """A pair of which one does not count any more is not asked about."""
    ids = [keep_text(f"The timeout is {n} seconds.") for n in (10, 20, 30)]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        run("memory", "link", ids[one], ids[other], "--rel", "contradicts")
    asked = run("review", "--ask", stdin="1\n1\n1\n")
    assert "Decided 2 of 3" in asked.stdout


@pytest.mark.parametrize("line", ['sleep = "nonsense"', "depth = 99", "decay = 0.0", "limit = -1"])
def test_a_wrong_setting_is_said_at_once(run, home, line):
    """A wrong setting is an error of the next command, not of the night or question that uses it."""
    with (home / "config.toml").open("a") as file:
        file.write(f"\n{line}\n")
    assert line.partition(" ")[0] in run("status", code=2).stderr


def test_what_is_not_there_is_an_error_in_json_too(run, run_json, keep_text):
    """A missing id is an error in the JSON document too; what was found comes all the same."""
    id = keep_text("a thing")
    assert "NotFound" == run_json("show", "mem_nope", code=1)["error"]["type"]
    assert ["mem_nope"] == run_json("show", id, "mem_nope", code=1)["missing"]


@pytest.mark.proves("X35")
def test_curating_from_the_command_line(run, run_json, keep_text):
    """Waiting memories are listed, and a decision about one is reported."""
    id = keep_text("Staging is probably heron.", "--provenance", "inferred")
    assert shorten_id(id) in run("memory", "curate").stdout and [id] == [
        m["id"] for m in run_json("memory", "curate")["memories"]
    ]
    assert (
        f"{shorten_id(id)} is validated" in run("memory", "curate", id, "--note", "checked").stdout
    )
    assert "Nothing waits" in run("memory", "curate").stdout
    assert "is not a state" in run("memory", "curate", id, "--as", "fine", code=2).stderr


@pytest.mark.proves("A88")
def test_recall_as_of_a_day(run, run_json, keep_text):
    """`recall --as-of` answers as on that day; an invalid day is named."""
    id = keep_text("Staging is heron", "--at", "2020-01-01")
    run("forget", id)
    assert [] == run_json("recall", "staging")["hits"]
    assert [id] == [
        hit["memory"]["id"]
        for hit in run_json("recall", "staging", "--as-of", "2021-06-01")["hits"]
    ]
    assert "--as-of 'soon' is not a time" in run("recall", "x", "--as-of", "soon", code=2).stderr


def test_recall_as_of_a_span_ago_or_the_end_of_a_day(run_json, keep_text):
    """Spans are understood as everywhere; a bare date means that the whole day had happened."""
    id = keep_text("The staging server is called heron.", "--at", "2025-06-01T15:00")

    def found(when):
        return [
            hit["id"] for hit in run_json("recall", "staging", "server", "--as-of", when)["hits"]
        ]

    assert found("2025-06-01") == found("3d") == found("2025-06-01T15:01") == [id]
    assert found("2025-05-31") == found("2025-06-01T14:59") == found("100y") == []


def test_purge_erases_from_the_backups_too(run, run_json, keep_text, home):
    """What is erased for good is in no file of the home; without --yes it asks."""
    id = keep_text("xylophone quartz")
    run("data", "backup")
    assert run_json("list")["memories"]
    run("data", "purge", id, stdin="n\n", code=130)
    assert run_json("data", "purge", id, "--yes")["purged"] == 1
    left = [p for p in home.rglob("*") if p.is_file() and b"xylophone" in p.read_bytes()]
    assert [] == left


def test_purge_says_what_goes_along(run, keep_text):
    """Before it asks, the wordings that were merged into a memory are counted."""
    id = keep_text("My home address is 12 Quokkastreet.")
    keep_text("My home address is 12 Quokkastreet!")
    run("data", "settle")
    assert (
        "Erase 1 and 1 wording that was merged into it for good?"
        in run("data", "purge", id, stdin="n\n", code=130).stderr
    )
    assert "Erased 2 for good" in run("data", "purge", id, stdin="y\n").stdout


# On and off


@pytest.mark.proves("A114")
def test_memory_can_be_switched_off_and_on(run, run_json, keep_text):
    """Memory can be switched off, in a space with all below it or everywhere, and on again."""
    id = keep_text("still here")
    assert run_json("off")["on"] is False
    assert "switched off" in run("remember", "x", code=3).stderr
    run("remember", "x", "--space", "me/demo/session", code=3)
    assert "switched off" in run("recall", "still").stderr
    assert keep_text("elsewhere it is on", "--space", "me/other")
    assert run_json("on")["on"] is True
    assert [id] == [m["id"] for m in run_json("list")["memories"]]

    assert run_json("off", "--everywhere")["enabled"] is False
    run("remember", "x", "--space", "me/other", code=3)
    assert run_json("status")["on"] is False
    run_json("on", "--everywhere")
    assert run_json("status")["on"] is True


def test_on_names_the_space_above_that_is_off(run):
    run("off", "--space", "me")
    assert "reverie on --space me" in run("on").stderr


def test_the_environment_has_the_last_word(run, monkeypatch):
    monkeypatch.setenv("REVERIE_OFF", "1")
    assert "REVERIE_OFF" in run("on").stderr


# Everything else


def test_status_says_how_things_stand(run_json, keep_text, run, home):
    keep_text("one")
    status = run_json("status")
    assert (status["memories"], status["space"], status["home"], status["on"]) == (
        1,
        "me/demo",
        str(home),
        True,
    )
    assert "1 active" in run("status").stdout


@pytest.mark.parametrize(
    "command",
    [
        "list",
        "memory kinds",
        "memory tags",
        "status",
        "activity log",
        "undo",
        "data verify",
        "data settle",
        "data backup",
    ],
)
def test_json_everywhere(run_json, keep_text, command):
    """--json gives one document for every command."""
    keep_text("something", "--tag", "t")
    assert isinstance(run_json(*command.split()), dict)


def test_options_may_stand_before_or_after(run, home):
    """--json, --space and --home stand before the command's name or behind it."""
    run("--json", "remember", "x", "--space", "me/a", space=False)
    first = json.loads(run_command("--home", str(home), "--json", "--space", "me/a", "list").stdout)
    second = json.loads(run_command("list", "--json", "-s", "me/a", "--home", str(home)).stdout)
    assert first == second and len(first["memories"]) == 1


def test_markup_is_shown_not_obeyed(run, keep_text):
    """Text of a memory is never Rich markup, nor does it turn the direction of writing."""
    keep_text(
        "[bold red]danger[/bold red] [link=file:///x]here[/link] :smile: \u202egnp.exe",
        "--title",
        "[b]t[/b]",
    )
    for command in ("list", "recall"):
        out = run(command).stdout
        assert (
            "[bold red]danger[/bold red]" in out.replace("\n", " ")
            and "\u202e" not in out
            and ":smile:" in out
        )


def test_help_says_where_the_exit_codes_are(run):
    out = run("--help").stdout
    assert "Exit codes: docs/reference/command-line.md" in out
    assert "reverie" in run("--version").stdout


def test_a_config_that_is_wrong_is_named(run, home):
    (home / "config.toml").write_text("limit = 'many'\n")
    assert "config.toml" in run("list", code=2).stderr


# The graph


@pytest.mark.proves("B30", "B3")
def test_similar_and_graph(run, run_json, keep_text):
    """What is like a memory, and what it is tied to, with the reason for each."""
    one = keep_text("The staging server is called heron.", "--tag", "infra")
    two, far = keep_text("Zebras graze.", "--tag", "infra"), keep_text("Cats purr.")
    assert run_json("memory", "link", two, far)["weight"] == 0.5
    assert run_json("memory", "link", far, two)["weight"] == pytest.approx(0.55)

    assert [hit["id"] for hit in run_json("memory", "graph", one, space=False)["hits"]] == [
        two,
        far,
    ]
    assert [
        hit["id"] for hit in run_json("memory", "graph", one, "--depth", "1", space=False)["hits"]
    ] == [two]
    assert two in [
        hit["id"] for hit in run_json("memory", "similar", one, "-n", "5", space=False)["hits"]
    ]
    assert f"shares tag:infra with {one}" in " ".join(
        run("memory", "graph", one, space=False).stdout.split()
    )
    assert "linked to nothing" in run("memory", "graph", keep_text("Alone."), space=False).stderr
    run("memory", "graph", "mem_none", space=False, code=1)
    run("recall", "heron", "--depth", "99", code=2)


@pytest.mark.proves("B42")
def test_recall_follows_links_as_far_as_it_is_told(run_json, keep_text):
    """--depth 0 finds what fits the question alone."""
    one, two = keep_text("The staging server is called heron."), keep_text("Zebras graze.")
    run_json("memory", "link", one, two)

    ask = ("recall", "staging server heron", "--mode", "words")
    assert [hit["id"] for hit in run_json(*ask)["hits"]] == [one, two]
    assert [hit["id"] for hit in run_json(*ask, "--depth", "0")["hits"]] == [one]


@pytest.mark.proves("B8")
def test_clusters_are_listed(run, run_json, home, keep_text):
    """With their size, and the members nearest to the centre."""
    assert run_json("memory", "clusters")["clusters"] == []
    assert "reverie sleep" in run("memory", "clusters").stderr
    ids = [keep_text(f"Deploys wait for review number {n}.") for n in range(4)]
    with reverie.open(home) as mind:
        node = "cluster:me/demo:deploy-review"
        links = [Link(Edge(id, "in_cluster", node, 0.5 + n / 10)) for n, id in enumerate(ids)]
        mind.store.apply(links, Event(verb="sleep", space="me/demo", at=0.0))

    (found,) = run_json("memory", "clusters", "--members", "2")["clusters"]
    assert (found["name"], found["size"]) == ("deploy-review", 4)
    assert [one["id"] for one in found["members"]] == [ids[3], ids[2]]
    shown = run("memory", "clusters").stdout
    assert "4" in shown and "deploy-review" in shown and "review number 3" in shown


@pytest.mark.proves("B80", "B81", "B82")
def test_gaps_are_listed(run, run_json, home):
    """What was asked here and not answered."""
    assert (
        run_json("memory", "gaps")["gaps"] == []
        and "went unanswered" in run("memory", "gaps").stderr
    )
    with reverie.open(home) as mind:
        for _ in range(2):
            mind.record(
                "gap", {"asked": "Which port has the API?"}, space="me/demo/s1", session="s1"
            )

    (gap,) = run_json("memory", "gaps")["gaps"]
    assert (gap["asked"], gap["times"], gap["session"]) == ("Which port has the API?", 2, "s1")
    assert (
        "Which port has the API?" in run("memory", "gaps").stdout
        and "asked 2 times" in run("memory", "gaps").stdout
    )


@pytest.mark.proves("B61")
def test_what_a_prohibition_will_warn_before_is_said(run, run_json):
    """What was taken from the sentence, or how to say it."""
    said = run("remember", "Never force-push.", "--kind", "negative").stderr
    assert "Before a tool does it, you are asked: run:git push --force|" in said
    said = run("remember", "Never be careless", "--kind", "negative").stderr
    assert "Nothing happens before a tool does it" in said
    assert "--trigger" in said
    careless = run_json("remember", "Never be careless", "--kind", "negative")["memory"]["id"]
    assert ["a*"] == run_json("edit", careless, "--trigger", "a*")["memory"]["triggers"]
    assert "warn" not in run("remember", "Never use x", "-k", "negative", "--trigger", "xx").stderr
    id = run_json("remember", "Never be careless", "--kind", "negative")["memory"]["id"]
    assert (
        "Before a tool does it, you are asked: println!"
        in run("edit", id, "--text", "Never use println!").stderr
    )
    assert run_json("procedure", "warnings", "Edit", "println!(x)")["hits"]


@pytest.mark.proves("A70", "B61")
def test_the_kind_is_found_where_nobody_says_it(run, run_json):
    """A prohibition warns without `--kind`; a kind that is said stays."""
    never = run("remember", "Never force-push.")
    assert (
        "(negative)" in never.stdout
        and "Before a tool does it, you are asked: run:git push --force|" in never.stderr
    )
    assert "(fact)" in run("remember", "The staging server is called heron.").stdout
    said = run_json("remember", "Never force-push to main.", "--kind", "fact")["memory"]
    assert (said["kind"], said["triggers"]) == ("fact", [])
    lines = "Never use println!\nHeron is slow.\n"
    [never, plain] = run_json("remember", "--each-line", stdin=lines)["memories"]
    assert [never["kind"], plain["kind"]] == ["negative", "fact"]


def test_stats_and_status_show_counts(run, run_json, tmp_path):
    """`stats` counts everything, names the junk rate and, before anything was looked at, none;
    `status` shares it.
    """
    assert (
        run_json("data", "stats")["junk_rate"] is None
        and "junk rate" not in run("data", "stats").stdout
    )
    talk = tmp_path / "talk.jsonl"
    lines = [
        {"role": "user", "content": text}
        for text in (
            "always squash commits",
            "always use port 8081 for now",
            "we always use pnpm, right?",
        )
    ]
    talk.write_text("\n".join(map(json.dumps, lines)))
    run("learn", str(talk))
    figures = run_json("data", "stats")

    assert (figures["learned"], sum(figures["rejected"].values()), figures["junk_rate"]) == (
        1,
        2,
        2 / 3,
    )
    assert (
        figures["memories"],
        figures["slept_at"],
        figures["llm"]["model"],
        figures["gaps"],
    ) == (1, None, "", 0)
    state = run_json("status")
    assert all(
        state[name] == figures[name]
        for name in ("memories", "learned", "rejected", "junk_rate", "kinds")
    )
    page = " ".join(run("data", "stats").stdout.split())
    assert "1 kept, 2 rejected" in page and "junk rate 67%" in page and "sleep not yet" in page


def test_likely_misspellings_are_pointed_out(run):
    """A slip is kept as it was written, and noted: a custom kind and a literal are nobody's
    mistake.
    """
    assert (
        "Did you mean tool:Bash(*deploy*)?"
        in run("remember", "x y", "--trigger", "command:*deploy*").stderr
    )
    assert (
        "Did you mean re:a.b?"
        in run("procedure", "teach", "x", "--step", "y", "--trigger", "regex:a.b").stderr
    )
    assert "Did you mean negative?" in run("remember", "x y", "--kind", "negativ", code=2).stderr
    assert (
        "the first argument is the tool's name"
        in run("procedure", "warnings", "git push --force").stderr
    )
    for fine in ("http://x", "foo::bar", "note: x", r"C:\x", "tool:Bash", "re:a"):
        assert "Did you mean" not in run("remember", "x y", "--trigger", fine).stderr
    assert "Did you mean" not in run("remember", "x y", "--kind", "recipe").stderr
    assert "first argument" not in run("procedure", "warnings", "Bash", "git push").stderr
