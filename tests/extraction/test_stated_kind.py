"""The kind of what somebody keeps without naming one."""

import pytest

from reverie.extraction.stated_kind import find_stated_kind


@pytest.mark.proves("A70")
@pytest.mark.parametrize(
    "text",
    [
        "Never force-push; use --force-with-lease instead.",
        "Don't use npm, use pnpm.",
        "Do not commit the .env file",
        "Never delete the production database",
        "Verwende niemals println!",
        "Bitte nicht auf main pushen",
        "No uses npm, usa pnpm.",
        "N'utilise pas yarn",
        "不要用 npm，用 pnpm。",
    ],
)
def test_what_forbids_is_a_prohibition(text):
    """Whatever language it is in: so it warns before what it forbids."""
    assert find_stated_kind(text) == "negative"


@pytest.mark.proves("A70")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("I prefer tabs.", "preference"),
        ("Ich bevorzuge Tabs.", "preference"),
        ("Prefiero respuestas cortas", "preference"),
        ("We decided to use PostgreSQL because of JSONB.", "decision"),
        ("The staging server is called heron.", "fact"),
        ("Actually it is 3.12, not 3.10.", "fact"),
        ("Users can not delete their account.", "fact"),
        ("The cache never expires.", "fact"),
        ("Don't forget the milk.", "fact"),
        ("Don't worry about npm audit.", "fact"),
        ("Ya no usamos MariaDB, ahora CockroachDB.", "fact"),
        ("We don't use MariaDB any more.", "fact"),
        ("Wir nutzen MariaDB nicht mehr.", "fact"),
        ("Don't forget to run npm install", "fact"),
        ("Mach dir keine Sorgen wegen npm audit.", "fact"),
        ("No te olvides de npm install", "fact"),
        ("不要担心 npm audit。", "fact"),
        ("Los usuarios no pueden borrar su cuenta.", "fact"),
        ("Les utilisateurs ne peuvent pas supprimer leur compte.", "fact"),
        ("The job did not run because npm was missing.", "fact"),
        ("El servidor no responde los domingos.", "fact"),
        ("", "fact"),
        ("# Rules\n\n- Never force-push\n- I prefer tabs\n", "fact"),
    ],
)
def test_everything_else_is_what_it_says_or_a_fact(text, kind):
    """What tells how things are forbids nothing, and a page is not one thing."""
    assert find_stated_kind(text) == kind
