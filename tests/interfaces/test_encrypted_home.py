# mypy: no-check-untyped-defs
"""An encrypted home in use: by hooks, commands, MCP and the worker; locked and unlocked."""

import json
import os
import pty
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from reverie.core import clock, config, key_ways, unlocked_key
from reverie.core.atomic_file import write_atomically
from reverie.core.encryption_file import read_encryption, write_encryption
from reverie.core.errors import HomeLockedError
from reverie.core.home_key import describe_key, new_home_key, read_home_key
from reverie.core.private_files import SEALED_HEADER, open_lines, read_private_bytes
from reverie.interfaces import key_watch
from reverie.interfaces.cli.commands import key_commands
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.interfaces.web.web_app import LocalMinds
from reverie.interfaces.worker_start import is_worker_alive, wake_worker
from reverie.notes.file_versions import keep_version
from reverie.storage.side_files import (
    convert_side_files,
    find_plain_side_files,
    find_unsealed_files,
)
from reverie.storage.sqlite.home_conversion import alone_in_home
from reverie.sync.credentials import save_place_key
from tests.support.helpers import hook_command, open_mind, run_command, toy_home, wait_until

PASSPHRASE = "three herons at noon"
ODD = "quixzarf"  # in every text that is said, kept or failed with
RECIPE = f"{ODD}ö"  # as JSON escapes it, it is another row of bytes


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """The folder of a login, and what processes need to find this package."""
    folder = tmp_path / "run"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))
    return folder


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A home that is not encrypted yet, and nothing that is written there to be read."""
    home = toy_home(tmp_path, mirror="off")
    monkeypatch.setenv("REVERIE_HOME", str(home))
    (tmp_path / "project" / ".git").mkdir(parents=True)
    return home


def encrypt(home, *, passphrase=""):
    """Encrypt an empty home, by a passphrase or a key file beside it."""
    key = new_home_key()
    way = (
        key_ways.seal_with_passphrase(key.files, passphrase)
        if passphrase
        else key_ways.seal_with_key_file(key.files, home.parent / "key", home)
    )
    write_encryption(home, describe_key(key, (way,)))
    return key


def lock(home):
    """Take the key file away."""
    (home.parent / "key").rename(home.parent / "key-elsewhere")


def unlock(home):
    """Bring the key file back."""
    (home.parent / "key-elsewhere").rename(home.parent / "key")


def tell(home, event, **fields):
    """What a hook answers Claude Code, in a process of its own."""
    payload = {
        "session_id": "s1",
        "cwd": str(home.parent / "project"),
        "hook_event_name": event,
        **fields,
    }
    done = subprocess.run(
        hook_command(),
        input=json.dumps(payload).encode(),
        capture_output=True,
        check=True,
        env={**os.environ, "REVERIE_HOME": str(home)},
    )
    assert not done.stderr, done.stderr
    return json.loads(done.stdout)


def talk(home, session="s1"):
    """A conversation, as a host tells hooks of it."""
    bash = {"tool_name": "Bash", "tool_input": {"command": f"make {ODD}"}}
    tell(home, "SessionStart", source="startup", session_id=session)
    prompt = f"Remember: the {RECIPE} gateway listens on port 7443, and we use {ODD} for it."
    tell(home, "UserPromptSubmit", prompt=prompt, session_id=session)
    tell(home, "PreToolUse", **bash, session_id=session)
    tell(home, "PostToolUse", **bash, tool_response={"stdout": f"{ODD} built"}, session_id=session)
    error = f"{ODD}Error: cannot find {RECIPE}"
    tell(home, "PostToolUseFailure", **bash, error=error, session_id=session)
    said = f"I have set the {RECIPE} gateway to port 7443."
    tell(home, "Stop", last_assistant_message=said, session_id=session)


def call_mcp(home, tool, **arguments):
    """What a tool of the MCP server answers, in a process of its own."""
    hello = {"protocolVersion": "2025-06-18", "capabilities": {}}
    hello |= {"clientInfo": {"name": "test", "version": "1"}}
    messages = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {
            "jsonrpc": "2.0",
            "id": 2,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        },
    ]
    server = subprocess.Popen(
        [sys.executable, "-m", "reverie", "mcp", "--space", "me/demo"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "REVERIE_HOME": str(home)},
        text=True,
    )
    server.stdin.writelines(f"{json.dumps(message)}\n" for message in messages)
    server.stdin.flush()
    answer = next(row for row in map(json.loads, server.stdout) if row.get("id") == 2)
    server.communicate()
    return json.dumps(answer["result"])


def use_home(home):
    """Use a home as people and programs do: hooks, commands, MCP, the worker."""
    talk(home)
    run_command("remember", f"The {RECIPE} key is in the safe.", "--space", "me/demo")
    run_command("remind", f"Renew the {RECIPE} contract", "--in", "3 days", "--space", "me/demo")
    notes = home.parent / "notes"
    notes.mkdir(exist_ok=True)
    (notes / "plan.md").write_text(f"# Plan\n\nThe {RECIPE} plan.\n")
    run_command("files", "add", str(notes), "--space", "me/demo")
    run_command("files", "sync", "--space", "me/demo")
    said = f"More of {RECIPE}."
    run_command("files", "update", str(notes / "plan.md"), said, "--space", "me/demo")
    assert "mem_" in call_mcp(home, "remember", text=f"Ann calls the {RECIPE} team on Mondays.")
    run_command("data", "worker")
    talk(home, "s2")
    run_command("recall", ODD, "--space", "me/demo")
    HookFiles(str(home)).log_trouble(f"an error that quotes {ODD}")
    run_command("memory", "map", "--space", "me/demo")
    run_command("data", "backup")
    # What a worker that lives on lays ready for hooks.
    run_command(
        "remember",
        f"Never run make {RECIPE}.",
        "--space",
        config.project_space_of(home.parent / "project"),
    )
    tell(home, "UserPromptSubmit", prompt=f"Which port has the {RECIPE} gateway?")


def find_word(folder):
    """The files below a folder that hold the odd word, however it is written."""
    variants = [ODD.encode(code) for code in ("utf-8", "utf-16-le", "utf-16-be", "utf-32-le")]
    variants += [ODD.upper().encode(), json.dumps(RECIPE).encode()]
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if path.is_file() and any(one in path.read_bytes() for one in variants)
    )


def test_no_file_of_an_encrypted_home_tells_what_was_said(place, runtime):
    """Used by hooks, commands, MCP and the worker, no file of the home and of the login holds a
    word of it; used in the same way, a plain home does, in each of its rooms.
    """
    use_home(place)
    found = {name.partition("/")[0] for name in find_word(place)}
    assert found >= {"reverie.db", "hooks", "versions", "cache", "backups"}
    shutil.rmtree(place)
    shutil.rmtree(place.parent / "notes")
    toy_home(place.parent, mirror="off")
    encrypt(place)
    use_home(place)
    assert (find_word(place), find_word(runtime)) == ([], [])
    assert list(find_plain_side_files(place)) == []
    assert run_command("list", "--space", "me/demo").output.count(ODD) >= 3


def test_hooks_take_in_while_it_is_locked(place):
    """Nothing of it is lost: after the key is back all was said, and hooks hand over again."""
    encrypt(place)
    run_command("remember", "The staging server is called heron.", "--space", "me/demo")
    lock(place)
    first = tell(place, "SessionStart", source="startup")
    assert "locked" in first["systemMessage"] and "reverie data unlock" in first["systemMessage"]
    assert tell(place, "UserPromptSubmit", prompt=f"We use {ODD} on port 7443.") == {}
    assert tell(place, "PreToolUse", tool_name="Bash", tool_input={"command": "ls"}) == {}
    assert tell(place, "Stop", last_assistant_message=f"Noted: {ODD}.") == {}
    assert find_word(place) == [] and not Path(HookFiles(str(place)).log).exists()
    waiting = HookFiles(str(place)).list_events()
    assert len(waiting) == 3
    done = run_command("data", "worker", code=14)
    assert "reverie data unlock" in done.stderr
    assert HookFiles(str(place)).list_events() == waiting
    assert "reverie data unlock" in call_mcp(place, "remember", text="Herons fly.")
    unlock(place)
    run_command("data", "worker")
    assert HookFiles(str(place)).list_events() == []
    space = config.project_space_of(place.parent / "project")
    log = run_command("activity", "log", "--space", space, "--json").output
    assert log.count(ODD) >= 2
    said = tell(place, "UserPromptSubmit", prompt=f"Which port does {ODD} have?", session_id="s2")
    assert "7443" in said["hookSpecificOutput"]["additionalContext"]


def test_a_hook_that_lost_the_key_meanwhile_loses_no_event(place):
    """The key goes while the hook looks for what to say: the event stays as it was written."""
    encrypt(place)
    files = HookFiles(str(place))
    from reverie.interfaces.hooks.hook_event import HookBlock, HookEvent, SpooledEvent

    event = SpooledEvent(HookEvent("prompt", "s1", "/", text=ODD), 1.0, "me/demo", "")
    held = files.add_event(event, held=True)
    lock(place)
    files.release_event(held, HookBlock(ids=["mem_1"]))
    unlock(place)
    from reverie.interfaces.hooks.spool import read_spooled_event

    assert read_spooled_event(files.list_events()[0]).event.text == ODD


@pytest.mark.parametrize("damage", ["{", "flipped", ""])
def test_while_the_encryption_file_is_damaged_hooks_keep_everything(place, damage):
    """Its copy serves: what happens is sealed and taken in; verify and doctor say so, and a repair
    writes the file anew.
    """
    encrypt(place)
    whole = (place / "encryption.json").read_bytes()
    if damage:
        flipped = whole.replace(b'"check": "', b'"check": "f')
        data = flipped if damage == "flipped" else damage.encode()
        (place / "encryption.json").write_bytes(data)
    else:
        (place / "encryption.json").unlink()
    said = tell(place, "UserPromptSubmit", prompt=f"We use {ODD} on port 7443.")
    assert "nothing is kept" not in said.get("systemMessage", "")
    assert find_word(place) == []
    [event] = HookFiles(str(place)).list_events()
    assert ODD.encode() in read_private_bytes(place, event)
    assert "verify --repair" in run_command("doctor", code=1).output
    assert "encryption.json" in run_command("data", "verify", code=1).output
    run_command("data", "verify", "--repair")
    assert (place / "encryption.json").read_bytes() == whole
    assert "as it should be" in run_command("data", "verify").output


def test_a_lost_copy_of_the_encryption_file_is_made_anew(place):
    """By the worker, and by a repair."""
    encrypt(place)
    whole = (place / "encryption.json").read_bytes()
    for words in (("data", "worker"), ("data", "verify", "--repair")):
        (place / "encryption-copy.json").unlink()
        run_command(*words)
        assert (place / "encryption-copy.json").read_bytes() == whole


def damage_encryption(home, text="{"):
    """Damage both of the files that say how a home is encrypted, or remove them."""
    for name in ("encryption.json", "encryption-copy.json"):
        if text:
            (home / name).write_text(text)
        else:
            (home / name).unlink()


def test_where_both_encryption_files_are_damaged_nothing_gets_out(place):
    """What a hook cannot seal it does not write, not even into the log; it tells the person once."""
    encrypt(place)
    damage_encryption(place)
    said = tell(place, "UserPromptSubmit", prompt=f"We use {ODD}.")
    assert "nothing is kept" in said["systemMessage"] and "reverie doctor" in said["systemMessage"]
    assert "systemMessage" not in tell(place, "UserPromptSubmit", prompt=f"And {ODD} again.")
    HookFiles(str(place)).log_trouble(f"an error that quotes {ODD}")
    assert find_word(place) == []
    assert "could not be sealed: StoreDamaged" in Path(HookFiles(str(place)).log).read_text()
    assert "How this memory is encrypted cannot be read" in run_command("doctor", code=1).output


def test_a_scrub_reaches_what_is_sealed(place):
    """It is opened, cleaned and sealed again; a version goes, whole."""
    encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    tell(place, "UserPromptSubmit", prompt=f"We use {ODD} on port 7443.")
    files = HookFiles(str(place))
    files.log_trouble(f"an error that quotes {ODD}")
    version = keep_version(place, f"{ODD}\n".encode())
    found = run_command("data", "scrub", "--text", "-", "--backups", "--yes", stdin=f"{ODD}\n")
    [event] = files.list_events()
    text = read_private_bytes(place, event)
    log = open_lines(place, Path(files.log).read_bytes())
    assert b"7443" in text and b"an error that quotes" in log, found.output
    assert ODD.encode() not in text + log and list(find_plain_side_files(place)) == []
    assert not [*(place / "versions").glob(f"*/{version}")]


def test_lock_ends_the_worker(place):
    """It has the key; hooks go on without it."""
    config.save_settings(config.load_settings(place), idle=600.0)
    encrypt(place)
    tell(place, "UserPromptSubmit", prompt=f"We use {ODD}.")
    files = HookFiles(str(place))
    wait_until(lambda: is_worker_alive(files.lock) and not files.list_events())
    said = run_command("data", "lock").output
    assert not is_worker_alive(files.lock) and "The key file is there" in said


@pytest.fixture
def unlocked(place):
    """A home that a passphrase opens, unlocked for this login, with a memory in it."""
    key = encrypt(place, passphrase=PASSPHRASE)
    name = read_encryption(place).name
    unlocked_key.save_unlocked(name, key.files, None)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    return lambda: unlocked_key.save_unlocked(name, key.files, None)


def test_lock_closes_a_running_mcp_server(place, unlocked):
    """Without a request, so that nobody has the key; the next one says how to unlock it, and once
    that is done all goes on.
    """
    room = ToolContext(config.load_settings(place), "me/demo")
    assert [one.text for one in room.mind.browse(space="me/demo")] == ["Herons fly."]
    assert run_command("data", "lock").output == "Locked.\n"
    with alone_in_home(place, 0.0):
        pass
    with pytest.raises(HomeLockedError, match="reverie data unlock"):
        room.mind.tags("me/demo")
    unlocked()
    assert [one.text for one in room.mind.browse(space="me/demo")] == ["Herons fly."]
    room.close()


def test_a_request_right_after_the_lock_is_refused(place, unlocked, monkeypatch):
    """Also before the next look for the key."""
    monkeypatch.setattr(key_watch, "POLL_SECONDS", 3_600.0)
    room = ToolContext(config.load_settings(place), "me/demo")
    room.mind.tags("me/demo")
    unlocked_key.remove_unlocked(read_encryption(place).name)
    with pytest.raises(HomeLockedError, match="reverie data unlock"):
        room.mind.tags("me/demo")
    with alone_in_home(place, 0.0):
        pass


def test_lock_closes_the_pages(place, unlocked):
    """They say how to unlock it, and are there again afterwards."""
    with open_mind(place, mirror="off") as mind:
        minds = LocalMinds(mind)
        with minds(None) as opened:
            assert opened.browse(space="me/demo")
        assert json.loads(run_command("data", "lock", "--json").output)["closed"]
        with pytest.raises(HomeLockedError, match="reverie data unlock"):
            minds(None)
        unlocked()
        with minds(None) as opened:
            assert [one.text for one in opened.browse(space="me/demo")] == ["Herons fly."]
        minds.close()


def test_lock_says_that_somebody_has_it_open_all_the_same(place, unlocked, monkeypatch):
    """A program of one's own keeps the key until it ends, and nobody is told that it does not."""
    monkeypatch.setattr(key_commands, "CLOSE_SECONDS", 0.1)
    with open_mind(place, mirror="off"):
        assert "still has the memory open" in run_command("data", "lock").output


def test_the_worker_ends_when_the_time_is_over(place):
    """It was unlocked for a while only, and the worker has the key no longer than that."""
    config.save_settings(config.load_settings(place), idle=600.0)
    key = encrypt(place, passphrase=PASSPHRASE)
    name = read_encryption(place).name
    unlocked_key.save_unlocked(name, key.files, None)
    tell(place, "UserPromptSubmit", prompt=f"We use {ODD}.")
    files = HookFiles(str(place))
    wait_until(lambda: is_worker_alive(files.lock) and not files.list_events())
    unlocked_key.save_unlocked(name, key.files, clock.now() - 1)
    wait_until(lambda: not is_worker_alive(files.lock))


def test_the_worker_seals_what_lies_in_the_clear(place):
    """A conversion that was killed left it, or a hook that began before there was a key."""
    config.save_settings(config.load_settings(place), idle=600.0)
    key = encrypt(place)
    keep_version(place, f"{ODD}\n".encode())
    convert_side_files(place, None, former=key)
    assert list(find_unsealed_files(place)) and find_word(place)
    files = HookFiles(str(place))
    try:
        wake_worker(files.home, files.lock)
        wait_until(lambda: not list(find_unsealed_files(place)))
        assert find_word(place) == []
    finally:
        run_command("data", "lock")


def test_the_status_line_says_that_it_is_locked(place):
    """Instead of what memory did."""
    from reverie.interfaces.hooks.status_line import compose_status

    encrypt(place)
    tell(place, "SessionStart", source="startup")
    assert compose_status("s1", HookFiles(str(place))) == "reverie"
    lock(place)
    assert compose_status("s1", HookFiles(str(place))) == "reverie: locked (reverie data unlock)"


def test_unlock_and_lock(place, runtime):
    """A passphrase unlocks for this login, a wrong one does not, and lock takes the key away."""
    encrypt(place, passphrase=PASSPHRASE)
    told = run_command("remember", "Herons fly.", "--space", "me/demo", code=14).stderr
    assert told.strip().endswith("Unlock it with: reverie data unlock")
    wrong = run_command("data", "unlock", stdin="three herons at moon\n", code=2)
    assert "not the passphrase" in wrong.stderr and not [*runtime.rglob("*.key")]
    assert "Nothing came on stdin" in run_command("data", "unlock", stdin="", code=2).stderr
    done = run_command("data", "unlock", "--for", "8h", stdin=f"{PASSPHRASE}\n").output
    assert done.startswith("Unlocked until ")
    run_command("remember", "Herons fly.", "--space", "me/demo")
    state = json.loads(run_command("data", "key", "--json").output)
    assert (state["ways"], state["unlocked"]) == ([{"way": "passphrase", "place": ""}], True)
    assert "Locked." in run_command("data", "lock").output
    assert not [*runtime.rglob("*.key")]
    run_command("recall", "herons", "--space", "me/demo", code=14)


def test_the_recovery_key_unlocks(place):
    """Where the key file is lost; another key does not."""
    key = encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    lock(place)
    other = run_command("data", "unlock", "--recovery", stdin=f"{new_home_key().files}\n", code=2)
    assert "not the recovery key" in other.stderr
    none = run_command("data", "unlock", "--recovery", stdin="heron\n", code=2)
    assert "AGE-SECRET-KEY-1" in none.stderr
    run_command("data", "unlock", "--recovery", stdin=f"{key.files}\n")
    assert "Herons fly." in run_command("list", "--space", "me/demo").output


def test_a_moved_key_file_unlocks(place):
    """It is said where it is now."""
    encrypt(place)
    lock(place)
    run_command("data", "unlock", "--key-file", str(place.parent / "key-elsewhere"))
    run_command("remember", "Herons fly.", "--space", "me/demo")


def test_ways_are_added_and_given_up(place, tmp_path, monkeypatch):
    """The key stays the same, and never is there no way to it."""
    key = encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    run_command("data", "key", "--passphrase", stdin=f"{PASSPHRASE}\n")
    run_command("data", "key", "--remove", "key-file")
    last = run_command("data", "key", "--remove", "passphrase", code=2, stdin=f"{PASSPHRASE}\n")
    assert "only way" in last.stderr
    monkeypatch.setenv("REVERIE_PASSPHRASE", PASSPHRASE)
    assert read_home_key(place) == key
    run_command("data", "key", "--key-file", str(tmp_path / "stick"))
    assert [way.kind for way in read_encryption(place).ways] == ["passphrase", "key-file"]
    assert "no way of keeping" in run_command("data", "key", "--remove", "hat", code=2).stderr
    assert "Herons fly." in run_command("list", "--space", "me/demo").output


def test_a_lost_encryption_file_is_made_anew(place, tmp_path):
    """By the recovery key, and by no other."""
    key = encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    before = (place / "encryption.json").read_bytes()
    damage_encryption(place, "")
    words = ("data", "key", "--recovery", "--key-file", str(tmp_path / "new"))
    other = run_command(*words, stdin=f"{new_home_key().files}\n", code=2)
    assert "does not open" in other.stderr and not (place / "encryption.json").exists()
    assert not (tmp_path / "new").exists()
    run_command(*words, stdin=f"{key.files}\n")
    assert read_encryption(place).recipient in before.decode()
    assert "Herons fly." in run_command("list", "--space", "me/demo").output


def test_a_wrong_recovery_key_takes_no_damaged_encryption_file_away(place, tmp_path):
    """Without it the home would look plain, and hooks would write in the clear."""
    encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    damage_encryption(place)
    words = ("data", "key", "--recovery", "--key-file", str(tmp_path / "new"))
    run_command(*words, stdin=f"{new_home_key().files}\n", code=2)
    assert (place / "encryption.json").read_text() == "{" and not (tmp_path / "new").exists()


def test_what_came_while_the_encryption_file_was_lost_is_sealed_with_it(place, tmp_path):
    """Nothing says then that the home is encrypted; nothing of it stays in the clear."""
    key = encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    damage_encryption(place, "")
    tell(place, "UserPromptSubmit", prompt=f"We use {ODD}.")
    assert find_word(place)
    words = ("data", "key", "--recovery", "--key-file", str(tmp_path / "new"))
    run_command(*words, stdin=f"{key.files}\n")
    assert find_word(place) == []
    [event] = HookFiles(str(place)).list_events()
    assert ODD.encode() in read_private_bytes(place, event)


def test_a_home_without_its_encryption_file_gets_no_other_key(place, tmp_path):
    """Whatever is asked of it, it is said what is missing; no key is made that opens nothing."""
    encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    damage_encryption(place, "")
    other = tmp_path / "other"
    for words in (("encrypt", "--key-file", str(other)), ("decrypt",), ("unlock",), ("key",)):
        said = run_command("data", *words, code=2).stderr
        assert "encryption.json is not in its home" in said and "--recovery" in said
    assert not (place / "encryption.json").exists() and not other.exists()


def test_a_plain_home_has_nothing_to_unlock(place):
    """It says so, and makes no file."""
    for words in (("key",), ("unlock",), ("lock",), ("key", "--passphrase")):
        assert "not encrypted" in run_command("data", *words, code=2).stderr
    assert not (place / "encryption.json").exists()


def test_ctrl_c_at_the_passphrase(place, runtime):
    """Nothing is shown of it, nothing is kept, and the exit code is that of an interrupt."""
    encrypt(place, passphrase=PASSPHRASE)
    child, terminal = pty.fork()
    if child == 0:
        os.execv(sys.executable, [sys.executable, "-m", "reverie", "data", "unlock"])
    shown = b""
    while b"passphrase" not in shown:
        shown += os.read(terminal, 1_000)
    os.write(terminal, b"three her\x03")
    with suppress(OSError):  # the other end is closed
        while chunk := os.read(terminal, 1_000):
            shown += chunk
    _, status = os.waitpid(child, 0)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(status) in (130, -signal.SIGINT)
    assert b"three" not in shown and b"Traceback" not in shown
    assert not [*runtime.rglob("*.key")]


# Conversion


def write_side_files(home):
    """What lies beside the databases of a home that was used."""
    use_home(home)
    write_atomically(home / "device-keys", ODD.encode(), mode=0o600)
    save_place_key(home, "https://files.example.com", ODD)
    write_atomically(home / "trouble.txt", ODD.encode(), mode=0o600)


def read_side_files(home):
    """Their content by name, databases and what only marks something left out."""
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in home.rglob("*")
        if path.is_file() and ".db" not in path.name and path.name != "trouble.txt"
    }


def test_side_files_are_sealed_and_opened_again(place):
    """Byte for byte, however often it is called; a kill in between is made up for."""
    write_side_files(place)
    before = read_side_files(place)
    plain = {name for name in find_word(place) if ".db" not in name}
    key = new_home_key()
    (place / "hooks" / "spool" / "one.held").write_bytes(b"")
    assert convert_side_files(place, key) >= len(plain)
    assert [name for name in find_word(place) if ".db" not in name] == []
    sealed = [place / name for name in plain - {"trouble.txt", "hooks/trouble.log"}]
    assert all(path.read_bytes().startswith(SEALED_HEADER) for path in sealed)
    assert convert_side_files(place, key) == 0
    some = sorted(sealed)[0]
    write_atomically(some, before[str(some.relative_to(place))], mode=0o600)
    assert convert_side_files(place, key) == 1
    (place / "hooks" / "spool" / "one.held").unlink()
    assert convert_side_files(place, None, former=key) >= len(sealed)
    assert read_side_files(place) == before


# What `doctor` says


def test_doctor_tells_of_the_key(place):
    """That it is there, that it is missing, and what lies in the clear."""
    encrypt(place)
    run_command("remember", "Herons fly.", "--space", "me/demo")
    assert "encrypted, and opened by" in run_command("doctor", code=1).output
    lock(place)
    tell(place, "UserPromptSubmit", prompt="Herons fly.")
    locked = run_command("doctor", code=1).output
    assert "encrypted, and locked" in locked and "1 events wait sealed" in locked
    assert locked.count("key file of this memory is not there") == 1
    unlock(place)
    (place / "hooks" / "spool" / "x.json").write_text(ODD)
    assert "lie in the clear: hooks/spool/x.json" in run_command("doctor", code=1).output
    run_command("data", "unlock")
    assert "in the clear" not in run_command("doctor", code=1).output
    (place.parent / "key").chmod(0o644)
    assert "Others on this machine can read the key file" in run_command("doctor", code=1).output
