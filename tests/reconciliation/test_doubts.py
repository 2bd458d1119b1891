"""A memory that knows what follows: what is said with a reason rests on it, and is in doubt once the
reason has changed, until somebody looks or the reason is back.
"""

import json

import pytest

from reverie.core.clock import format_day
from reverie.core.doubt import describe_doubt, is_in_doubt
from reverie.core.model import DEPENDS_ON
from reverie.core.validity import is_valid_at
from reverie.memory.short_ids import shorten_id
from reverie.reconciliation.doubts import LAST_CHECK_META
from reverie.reconciliation.shaken_grounds import shakes_ground
from reverie.runtime.mind import Mind
from reverie.testing import CountingEmbedder, memory
from tests.support.helpers import open_mind, run_command, toy_home

SPACE = "me/demo"
REASON = "We deploy on Fly."
CLAIM = "Sessions live in Redis because we deploy on Fly."


def keep(mind: Mind, text: str, **fields):
    """A memory of the user's, settled."""
    kept = mind.remember(text, **{"space": SPACE, "provenance": "user_stated", **fields})
    mind.settle()
    return kept


def now(mind: Mind, kept):
    """A memory as it is after settling."""
    mind.settle()
    return mind.get([kept.id])[0]


def list_grounds(mind: Mind, kept):
    """The memories that one rests on."""
    edges = mind.store.edges([kept.id], (DEPENDS_ON,))
    return mind.get([edge.dst for edge in edges if edge.src == kept.id])


def find_why(mind: Mind, kept, query: str = "where do sessions live?"):
    """How recall comes to a memory, and what it says of it."""
    hits = {hit.memory.id: hit.why for hit in mind.recall(query, space=SPACE)}
    return "; ".join(hits[kept.id])


def test_what_stood_on_a_reason_is_in_doubt_once_that_has_changed_and_recall_says_so(mind, clock):
    """Redis for sessions: in doubt since that day, its reason was …"""
    ground = keep(mind, REASON)
    claim = keep(mind, CLAIM)
    assert list_grounds(mind, claim) == [now(mind, ground)]
    assert "in doubt" not in find_why(mind, claim)
    clock.tick(days=3)
    news = keep(mind, "We moved from Fly to AWS.")
    mind.supersede(ground.id, news.id)
    doubted = now(mind, claim)
    said = f"in doubt since {format_day(clock.at)}: its reason was “We deploy on Fly”, which changed to “We moved"
    assert said in describe_doubt(doubted)
    assert said in find_why(mind, claim)
    assert not is_in_doubt(now(mind, news))


def test_a_reason_is_embedded_once_and_what_has_a_vector_not_again(clock):
    """Two memories near a reason are compared with it by the vectors that they have."""
    embedder = CountingEmbedder()
    with memory(":memory:", embedder=embedder, now=clock) as mind:
        for text in ("We deploy to Fly every day.", "Deploys of Fly are made by Ann."):
            keep(mind, text)
        asked = len(embedder.asked)
        claim = keep(mind, CLAIM)
        made = [ground.text for ground in list_grounds(mind, claim)]
        assert embedder.asked[asked:] == [CLAIM, "we deploy on Fly", *made]


@pytest.mark.parametrize(
    ("claim", "ground", "news"),
    [
        (
            "Die Exporte laufen nachts, weil wir MySQL verwenden.",
            "Wir verwenden MySQL.",
            "Wir sind von MySQL auf PostgreSQL umgestiegen.",
        ),
        (
            "Las pruebas corren en Chrome porque usamos Cypress.",
            "Usamos Cypress.",
            "Ya no usamos Cypress.",
        ),
        (
            "Les logs sont en JSON parce que nous utilisons Loki.",
            "Nous utilisons Loki.",
            "Nous avons abandonné Loki.",
        ),
        ("测试需要容器，因为我们使用Redis。", "我们使用Redis。", "我们不再使用Redis了。"),
    ],
)
def test_a_reason_that_nobody_had_kept_is_kept_and_news_about_it_is_enough(
    mind, clock, claim, ground, news
):
    """In German, Spanish, French and Chinese, and without a decision of anybody's."""
    kept = keep(mind, claim)
    assert [one.text for one in list_grounds(mind, kept)] == [ground]
    clock.tick(days=1)
    keep(mind, news)
    assert is_in_doubt(now(mind, kept))


def test_doubt_goes_to_the_end_and_comes_back_with_the_reason(mind, clock):
    """Three steps; `restore` and `undo` of the change, and a correction back, all clear them."""
    ground = keep(mind, REASON)
    chain = [
        keep(mind, CLAIM),
        keep(mind, "The backup skips sessions because sessions live in Redis."),
        keep(mind, "The backup takes four minutes since the backup skips sessions."),
    ]
    assert not any(is_in_doubt(now(mind, one)) for one in chain)
    clock.tick(days=1)
    mind.forget(ground.id)
    assert all(is_in_doubt(now(mind, one)) for one in chain)
    assert "in doubt itself: “We deploy on Fly” was forgotten" in describe_doubt(
        now(mind, chain[2])
    )
    mind.restore(ground.id)
    assert not any(is_in_doubt(now(mind, one)) for one in chain)
    mind.revise(ground.id, text="We deploy on AWS.")
    event = mind.store.events(verbs=("revise",), newest=True, limit=1)[0]
    assert all(is_in_doubt(now(mind, one)) for one in chain)
    mind.revise(ground.id, text=REASON)
    assert not any(is_in_doubt(now(mind, one)) for one in chain)
    mind.revise(ground.id, text="We deploy on Heroku.")
    event = mind.store.events(verbs=("revise",), newest=True, limit=1)[0]
    assert is_in_doubt(now(mind, chain[0]))
    mind.undo(event.seq)
    assert not any(is_in_doubt(now(mind, one)) for one in chain)


def test_what_only_shares_words_is_left_alone(mind, clock):
    """No reason stated, no doubt; a reason that says the same in other words is none either."""
    ground = keep(mind, REASON)
    claim = keep(mind, CLAIM)
    beside = [
        keep(mind, "The Fly invoice comes on the first."),
        keep(mind, "Sessions expire after an hour."),
        keep(mind, "Sessions are signed because the auditors ask for it."),
    ]
    clock.tick(days=1)
    keep(mind, "The Fly invoice is paid by card now.")
    mind.revise(ground.id, text="We deploy on Fly")
    assert not is_in_doubt(now(mind, claim))
    mind.forget(ground.id)
    assert is_in_doubt(now(mind, claim))
    assert not any(is_in_doubt(now(mind, one)) for one in beside)


def test_a_doubted_memory_stands_behind_a_sound_one_and_is_still_found(mind, clock):
    """Equal but for the doubt."""
    ground = keep(mind, REASON)
    doubted = keep(mind, "Sessions live in Redis because we deploy on Fly.")
    sound = keep(mind, "Sessions of the mobile app stay in a signed cookie.")
    ask = "where do sessions live?"
    assert mind.recall(ask, space=SPACE)[0].memory.id == doubted.id
    mind.forget(ground.id)
    mind.settle()
    hits = [hit.memory.id for hit in mind.recall(ask, space=SPACE)]
    assert doubted.id in hits
    assert hits.index(sound.id) < hits.index(doubted.id)


def test_the_review_queue_holds_it_until_it_is_kept_retired_or_corrected(mind, clock):
    """Each of the three answers settles it; keeping one also settles what stood on it."""
    ground = keep(mind, REASON)
    first = keep(mind, CLAIM)
    second = keep(mind, "The backup skips sessions because sessions live in Redis.")
    mind.forget(ground.id)
    mind.settle()
    assert {one.id for one in mind.review.doubts(space=SPACE)} == {first.id, second.id}
    assert {one.id for one in mind.review.pending(space=SPACE)} == {first.id, second.id}
    mind.review.curate(first.id, "validated")
    mind.settle()
    assert mind.review.doubts(space=SPACE) == []
    event = mind.store.events(verbs=("curate",), newest=True, limit=1)[0]
    mind.undo(event.seq)
    mind.settle()
    assert {one.id for one in mind.review.doubts(space=SPACE)} == {first.id, second.id}
    mind.revise(first.id, text="Sessions live in Redis because of the audit log.")
    mind.settle()
    assert mind.review.doubts(space=SPACE) == []


def test_ties_can_be_made_by_hand_and_end_with_their_time(mind, clock):
    """`link`, and a ground that holds until a day."""
    ground = keep(mind, "The trial licence is paid.", valid_to=clock.at + 2 * 86_400)
    kept = keep(mind, "Ask the support for help with the importer.")
    mind.link(kept.id, ground.id, "depends_on")
    assert not is_in_doubt(now(mind, kept))
    clock.tick(days=3)
    assert not is_valid_at(now(mind, ground), clock.at)
    assert "“The trial licence is paid”, which is over" in describe_doubt(now(mind, kept))
    mind.link(kept.id, ground.id, "depends_on", weight=0)
    assert not is_in_doubt(now(mind, kept))


def test_two_that_rest_on_each_other_are_sound_again_once_their_reason_is(mind, clock):
    """A circle does not hold its own doubt."""
    ground, one, other = (keep(mind, text) for text in (REASON, "Alpha is on.", "Beta is off."))
    mind.link(one.id, other.id, "depends_on")
    mind.link(other.id, one.id, "depends_on")
    mind.link(one.id, ground.id, "depends_on")
    mind.forget(ground.id)
    assert is_in_doubt(now(mind, one)) and is_in_doubt(now(mind, other))
    mind.restore(ground.id)
    assert not is_in_doubt(now(mind, one)) and not is_in_doubt(now(mind, other))


def test_the_past_and_an_export_know_of_the_doubt_as_it_was(tmp_path, clock):
    """As of the day before nothing is in doubt; a store loaded from the export is the same."""
    with memory(tmp_path / "home", now=clock) as mind:
        ground = keep(mind, REASON)
        claim = keep(mind, CLAIM)
        before = clock.at
        clock.tick(days=2)
        mind.forget(ground.id)
        mind.settle()
        past = {
            hit.memory.id: hit for hit in mind.recall("sessions", space=SPACE, as_of=before + 60)
        }
        assert not is_in_doubt(past[claim.id].memory)
        assert is_in_doubt(now(mind, claim))
        rows = list(mind.store.dump())
        with memory(now=clock) as other:
            other.store.load(rows)
            other.settle()
            kinds = ("memory", "edge")
            assert sort_rows(other.store.dump(), kinds) == sort_rows(rows, kinds)
            other.restore(ground.id)
            assert not is_in_doubt(now(other, claim))


def sort_rows(rows, kinds):
    """The rows of some types, in a form that can be compared."""
    return sorted(json.dumps(row, sort_keys=True) for row in rows if row["type"] in kinds)


def test_the_block_says_it(mind, clock):
    """What is injected tells the agent that the reason has changed."""
    from reverie.context_window.injection_block import render_block
    from reverie.core.model import Hit

    ground = keep(mind, REASON)
    claim = keep(mind, CLAIM)
    mind.forget(ground.id)
    block = render_block([Hit(now(mind, claim), 0.9)], clock.at, limit=5, budget=500)
    assert "in doubt since" in block.text and "We deploy on Fly" in block.text


def test_a_purge_leaves_nothing_of_a_reason(home, clock):
    """Neither what quotes the ground nor what was made of the purged memory's own reason."""
    ground = keep(home, REASON)
    claim = keep(home, CLAIM)
    home.forget(ground.id)
    assert is_in_doubt(now(home, claim))
    home.data.purge(ground.id)
    home.settle()
    assert not is_in_doubt(now(home, claim))
    own = keep(home, "Wolfram signs the invoices because Hedwig is in Tromso.")
    made = list_grounds(home, own)
    home.data.purge(own.id)
    assert made and not home.store.get([one.id for one in made])
    assert "Tromso" not in json.dumps(list(home.store.dump()), default=str)


def test_a_command_shows_what_is_in_doubt_and_an_answer_settles_it(tmp_path, monkeypatch):
    """`reverie review` lists it, `reverie curate` keeps it."""
    place = toy_home(tmp_path)
    monkeypatch.setenv("REVERIE_HOME", str(place))
    with open_mind(place) as mind:
        ground = keep(mind, REASON)
        claim = keep(mind, CLAIM)
        mind.forget(ground.id)
        mind.settle()
    shown = run_command("--space", SPACE, "review").output
    assert "in doubt since" in shown and shorten_id(claim.id) in shown
    assert "in doubt since" in run_command("--space", SPACE, "recall", "sessions").output
    assert "in doubt" in run_command("--space", SPACE, "show", claim.id).output
    run_command("curate", claim.id)
    assert "Nothing waits" in run_command("--space", SPACE, "review").output


def test_code_that_a_reason_speaks_of_puts_in_doubt_what_stands_on_it(home, tmp_path):
    """Until the old code is back."""
    from tests.code.test_anchors import CART, edit

    repo = tmp_path / "demo"
    edit(repo, **{"cart.py": CART})
    home.code.index(repo)
    keep(home, "Prices are rounded down.", about=[str(repo / "cart.py:price_of")])
    kept = keep(home, "Invoices show whole euros because prices are rounded down.")
    column = keep(home, "The PDF has no column for cents because invoices show whole euros.")
    home.settle()
    assert not is_in_doubt(now(home, column))
    edit(repo, **{"cart.py": CART.replace("3 * n", "4 * n")})
    home.code.index(repo)
    assert is_in_doubt(now(home, kept))
    assert "older version of price_of in cart.py" in describe_doubt(now(home, column))
    edit(repo, **{"cart.py": CART})
    home.code.index(repo)
    assert not is_in_doubt(now(home, kept)) and not is_in_doubt(now(home, column))


def test_what_is_over_is_looked_for_every_ten_minutes_also_where_nothing_rests_on_anything(
    mind, clock
):
    looked = []
    for seconds in (0, 60, 3_600):
        clock.tick(seconds)
        keep(mind, f"The parser reads {seconds} lines.")
        looked.append(mind.store.meta(LAST_CHECK_META))
    assert looked[0] == looked[1] and float(looked[2]) == clock.at


@pytest.mark.parametrize(
    ("claim", "news", "is_kept"),
    [
        ("We dump the tables at night because it takes a lock and a backup first.", "", False),
        ("The bell is silent after ten since the complaint of the mayor.", "", False),
        ("La copia se hace de noche porque tarda mucho.", "", False),
        ("Wir sichern nachts, weil es länger dauert.", "", False),
        ("Sessions expire early because of Redis.", "We moved from Redis to Valkey.", True),
        ("Les sessions expirent à cause de Redis.", "Nous avons abandonné Redis.", True),
    ],
)
def test_a_reason_that_says_nothing_by_itself_is_shown_to_nobody(mind, clock, claim, news, is_kept):
    """It is read in the memory that gives it; news about what it names shakes it all the same."""
    kept = keep(mind, claim)
    assert bool(list_grounds(mind, kept)) == is_kept
    for query in (claim, "Redis", "lock backup complaint mayor tarda länger"):
        assert {hit.memory.id for hit in mind.recall(query, space=SPACE)} <= {kept.id}
    assert [one.id for one in mind.browse(space=SPACE)] == [kept.id]
    if news:
        clock.tick(days=1)
        keep(mind, news)
        assert is_in_doubt(now(mind, kept))


def test_a_number_in_words_is_a_value_too(mind, clock):
    """The ground is in question as soon as it is another number; the same number is no news."""
    kept = keep(mind, "Redis for sessions because we deploy on one host.")
    (ground,) = list_grounds(mind, kept)
    clock.tick(days=1)
    keep(mind, "Ann deployed one host twice on Monday.")
    assert not is_in_doubt(now(mind, kept))
    news = keep(mind, "We deploy on three hosts now.")
    assert shakes_ground(news, ground) and not shakes_ground(ground, ground)
    assert "we deploy on one host" in describe_doubt(now(mind, kept)).lower()
    mind.forget(news.id)
    assert not is_in_doubt(now(mind, kept))
