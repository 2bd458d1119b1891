# mypy: no-check-untyped-defs
"""Hooks without processes: what hosts send and read, warnings, spool files, how full a context is."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.activity.error_lessons import has_failure_text as tells_of_error
from reverie.core.private_passages import CUT_MARGIN
from reverie.core.trigger_patterns import context_of_tool_call, matches_trigger
from reverie.interfaces.hooks import context_usage
from reverie.interfaces.hooks.event_truncation import (
    MAX_END_CHARS,
    MAX_WHOLE_CHARS,
    fit_answer,
    truncate_arguments,
    truncate_text,
)
from reverie.interfaces.hooks.exit_status import find_exit_code, resolve_outcome
from reverie.interfaces.hooks.hook_event import (
    PROMPT,
    TOOL_AFTER,
    TOOL_FAILED,
    TURN_END,
    HookBlock,
    HookEvent,
    SessionNote,
    SpooledEvent,
    WarningTable,
)
from reverie.interfaces.hooks.oversized_event import HEAD_BYTES, parse_beginning
from reverie.interfaces.hooks.prompt_topic import (
    collect_topic_words,
    continues_topic,
    is_worth_searching,
)
from reverie.interfaces.hooks.spool import (
    HookFiles,
    read_json_object,
    read_spooled_event,
    to_file_name,
    write_json_object,
)
from reverie.interfaces.hooks.tool_warnings import (
    MAX_WARNINGS,
    find_matching_rows,
    find_trigger_cause,
    make_warning_row,
    may_match,
)
from reverie.interfaces.hosts import load_hosts
from reverie.interfaces.hosts.host_agent import (
    MAX_ANSWER_CHARS,
    extract_result_text,
    read_host_event,
)
from reverie.privacy import redact
from reverie.privacy.message_redaction import redact_and_shorten
from reverie.testing import make_memory
from reverie.text.host_messages import HEAD_CHARS

HOSTS = load_hosts()
CLAUDE, CODEX, CURSOR = (HOSTS[name] for name in ("claude-code", "codex", "cursor"))
SECRET = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "-AA"


def claude(event, **fields):
    return read_host_event(
        CLAUDE, {"session_id": "s", "cwd": "/p", "hook_event_name": event, **fields}
    )


@pytest.mark.parametrize("host", HOSTS.values(), ids=lambda host: host.title)
def test_every_host_says_how_the_beginning_of_a_long_prompt_is_read(host):
    """Its row names the event and the fields: what is too long to be parsed is not lost."""
    (prompt,) = (name for name, kind in host.events.items() if kind == PROMPT)
    (other, *_) = (name for name, kind in host.events.items() if kind != PROMPT)
    fields = dict.fromkeys(host.prompt_fields, "told")

    def parse(event):
        told = json.dumps({**fields, host.event_field: event, "rest": "x" * HEAD_BYTES})
        return parse_beginning(told.encode(), host)

    event = read_host_event(host, parse(prompt))
    assert event is not None and event[:4] == (PROMPT, "told", "told", "told")
    assert parse(other) == {}


def test_every_host_tells_of_the_same_things():
    """The events of every host become one event model."""
    assert claude("UserPromptSubmit", prompt="hello")[:4] == (PROMPT, "s", "/p", "hello")
    assert read_host_event(
        CODEX,
        {
            "session_id": "s",
            "cwd": "/p",
            "hook_event_name": "UserPromptSubmit",
            "prompt": "hello",
            "turn_id": "t",
        },
    )[:4] == (PROMPT, "s", "/p", "hello")
    assert read_host_event(
        CURSOR,
        {
            "conversation_id": "s",
            "workspace_roots": ["/p"],
            "hook_event_name": "beforeSubmitPrompt",
            "prompt": "hello",
        },
    )[:4] == (PROMPT, "s", "/p", "hello")
    assert claude("Stop", last_assistant_message="Done.")[0:4:3] == (TURN_END, "Done.")


@pytest.mark.parametrize(
    "payload",
    [
        None,
        7,
        [],
        {},
        {"hook_event_name": "Unknown"},
        {"hook_event_name": "Stop"},
        {"hook_event_name": "Stop", "session_id": 7},
    ],
)
def test_unknown_events_are_ignored(payload):
    """Unknown events, and events without a session, are ignored."""
    for host in HOSTS.values():
        assert read_host_event(host, payload) is None


def test_a_hosts_own_messages_are_no_prompts():
    """Claude Code's own wake-ups are nobody's words: nothing surfaces and nothing is learned."""
    assert claude("UserPromptSubmit", prompt="poll", source="poll_event") is None
    assert claude("UserPromptSubmit", prompt="hi", source="user") is not None


@pytest.mark.proves("CC-75")
def test_a_failed_tool_is_read_in_each_hosts_way():
    """An event of its own, an exit code, or nothing but text: then nobody knows."""
    assert claude("PostToolUseFailure", tool_name="Bash", error="Exit code 2\nno")[0:4:3] == (
        TOOL_FAILED,
        "Exit code 2\nno",
    )
    answer = {"output": "no", "metadata": {"exit_code": 2}}
    for given_back in (answer, json.dumps(answer)):
        assert (
            claude("PostToolUse", tool_name="shell", tool_response=given_back).kind == TOOL_FAILED
        )
    told = claude("PostToolUse", tool_name="Bash", tool_response="No such file")
    assert (told.kind, told.doubtful) == (TOOL_AFTER, True)
    assert not claude(
        "PostToolUse", tool_name="Bash", tool_response={"stdout": "a", "stderr": "b"}
    ).doubtful


@pytest.mark.proves("CC-75")
def test_the_exit_code_of_a_codex_command_is_read_from_its_rollout(tmp_path):
    """Codex tells a hook only what was printed; the exit code stands in its rollout file."""

    def row(call, code):
        return {
            "type": "event_msg",
            "payload": {
                "type": "item_completed",
                "item": {
                    "type": "CommandExecution",
                    "id": call,
                    "exit_code": code,
                    "aggregated_output": "c1",
                },
            },
        }

    path = str(
        lines(
            tmp_path,
            {"payload": {"type": "function_call", "call_id": "c1"}},
            row("c1", 2),
            row("c2", 0),
        )
    )
    assert (find_exit_code(path, "c1"), find_exit_code(path, "c2")) == (2, 0)
    assert (
        find_exit_code(path, "c3")
        is find_exit_code(path, "")
        is find_exit_code(f"{path}x", "c1")
        is None
    )
    ran = HookEvent(
        TOOL_AFTER,
        "s",
        tool="Bash",
        result="make: *** No rule to make target 'deploy'.  Stop.",
        doubtful=True,
        transcript=path,
        call="c1",
    )
    told = resolve_outcome(ran)
    assert (told.kind, told.text, told.doubtful) == (TOOL_FAILED, ran.result, False)
    assert resolve_outcome(ran._replace(call="c2")) == ran._replace(call="c2", doubtful=False)
    assert resolve_outcome(ran._replace(call="c3")).doubtful and tells_of_error(ran.result)


def test_how_full_a_context_is_comes_from_cursor_itself():
    """`context_usage_percent` before a compaction; what is no percentage is not known."""
    about = {"conversation_id": "s", "hook_event_name": "preCompact", "context_usage_percent": 87.5}
    assert read_host_event(CURSOR, about).full == 0.875
    assert read_host_event(CURSOR, {**about, "context_usage_percent": "87"}).full is None


def test_file_contents_are_not_carried():
    """What Read, Edit and Write answer is a file: it is not written down."""
    assert (
        claude(
            "PostToolUse", tool_name="Read", tool_response={"file": {"content": "x" * 99}}
        ).result
        == ""
    )
    assert truncate_arguments(
        {"file_path": "a.py", "content": "x" * (MAX_END_CHARS + 1), "n": 3, "more": ["y"]}
    ) == {
        "file_path": "a.py",
        "content": "…",
        "n": 3,
    }


def test_only_what_a_host_reads_is_answered():
    """Codex refuses unknown fields; Cursor carries context with prompts, starts and answers of
    tools; limits are the hosts' (10,000).
    """
    assert CODEX.answer("UserPromptSubmit", "x") == {
        "hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": "x"}
    }
    assert CLAUDE.answer("SessionEnd", "x") == CURSOR.answer("preToolUse", "x") == {}
    assert CURSOR.answer("beforeSubmitPrompt", "x") == {"continue": True, "additional_context": "x"}
    assert CURSOR.answer("postToolUse", "x") == {"additional_context": "x"}
    assert CURSOR.answer("postToolUseFailure", "x") == {}
    long = "\n".join(
        ("<reverie-memory>", *("- " + "y" * 600 for _ in range(40)), "</reverie-memory>")
    )
    assert len(fit_answer(long)) <= MAX_ANSWER_CHARS and fit_answer(long).endswith(
        "</reverie-memory>"
    )
    assert fit_answer("short") == "short"


@given(st.text(max_size=60), st.text(max_size=60))
@pytest.mark.proves("CC-42")
def test_session_file_names_are_safe_and_unique(one, other):
    """A session's name never leads out of its folder, and two names never meet in one file."""
    assert set(to_file_name(one)) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."
    )
    assert "/" not in to_file_name(one) and to_file_name(one) not in (".", "..")
    assert (to_file_name(one) == to_file_name(other)) == (one == other)


@given(st.integers(0, 60_000), st.integers(0, 60_000))
@pytest.mark.proves("CC-89")
def test_no_cut_goes_through_a_secret(before, after):
    """Long texts are cut; a secret anywhere in them, also across a cut, is never kept in part."""
    text = "a " * (before // 2) + f"key {SECRET} end" + " b" * (after // 2)
    written = redact(truncate_text(text))[0]
    assert len(truncate_text(text)) <= MAX_WHOLE_CHARS
    assert "aB3dE5gH7jK9mN1p" not in written and "N1p-AA" not in written


@pytest.mark.parametrize("cut", [truncate_text, redact_and_shorten])
@pytest.mark.proves("CC-89")
@pytest.mark.slow
def test_nothing_beside_a_cut_is_kept_however_much_was_hidden_before_it(cut):
    """Where marks have taken the place of much, what is left beside the cut may still be half of a
    secret.
    """
    gone = len(SECRET) - len(redact(SECRET)[0])
    for more in range(2 * gone):
        head = (
            f"token {SECRET}\n" * (HEAD_CHARS // gone - 1)
            + f"password: aB3dE5gH7jK9{'mN1p5' * 8}{'x' * more}\n"
        )
        text = head.ljust(HEAD_CHARS + CUT_MARGIN - 20) + SECRET + " z" * 60_000
        assert SECRET[:12] not in cut(text)


@pytest.mark.proves("CC-42")
def test_blocks_of_one_session_are_never_anothers(tmp_path):
    """A prepared block is taken once, and only by its own session."""
    room = HookFiles(str(tmp_path))
    write_json_object(room.session_file("a", "block"), {"text": "for a", "of": "a newer version"})
    assert room.take_block("b") is None
    assert room.take_block("a") == HookBlock("for a")
    assert room.take_block("a") is None


@pytest.mark.parametrize(
    ("prompt", "fits"),
    [
        ("Please go on.", True),
        ("And is the staging server up?", True),
        ("and now?", True),
        ("ok, continue with that please", True),
        ("继续", True),
        ("thanks", False),
        ("Thank you very much, have a nice day!", False),
        ("yes", False),
        ("fixed", False),
        ("Write a haiku about autumn.", False),
        ("How do I resize an image with Pillow?", False),
    ],
)
@pytest.mark.proves("A62")
def test_a_prepared_block_goes_with_a_prompt_on_its_topic(prompt, fits):
    """A short remark and a prompt about something else leave it lying."""
    known = collect_topic_words(
        "Which host is the staging server?", "The staging server is called heron."
    )
    assert continues_topic(prompt, known) is fits


def test_only_words_of_its_own_make_a_prompt_worth_looking():
    """Opening the store takes time: not for thanks, nor for what every session says, unless that
    calls something up.
    """
    guards = [row("Run the tests with tox.", triggers=("test", "tool:Bash(run*)"))]
    assert is_worth_searching("Which host is the staging server?", ())
    assert not is_worth_searching("thanks", guards) and not is_worth_searching(
        "run it again", guards
    )
    assert is_worth_searching("run the tests again", guards) and not is_worth_searching(
        "run the tests again", ()
    )


def test_half_a_file_is_no_file(tmp_path):
    """A file that cannot be read counts as missing."""
    path = tmp_path / "x.json"
    for content in (b"", b"{", b"[]", b"\xff", b"nul"):
        path.write_bytes(content)
        assert read_json_object(str(path)) is None


@pytest.mark.proves("CC-89")
def test_the_log_is_bounded_and_holds_no_secret(tmp_path):
    """Trouble is told without what was in the text, and takes no more room than it should."""
    room = HookFiles(str(tmp_path))
    for _ in range(400):
        room.log_trouble(f"it went wrong: {SECRET} " + "word " * 200)
    logs = list((tmp_path / "hooks").glob("trouble*"))
    assert sum(path.stat().st_size for path in logs) < 250_000
    assert all("aB3d" not in path.read_text() for path in logs)


def test_files_between_hooks_and_worker_round_trip(tmp_path):
    """Through files, and with fields that another version adds or lacks."""
    files = HookFiles(str(tmp_path))
    event = SpooledEvent(HookEvent(PROMPT, "s1", text="hello"), 1.0, "me/x", ids=["mem_1"])
    path = files.add_event(event, held=True)
    assert read_json_object(path).items() >= {"kind": PROMPT, "text": "hello", "at": 1.0}.items()
    files.release_event(path, HookBlock(ids=["mem_2"], due=["mem_2"], why=[["words 4.3"]]))
    (waiting,) = files.list_events()
    assert read_spooled_event(waiting) == event._replace(
        ids=["mem_2"], due=["mem_2"], why=[["words 4.3"]], planned=[], withheld=[]
    )
    table = WarningTable("<", ">", [row()], 1)
    write_json_object(files.guards_file("me/x"), table.to_json())
    assert files.read_warnings("me/x") == table
    note = SessionNote("me/x", sensitive=["*.key"])
    write_json_object(files.session_file("s1", "json"), {**note._asdict(), "new": 1})
    assert files.read_note("s1") == note and note.policy.sensitive == ("*.key",)
    write_json_object(files.session_file("s2", "json"), {"space": "me/x"})
    assert files.read_note("s2") == SessionNote("me/x")


def row(text="Never force-push.", *, reminder=False, when=None, **fields):
    return make_warning_row(make_memory(text, **fields), f"- {text}", when, reminder=reminder)


def said(rows, tool, arguments, shown=(), now=0.0):
    return [one.line for one, _ in find_matching_rows(rows, tool, arguments, shown, now)]


def test_what_went_with_a_prompt_is_not_told_again_of_its_file():
    """What is to be warned of is, at the act."""
    rows = [
        row("Three retries in net.py.", files=("net.py",)),
        row(triggers=("tool:Bash(git push*)",)),
    ]
    told = [one.id for one in rows]

    def met(tool, arguments, told=()):
        return len(find_matching_rows(rows, tool, arguments, (), 0.0, "", told))

    assert met("Read", {"file_path": "net.py"}) == 1
    assert met("Read", {"file_path": "net.py"}, told) == 0
    assert met("Bash", {"command": "git push"}, told) == 1


@pytest.mark.proves("B61")
def test_a_warning_is_given_before_its_tool():
    """Negative memories before a tool, `git push -f` too; others stay silent."""
    rows = [
        row(triggers=("tool:Bash(git push*--force*)",)),
        row("No println!", triggers=("println!",)),
    ]
    assert said(rows, "Bash", {"command": "cd x && git push -f origin main"}) == [
        "- Never force-push."
    ]
    assert said(rows, "Edit", {"new_string": "println!(1)"}) == ["- No println!"]
    assert said(rows, "Bash", {"command": "git push"}) == []
    assert said(rows, "Bash", None) == said(rows, "Bash", "git") == []


def test_what_is_known_of_a_file_comes_with_it():
    """A memory about a file, by the repository's path or a whole one, on read or edit; no half
    names.
    """
    rows = [row("parse.py is generated.", files=("src/parse.py",))]
    for path in ("src/parse.py", "/home/me/x/src/parse.py"):
        assert said(rows, "Read", {"file_path": path}) == ["- parse.py is generated."]
    assert said(rows, "Read", {"file_path": "/x/mysrc/parse.py"}) == []
    assert said(rows, "Read", {"file_path": "/x/src/parse.py"}, shown=[rows[0].id]) == []


def test_a_reminder_waits_for_its_time():
    """Called for by a tool, but not before it is due."""
    rows = [row("Tell Ann.", reminder=True, when=100.0, triggers=("tool:Bash(make*)",))]
    assert said(rows, "Bash", {"command": "make"}, now=99.0) == []
    assert said(rows, "Bash", {"command": "make"}, now=100.0) == ["- Tell Ann."]


def test_warnings_for_one_tool_are_limited():
    """At most MOST_SAID lines are given for one tool."""
    rows = [row(f"Note {n}.", triggers=("git",)) for n in range(20)]
    assert len(said(rows, "Bash", {"command": "git status"})) == MAX_WARNINGS


PATTERNS = st.sampled_from(
    [
        "git",
        "*.rs",
        "tool:Bash",
        "tool:B*",
        "tool:Bash(git push*--force*)",
        "re:force[- ]push",
        "tool:Bash(rm -rf ?)",
        "tool:*(*)",
        "*",
        "x[ab]c",
        "tool:Bash(*[xy]*)",
    ]
)


@given(
    PATTERNS,
    st.sampled_from(["Bash", "Edit"]),
    st.sampled_from(
        ["git push -f", "rm -rf /", "sudo git push --force", "main.rs", "xac", "", "force push"]
    ),
)
def test_the_quick_check_never_loses_a_match(pattern, tool, command):
    """The quick look before a pattern is tried never loses one that meets."""
    scene = context_of_tool_call(tool, {"command": command})
    everything = "\n".join((scene.text, *scene.argument_lines))
    assert may_match(pattern, everything) or not matches_trigger(pattern, scene)
    cause = find_trigger_cause(row(triggers=(pattern,)), scene, everything)
    assert bool(cause) == matches_trigger(pattern, scene)


def lines(tmp_path, *rows):
    path = tmp_path / "transcript.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows) + '{"message": {"usage": {"inp')
    return path


def test_how_full_a_context_is_can_be_read(tmp_path):
    """The newest answer's usage, of Claude Code and of Codex; a subagent's is its own."""
    one = {
        "message": {
            "model": "claude-x",
            "usage": {
                "input_tokens": 10,
                "cache_read_input_tokens": 160_000,
                "output_tokens": 1_000,
            },
        }
    }
    side = {**one, "isSidechain": True, "message": {"usage": {"input_tokens": 5}}}
    assert context_usage.read_context_usage(
        lines(tmp_path, {"type": "user"}, one, side)
    ) == pytest.approx(161_010 / 200_000)
    wide = {"message": {"model": "claude-x[1m]", "usage": {"input_tokens": 100_000}}}
    assert context_usage.read_context_usage(lines(tmp_path, wide)) == pytest.approx(0.1)
    codex = {
        "payload": {
            "type": "token_count",
            "info": {"last_token_usage": {"total_tokens": 90}, "model_context_window": 100},
        }
    }
    assert context_usage.read_context_usage(lines(tmp_path, codex)) == pytest.approx(0.9)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x00\xff",
        b"[]\n",
        b'{"message": 7}\n',
        b'{"payload": {"type": 1}}\n',
        b'{"message": {"usage": {"input_tokens": "x"}}}\n',
    ],
)
def test_what_cannot_be_read_is_not_known(tmp_path, content):
    """A host's file that cannot be read gives None instead of an error."""
    path = tmp_path / "t"
    path.write_bytes(content)
    assert context_usage.read_context_usage(path) is None
    assert context_usage.read_context_usage(tmp_path / "none") is None


@given(
    st.text(st.characters(min_codepoint=0x1F300, max_codepoint=0x1FAFF), min_size=1, max_size=3),
    st.integers(20_000, 40_000),
)
@pytest.mark.proves("CC-48")
def test_wide_characters_at_every_cut(text, times):
    """Characters of four bytes at the cuts, of what is kept and of what is said."""
    long = text * times
    assert truncate_text(long).encode() and len(truncate_text(long)) <= MAX_WHOLE_CHARS
    said = fit_answer(f"<reverie-memory>\n{long}\n- b\n</reverie-memory>")
    assert said.encode() and len(said) <= MAX_ANSWER_CHARS


@pytest.mark.parametrize(
    "answered",
    [
        {"mode": "content", "filenames": [], "content": "a.py:1:P\n.env:1:P=w"},
        [{"type": "text", "text": "a.py:1:P"}, {"type": "text", "text": ".env:1:P=w"}],
    ],
)
@pytest.mark.proves("A109", "A112")
def test_what_a_search_found_keeps_its_lines(answered):
    """By its lines it is known which of them come from a file that is not looked into."""
    assert extract_result_text(answered) == "a.py:1:P\n.env:1:P=w"
