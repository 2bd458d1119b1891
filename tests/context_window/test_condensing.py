"""A conversation that fills its window is condensed: the summary, who writes it, and what becomes
of what left.
"""

import json

import pytest

from reverie.context_window.condensing.summary_lines import MARK, TITLE
from reverie.context_window.conversation_summary import explain_too_early
from reverie.context_window.evicted_excerpts import EvictedPart, ExcerptTarget, store_evicted_parts
from reverie.context_window.pruning_strategies import WindowSnapshot, score_by_importance
from reverie.core.errors import BadInput
from reverie.core.kinds import EXCERPT
from reverie.testing import NOON, SPACE, memory
from reverie.text.injection_fence import FENCE, FENCE_END
from tests.support.helpers import run_command
from tests.support.scripted import Raw, Slow, Status, scripted

FACT = "The staging broker heron listens on port 7443, behind the gateway mistral."
LIMIT = 3_000


def talk(length=40, fact=FACT):
    """A conversation in which something is said early and much after it."""
    lines = [
        f"Step {n}: "
        + f"the widget{n} was moved from shelf{n} to shelf{n + 1} and counted twice. " * 4
        for n in range(length)
    ]
    said = [{"role": ("user", "assistant")[n % 2], "content": line} for n, line in enumerate(lines)]
    said[4] = {"role": "user", "content": fact}
    return said


def asked(words):
    return {"role": "user", "content": words}


def of_kind(mind, kind, space=SPACE):
    return [m for m in mind.browse(space=space, limit=1_000) if m.kind == kind]


@pytest.mark.parametrize(
    ("used", "messages", "ago", "expected"),
    [
        (79_900, 20, None, False),
        (80_000, 20, None, True),
        (80_000, 9, None, False),
        (80_000, 10, None, True),
        (80_000, 20, 299, False),
        (80_000, 20, 300, True),
    ],
)
@pytest.mark.proves("CC-69", "C98", "C99", "C111")
def test_when_it_is_due(used, messages, ago, expected):
    """79.9 % no, 80 % yes, fewer than 10 messages no, within 5 minutes no."""
    assert expected == (
        not explain_too_early(
            used, 100_000, messages, None if ago is None else NOON - ago, NOON, 0.8
        )
    )


@pytest.mark.proves("CC-69")
def test_the_configured_threshold_is_honoured(clock):
    """`condense_at` moves it, both ways."""
    said = talk()
    for at, expected in ((0.5, True), (0.95, False)):
        with memory(now=clock, condense_at=at) as mind:
            used = mind.sessions.condense(said, limit=10**9).before
            assert expected == mind.sessions.condense(said, limit=int(used / 0.7)).done


@pytest.mark.proves("CC-70", "C100")
def test_importance_rises_with_recency():
    """The newer of two equal messages is the more important; length and the user's role count too."""
    from reverie.context_window.context_items import ContextItem

    items = [
        ContextItem(str(n), (n,), kind, text, 10, NOON)
        for n, (kind, text) in enumerate(
            [
                ("assistant_message", "same"),
                ("assistant_message", "same"),
                ("assistant_message", "same"),
            ]
        )
    ]
    worth = score_by_importance(WindowSnapshot(items, NOON))
    assert worth == sorted(worth) and len(set(worth)) == 3
    asked = [items[0], items[1]._replace(type="user_message")]
    assert score_by_importance(WindowSnapshot(asked, NOON))[1] == pytest.approx(
        score_by_importance(WindowSnapshot(items[:2], NOON))[1] + 0.1
    )
    assert (
        score_by_importance(WindowSnapshot([items[0]._replace(text="x" * 1_000)], NOON))[0]
        > worth[0]
    )


@pytest.mark.parametrize(
    "strategy", ["hybrid", "sliding-window", "progressive-summary", "importance-based"]
)
@pytest.mark.proves("C101", "C102", "C103", "C104", "C105")
def test_every_strategy_leaves_a_fenced_summary(mind, strategy):
    """One message, fenced and labelled as data, that names its messages and how the rest is had
    again.
    """
    said = talk()
    made = mind.sessions.condense(said, limit=LIMIT, strategy=strategy)
    assert made.done and made.after <= made.goal == 2_100 and not made.trouble
    (summary,) = [m["content"] for m in made.messages if m["content"].startswith(MARK)]
    assert summary == made.summary and summary.endswith(FENCE_END) and "not instructions" in summary
    assert "recall them by their words" in summary and f"{len(made.left)} of which left" in summary
    assert all(line.text.rstrip(" …") in said[line.number]["content"] for line in made.lines)
    assert [m for m in made.messages if m in said] == [m for m in said if m in made.messages]


@pytest.mark.parametrize("sticky", [False, True])
@pytest.mark.proves("C105")
def test_where_only_answers_become_lines_roles_still_alternate(mind, sticky):
    """The summary takes the place of something the user said; where none of that may leave there is
    none.
    """
    said = [
        {"role": "user", "content": f"What about the code K{n}-{n * 77} of shelf{n}?"}
        if n % 2 == 0
        else {
            "role": "assistant",
            "content": f"Answer {n}: " + "this is how it is, in all detail. " * 40,
        }
        for n in range(40)
    ]
    used = mind.sessions.condense(said, limit=10**9).before
    made = mind.sessions.condense(
        said, limit=int(used / 0.81), sticky=lambda m: sticky and m["role"] == "user"
    )
    assert made.done and made.after <= made.goal and not made.trouble
    assert ["user", "assistant"] * 20 == [message["role"] for message in made.messages]
    assert (1 - sticky) == sum(message["content"].startswith(MARK) for message in made.messages)
    assert bool(made.summary) != sticky and bool(made.lines) != sticky
    assert (not sticky) == ("user_message" in {item.type for item in made.left})


@pytest.mark.parametrize(
    ("wish", "said"),
    [
        ({"limit": 10**9, "strategy": "forgetful"}, "hybrid"),
        ({"limit": 0}, "above 0"),
        ({"limit": -5}, "above 0"),
    ],
)
def test_impossible_arguments_are_refused_at_once(mind, wish, said):
    """Also before it is time; the error says what there is."""
    with pytest.raises(BadInput, match=said):
        mind.sessions.condense(talk(), **wish)
    with pytest.raises(BadInput, match="list of messages"):
        mind.sessions.condense("hello", limit=100)


def test_nothing_is_condensed_below_the_threshold(mind):
    """Below 80 % the same messages come back, nothing is written, and the reason is given."""
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        made = companion.condense(said, limit=100_000)
        assert said == made.messages and "80%" in made.why and not made.done
    assert [] == mind.browse(space=SPACE)


def test_a_plan_to_condense_writes_nothing(mind):
    """`mind.sessions.condense` computes a plan and stores nothing."""
    assert mind.sessions.condense(talk(), limit=LIMIT).done
    assert [] == mind.browse(space=SPACE) == mind.store.events()


@pytest.mark.proves("C2", "C106", "D5", "D68")
def test_condensed_passages_can_be_recalled(mind):
    """Each passage word for word, one episode of what it was about; the session has all of it."""
    said = talk()
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.turn(said)
        made = companion.condense(said, limit=LIMIT, strategy="sliding-window")
        assert companion.wait(120) and not companion.trouble
    mind.settle()
    assert not any(m["content"] == FACT for m in made.messages)
    best, *_ = mind.recall("which port does the staging broker listen on?", space=SPACE, limit=3)
    assert ("fact", FACT, (4, 4)) == (best.memory.kind, best.memory.text, best.memory.messages)
    assert (FACT, (4, 4)) in [(m.text, m.messages) for m in of_kind(mind, EXCERPT)]
    (episode,) = of_kind(mind, "event")
    assert ("s1", "words", made.left[0].messages[0]) == (
        episode.session,
        episode.details["condensed"],
        episode.messages[0],
    )
    assert {item.text.strip() for item in made.left} <= {m.text for m in of_kind(mind, EXCERPT)}
    assert FACT in [line.text for line in mind.sessions.read("s1", space=SPACE).lines]


@pytest.mark.parametrize("first", ["left", "read"])
@pytest.mark.proves("C106", "C107")
def test_a_passage_does_not_stand_for_what_it_teaches(mind, first):
    """What the user said is learned though its passage has left the context before the turn was
    read.
    """

    def leaves():
        store_evicted_parts(
            mind.store, [EvictedPart(FACT, "user", NOON, (0, 0))], ExcerptTarget(SPACE, "s1"), NOON
        )

    leaves() if first == "left" else None
    mind.record("turn", {"messages": [{"role": "user", "text": FACT}]}, space=SPACE, session="s1")
    mind.settle()
    leaves() if first == "read" else None
    assert (
        [FACT]
        == [m.text for m in of_kind(mind, "fact")]
        == [m.text for m in of_kind(mind, EXCERPT)]
    )


@pytest.mark.proves("C107")
def test_facts_are_learned_once(mind, clock):
    """What leaves is learned from its turn like all else; that it leaves teaches nothing a second
    time.
    """
    rule = "From now on always run the linter before you commit, please."
    said = talk(fact=rule)
    with mind.companion(space=SPACE, session="s1") as companion:
        for end in (20, 40):
            companion.turn(said[:end])
        made = companion.condense(said, limit=LIMIT)
        clock.tick(minutes=6)
        companion.turn(made.messages)
        companion.condense([*made.messages, *talk()[:30]], limit=LIMIT)
        companion.wait(120)
    mind.settle()
    learned = [m for m in mind.browse(space=SPACE, limit=1_000) if m.kind not in (EXCERPT, "event")]
    assert 1 == len([m for m in learned if "linter" in m.text])
    assert not [m for m in learned if FENCE in m.text or "condensed by Reverie" in m.text]


@pytest.mark.proves("C108", "C2")
def test_how_an_error_was_put_right_is_learned_when_it_leaves(mind):
    """The part that leaves is read as one that is over; what made an error go away is learned,
    once.
    """
    commands = (
        ("npm run load", "sh: vite: command not found"),
        ("npm ci", "added 812 packages"),
        ("npm run load", "loaded 1000 rows. " + 200 * "."),
    )
    said = [asked("Load the rows.")]
    for number, (command, result) in enumerate(commands):
        said += [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": f"c{number}",
                        "function": {"name": "Bash", "arguments": json.dumps({"command": command})},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": f"c{number}", "content": result},
        ]
    said += [{"role": "assistant", "content": "Loaded."}, *talk(30)]
    with mind.companion(space=SPACE, session="s1") as companion:
        companion.turn(said[:7])
        companion.turn(said)
        companion.wait(120)
        mind.settle()
        assert [] == of_kind(mind, "learning")
        assert companion.condense(said, limit=2_000).done
        companion.wait(120)
        mind.settle()
        assert [
            "`npm run load` failed with “sh: vite: command not found”; fixed by running `npm ci`."
        ] == [m.text for m in of_kind(mind, "learning")]
    mind.settle()
    assert 1 == len(of_kind(mind, "learning"))


@pytest.mark.proves("C99", "CC-69")
def test_condensing_has_a_cooldown_of_five_minutes(mind, clock):
    """A second time only after the cooldown; then there is one summary that stands for both parts."""
    with mind.companion(space=SPACE, session="s1") as companion:
        first = companion.condense(talk(), limit=LIMIT)
        longer = [*first.messages, *talk(30, fact="Nothing new.")]
        assert "seconds ago" in companion.condense(longer, limit=LIMIT).why
        clock.tick(minutes=5)
        second = companion.condense(longer, limit=LIMIT)
    assert second.done
    assert 1 == sum(m["content"].startswith(MARK) for m in second.messages)
    assert min(line.number for line in second.lines) < 20


def test_a_summary_holds_no_secret(mind):
    """Neither the summary nor what is kept holds a secret that was said."""
    key = "sk-ant-api03-" + "Ab3dEf6hIj" * 9 + "AA"
    with mind.companion(space=SPACE, session="s1") as companion:
        made = companion.condense(
            talk(fact=f"The key is {key}, keep it."), limit=LIMIT, strategy="sliding-window"
        )
        assert made.done and key not in made.summary
    assert of_kind(mind, "event") and not any(
        key in m.text for m in mind.browse(space=SPACE, limit=1_000)
    )


@pytest.mark.proves("C115")
def test_an_episode_belongs_to_the_project(mind):
    """A conversation with a space of its own tells its project what it was about, so that the next
    one knows.
    """
    with mind.companion(space=f"{SPACE}/monday") as companion:
        companion.condense(talk(), limit=LIMIT)
    (episode,) = of_kind(mind, "event")
    assert (SPACE, "monday") == (episode.space, episode.session)


def test_nothing_is_kept_where_memory_is_off(clock):
    """The list is condensed all the same; nothing is written down."""
    with memory(now=clock, off=(SPACE,)) as mind:
        with mind.companion(space=SPACE, session="s1") as companion:
            assert companion.condense(talk(), limit=LIMIT).done
        assert [] == mind.store.events()


def answer(request, text="The user named the broker heron and its port 7443."):
    """What a model writes that rests on the first message it was shown."""
    content = request["messages"][-1]["content"]
    content = content if isinstance(content, str) else content[0]["text"]
    shown = [json.loads(row) for row in content.splitlines()[1:-1]]
    place = next(row["message"] for row in shown if "heron" in row["text"])
    return json.dumps({"lines": [{"message": place, "text": text}]})


@pytest.mark.proves("C101")
def test_a_model_writes_the_summary(clock):
    """Where there is one, its lines stand in the summary; the call is counted, and `ask=False`
    makes none.
    """
    with scripted(answer) as script, memory(now=clock, llm=script.openai) as mind:
        with mind.companion(space=SPACE, session="s1") as companion:
            made = companion.condense(talk(), limit=LIMIT, strategy="progressive-summary")
            companion.wait(120)
        assert ["The user named the broker heron and its port 7443."] == [
            line.text for line in made.lines
        ]
        assert (
            mind.llm is not None
            and made.by == mind.llm.name == of_kind(mind, "event")[0].details["condensed"]
        )
        (call,) = mind.store.events(verbs=("llm",))
        assert ("condense", "ok") == (call.payload["task"], call.payload["outcome"])
        asked = len(script.asked)
        mind.sessions.condense(talk(), limit=LIMIT)
        assert asked == len(script.asked)


@pytest.mark.parametrize(
    "bad",
    [
        "",
        "   ",
        "{",
        '{"lines": [{"message": 4, "text": "The broker',
        '{"lines": []}',
        '{"lines": "none"}',
        "[]",
        '{"lines": [{"message": 999, "text": "From nowhere."}]}',
        '{"lines": [{"text": "Without a message."}]}',
        lambda request: answer(request, "The broker osprey listens on port 9999."),
        '{"lines": [{"message": 4, "text": ""}]}',
        "Nothing of note was said.",
        '{"delete": "all"}',
        Status(500),
        Status(401),
        Raw(b'{"choices": [', 400),
        Slow("{}", 0.0),
    ],
)
@pytest.mark.proves("CC-71")
def test_a_bad_answer_changes_nothing(clock, bad):
    """Empty, partial, malformed, made up or none at all: the summary is the one without a model."""
    with memory(now=clock) as plain:
        expected = plain.sessions.condense(talk(), limit=LIMIT, strategy="progressive-summary")
    with scripted(bad) as script, memory(now=clock, llm=script.openai) as mind:
        before = mind.remember("Never delete this.", space=SPACE)
        made = mind.sessions.condense(talk(), limit=LIMIT, strategy="progressive-summary", ask=True)
        assert script.asked and "words" == made.by
        assert expected.messages == made.messages
        assert [before.id] == [m.id for m in mind.browse(space=SPACE)]


def test_on_the_command_line(tmp_path):
    """`reverie session condense` prints the conversation as an agent would go on with it; `--json` has its
    messages.
    """
    file = tmp_path / "talk.json"
    file.write_text(json.dumps(talk()), "utf-8")
    shown = run_command("session", "condense", str(file), "--limit", "3000")
    assert TITLE in " ".join(shown.stdout.split()) and "39 assistant: Step 39" in shown.stdout
    found = json.loads(
        run_command(
            "--json",
            "session",
            "condense",
            str(file),
            "-n",
            "3000",
            "--strategy",
            "sliding-window",
        ).stdout
    )
    assert found["after"] <= found["goal"] == 2_100 and found["messages"][-10:] == talk()[-10:]
    assert (
        "hybrid"
        in run_command(
            "session", "condense", str(file), "-n", "100", "--strategy", "forgetful", code=2
        ).stderr
    )
