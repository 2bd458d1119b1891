"""What was said in one conversation is found in the next, by words, and keeps quiet otherwise."""

import pytest

from reverie.core.errors import NotFound
from reverie.core.model import SAID
from reverie.transcripts.joint_search import raise_repeated
from reverie.transcripts.passage_search import PassageQuery, search_passages
from reverie.transcripts.talk_gate import is_hopeless

CACHE = [
    {"role": "user", "content": "How should we cache the package metadata?"},
    {
        "role": "assistant",
        "content": "Redis needs a server of its own. A JSON file per package with a lifetime of "
        "24 hours is simpler, so I suggest the file cache.",
    },
    {"role": "user", "content": "ok, take the file cache for package metadata then"},
]
DEPLOY = [
    {"role": "user", "content": "Where does the release tarball of the website go?"},
    {"role": "assistant", "content": "To the bucket orchard-public, by the release workflow."},
]


@pytest.fixture
def talked(mind):
    """A mind that has heard two conversations of one project, and one of another."""
    mind.learn(CACHE, space="me/demo", session="s1")
    mind.learn(DEPLOY, space="me/demo", session="s2")
    mind.learn(DEPLOY, space="me/other", session="s3")
    mind.settle()
    return mind


def said(hits):
    return [hit.memory for hit in hits if hit.memory.provenance == SAID]


def test_recall_finds_what_was_said_and_says_who_said_it_where(talked):
    found = said(talked.recall("why no redis for the package cache?", space="me/demo"))
    answer = next(one for one in found if one.text.startswith("Redis needs a server"))
    assert (answer.speaker, answer.session, answer.kind) == ("assistant", "s1", SAID)
    assert answer.id.startswith("said_")


def test_no_passage_of_another_project_is_found(talked):
    sessions = {
        one.session for one in said(talked.recall("release tarball bucket", space="me/other"))
    }
    assert sessions == {"s3"}


def test_a_filter_by_kind_or_tag_leaves_passages_out_unless_it_asks_for_them(talked):
    ask = "package metadata cache"
    assert said(talked.recall(ask, space="me/demo", kinds=["said"]))
    assert not said(talked.recall(ask, space="me/demo", kinds=["fact"]))
    assert not said(talked.recall(ask, space="me/demo", tags=["cache"]))


def test_the_id_of_a_passage_reads_it_and_what_stands_around_it(talked):
    one = said(talked.recall("redis server", space="me/demo"))[0]
    assert talked.get([one.id])[0].text == one.text
    around = talked.sessions.read(one.id, around=1)
    assert [line.number for line in around.lines] == [0, 1, 2]
    with pytest.raises(NotFound, match="passage of a past conversation"):
        talked.explain(one.id)


def test_a_conversation_does_not_hear_itself(talked):
    with talked.companion(space="me/demo/s9", session="s9") as companion:
        companion.turn([{"role": "user", "content": "the zebra report goes to the blue printer"}])
        companion.wait(120)
        talked.settle()
        block = companion.turn(
            [
                {"role": "user", "content": "the zebra report goes to the blue printer"},
                {"role": "assistant", "content": "Noted."},
                {"role": "user", "content": "where does the zebra report go?"},
            ]
        )
    assert "blue printer" not in block.text


def test_talk_comes_up_by_itself_at_a_prompt_that_needs_it(talked):
    with talked.companion(space="me/demo/s8") as companion:
        block = companion.turn(
            [{"role": "user", "content": "what did we say about redis and the package cache?"}]
        )
    assert "Redis needs a server" in block.text
    assert "Said in past conversations" in block.text


def test_an_answer_that_says_nothing_alone_does_not_come_up(mind):
    """ "Understood." is found by the prompt that it answers, and tells an agent nothing."""
    told = "The staging host is called heron. Never run migrations by hand on the shared database."
    talk = [{"role": "user", "content": told}, {"role": "assistant", "content": "Understood."}]
    mind.learn(talk, space="me/demo", session="s1")
    mind.settle()
    with mind.companion(space="me/demo/s8") as companion:
        asked = "Please run the pending migration on the shared database"
        block = companion.turn([{"role": "user", "content": asked}])
    assert "Never run migrations by hand" in block.text
    assert "Understood" not in block.text


@pytest.mark.parametrize("prompt", ["thanks!", "continue", "what is the capital of Mongolia?"])
def test_nothing_of_talk_comes_up_at_prompts_that_need_nothing(talked, prompt):
    with talked.companion(space="me/demo/s7") as companion:
        assert not companion.turn([{"role": "user", "content": prompt}])


def test_of_two_statements_about_one_thing_the_newer_one_comes_first(mind):
    for day, host in ((1, "heron"), (2, "egret")):
        mind.learn(
            [
                {
                    "role": "user",
                    "content": f"the staging server of the shop is {host} now",
                    "at": day,
                }
            ],
            space="me/demo",
            session=f"day-{day}",
        )
    mind.settle()
    found = said(mind.recall("staging server of the shop", space="me/demo", kinds=["said"]))
    assert ["egret" in one.text for one in found] == [True, False]


def test_a_purge_takes_what_it_erases_out_of_past_conversations(mind):
    fact = "the vault code of the blue warehouse is forty-one seventy-two"
    mind.learn([{"role": "user", "content": f"remember: {fact}"}], space="me/demo", session="s1")
    mind.settle()
    texts = mind.context.store.transcripts.texts
    assert any("forty-one" in text for _, _, text in texts())
    for memory in mind.browse(space="me/demo"):
        mind.data.purge([memory.id])
    assert not any("forty-one" in text for _, _, text in texts())
    mind.settle()
    assert not any("forty-one" in text for _, _, text in texts())


def test_a_memory_stands_where_the_passage_would_that_says_the_same(talked):
    """Who asks for the best gets the memory, not neither of both."""
    wish = "Remember that the website is deployed by the orchard robot on Mondays."
    talked.learn([{"role": "user", "content": wish}], space="me/demo", session="s4")
    talked.settle()
    question = "by whom is the website deployed on Mondays?"
    (best,) = talked.recall(question, space="me/demo", limit=1)
    assert "orchard robot" in best.memory.text and best.memory.provenance != SAID
    asked = PassageQuery(question, ("me/demo",), 5)
    passages = search_passages(talked.store.transcripts, asked)
    other = best._replace(
        memory=best.memory._replace(id="x", text="Quite another thing."), score=0.1
    )
    raised = raise_repeated([other, best._replace(score=0.05)], passages)
    assert [hit.memory.id for hit in raised] == [best.memory.id, "x"]
    assert raised[0].score > 0.1


def test_a_passage_is_purged_by_its_id(talked):
    """Its words go, of the log and of memories of what was said; the rest of the message stays, and
    learning the conversation once more does not bring it back.
    """
    (passage,) = (
        one
        for one in said(talked.recall("why no redis for the package cache?", space="me/demo"))
        if one.text.startswith("Redis needs a server")
    )
    assert talked.data.purge(passage.id).erased == 1
    for _ in range(2):
        assert "Redis needs" not in str([*talked.store.transcripts.texts()])
        written = [str(event.payload) for event in talked.store.events(limit=1000)]
        assert not any("Redis needs" in text for text in written)
        assert any("take the file cache" in text for text in written)
        talked.learn(CACHE, space="me/demo", session="s1")
        talked.settle()
    assert talked.get(passage.id) == []
    # What was all of a message leaves nothing beside what it answered.
    (asked,) = (
        one
        for one in said(talked.recall("where does the release tarball go?", space="me/demo"))
        if one.speaker == "assistant"
    )
    talked.data.purge(asked.id)
    talked.settle()
    assert "[purged]" not in str([*talked.store.transcripts.texts()])


def test_the_index_is_derived_and_reads_the_log_again_when_it_is_emptied(talked):
    index = talked.context.store.transcripts
    before = sorted(index.texts())
    index.clear()
    assert index.count(None).passages == 0
    talked.settle()
    assert sorted(index.texts()) == before
    assert index.verify() == ""


def test_passages_older_than_the_setting_are_not_searched(mind, clock):
    mind.context.settings = mind.context.settings._replace(talk_days=30.0)
    old, young = clock() - 40 * 86_400, clock() - 86_400
    for name, at in (("old", old), ("young", young)):
        mind.learn(
            [
                {
                    "role": "user",
                    "content": f"the {name} plan was to migrate the billing tables",
                    "at": at,
                }
            ],
            space="me/demo",
            session=name,
        )
    mind.settle()
    found = said(mind.recall("plan to migrate the billing tables", space="me/demo"))
    assert [one.session for one in found] == ["young"]


def test_a_question_that_was_only_asked_is_no_answer(mind):
    ask = "where is the wombat cluster of the northern office?"
    mind.learn([{"role": "user", "content": ask}], space="me/demo", session="s1")
    mind.settle()
    assert not said(mind.recall(ask, space="me/demo"))


@pytest.mark.parametrize(
    "prompt",
    ["where were we?", "is it in there?", "Was machen wir denn jetzt?", "on fait quoi ici?"],
)
def test_a_prompt_of_function_words_alone_brings_up_nothing(prompt):
    assert is_hopeless(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "which cache did we choose?",
        "Warum haben wir den Cache verworfen?",
        "为什么没有用结巴分词？",
    ],
)
def test_a_short_prompt_that_names_its_subject_is_looked_for(prompt):
    assert not is_hopeless(prompt)
