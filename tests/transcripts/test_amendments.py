"""What was settled anew stands before what was said earlier, which is marked as earlier."""

import pytest

from reverie.context_window.injection_block import render_line
from reverie.core.model import SAID

PAIRS = [
    (
        "keep the design repo private for now, only the team may see it",
        "make the repo public after all, private is a pain for contributors",
        "is the design repo private or public?",
    ),
    (
        "go with redis streams for the job queue",
        "actually let's not use redis, plain postgres is enough for the jobs",
        "what do we use for the job queue?",
    ),
    (
        "expose GraphQL to the mobile clients",
        "drop the graphql thing, REST endpoints are fine for mobile",
        "graphql or rest for the mobile clients?",
    ),
    (
        "settings of the shop open in a modal dialog",
        "settings get their own page, the modal was a bad idea",
        "where do the settings live, modal or page?",
    ),
    (
        "uploads of users are deleted after thirty days",
        "keep uploads for a full year instead",
        "how long are the uploads of users kept?",
    ),
    (
        "wir speichern Backups der Datenbank jede Nacht um drei",
        "Backups nur noch einmal pro Woche, sonntags",
        "wie oft laufen die Backups der Datenbank?",
    ),
    (
        "le cache des images va sur le disque local",
        "finalement on met les images en cache dans S3, plus sur le disque",
        "où est le cache des images ?",
    ),
    (
        "los logs del servidor van en texto plano",
        "mejor que los logs salgan en JSON a partir de ahora",
        "¿en qué formato están los logs del servidor?",
    ),
    (
        "a licença do projeto vai ser GPL",
        "muda a licença para MIT, a GPL assusta as empresas",
        "qual é a licença do projeto?",
    ),
    (
        "网站部署到 Vercel 平台吧",
        "还是别用 Vercel 了，换成自己的服务器部署网站",
        "网站部署在哪里？",
    ),
    (
        "エラー通知は Slack に送ることにします",
        "やっぱりエラー通知はメールにして、Slack はやめよう",
        "エラー通知はどこに送る？",
    ),
    (
        "поддерживаем Python 3.9 и новее",
        "хватит тянуть 3.9, минимум теперь Python 3.11",
        "какую версию Python мы поддерживаем?",
    ),
]


def say(mind, day, text):
    mind.learn(
        [
            {"role": "assistant", "content": "I have finished what you asked for this morning."},
            {"role": "user", "content": text, "at": day * 86_400.0},
        ],
        space="me/demo",
        session=f"day-{day}",
    )


@pytest.mark.parametrize(("older", "newer", "question"), PAIRS)
def test_the_newer_statement_comes_first_and_the_older_is_marked(mind, older, newer, question):
    say(mind, 10, older)
    say(mind, 30, newer)
    mind.settle()
    hits = mind.recall(question, space="me/demo", kinds=[SAID])
    found = [hit.memory for hit in hits]
    places = {
        name: place
        for place, one in enumerate(found)
        for name, text in (("older", older), ("newer", newer))
        if text in one.text
    }
    assert "newer" in places
    if "older" in places:
        assert places["newer"] < places["older"]
        line = render_line(found[places["older"]], mind.work.now)
        assert "a newer one stands above" in line


def test_what_is_about_something_else_stays_in_its_order(mind):
    say(mind, 10, "the job queue of the shop runs on redis streams")
    say(mind, 30, "after all, the footer of the newsletter is green instead")
    mind.settle()
    found = mind.recall("what does the job queue run on?", space="me/demo", kinds=[SAID])
    assert "redis" in found[0].memory.text
    assert not found[0].memory.details.get("earlier")


def test_a_memory_that_was_settled_anew_stands_behind_it_and_says_so(mind):
    mind.remember(
        "The job queue of the shop runs on redis streams.",
        space="me/demo",
        session="old",
        at=86_400.0 * 10,
    )
    say(mind, 30, "actually drop redis, the job queue of the shop goes to plain postgres")
    mind.settle()
    hits = mind.recall("which backend has the job queue of the shop?", space="me/demo")
    texts = [hit.memory.text for hit in hits]
    newer = next(place for place, text in enumerate(texts) if "postgres" in text)
    older = next(place for place, text in enumerate(texts) if "redis streams" in text)
    assert newer < older
