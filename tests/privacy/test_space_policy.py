"""A space may keep, mask or refuse personal data otherwise than the others."""

import json
import subprocess

import pytest

from reverie.core import config
from reverie.core.errors import BadInput, Refused
from reverie.core.privacy_policy import Policy
from tests.support.helpers import hook_command, open_mind, run_command, toy_home

MAIL = "ann@example.org"
TEXT = f"Write to {MAIL} about the widget cache."
LOUD, QUIET = "me/loud", "me/quiet"
RULES = (f"{QUIET} contact=mask intimate=refuse", f"{QUIET}/deep contact=off")


def test_the_nearest_choice_holds():
    """A space's own, else that of one above, else that of all; of a masking policy too."""
    policy = Policy(personal="off", spaces=RULES)
    assert policy.within(LOUD) == Policy(personal="off")
    assert policy.within(QUIET) == Policy("off", "mask", intimate="refuse")
    assert policy.within(f"{QUIET}/deep") == Policy("off", "off", intimate="refuse")
    assert policy.within(f"{QUIET}er") == Policy(personal="off")
    assert policy.masking.within(QUIET).intimate == "mask"


@pytest.mark.proves("A108")
@pytest.mark.parametrize("rule", ["me/x", "me/x contact", "me/x contact=no", "contact=mask", ""])
def test_a_rule_that_says_nothing_is_an_error(tmp_path, rule):
    """Read from config.toml, it is named."""
    (tmp_path / "config.toml").write_text(f"space_privacy = [{json.dumps(rule)}]\n")
    with pytest.raises(BadInput):
        config.load_settings(tmp_path)


@pytest.mark.proves("A108")
def test_a_refusal_of_what_is_intimate_holds_by_itself(tmp_path):
    """Also where the other two are as they are by default."""
    with (
        open_mind(tmp_path, intimate="refuse") as mind,
        pytest.raises(Refused, match="intimate"),
    ):
        mind.remember("Ann was diagnosed with diabetes.", space="me")


def ways(mind, space, tmp_path):
    """A text by every way into a space."""
    mind.remember(TEXT, space=space)
    mind.record("noted", {"text": TEXT}, space=space)
    mind.record_tool("Bash", {"command": f"echo {MAIL}"}, TEXT, space=space)
    mind.activity.events(limit=0)
    mind.learn([{"role": "user", "content": TEXT}], space=space, session="told")
    with mind.companion(space=space, session="live") as companion:
        companion.turn([{"role": "user", "content": TEXT}])
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text(TEXT)
    mind.files.add_folder(folder, space=space)
    row = {"id": "1", "memory": f"{TEXT} Soon.", "created_at": "2026-03-01T09:15:00Z"}
    (tmp_path / "m.json").write_text(json.dumps({"results": [row]}))
    mind.data.import_from(tmp_path / "m.json", space=space)
    mind.settle()


def kept(home):
    """Every byte of a home but its settings."""
    files = (one for one in home.rglob("*") if one.is_file() and one.name != "config.toml")
    return b"".join(one.read_bytes() for one in files)


@pytest.mark.proves("A108")
@pytest.mark.words_only
@pytest.mark.parametrize(("space", "wanted"), [(LOUD, True), (QUIET, False)])
def test_every_way_in_asks_the_space(tmp_path, space, wanted):
    """Memories, events, tools, transcripts, turns, folders and imports; not a byte is left."""
    home = tmp_path / "home"
    with open_mind(home, space_privacy=RULES) as mind:
        ways(mind, space, tmp_path)
    assert (MAIL.encode() in kept(home)) == wanted


@pytest.mark.proves("A108")
@pytest.mark.slow
def test_hooks_and_the_command_hold_to_it(tmp_path):
    """Chosen by the command for a project; a real hook keeps nothing of it, and install says so."""
    home, project = toy_home(tmp_path, idle=1.0), tmp_path / "shop"
    (project / ".git").mkdir(parents=True)
    space = config.project_space_of(project)
    where = ("--home", str(home), "--space", space)
    told = run_command("data", "privacy", "contact=refuse", *where).stdout
    assert "postal addresses are refused" in told.replace("\n", " ")
    run_command("data", "privacy", "intimate=mask", *where)
    assert config.load_settings(home).space_privacy == (f"{space} contact=refuse intimate=mask",)
    for event, more in (
        ("UserPromptSubmit", {"prompt": TEXT}),
        ("Stop", {"last_assistant_message": TEXT}),
        ("SessionEnd", {"reason": "other"}),
    ):
        given = {"session_id": "s", "cwd": str(project), "hook_event_name": event, **more}
        subprocess.run(
            hook_command(),
            input=json.dumps(given).encode(),
            env={"REVERIE_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)},
            check=True,
            capture_output=True,
        )
    run_command("data", "settle", "--home", str(home))
    assert MAIL.encode() not in kept(home)
    run_command("data", "privacy", "--clear", *where)
    assert config.load_settings(home).space_privacy == ()
    run_command("data", "privacy", "contact=mask", "--everywhere", *where)
    assert config.load_settings(home).contact == "mask"
    run_command("data", "privacy", "contact=perhaps", *where, code=2)
