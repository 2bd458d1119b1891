"""A conversation whose window is full: messages that are cut become memories and can be recalled."""

import json
from pathlib import Path

import pytest

from reverie.core.errors import BadInput
from reverie.core.kinds import EXCERPT
from reverie.testing import SPACE
from tests.support.helpers import run_command

FACT = "The staging broker heron listens on port 7443, behind the gateway mistral."
AGENTS = Path(__file__).parents[2] / "bench" / "window" / "agents"


def talk(length=40, fact=FACT):
    """A conversation in which something is said early and much after it."""
    lines = [
        f"Step {n}: "
        + f"the widget{n} was moved from shelf{n} to shelf{n + 1} and counted twice. " * 4
        for n in range(length)
    ]
    said = [{"role": ("user", "assistant")[n % 2], "content": line} for n, line in enumerate(lines)]
    said[3] = {"role": "assistant", "content": fact}
    return said


def excerpts(mind, space=SPACE):
    return [m for m in mind.browse(space=space, limit=1_000) if m.kind == EXCERPT]


@pytest.mark.proves("CC-78", "D2", "D5")
def test_pruned_messages_can_be_recalled(mind):
    """Pruned messages can be recalled from memory, and the memory leads back to them."""
    with mind.companion(space=SPACE, session="s1") as companion:
        fitted = companion.fit(talk(), limit=1_000, strategy="oldest")
        assert companion.wait(120) and not companion.trouble
    mind.settle()
    assert not any(m["content"] == FACT for m in fitted.messages)
    found = mind.recall("which port does the staging broker listen on?", space=SPACE, limit=3)[
        0
    ].memory
    assert (EXCERPT, FACT, "s1", "assistant", (3, 3)) == (
        found.kind,
        found.text,
        found.session,
        found.speaker,
        found.messages,
    )


def test_nothing_is_written_while_there_is_room(mind):
    """Below 80 % of the limit the same messages come back and nothing is written."""
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        fitted = companion.fit(said, limit=1_000_000)
    assert said == fitted.messages and all(
        a is b for a, b in zip(said, fitted.messages, strict=True)
    )
    assert [] == excerpts(mind)


def test_a_plan_has_no_side_effects(mind):
    """`mind.sessions.window` computes a plan and stores nothing."""
    fitted = mind.sessions.window(talk(), limit=1_000)
    assert fitted.plan.going and [] == excerpts(mind) == mind.store.events()


def test_pruned_messages_are_stored_once(mind):
    """However often a host passes it: the whole conversation each time, or from another process."""
    said = talk()
    for _ in range(2):
        with mind.companion(space=SPACE, session="s1") as companion:
            for end in (30, 40):
                companion.fit(said[:end], limit=1_000)
                companion.wait(120)
        texts = [m.text for m in excerpts(mind)]
        assert texts and len(texts) == len(set(texts))


@pytest.mark.proves("D5")
def test_numbers_hold_where_a_host_puts_its_block_into_a_message(mind):
    """A message that held a block the last time is the same message: passages lead to what they are
    taken from.
    """
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        for end in range(1, 41, 2):
            given = said[:end]
            given[-1] = {**given[-1], "content": f"{given[-1]['content']}\n\nblock {end}"}
            companion.fit(given, limit=1_000, strategy="oldest")
        companion.wait(120)
    found = next(m for m in excerpts(mind) if m.text == FACT)
    assert (3, 3) == found.messages
    assert all(
        m.text.startswith(f"Step {m.messages[0]}:")
        for m in excerpts(mind)
        if m.text.startswith("Step")
    )


def test_pruned_messages_are_stored_without_secrets(mind):
    """What leaves holds no secret when it is written down."""
    key = "sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "AA"
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.fit(talk(fact=f"The key is {key}, keep it."), limit=1_000, strategy="oldest")
    assert excerpts(mind)
    assert not any(key in m.text for m in excerpts(mind))


def test_pruned_passages_surface_in_their_own_conversation_only(mind, clock):
    """A window that breathes: what left surfaces when it is spoken of again; another conversation
    has to ask.
    """
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.turn(said)
        said = companion.fit(said, limit=1_000, strategy="oldest").messages
        companion.wait(120)
        mind.settle()
        asked = {"role": "user", "content": "which port does the staging broker heron listen on?"}
        clock.tick(minutes=5)
        companion.turn([*said, asked])
        companion.wait(120)
        clock.tick(minutes=1)
        block = companion.turn([*said, asked, {"role": "user", "content": "and the gateway?"}])
        assert FACT in [memory.text for memory in block.memories]
    with mind.companion(space=SPACE, session="s2") as other:
        other.turn([asked])
        other.wait(120)
        clock.tick(minutes=1)
        assert FACT not in other.turn([asked, {"role": "user", "content": "hello?"}]).text
    assert FACT == mind.recall(asked["content"], space=SPACE, limit=1)[0].memory.text


@pytest.mark.parametrize(
    "end",
    [
        "[and all was moved to memory]",
        "[9 tokens of this answer were moved to memory]",
        "[result of Read {}, 9 tokens in all, was moved to memory: recall it by its words]",
    ],
)
@pytest.mark.proves("CC-78")
def test_what_only_looks_like_a_line_is_kept(mind, end):
    """What the user said is kept, however it ends; so is a long answer that ends by quoting such a
    line.
    """
    said = talk()
    said[4] = {"role": "user", "content": f"{FACT} {end}"}
    said[7] = {
        "role": "assistant",
        "content": "As I saw it:\n" + "The gateway otter has four legs. " * 9 + f"\n{end}",
    }
    with mind.companion(space=SPACE, session="s1") as companion:
        fitted = companion.fit(said, limit=1_000, strategy="oldest")
        companion.wait(120)
    assert not any(said[4] is m or said[7] is m for m in fitted.messages)
    texts = [m.text for m in excerpts(mind)]
    assert any(FACT in text and end in text for text in texts) and any(
        "otter" in text for text in texts
    )


def test_lines_are_not_kept_again(mind):
    """A line that leaves in the end is nothing that was said, whether the host goes on with it or
    passes everything.
    """
    said = talk()
    said[25] = {"role": "assistant", "content": " ".join(f"shelf{n}" for n in range(800))}
    for goes_on in (True, False):
        session = f"s{goes_on}"
        with mind.companion(space=SPACE, session=session) as companion:
            sent = companion.fit(said, limit=3_000).messages
            assert any("tokens of this answer" in m["content"] for m in sent)
            more = [*(sent if goes_on else said), *talk()[:8]]
            after = companion.fit(more, limit=800, strategy="oldest").messages
            assert not any("tokens of this answer" in m["content"] for m in after)
            companion.wait(120)
    assert excerpts(mind) and not any("tokens of this answer" in m.text for m in excerpts(mind))


def test_pruned_turns_are_learned_from_once(mind):
    """What the turn taught is one memory; the passage that left stands beside it and is not
    reconciled with it.
    """
    said = talk(fact="Noted.")
    said[4] = {"role": "user", "content": "Remember that totals from the ERP use a decimal comma."}
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.turn(said[:5])
        companion.fit(said, limit=1_000, strategy="oldest")
        companion.wait(120)
    mind.settle()
    about = [m for m in mind.browse(space=SPACE, limit=1_000) if "decimal comma" in m.text]
    assert sorted([EXCERPT, "fact"]) == sorted(
        EXCERPT if m.kind == EXCERPT else "fact" for m in about
    )
    assert 0 == mind.data.stats().undecided


def test_long_results_come_back_in_passages(mind):
    """A result of thousands of lines is kept in passages of 400 tokens, each under the call that it
    answered.
    """
    lines = [f"row {n}: widget{n} weighs {n * 7} grams" for n in range(2_000)]
    call = {
        "id": "c1",
        "function": {"name": "read_file", "arguments": json.dumps({"path": "data/widgets.csv"})},
    }
    said = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "\n".join(lines)},
        *talk()[1:],
    ]
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.fit(said, limit=8_000)
        companion.wait(120)
    mind.settle()
    found = mind.recall("how many grams does widget1234 weigh?", space=SPACE, limit=3)
    assert any("widget1234 weighs 8638 grams" in hit.memory.text for hit in found)
    assert all(len(m.text) < 2_000 for m in excerpts(mind))
    assert ("data/widgets.csv",) == next(m for m in excerpts(mind) if m.speaker == "tool").files


@pytest.mark.proves("D1", "D51")
def test_a_window_over_many_turns_never_overflows(mind):
    """A conversation ten times as long as its window goes on, and every call fits."""
    sent: list[dict[str, str]] = []
    with mind.companion(space=SPACE, session="s1") as companion:
        for message in talk(400):
            fitted = companion.fit([*sent, message], limit=3_000)
            assert fitted.plan.after < 0.8 * 3_000 and not fitted.trouble
            sent = fitted.messages
        companion.wait(120)
        assert 0 == companion.dropped
    assert FACT in {m.text for m in excerpts(mind)} or any(m["content"] == FACT for m in sent)


def test_a_closed_companion_fits_nothing(mind):
    companion = mind.companion(space=SPACE)
    companion.close()
    with pytest.raises(BadInput, match="closed"):
        companion.fit(talk(), limit=1_000)


def test_where_memory_is_off_a_window_is_cut_and_nothing_stored(mind):
    """A window must not overflow because memory is switched off."""
    mind.context.settings = mind.settings._replace(off=(SPACE,))
    said = talk()
    said[25] = {"role": "assistant", "content": " ".join(f"shelf{n}" for n in range(800))}
    with mind.companion(space=SPACE, session="s1") as companion:
        fitted = companion.fit(said, limit=3_000)
    assert fitted.plan.going and [] == excerpts(mind)
    lines = [m["content"] for m in fitted.messages if "tokens of this answer" in m["content"]]
    assert lines and all("were left out]" in line and "memory" not in line for line in lines)


@pytest.mark.proves("CC-78")
def test_nothing_is_pruned_while_the_queue_is_full(mind, monkeypatch):
    """What leaves becomes memory; where the queue is full it stays for now, and that is said."""
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        first = companion.fit(said[:30], limit=1_000)
        companion.wait(120)
        with monkeypatch.context() as full:
            full.setattr("reverie.runtime.background_thread.MAX_QUEUED_TURNS", 0)
            held = companion.fit(said, limit=1_000)
        assert [*first.messages, *said[30:]] == held.messages and () == held.plan.going
        assert "nothing was taken out" in held.trouble and 0 == companion.dropped
        after = companion.fit(said, limit=1_000)
        assert after.plan.going and not after.trouble and companion.wait(120)
    assert excerpts(mind)


@pytest.mark.parametrize("name", ["rollback", "migration"])
def test_the_command_shows_a_plan(name):
    """`window` shows what would be pruned from a transcript and why, as a table and a
    bar.
    """
    path = str(AGENTS / f"{name}.json")
    shown = run_command("session", "window", path, "--limit", "6000").stdout
    assert "▒" in shown and "before" in shown and "after" in shown and "worth more" in shown
    plan = json.loads(run_command("session", "window", path, "--limit", "6000", "--json").stdout)
    assert plan["after"] <= 4_200 and plan["fits"] and all(one["why"] for one in plan["going"])
    assert "Nothing goes" in run_command("session", "window", path).stdout
    assert (
        "aircher" in run_command("session", "window", path, "--strategy", "nonsense", code=2).stderr
    )


def test_the_command_reads_a_claude_transcript(tmp_path):
    """Claude Code writes a line for each part of a message: calls and results are whole again."""

    def part(role, *parts):
        return {
            "type": role,
            "timestamp": "2026-01-01T10:00:00Z",
            "message": {"role": role, "content": list(parts)},
        }

    rows = [part("user", {"type": "text", "text": "read both"})]
    for n in range(20):
        rows += [
            part(
                "assistant",
                {"type": "tool_use", "id": f"a{n}", "name": "Read", "input": {"file_path": "a.py"}},
            ),
            part(
                "assistant",
                {"type": "tool_use", "id": f"b{n}", "name": "Read", "input": {"file_path": "b.py"}},
            ),
            part(
                "user",
                {"type": "tool_result", "tool_use_id": f"a{n}", "content": f"alpha{n} " * 200},
            ),
            part(
                "user",
                {"type": "tool_result", "tool_use_id": f"b{n}", "content": f"beta{n} " * 200},
            ),
        ]
    path = tmp_path / "session.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    plan = json.loads(
        run_command("session", "window", str(path), "--limit", "10000", "--json").stdout
    )
    assert plan["after"] <= 7_000 and any(
        len(one["messages"]) == 2 and one["stub"] for one in plan["going"]
    )


def test_the_command_counts_by_a_vocabulary(tmp_path):
    """Another tokenizer, from a file on disk; what is none is refused."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import Whitespace

    words = Tokenizer(WordPiece(vocab={"[UNK]": 0, "a": 1, "##a": 2}, unk_token="[UNK]"))
    words.pre_tokenizer = Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    talk_file = tmp_path / "talk.json"
    talk_file.write_text(json.dumps([{"role": "user", "content": "one two three"}]))
    counted = json.loads(
        run_command(
            "session",
            "window",
            str(talk_file),
            "--tokenizer",
            str(tmp_path / "tokenizer.json"),
            "--json",
        ).stdout
    )
    assert 3 + 4 == counted["before"]
    assert (
        "no tokenizer.json"
        in run_command(
            "session", "window", str(talk_file), "--tokenizer", str(talk_file), code=2
        ).stderr
    )
