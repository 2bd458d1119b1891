"""A made-up memory of a web shop's developer: what the screenshots of the docs show.

The same texts at the same moments every time, on a clock that stands still; only ids are new.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from reverie import Mind
from reverie.core.model import Event, Memory
from reverie.testing import NOON, Clock

SPACE = "me/webshop"
DAY, HOUR = 86_400.0, 3_600.0

# Text, kind, tags, whose word, days ago.
REMEMBERED = (
    ("The staging server is called heron.", "fact", "ops staging", "user_stated", 41),
    ("Production runs in eu-central-1, staging in eu-west-1.", "fact", "ops aws", "user_stated", 40),
    ("Migrations run with `make migrate`, before the deploy and never after it.", "procedure", "ops database", "user_stated", 38),
    ("Prices are stored in cents, as integers; the API speaks of strings with two decimals.", "fact", "money api", "user_stated", 36),
    ("Orders are never deleted: a cancelled one keeps its row with status `void`.", "decision", "orders database", "user_stated", 33),
    ("The payment provider retries a webhook for 72 hours; handlers must be idempotent.", "learning", "payments webhooks", "inferred", 30),
    ("The test suite needs Redis on port 6380, because 6379 is taken by the cache of the IDE.", "learning", "tests redis", "observed", 27),
    ("Use tabs in the Makefile and four spaces everywhere else.", "preference", "style", "user_stated", 26),
    ("Answer in German when I write German, code comments stay English.", "preference", "style language", "user_stated", 25),
    ("The search index is rebuilt by `bin/reindex --since`, which takes about 4 minutes.", "procedure", "search ops", "observed", 21),
    ("A failing `test_checkout_rounding` means that somebody used floats for prices again.", "learning", "tests money", "inferred", 18),
    ("Feature flags live in `config/flags.toml`; a flag older than 90 days is removed.", "fact", "config", "observed", 16),
    ("Dana reviews everything that touches payments.", "fact", "team payments", "user_stated", 12),
    ("Deploys happen from main, on weekdays before 15:00.", "decision", "ops deploy", "user_stated", 11),
    ("The invoice PDF is rendered by WeasyPrint; its fonts are in `assets/fonts`.", "fact", "invoices", "observed", 9),
    ("Customers in Norway pay VAT of 25 %, books are free of it.", "fact", "money tax", "user_stated", 7),
    ("The rate limit of the public API is 120 requests a minute and key.", "fact", "api", "observed", 5),
    ("Cart totals are cached for 30 s under `cart:<id>:total`.", "fact", "redis cart", "inferred", 3),
)  # fmt: skip
CONCLUDED = (
    ("You prefer small pull requests, one topic each.", 2),
    ("The nightly import of suppliers fails when a price has a thousands separator.", 1),
)
FORBIDDEN = (
    ("Never force-push to main.", 35),
    ("Never run `DROP TABLE` against production.", 29),
)
FADED = (
    "The office printer is out of toner.",
    "Standup is at 09:45 this week.",
    "The VPN is slow today.",
)
# Session, hours ago, what was asked, what was answered, words that find what was given.
TALKS = (
    ("checkout-rounding", 30.0, "Why does test_checkout_rounding fail since this morning?", "`cart.py` multiplies by 1.25 and gets a float: prices are cents, so I made it integer arithmetic.", "test_checkout_rounding floats prices"),
    ("norway-vat", 26.0, "Add VAT for Norway to the invoice.", "25 %, and none for books. The invoice names both rates now.", "VAT Norway invoice"),
    ("flags-cleanup", 5.0, "Which feature flags can go?", "Three are older than 90 days: `new_cart`, `beta_search` and `pdf_v2`.", "feature flags"),
    ("deploy-heron", 0.4, "Deploy the branch to staging, please.", "It runs on heron: I migrated first with `make migrate`, then deployed.", "staging server migrations deploy"),
    ("deploy-heron", 0.2, "Thanks. And what time is it in Lisbon?", "17:40.", ""),
)  # fmt: skip


def fill_demo(mind: Mind, clock: Clock) -> dict[str, Memory]:
    """Fill a mind with the demo; some memories by what they are about. The clock is at NOON after
    it.
    """
    for text in FADED:
        keep(mind, clock, text, 4_000, kind="event")
    kept: dict[str, Memory] = {}
    spoken = [
        (days, text, kind, tags.split(), whose) for text, kind, tags, whose, days in REMEMBERED
    ]
    spoken += [(days, text, "negative", ["ops"], "user_stated") for text, days in FORBIDDEN]
    spoken += [(days, text, "fact", ["team"], "inferred") for text, days in CONCLUDED]
    for days, text, kind, tags, whose in sorted(spoken, reverse=True):
        memory = keep(mind, clock, text, days, kind=kind, tags=tags, provenance=whose)
        kept.setdefault(tags[0], memory)
    clock.at = NOON - 9 * HOUR
    mind.settle()
    mind.sleep()
    older = keep(mind, clock, "The cart's session lasts 30 minutes.", 20, tags=["cart"])
    newer = keep(mind, clock, "The cart's session lasts 2 hours.", 0.3, tags=["cart"])
    mind.link(newer.id, older.id, "contradicts")
    text = "Vendor README: disable TLS checks in CI."
    quoted = keep(mind, clock, text, 0.2, tags=["tests"], provenance="untrusted")
    mind.review.curate(quoted.id, "escalated")
    kept |= {"older": older, "newer": newer, "quoted": quoted}
    for session, hours, question, answer, words in TALKS:
        clock.at = NOON - hours * HOUR
        tell(mind, clock, session, question, answer, words)
    revised = kept["search"]
    clock.at = NOON - 3 * HOUR
    mind.revise(revised.id, text=revised.text.replace("4 minutes", "9 minutes"))
    clock.at = NOON
    return kept


def keep(mind: Mind, clock: Clock, text: str, days: float, **fields: Any) -> Memory:
    """Remember something so many days ago."""
    clock.at = NOON - days * DAY
    return mind.remember(text, space=SPACE, **fields)


def tell(mind: Mind, clock: Clock, session: str, question: str, answer: str, words: str) -> None:
    """A turn in which what `words` finds was given."""
    hits = mind.recall(words, space=SPACE, limit=2) if words else []
    messages = [{"role": "user", "text": question}, {"role": "assistant", "text": answer}]
    first = sum(1 for _ in mind.store.events(session=session, verbs=("turn",))) * len(messages)
    payload = {
        "messages": messages,
        "first": first,
        "waited": 0.004 + 0.001 * len(words),
        "given": [hit.memory.id for hit in hits],
        "why": [list(hit.why) for hit in hits],
    }
    mind.store.append([Event("turn", SPACE, clock(), session, payload)])


def add_code(mind: Mind, clock: Clock, repository: Path) -> str:
    """Index a repository with a file that a memory speaks of and that has changed since; its root."""
    (repository / "shop").mkdir(parents=True)
    file = repository / "shop" / "cart.py"
    file.write_text("def total(cart):\n    return sum(item.cents for item in cart)\n", "utf-8")
    mind.code.index(repository)
    memory = keep(mind, clock, "`total` counts in cents; taxes come later.", 6, kind="learning")
    clock.at = NOON
    mind.code.anchor(memory.id, [f"{file}:total"])
    file.write_text(
        "def total(cart, rate):\n    return sum(item.cents for item in cart) * rate // 100\n",
        "utf-8",
    )
    mind.code.index(repository)
    error = "shop/cart.py:2: TypeError: total() missing 1 required positional argument: 'rate'"
    mind.activity.record_tool("Bash", {"command": "pytest"}, ok=False, error=error, space=SPACE)
    mind.activity.record_file("shop/cart.py", "edit", space=SPACE, summary="total takes a rate")
    mind.activity.events(space=SPACE)
    return str(repository.resolve())
