# mypy: no-check-untyped-defs
"""What stands between `<private>` and `</private>`, wherever a text is cut; and what only mentions
the word.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.activity.activity_events import keep_text_ends
from reverie.core.privacy_policy import Policy
from reverie.core.private_passages import CUT_MARGIN, find_private_passages, find_tags
from reverie.interfaces.hooks.event_truncation import truncate_text
from reverie.privacy import hide_private_passages, is_fully_redacted, redact, redact_value
from reverie.privacy.message_redaction import redact_and_shorten
from reverie.text.host_messages import content_to_text

PLANTED = "zyxquokka4711"
WAYS = [
    ("<private>", "</private>"),
    ("<PRIVATE>", "</Private>"),
    ('<private reason="mine">', "</private >"),
    ("< private >", "< / private >"),
    ("\\u003cprivate\\u003e", "\\u003c/private\\u003e"),
    ("&lt;private&gt;", "&lt;/private&gt;"),
    ("<private>", "<\\/private>"),
]
plain = st.text(st.sampled_from("ab .\n`'\"<>/{}é日"), max_size=30)


@pytest.mark.parametrize(("opening", "closing"), WAYS)
def test_a_passage_goes_with_its_tags(opening, closing):
    """Any case, as JSON and HTML write them, of several lines, several in a text; the rest stays
    word for word.
    """
    text = (
        f"Heron{opening}{PLANTED}\nand {PLANTED}{closing} is staging. {opening}{PLANTED}{closing}."
    )

    assert redact(text)[0] == "Heron[REDACTED:private] is staging. [REDACTED:private]."
    assert {one.kind for one in redact(text)[1]} == {"private"}
    assert hide_private_passages(text) == redact(text)[0]


def test_what_is_in_doubt_is_hidden():
    """Without an end to the end of the text, without a beginning from its beginning; one within
    another too.
    """
    assert redact(f"a <private>{PLANTED}\n{PLANTED}")[0] == "a [REDACTED:private]"
    assert redact(f"{PLANTED}</private> b")[0] == "[REDACTED:private] b"
    assert (
        redact(f"<private>a</private> b {PLANTED}</private> c")[0]
        == "[REDACTED:private][REDACTED:private] c"
    )
    assert (
        redact(f"a <private>x<private>{PLANTED}</private>{PLANTED}</private> d")[0]
        == "a [REDACTED:private] d"
    )
    assert (
        redact(f"a <private>x <private>{PLANTED}</private> {PLANTED}")[0] == "a [REDACTED:private]"
    )


@pytest.mark.parametrize(
    "text",
    [
        "List<private> f() { return null; }",
        "class A { private int x; public void <T> f() {} }",
        "private: true",
        "Put it between `<private>` tags.",
        'Write "<private>" first.',
        "`</private>` ends it",
        "a < private b > c",
        "<privateKey>x</privateKey>",
        "<div class=private>",
        "std::vector<private_t>",
    ],
)
def test_the_word_alone_is_no_passage(text):
    """Code and talk that mention the word are the same object as before."""
    assert redact(text)[0] is text


def test_a_mention_before_a_passage_opens_none():
    """Only a tag whose end comes next opens one, where it is quoted."""
    assert redact(f"Use `<private>` like this: <private>{PLANTED}</private> and go on.")[0] == (
        "Use `<private>` like this: [REDACTED:private] and go on."
    )
    assert redact(f"`<private>`{PLANTED}`</private>`")[0] == "`[REDACTED:private]`"


@given(st.lists(st.tuples(plain, st.sampled_from(WAYS), plain), min_size=1, max_size=4), plain)
def test_nothing_private_is_ever_left(parts, rest):
    """Whatever stands around and between: no passage survives, twice changes nothing, spans are in
    order.
    """
    text = (
        "".join(f"{before} {way[0]}{PLANTED}{inner}{way[1]}" for before, way, inner in parts) + rest
    )
    clean = redact(text)[0]
    spans = list(find_private_passages(text))

    assert PLANTED not in clean and PLANTED not in hide_private_passages(text)
    assert redact(clean)[0] is clean and not list(find_private_passages(clean))
    assert spans == sorted(spans) and all(start < end for start, end in spans)


@given(st.integers(0, 150_000), st.integers(1, 150_000), st.booleans())
def test_no_cut_lets_a_passage_out(before, length, closed):
    """A message, a hook's text and a tool's answer are cut before all of it is looked at: it stays
    hidden.
    """
    text = "x " * (before // 2) + "<private>" + f"{PLANTED} " * (length // len(PLANTED) + 1)
    text += "</private> and y " * closed + "z " * (20_000 * closed)
    for cut in (
        redact_and_shorten(content_to_text(text), Policy()),
        truncate_text(text, Policy()),
        keep_text_ends(text, 4_000),
        redact_and_shorten(text),
    ):
        assert PLANTED not in redact(cut)[0]


@given(st.integers(0, 60))
@pytest.mark.slow
def test_a_cut_through_a_tag_keeps_the_tag(shift):
    """Half a tag says nothing, so the whole of it stands in the gap."""
    for at in (8_000 + CUT_MARGIN, 100_000 - 16_000 - CUT_MARGIN):
        text = "x" * (at - shift) + "<private>" + PLANTED
        text += "y" * (90_000 - len(text)) + "</private>" + "z" * 40_000
        cut = content_to_text(text)
        assert PLANTED not in redact(cut)[0] and [one.closes for one in find_tags(cut)] == [
            False,
            True,
        ]


def test_every_text_of_a_value_is_looked_at():
    """Keys, lists, however deep."""
    value = {
        "a": [f"<private>{PLANTED}</private>", {f"<private>{PLANTED}</private>": 1}],
        "b": "stays",
    }
    safe, found = redact_value(value)

    assert PLANTED not in str(safe) and len(found) == 2 and safe["b"] == "stays"


def test_only_private_is_nothing_to_keep():
    """A text of which nothing is left is told from one that is empty, and from one that says
    something.
    """
    assert is_fully_redacted(redact(f"<private>{PLANTED}</private>\n <private>b</private>")[0])
    assert not is_fully_redacted("") and not is_fully_redacted("[REDACTED:private] is the host")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("card 4242 4242 4242 4242 end", "payment-card"),
        ("SSN 123-45-6788", "us-ssn"),
        ("pay GB82 WEST 1234 5698 7654 32", "iban"),
    ],
)
@pytest.mark.proves("A108")
def test_a_policy_says_what_becomes_of_personal_data(text, kind):
    """`off` keeps, `mask` marks, `refuse` leaves nothing of the text; of a file, nothing of the
    line.
    """
    assert redact(text, Policy(personal="off"))[0] is text
    assert f"[REDACTED:{kind}]" in redact(text)[0] and redact(text)[0] != f"[REDACTED:{kind}]"
    assert redact(f"a\n{text}", Policy(personal="refuse"))[0] == f"[REDACTED:{kind}]"
    assert (
        redact(f"a\n{text}\nb", Policy(personal="refuse"), keep_lines=True)[0]
        == f"a\n[REDACTED:{kind}]\nb"
    )


@pytest.mark.proves("A108")
def test_contact_is_a_choice_of_its_own():
    """E-mail and phone are kept unless asked for."""
    text = "Ann: ann@example.org, +49 30 1234567"
    assert redact(text)[0] is text
    assert redact(text, Policy(contact="mask"))[0] == "Ann: [REDACTED:email], [REDACTED:phone]"
    assert redact(text, Policy(contact="refuse"))[0] == "[REDACTED:email]"
    assert (
        redact(text, Policy(contact="refuse").masking)[0]
        == "Ann: [REDACTED:email], [REDACTED:phone]"
    )


@given(
    st.text(st.sampled_from("ab \n@.-é日"), max_size=60),
    st.sampled_from(["ann@example.org", "4242 4242 4242 4242", f"<private>{PLANTED}</private>"]),
)
def test_refusing_twice_changes_nothing(text, planted):
    """What is refused is gone, and the mark is no reason to refuse again."""
    policy = Policy("refuse", "refuse")
    for lines in (False, True):
        clean, _ = redact(f"{text} , {planted} , {text}", policy, keep_lines=lines)
        assert planted not in clean and redact(clean, policy, keep_lines=lines)[0] is clean
