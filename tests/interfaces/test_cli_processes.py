"""The command line as real processes: Ctrl-C, pipes that close, several at once, output without a
terminal.
"""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from reverie.core.model import Filter
from tests.support.chat_exports import gpt_node, write_zip
from tests.support.helpers import interrupt, open_mind, toy_home, wait_until


@pytest.fixture
def home(tmp_path):
    return toy_home(tmp_path)


def environment(home, **more):
    return {
        **os.environ,
        "REVERIE_HOME": str(home),
        "PYTHONPATH": os.pathsep.join(sys.path),
        **more,
    }


def start(home, *words, **more):
    return subprocess.Popen(
        [sys.executable, "-m", "reverie", *words],
        env=environment(home),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **more,
    )


def run(home, *words, stdin=b"", env=None):
    return subprocess.run(
        [sys.executable, "-m", "reverie", *words],
        env=environment(home, **(env or {})),
        input=stdin,
        capture_output=True,
        check=False,
        timeout=120,
    )


def memories(home):
    if not (home / "reverie.db").exists():
        return 0
    with open_mind(home) as mind:
        return mind.data.stats().memories


def interrupted(process):
    """Ctrl-C; (code, stderr)."""
    _, err = interrupt(process)
    return process.returncode, err.decode()


def test_ctrl_c_while_remembering_lines(home):
    """Ctrl-C leaves a usable home and exit code 130; what was read is kept."""
    process = start(home, "remember", "--each-line", "--space", "me/demo")
    process.stdin.write(b"".join(b"line number %d\n" % n for n in range(450)))
    process.stdin.flush()
    wait_until(lambda: memories(home) >= 400)
    code, err = interrupted(process)
    assert (code, "Traceback" in err, "Interrupted" in err) == (130, False, True)
    with open_mind(home) as mind:
        assert mind.data.stats().memories >= 400 and [] == mind.data.verify()


HUNG_EDITOR = "import sys, time; open(sys.argv[1], 'a').write('typed\\n'); time.sleep(600)"


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)]
)
@pytest.mark.parametrize("to_all", [True, False])
def test_an_editor_that_does_not_return(home, tmp_path, number, code, to_all):
    """It can be interrupted, by the terminal or from elsewhere: what was typed is kept in a file,
    nobody had to wait for it, and nothing of it is left running.
    """
    with open_mind(home) as mind:
        id = mind.remember("first line", space="me/demo").id
    script, drafts = tmp_path / "editor.py", tmp_path / "drafts"
    script.write_text(HUNG_EDITOR)
    drafts.mkdir()
    env = {"VISUAL": f"{sys.executable} {script}", "TMPDIR": str(drafts)}
    process = subprocess.Popen(
        [sys.executable, "-m", "reverie", "edit", id],
        env=environment(home, **env),
        stderr=subprocess.PIPE,
        start_new_session=True,
    )
    wait_until(lambda: any("typed" in file.read_text() for file in drafts.rglob("*.md")))
    assert run(home, "memory", "tag", id, "meanwhile").returncode == 0
    (os.killpg if to_all else os.kill)(process.pid, number)
    _, err = process.communicate(timeout=120)
    (draft,) = drafts.rglob("*.md")
    assert process.returncode == code, err
    assert f"reverie edit {id} --text - < {draft}" in err.decode()
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    with open_mind(home) as mind:
        assert mind.get([id])[0].text == "first line"
    done = run(home, "edit", id, "--text", "-", stdin=draft.read_bytes())
    assert done.returncode == 0, done.stderr
    with open_mind(home) as mind:
        assert mind.get([id])[0].text == "first line\ntyped"


def test_an_edited_page_that_cannot_be_used_is_kept(home, tmp_path):
    """Where its middle line is gone, or the memory was changed meanwhile."""
    with open_mind(home) as mind:
        id = mind.remember("as it was", space="me/demo").id
    other = f"{sys.executable} -m reverie edit {id} --text other"
    for editor, code in (("sed -i 2,3d", 2), (f"sed -i s/was/is/ $1; {other}; true", 4)):
        script = tmp_path / "editor.sh"
        script.write_text(f"#!/bin/sh\n{editor if '$1' in editor else editor + ' $1'}\n")
        script.chmod(0o755)
        done = run(home, "edit", id, env={"VISUAL": str(script), "TMPDIR": str(tmp_path)})
        assert done.returncode == code, done.stderr
        kept = done.stderr.decode().partition("What was typed is in ")[2].partition(". Keep")[0]
        assert Path(kept).exists()
    with open_mind(home) as mind:
        assert mind.get([id])[0].text == "other"


def test_ctrl_c_while_it_still_loads(tmp_path):
    """Before there is a command: 130, and nothing of Python's."""
    ended = run_with_commands(
        tmp_path,
        "    import os\n    os.kill(os.getpid(), 2)\n    raise AttributeError(name)\n",
        named="__getattr__(name)",
    )
    assert (ended.returncode, ended.stderr) == (130, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that takes nothing")
@pytest.mark.parametrize("words", [("memory", "kinds"), ("memory", "kinds", "--json")])
def test_where_stdout_takes_no_more_it_is_said_once(home, words):
    """One line and the code of a full disk; Python adds nothing at its end."""
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "reverie", *words],
            env=environment(home),
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
            timeout=120,
        )
    assert (done.returncode, done.stderr) == (8, b"reverie: No space left on device\n")


def test_ctrl_c_while_importing(home, tmp_path):
    """An import that is interrupted has taken in nothing, and the next one works."""
    with open_mind(tmp_path / "other") as mind:
        mind.remember_many([{"text": f"memory number {n}"} for n in range(300)], space="me/demo")
        lines = [json.dumps(row) + "\n" for row in mind.data.export()]
    process = start(home, "data", "import", "--trusted", "-")
    process.stdin.write("".join(lines[:250]).encode())
    process.stdin.flush()
    wait_until(lambda: (home / "reverie.db").exists())
    time.sleep(0.5)
    code, err = interrupted(process)
    assert (code, "Traceback" in err) == (130, False)
    assert memories(home) == 0
    assert (
        run(home, "data", "import", "--trusted", "-", stdin="".join(lines).encode()).returncode == 0
    )
    assert memories(home) == 300


def write_chat_export(path, count):
    """An archive of ChatGPT with so many conversations, each of which says something to keep."""
    talks = []
    for number in range(count):
        ask = f"Remember: depot {number} ships its loaves on day {number} with carrier {number}."
        nodes = [gpt_node("root", None, ["ask"])]
        nodes.append(gpt_node("ask", "root", ["answer"], "user", ask, 1_750_000_000.0 + number))
        answer = f"Noted for depot {number}."
        nodes.append(gpt_node("answer", "ask", [], "assistant", answer, 1_750_000_001.0 + number))
        name = f"6853f{number:03}-1111-8000-9000-000000000000"
        talks.append(
            {
                "title": f"Depot {number}",
                "create_time": 1_750_000_000.0 + number,
                "mapping": {node["id"]: node for node in nodes},
                "current_node": "answer",
                "conversation_id": name,
            }
        )
    return write_zip(path, {"conversations.json": json.dumps(talks)})


def list_imported(home):
    """What memories say and who says so, and what conversations hold."""
    with open_mind(home) as mind:
        mind.settle()
        kept = {
            (one.text, one.kind, one.provenance, one.space, one.retired_at is None)
            for one in mind.store.browse(Filter(active=None, limit=10_000))
        }
        talks = {}
        for one in mind.sessions.browse(space="me/demo", limit=10_000):
            lines = mind.sessions.read(one.session, space="me/demo").lines
            talks[one.session] = [(line.role, line.text, line.at) for line in lines]
        assert [] == mind.data.verify()
        return kept, talks


@pytest.fixture(scope="module")
def whole_import(tmp_path_factory):
    """(the words of an import, what is there after it)."""
    folder = tmp_path_factory.mktemp("whole")
    path = write_chat_export(folder / "chat.zip", 120)
    words = ("data", "import", str(path), "--trusted", "--space", "me/demo")
    home = toy_home(folder)
    assert run(home, *words).returncode == 0
    return words, list_imported(home)


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGKILL])
def test_an_import_that_ends_halfway_goes_on(tmp_path, whole_import, end):
    """By Ctrl-C or killed: the next run takes in the rest, and all is as after one run."""
    words, whole = whole_import
    home = toy_home(tmp_path)
    process = start(home, *words)
    with open_mind(home) as mind:
        wait_until(lambda: mind.store.events(verbs=("learn",), limit=1))
    if end == signal.SIGINT:
        interrupt(process)
    else:
        process.kill()
        process.communicate()
    assert process.returncode == {signal.SIGINT: 130, signal.SIGKILL: -9}[end]
    with open_mind(home) as mind:
        assert 0 < len(mind.sessions.browse(space="me/demo", limit=10_000)) < 120
    again = run(home, *words)
    assert again.returncode == 0, again.stderr
    assert list_imported(home) == whole


def test_ctrl_c_while_settling(home):
    """Settling stops at once and gives the lease back; what was embedded stays."""
    with open_mind(home) as mind:
        mind.remember_many(
            [{"text": f"{'many words ' * 200} {n}"} for n in range(3_000)], space="me/demo"
        )
    process = start(home, "data", "settle")
    with open_mind(home) as mind:
        wait_until(lambda: 0 < mind.data.stats().vectors)
    code, err = interrupted(process)
    assert (code, "Traceback" in err) == (130, False)
    with open_mind(home) as mind:
        assert 0 < mind.data.stats().vectors < 3_000
        assert mind.store.holder("settle", time.time()) is None
        assert [] == mind.data.verify()


def test_ctrl_c_while_replaying(home, tmp_path):
    """A replay that is interrupted leaves no throw-away home behind."""
    file = tmp_path / "talk.jsonl"
    file.write_text(
        "".join(
            json.dumps({"role": "user", "content": f"turn number {n}"}) + "\n" for n in range(5_000)
        )
    )
    scratch = tmp_path / "tmp"
    scratch.mkdir()
    process = subprocess.Popen(
        [sys.executable, "-m", "reverie", "session", "replay", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(home, TMPDIR=str(scratch)),
    )
    assert process.stdout and process.stdout.read(2_000)
    code, err = interrupted(process)
    assert (code, "Traceback" in err) == (130, False)
    assert [] == list(scratch.iterdir())


def test_two_at_once(home):
    """Two command lines write at the same time; nothing is lost, nobody sees a lock."""
    both = [start(home, "remember", "--each-line", "--space", "me/demo") for _ in range(2)]
    for n, process in enumerate(both):
        process.stdin.write(b"".join(b"from %d line %d\n" % (n, line) for line in range(1_000)))
        process.stdin.close()
    for process in both:
        assert process.wait(120) == 0, process.stderr.read()
        process.stdout.close()
        process.stderr.close()
    assert memories(home) == 2_000


def test_a_pipe_that_closes_is_no_trouble(home):
    """`reverie data export | head -1` ends without a word."""
    with open_mind(home) as mind:
        mind.remember_many([{"text": f"{'long ' * 50}{n}"} for n in range(800)], space="me/demo")
    for words in (
        ["data", "export"],
        ["list", "--space", "me/demo", "--limit", "4000"],
        ["list", "--json", "--space", "me/demo", "--limit", "4000"],
    ):
        process = start(home, *words)
        process.stdin.close()
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        process.wait(120)
        assert err.replace(b"exporting \xe2\x80\xa6\n", b"") == b"", words


def test_plain_output_without_a_terminal(home):
    """No colours and no bars where nobody looks; with NO_COLOR none on a terminal either."""
    run(home, "remember", "plain", "--space", "me/demo")
    out = run(home, "recall", "plain", "--space", "me/demo")
    assert b"\x1b" not in out.stdout + out.stderr

    ours, theirs = pty.openpty()
    subprocess.run(
        [sys.executable, "-m", "reverie", "list", "--space", "me/demo"],
        stdout=theirs,
        stderr=theirs,
        env=environment(home, NO_COLOR="1", TERM="xterm", COLUMNS="40"),
        check=True,
    )
    os.close(theirs)
    shown = os.read(ours, 10_000)
    os.close(ours)
    assert b"plain" in shown and b"\x1b[3" not in shown


BAR_AT_ONCE = """
from reverie.interfaces.cli import progress_bar
progress_bar.SECONDS_BEFORE_BAR = 0.0
from reverie.__main__ import main
main()
"""


@pytest.mark.parametrize(
    ("words", "stage"),
    [
        (("learn", "talk.jsonl"), "learning"),
        (("learn", "--git", "."), "reading the history"),
        (("files", "add", "notes"), "indexing notes"),
        (("files", "sync"), "indexing notes"),
        (("sleep", "--dry-run"), "sleeping"),
    ],
)
def test_a_bar_on_a_terminal_and_none_elsewhere(home, tmp_path, words, stage):
    """It stands on stderr, also of a stage that does not report; stdout is the answer alone."""
    (tmp_path / "notes").mkdir()
    for n in range(40):
        (tmp_path / "notes" / f"{n}.md").write_text(f"# Note {n}\n\n" + "Some words. " * 200)
    said = [{"role": "user", "content": f"We use tool {n} because of {n * 7}."} for n in range(400)]
    (tmp_path / "talk.jsonl").write_text("\n".join(map(json.dumps, said)))
    make_repository(tmp_path)
    if words == ("files", "sync"):
        run_in(tmp_path, home, "files", "add", "notes", "--no-sync")
    ours, theirs = pty.openpty()
    done = run_in(tmp_path, home, *words, stderr=theirs)
    os.close(theirs)
    shown = b""
    with suppress(OSError):  # the other end is closed
        while chunk := os.read(ours, 10_000):
            shown += chunk
    os.close(ours)
    assert stage.encode() in shown and b"\x1b[" in shown
    assert b"\x1b" not in done.stdout
    plain = run_in(tmp_path, toy_home(tmp_path / "other"), *words, stderr=subprocess.PIPE)
    assert b"\x1b" not in plain.stdout + plain.stderr


def make_repository(folder):
    """A repository of one commit."""
    by = ("-c", "user.name=Ann", "-c", "user.email=ann@example.org")
    for words in (("init", "-q"), ("add", "notes"), (*by, "commit", "-qm", "Fix the notes")):
        subprocess.run(["git", "-C", str(folder), *words], check=True)


def run_in(folder, home, *words, stderr=None):
    """A command in a folder, with bars that do not wait."""
    return subprocess.run(
        [sys.executable, "-c", BAR_AT_ONCE, *words, "--space", "me/demo"]
        if words[0] != "sleep"
        else [sys.executable, "-c", BAR_AT_ONCE, *words],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=environment(home, TERM="xterm", COLUMNS="100"),
        check=True,
    )


def test_a_terminal_that_knows_no_unicode(home):
    """A letter that the terminal lacks is written out, not a reason to stop."""
    assert run(home, "remember", "snowman ☃ 🎉", "--space", "me/demo").returncode == 0
    out = run(home, "list", "--space", "me/demo", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"})
    assert (out.returncode, b"snowman" in out.stdout) == (0, True)


def offered(home, words):
    """What the shell offers for the last of these words."""
    place = str(len(words.split(" ")) - 1)
    return run(
        home, env={"_REVERIE_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    ).stdout


@pytest.mark.proves("X47")
def test_completion_offers_ids_and_kinds(home):
    """Tab completes ids, kinds and spaces, and creates nothing."""
    assert offered(home, "reverie show ").strip() == b""
    assert not (home / "reverie.db").exists()
    kept = json.loads(run(home, "remember", "complete me", "--space", "me/demo", "--json").stdout)[
        "memory"
    ]["id"]
    assert b"preference" in offered(home, "reverie recall --kind pref")
    assert b"me/demo" in offered(home, "reverie --space me/d")
    assert kept.encode() in offered(home, f"reverie --space me/demo show {kept[:12]}")


def test_a_home_that_cannot_be_written(tmp_path):
    """A home that is a file is an error in one line."""
    (tmp_path / "file").write_text("")
    out = run(tmp_path / "file", "remember", "x", "--space", "me")
    assert out.returncode in (7, 12) and out.stderr.count(b"\n") == 1


def test_ctrl_c_in_generated_code_ends_with_130(tmp_path):
    """Python itself would end by SIGINT where it met code made of a string, as dataclasses are."""
    ended = run_with_commands(
        tmp_path,
        "    try:\n"
        "        exec('import os; os.kill(os.getpid(), 2); [n for n in range(10**6)]')\n"
        "    except KeyboardInterrupt:\n"
        "        sys.exit(130)\n",
        named="main()",
    )
    assert (ended.returncode, ended.stderr) == (130, b"")


def run_with_commands(tmp_path, body, *, named):
    """The program `reverie` with a function in the place of its commands, in a process of its own
    that does not have Ctrl-C ignored.
    """
    script = tmp_path / "program.py"
    script.write_text(
        "import signal, sys, types\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"def {named}:\n{body}"
        "app = types.ModuleType('reverie.interfaces.cli.app')\n"
        f"app.{named.partition('(')[0]} = {named.partition('(')[0]}\n"
        "sys.modules[app.__name__] = app\n"
        "from reverie.__main__ import main as start\n"
        "start()\n"
    )
    return subprocess.run([sys.executable, script], check=False, capture_output=True, timeout=120)
