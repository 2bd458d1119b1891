# mypy: no-check-untyped-defs
"""What is believed after news: subject, relation and value decide, not the frame of a sentence."""

import pytest

from reverie.reconciliation.merge_rules import pick_successor
from reverie.reconciliation.paraphrase.claim_comparison import compare_claims
from reverie.reconciliation.paraphrase.claim_reading import read_claim
from reverie.reconciliation.paraphrase.statement_comparison import compare_memories
from reverie.testing import make_memory, memory

SPACE = "me/demo"


def relation(old, new, *, corrected=False):
    seen = compare_claims(old, new, corrected=corrected)
    return seen.relation if seen else ""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The staging server is heron.", "The staging server is now falcon."),
        ("I use Vim as my editor.", "I switched to Emacs."),
        ("Ann owns billing.", "Bob owns billing."),
        ("Python 3.10 is the minimum.", "Python 3.12 is the minimum."),
        ("Unsere Ablage liegt in Raum 4.", "Unsere Ablage liegt in Raum 9."),
        ("Marta dirige la biblioteca.", "Julio dirige la biblioteca."),
        ("J'habite à Nantes.", "J'ai déménagé à Rennes."),
        ("测试服务器是 heron。", "测试服务器现在是 falcon。"),
    ],
)
@pytest.mark.proves("A82", "A85", "B105")
def test_another_value_of_one_thing_replaces_it(old, new):
    """The newer one wins where there is one value at a time, with no "no longer" needed."""
    assert relation(old, new) == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Use npm.", "Don't use npm, use pnpm."),
        ("The API runs on port 8080.", "No, it is port 8081."),
        ("Benutze npm.", "Benutze nicht npm, sondern pnpm."),
        ("La demo es el martes.", "En realidad la demo es el jueves."),
        ("L'API tourne sur le port 8080.", "Non, c'est le port 8081."),
        ("使用 npm。", "不要用 npm，用 pnpm。"),
    ],
)
@pytest.mark.proves("A83")
def test_a_correction_names_what_it_puts_right(old, new):
    """In the words of five languages."""
    assert relation(old, new, corrected=True) == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "HTTPX is a fully featured HTTP client for Python 3.",
            "The HTTP Core package provides a minimal low-level HTTP client.",
        ),
        ("The API listens on port 8080.", "The admin panel listens on port 8081."),
        ("Ann owns billing.", "Bob owns search."),
        ("Ann owns billing.", "Ann owns search."),
        ("I speak French.", "I speak Italian."),
        ("Meine Schwester wohnt in Köln.", "Mein Bruder wohnt in Bonn."),
        ("Carmen dirige el coro.", "Pablo dirige el comité."),
        ("Ma fille parle russe.", "Mon fils parle grec."),
        ("上传超时是 30 秒。", "下载超时是 60 秒。"),
        ("I work as a data engineer at Finch.", "I work on a Mac."),
        ("Die Demo ist am Dienstag.", "The demo is on Tuesday."),
    ],
)
@pytest.mark.proves("A82")
def test_two_things_do_not_contradict_each_other(old, new):
    """Nothing is retired, and nobody is asked."""
    verdict = compare_memories(make_memory(old), make_memory(new), 0.7)
    assert verdict.relation not in ("contradicts", "updates", "same")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We use pytest for tests.", "Tests are written with pytest and run with make test."),
        ("Always write tests.", "Always write tests before the code."),
        ("Prefer short answers.", "Prefer short answers without emojis."),
        ("Schreibe immer Tests.", "Schreibe immer Tests vor dem Code."),
    ],
)
@pytest.mark.proves("A78", "A80")
def test_a_fuller_statement_is_not_swallowed(old, new):
    """What one says beyond the other stays a memory of its own."""
    assert compare_memories(make_memory(old), make_memory(new), 0.95).relation == "near"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Meetings are on Monday.", "Board meetings are on Monday."),
        ("Restart the worker after deploys.", "Restart the mail worker after deploys."),
        ("Los informes van por correo.", "Los informes mensuales van por correo."),
        ("Die Tests laufen in CI.", "Die langsamen Tests laufen in CI."),
    ],
)
@pytest.mark.parametrize("cosine", [0.74, 0.85, 0.95])
@pytest.mark.proves("A78", "A80")
def test_a_statement_with_a_word_put_in_is_not_swallowed(old, new, cosine):
    """It is about less, or tells more: whatever the vectors say."""
    assert compare_memories(make_memory(old), make_memory(new), cosine).relation != "same"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("CACHE_TTL is 300.", "The value of CACHE_TTL is 300."),
        ("The project started in 2019.", "The project was started in 2019."),
        ("We had lunch with the design team.", "We had lunch together with the design team."),
    ],
)
@pytest.mark.proves("A78")
def test_words_that_carry_little_tell_nothing_more(old, new):
    """Then it is still the same."""
    assert compare_memories(make_memory(old), make_memory(new), 0.95).relation == "same"


@pytest.mark.parametrize("order", [("inferred", "user_stated"), ("user_stated", "inferred")])
@pytest.mark.parametrize(
    ("guessed", "stated"),
    [
        ("The cache is Memcached.", "The cache is Redis."),
        ("Standup happens at 9:30.", "Standup happens at 10:00."),
        ("Der Cache ist Memcached.", "Der Cache ist Redis."),
    ],
)
@pytest.mark.proves("A84")
def test_what_the_user_stated_beats_what_was_inferred(guessed, stated, order):
    """Whichever came first."""
    with memory() as mind:
        texts = {"inferred": guessed, "user_stated": stated}
        for provenance in order:
            mind.remember(texts[provenance], space=SPACE, kind="fact", provenance=provenance)
            mind.settle()
        assert [one.text for one in mind.browse(space=SPACE)] == [stated]


def test_an_inferred_change_does_not_win_over_a_statement():
    """That something has changed is news: a person decides."""
    old = make_memory("The cache is Redis.", provenance="user_stated", trust=0.95)
    new = make_memory("The cache is no longer Redis.", provenance="inferred", trust=0.5)
    verdict = compare_memories(old, new, 0.9)
    assert pick_successor(old, new, verdict, new.at) is None


def test_a_correction_knows_what_was_spoken_of():
    """What extraction notes beside a correction says which memory it puts right."""
    told = "it's port 8081 (about: “The API runs on port 8080.”)"
    assert relation("The API runs on port 8080.", told, corrected=True) == "replaces"
    assert relation("The worker runs on port 9090.", told, corrected=True) == "distinct"


def test_any_text_can_be_read():
    """Also one that says nothing."""
    assert read_claim("") is None and read_claim("?") is None and read_claim("…" * 500) is None
    assert read_claim("a" * 1000) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann owns billing.", "Bob also owns billing."),
        ("The app listens on port 80.", "The app now also listens on port 443."),
        ("The logs are kept in S3.", "The logs are kept in Loki as well."),
        ("Ann leitet die Abrechnung.", "Bob leitet auch die Abrechnung."),
        ("Ana dirige la facturación.", "Luis también dirige la facturación."),
        ("Anne dirige la facturation.", "Luc dirige également la facturation."),
        ("测试服务器监听端口 80。", "测试服务器也监听端口 443。"),
    ],
)
def test_what_holds_as_well_replaces_nothing(old, new):
    """In the words of five languages, also behind a "now"."""
    assert relation(old, new) == "distinct"
    assert compare_memories(make_memory(old), make_memory(new), 0.8).relation not in (
        "updates",
        "contradicts",
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann owns billing.", "I think Bob owns billing."),
        ("Ann owns billing.", "Bob might own billing."),
        ("Ann leitet die Abrechnung.", "Ich glaube, Bob leitet die Abrechnung."),
        ("Ana dirige la facturación.", "Creo que Luis dirige la facturación."),
        ("Marc gère la paie.", "Je crois que Luc gère la paie."),
        ("测试服务器监听端口 80。", "测试服务器可能监听端口 443。"),
    ],
)
def test_a_guess_replaces_nothing(old, new):
    """Whoever is not sure puts nobody right: both stay."""
    assert relation(old, new) != "replaces"
    assert compare_memories(make_memory(old), make_memory(new), 0.8).relation != "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ann owns billing.", "From July on Bob owns billing."),
        ("The staging server is heron.", "Starting next month the staging server is falcon."),
        ("Ann leitet die Abrechnung.", "Ab Juli leitet Bob die Abrechnung."),
        ("Ana dirige la facturación.", "A partir de julio Luis dirige la facturación."),
        ("Anne dirige la facturation.", "À partir de juillet Luc dirige la facturation."),
        ("测试服务器监听端口 80。", "下个月测试服务器监听端口 443。"),
    ],
)
def test_what_will_be_so_replaces_nothing_yet(old, new):
    """Both stay, and a person may say until when the one is so and from when the other."""
    assert relation(old, new) != "replaces"
    assert compare_memories(make_memory(old), make_memory(new), 0.8).relation != "updates"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Der Server heißt heron.", "Der Server ist langsam."),
        ("Ann ist Ärztin.", "Ann ist Vegetarierin."),
        ("Ann is Swedish.", "Ann is Catholic."),
        ("The service listens on port 80 and 443.", "The service listens on port 8080 in dev."),
    ],
)
def test_another_side_of_one_thing_replaces_nothing(old, new):
    """What a thing is called and how it is; what somebody is, and is too."""
    assert relation(old, new) != "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The team lead is Ann.", "The team lead is Bob."),
        ("Unsere Chefin ist Ann.", "Unsere Chefin ist Eva."),
    ],
)
def test_a_role_has_one_holder(old, new):
    """What has an article or an owner is one thing with one value."""
    assert relation(old, new) == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Deploys go out on Tuesdays.",
            "Deploys don't go out on Tuesdays, they go out on Thursdays.",
        ),
        ("Der Zug fährt in Ulm.", "Das Team nutzt Jira nicht mehr."),
        ("Das Team nutzt Trello.", "Das Team nutzt Trello nicht mehr."),
        ("La copia se guarda en Glacier.", "La copia se guarda en Minio en vez de Glacier."),
        ("Le serveur est à Metz.", "Le serveur n'est pas à Metz mais à Brest."),
        ("我们用Trello。", "我们不再用Trello了。"),
    ],
)
@pytest.mark.proves("A83")
def test_what_is_denied_by_name_goes(old, new):
    """Also where nothing is named in its place; what is not named stays."""
    verdict = compare_memories(make_memory(old), make_memory(new), 0.7)
    assert (verdict.relation == "updates") is ("Ulm" not in old)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Eva owns the importer.", "Max took over the importer from Eva."),
        ("Eva betreut den Import.", "Max hat den Import von Eva übernommen."),
        ("Eva gère le stock.", "Max a repris le stock d'Eva."),
        ("El blog está en Hugo.", "Hemos migrado el blog de Hugo a Astro."),
        ("前端由小王负责。", "前端改由小赵负责。"),
        ("The retry limit is five.", "I was wrong, the retry limit is eight."),
        ("Die Frist ist zehn Tage.", "Ich habe mich geirrt, die Frist ist zwölf Tage."),
    ],
)
@pytest.mark.proves("A82", "A83")
def test_what_was_handed_over_left_or_wrong_goes(old, new):
    """Whoever says so names it."""
    assert relation(old, new) == "replaces"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The port is 5432.", "The port was 5433."),
        ("The port is 5432.", "Tom claims the port is 5433."),
        ("The port is 5432.", "If I remember correctly, the port is 5433."),
        ("The port is 5432.", "For example, the port is 5433."),
        ("Der Port ist 5432.", "Laut Tom ist der Port 5433."),
        ("Der Port ist 5432.", "Angenommen, der Port ist 5433."),
        ("El puerto es 5432.", "Según Tom el puerto es 5433."),
        ("El puerto es 5432.", "Antes el puerto era 5433."),
        ("Le port est 5432.", "D'après Tom, le port est 5433."),
        ("Le port est 5432.", "Par exemple, le port est 5433."),
        ("端口是5432。", "听说端口是5433。"),
        ("端口是5432。", "以前端口是5433。"),
    ],
)
@pytest.mark.proves("A82")
def test_what_is_not_said_for_sure_replaces_nothing(old, new):
    """Guesses, the past, examples and what somebody else says; the user said is the user's word."""
    assert compare_memories(make_memory(old), make_memory(new), 0.8).relation != "updates"
    assert not read_claim("The user said that the port is 5433.").is_quoted


def test_what_shares_next_to_nothing_is_no_conflict():
    """A denial in one of two texts about different things is no contradiction."""
    verdict = compare_memories(
        make_memory("Entries expire by a 24 h limit; eviction is out of scope for the cache."),
        make_memory("The cache is transparent and can only be switched off with a flag."),
        0.44,
    )
    assert verdict.relation == "apart"


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            "La machine de préproduction a 2 Go de mémoire.",
            "La machine de production a maintenant 16 Go de mémoire.",
        ),
        (
            "La máquina de pruebas tiene 2 GB de memoria.",
            "La máquina de producción tiene ahora 16 GB de memoria.",
        ),
    ],
)
def test_another_thing_with_another_number_is_no_news_of_the_first(mind, clock, known, told):
    """Two things differ, so neither is the value of the other."""
    old = mind.remember(known, space="me/demo", provenance="user_stated")
    mind.settle()
    clock.tick(days=1)
    mind.remember(told, space="me/demo", provenance="user_stated")
    mind.settle()
    assert mind.get([old.id])[0].active
