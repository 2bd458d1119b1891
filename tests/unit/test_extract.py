"""What a person asks to be remembered, in so many words."""

import pytest

from reverie.lifecycle.extract import LONGEST, found_in, without_injections
from reverie.window import FOOT, HEAD

ASKED = {
    "Remember that the staging server is heron.": ("The staging server is heron.", "fact", "user_stated"),
    "please note: we deploy on Fridays": ("We deploy on Fridays", "fact", "user_stated"),
    "From now on, answer in French.": ("Answer in French.", "preference", "user_stated"),
    "Never push to main.": ("Never push to main.", "negative", "user_stated"),
    "Always run the linter first.": ("Always run the linter first.", "preference", "user_stated"),
    "I prefer tabs over spaces": ("I prefer tabs over spaces", "preference", "user_stated"),
    "No, use pnpm instead of npm.": ("Use pnpm instead of npm.", "correction", "user_corrected"),
}
NOT_ASKED = [
    "Do you remember that server?", "What do you prefer?", "I never said that", "The test always fails", "remember", "",
    "Can you note the time?", "```\nNever push to main.\n```", "x" * 500, "No.", "never " + "x" * LONGEST,
    f"{HEAD}\nNever do:\n- Never push to main. (x)\n{FOOT}", f"{HEAD}\n- Never push to main, it was cut he",
]


@pytest.mark.parametrize("text", ASKED)
def test_explicit_wishes_are_found(text):
    """With their kind and who said so (CC-61, B49)."""
    assert [(f.text, f.kind, f.provenance) for f in found_in(text)] == [ASKED[text]]


@pytest.mark.parametrize("text", NOT_ASKED)
def test_nothing_else_is(text):
    """Questions, reports, code, pasted text and what Reverie itself put there are no wishes (CC-62)."""
    assert found_in(text) == []


def test_several_wishes_in_one_message():
    """Each sentence and each line of a list for itself, in order."""
    text = "Thanks! Remember that heron is staging. Please do it.\n- Never push to main.\n* Always lint first."

    assert [f.rule for f in found_in(text)] == ["remember", "never", "always"]


def test_only_the_block_is_taken_out():
    """What stands around it stays; a fence that was cut off hides the rest of the message."""
    assert without_injections(f"before {HEAD} x {FOOT} after").split() == ["before", "after"]
    assert without_injections(f"before {HEAD} cut").split() == ["before"]
