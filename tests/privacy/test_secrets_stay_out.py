# mypy: no-check-untyped-defs
"""Secrets reach neither the disk nor an embedder, wherever they stand and wherever a
text is cut.
"""

import pytest

from reverie.activity.activity_events import MAX_ANSWER_CHARS, MAX_LABEL_CHARS, MAX_VALUE_CHARS
from reverie.core.private_passages import CUT_MARGIN, CUT_MARK
from reverie.privacy.message_redaction import redact_and_shorten
from reverie.testing import CountingEmbedder, make_conversation, memory
from reverie.text.host_messages import HEAD_CHARS, MAX_MESSAGE_CHARS, TAIL_CHARS

SPACE = "me/demo"
SECRET = "ghp_" + "a1B2c3D4e5" * 3 + "F6g7H8"


def on_disk(folder, text=SECRET):
    return any(text.encode() in part.read_bytes() for part in folder.rglob("*") if part.is_file())


@pytest.mark.proves("CC-89", "A106")
def test_no_argument_carries_a_secret_to_the_disk(tmp_path, clock):
    """Reasons, sessions and roles too."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        kept = mind.remember("heron", space=SPACE)
        mind.feedback(kept.id, helpful=True, session=f"session {SECRET}")
        mind.forget(kept.id, why=f"it is {SECRET}")
        with mind.companion(SPACE, session=SECRET) as companion:
            companion.turn(
                [
                    {"role": SECRET, "content": "x"},
                    {"role": f"{'r' * 20}{SECRET}", "content": "y"},
                    {"role": "r" * 190 + SECRET, "content": "z"},
                ]
            )
        roles = [m["role"] for m in mind.store.events(verbs=["turn"])[0].payload["messages"]]
        assert not on_disk(tmp_path) and not on_disk(tmp_path, SECRET[:20])

    assert all(len(role) <= 32 for role in roles)


@pytest.mark.parametrize(
    "place",
    [
        HEAD_CHARS,
        MAX_MESSAGE_CHARS,
        TAIL_CHARS,
        HEAD_CHARS + CUT_MARGIN,
        MAX_MESSAGE_CHARS + 2 * CUT_MARGIN,
    ],
)
@pytest.mark.parametrize("total", [30_000, 64_000, 90_000])
@pytest.mark.parametrize("back", [False, True])
def test_no_cut_leaves_half_a_secret(place, total, back):
    """However the cut falls, what is left is never a part of one."""
    for shift in (5, 20, 35):
        at = (total - place if back else place) - shift
        if 0 <= at <= total:
            text = ("word " * total)[:at] + " " + SECRET + " " + ("word " * total)[: total - at]
            kept = redact_and_shorten(text)
            assert SECRET[:12] not in kept and SECRET[-12:] not in kept
            assert len(kept) <= MAX_MESSAGE_CHARS + len(CUT_MARK) + 100


def test_secrets_at_a_cut_never_reach_the_disk(tmp_path, clock):
    """The same through a conversation."""
    with (
        memory(tmp_path, now=clock, embedder="none") as mind,
        mind.companion(f"{SPACE}/s1") as companion,
    ):
        for at in (HEAD_CHARS - 10, MAX_MESSAGE_CHARS - 10, HEAD_CHARS + CUT_MARGIN - 10):
            companion.turn(
                make_conversation(("word " * 30_000)[:at] + f" {SECRET} " + "word " * 20_000)
            )
        assert companion.wait(120)
        assert (
            not on_disk(tmp_path)
            and not on_disk(tmp_path, SECRET[:12])
            and not on_disk(tmp_path, SECRET[-12:])
        )


@pytest.mark.proves("CC-89")
def test_secrets_at_a_cut_of_what_a_tool_answered_never_reach_the_disk(tmp_path, clock):
    """Nor where a name stands on one side of the cut and its secret on the other."""
    with memory(tmp_path, now=clock, embedder="none") as mind:
        for shift in range(0, 140, 20):
            for most in (MAX_ANSWER_CHARS, MAX_VALUE_CHARS):
                head, tail = "w " * ((most // 2 - shift) // 2), " z" * ((most // 2 - shift) // 2)
                for text in (
                    f"{head} {SECRET} " + "word " * 9_000,
                    "word " * 9_000 + f" password: {SECRET}{tail}",
                ):
                    mind.record_tool(
                        "Bash", {"command": "make", "stdin": text}, text, error=text, space=SPACE
                    )
                label = "w " * ((MAX_LABEL_CHARS - shift) // 2) + SECRET + " word" * 3_000
                mind.record_tool("Bash", {"command": "make"}, "made", task=label, space=SPACE)
                mind.activity.record_file("a.py", "read", task=label, space=SPACE)
                mind.activity.record_task(label, "success", space=SPACE)
                mind.activity.record_task(
                    "release", "failure", summary=f"{head} {SECRET} " + "word " * 9_000, space=SPACE
                )
        kept = mind.activity.events(space=SPACE, limit=100)
        assert kept and all(
            len(str(one.payload.get("result", ""))) < MAX_ANSWER_CHARS + 100 for one in kept
        )
    assert (
        not on_disk(tmp_path)
        and not on_disk(tmp_path, SECRET[:12])
        and not on_disk(tmp_path, SECRET[-12:])
    )


@pytest.mark.parametrize("length", [30_000, 500_000])
def test_the_end_of_a_long_message_is_learned_from(clock, length):
    """ "Remember that…" stands below what was pasted."""
    with memory(now=clock, embedder="none") as mind, mind.companion(f"{SPACE}/s1") as companion:
        pasted = "log line\n" * (length // 9)
        companion.turn(
            make_conversation(f"Never push to main.\n{pasted}\nRemember that heron is staging.")
        )
        assert companion.wait(120)
        mind.settle()
        assert sorted(m.text for m in mind.browse(space=SPACE)) == [
            "Heron is staging.",
            "Never push to main.",
        ]


@pytest.mark.proves("A107")
def test_an_embedder_is_told_no_secret(clock):
    """An embedder may run on another machine: it gets redacted text only."""
    embedder = CountingEmbedder()
    with memory(now=clock, embedder=embedder) as mind:
        with mind.companion(f"{SPACE}/s1") as companion:
            companion.turn(make_conversation(f"deploy staging with the token {SECRET} please"))
            assert companion.wait(120)
            assert not any(SECRET in said.text for said in companion.conversation.window)
        mind.recall(f"what is {SECRET} for", space=SPACE)
        mind.hints(f"what is {SECRET} for", space=SPACE)
        mind.settle()

    assert len(embedder.asked) >= 2
    assert not any(SECRET in text for text in embedder.asked)
