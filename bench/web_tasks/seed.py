"""A home as somebody has it after a fortnight: two projects, their talk, tools, files and nights.

Everything goes in by the ways it comes in with real use: conversations through a companion, tools
through `record_tool`, a stopped command through the hook itself, last night through `sleep`. The
clock is set back and moved on, so that days, ages and nights are real ones.
"""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from reverie import Mind
from reverie.core import clock, config
from reverie.core.config import Settings
from reverie.interfaces.hooks import hook_main
from reverie.interfaces.hooks.hook_consumer import HookConsumer
from reverie.interfaces.hooks.spool import HookFiles
from reverie.pipeline.pending_vectors import embed_pending
from reverie.testing import Clock, memory

DAY, HOUR = 86_400.0, 3_600.0

CART_BEFORE = '''"""What somebody is about to buy."""


def total_price(lines, discount=0):
    """The sum of all lines, in cents."""
    return round(sum(line.price * line.count for line in lines) * (1 - discount))


def add_line(lines, line):
    """Put a line into the cart."""
    lines.append(line)
    return lines
'''
CART_AFTER = '''"""What somebody is about to buy."""

from decimal import Decimal


def total_price(lines, discount=Decimal(0), currency="EUR"):
    """The sum of all lines, as a Decimal in a currency."""
    gross = sum((Decimal(line.price) * line.count for line in lines), Decimal(0))
    return (gross * (1 - discount)).quantize(Decimal("0.01")), currency


def add_line(lines, line):
    """Put a line into the cart."""
    lines.append(line)
    return lines
'''
OTHER_FILES = {
    "payments.py": 'def charge(card, amount):\n    """Charge a card once."""\n    return card, amount\n',
    "mail.py": 'def send_receipt(order):\n    """Send the receipt."""\n    return order\n',
}

# What was told by the way: (days ago, project, text, more).
TOLD: list[tuple[float, str, str, dict[str, Any]]] = [
    (13.9, "shop", "Tests of the shop run with make test, never with pytest alone.", {}),
    (13.5, "shop", "Prices are stored in cents as whole numbers.", {"kind": "decision"}),
    (13.2, "atlas", "Atlas draws its tiles with MapLibre 4.", {}),
    (12.6, "atlas", "Tile caches are kept for thirty days.", {"kind": "decision"}),
    (12.1, "shop", "The API rate limit is 100 requests per minute.", {}),
    (11.4, "shop", "Ann wants short commit messages in the present tense.", {"kind": "preference"}),
    (11.0, "shop", "Prefer tabs to spaces in this repository.", {"kind": "preference"}),
    (10.3, "atlas", "The elevation data comes from Copernicus, updated in spring.", {}),
    (9.8, "shop", "Invoices are numbered without gaps, by law.", {"kind": "decision"}),
    (9.1, "shop", "The nightly backup of the shop database runs at 02:00.", {}),
    (8.2, "atlas", "Atlas is deployed by pushing a tag that begins with v.", {}),
    (7.7, "shop", "Deploys to staging need the VPN profile north.", {}),
    (6.4, "shop", "The payment provider's sandbox refuses amounts above 10,000 euros.", {}),
    (5.9, "atlas", "Old tiles are served while new ones are drawn.", {}),
    (4.8, "shop", "Receipts are sent by the queue mail-out, never in the request.", {}),
    (
        3.3,
        "shop",
        "The nightly backup of the shop database runs at 04:30.",
        {"provenance": "observed"},
    ),
    (2.6, "atlas", "The map of Norway is cut at 71 degrees north.", {}),
    (1.3, "atlas", "Ann's salary review is on 12 December, she asks for 8 percent more.", {}),
]
TWICE = (
    "Feature flags live in flags.toml at the root of the shop.",
    "Feature flags live in the flags.toml at the root of the shop.",
)

# Conversations: (days ago, project, session, what the user and the agent said in turn).
TALKS: list[tuple[float, str, str, list[str]]] = [
    (
        12.9,
        "shop",
        "cart-rounding",
        [
            "The cart total is off by one cent for some orders. Where is it computed?",
            "In total_price of cart.py: it rounds once, over the sum of all lines.",
            "Remember: rounding happens once per order, never per line.",
            "Noted. I changed the test to cover an order of three lines.",
        ],
    ),
    (
        10.8,
        "atlas",
        "tile-cache",
        [
            "How long do we keep the tile caches of atlas?",
            "Thirty days. I can make it shorter.",
            "No, keep it. We always clear the cache by hand after a release.",
            "Understood.",
        ],
    ),
    (
        7.2,
        "shop",
        "staging-vpn",
        [
            "The deploy to staging hangs. What is missing?",
            "The VPN profile north was not active, so the host was not reached.",
            "Right. From now on check the VPN before each deploy to staging.",
            "I will check it first.",
        ],
    ),
    (
        4.4,
        "shop",
        "mail-queue",
        [
            "Receipts are slow. Are they sent within the request?",
            "No, by the queue mail-out. The worker was stopped.",
            "Please restart it and tell me when the queue is empty.",
            "Done: 212 receipts sent, the queue is empty.",
        ],
    ),
    (
        1.15,
        "shop",
        "release-2-4",
        [
            "Please deploy the shop to staging, release 2.4.",
            "I activated the VPN profile first and then began the deploy to staging.",
            "Why the VPN? And what do you know about the nightly backup of the shop database?",
            "Staging is reached through it only. The backup runs at night.",
            "Good. Push the branch, the deploy to staging can go on.",
            "Pushed.",
        ],
    ),
    (
        1.05,
        "atlas",
        "norway-map",
        [
            "Where is the map of Norway cut, and how is atlas deployed?",
            "At 71 degrees north. By a tag that begins with v.",
            "Fine, tag it as v3.1.",
            "Tagged.",
        ],
    ),
]


class SeededHome:
    """The home, its two projects, and the moments in which things happened."""

    def __init__(self, folder: Path, now: float) -> None:
        self.folder, self.now = folder, now
        self.home = folder / "home"
        self.clock = Clock(now - 300 * DAY)

    @property
    def roots(self) -> dict[str, Path]:
        """The work trees."""
        return {name: self.folder / name for name in ("shop", "atlas")}

    def space(self, project: str) -> str:
        """The space of a project."""
        return config.project_space_of(self.roots[project])

    def at(self, days_ago: float) -> float:
        """Set the clock to so many days ago."""
        self.clock.at = self.now - days_ago * DAY
        return self.clock.at

    @contextmanager
    def mind(self) -> Iterator[Mind]:
        """The memory, at the time of the clock."""
        with memory(self.home, now=self.clock, idle=0.0) as mind:
            yield mind


def seed_home(folder: Path, now: float | None = None) -> SeededHome:
    """Build all of it below a folder; about ten seconds."""
    seeded = SeededHome(folder, clock.now() if now is None else now)
    config.save_settings(Settings(home=seeded.home), embedder="toy", idle=0.0, backups=0)
    make_projects(seeded)
    with seeded.mind() as mind:
        tell_of_spring(seeded, mind)
        play_fortnight(seeded, mind)
        change_cart(seeded, mind)
        sleep_last_night(seeded, mind)
    return seeded


def make_projects(seeded: SeededHome) -> None:
    """Two repositories, each with a commit."""
    for name, root in seeded.roots.items():
        root.mkdir(parents=True)
        files = {"cart.py": CART_BEFORE, **OTHER_FILES} if name == "shop" else {}
        for path, text in {"README.md": f"# {name}\n", **files}.items():
            (root / path).write_text(text)
        commit(root, "Begin")


def commit(root: Path, message: str) -> None:
    """Commit everything."""
    who = ["-c", "user.name=Ann", "-c", "user.email=ann@example.com"]
    for words in (["init", "-q"], ["add", "-A"], [*who, "commit", "-q", "-m", message]):
        subprocess.run(["git", *words], cwd=root, check=True, capture_output=True)


def tell_of_spring(seeded: SeededHome, mind: Mind) -> None:
    """What was known in spring, and became another by autumn: the name of the staging server."""
    space = seeded.space("shop")
    names = ((285.0, "heron"), (200.0, "osprey"), (40.0, "kingfisher"))
    for days, name in names:
        seeded.at(days)
        mind.remember(f"The staging server of the shop is called {name}.", space=space)
        mind.settle()


def play_fortnight(seeded: SeededHome, mind: Mind) -> None:
    """What was told, said and done, in the order of time."""
    happened: list[tuple[float, Any, tuple[Any, ...]]] = [
        *((days, tell, (project, text, more)) for days, project, text, more in TOLD),
        *((days, talk, (project, session, said)) for days, project, session, said in TALKS),
        (13.0, anchor_to_cart, ()),
        (8.0, forbid_force, ()),
        (1.1, meet_guard, ()),
    ]
    for days, act, given in sorted(happened, key=lambda one: -one[0]):
        seeded.at(days)
        act(seeded, mind, *given)


def tell(seeded: SeededHome, mind: Mind, project: str, text: str, more: dict[str, Any]) -> None:
    """A person says it."""
    mind.remember(text, space=seeded.space(project), **{"provenance": "user_stated", **more})
    mind.settle()


class Agent:
    """A host at work in a project: its hooks, and the worker's desk in this process."""

    def __init__(self, seeded: SeededHome, mind: Mind, project: str, session: str) -> None:
        self.seeded, self.session = seeded, session
        self.root = str(seeded.roots[project])
        self.files = HookFiles(str(seeded.home))
        self.desk = HookConsumer(mind, seeded.clock)

    def tell(self, event: str, **fields: Any) -> None:
        """What a hook says; what it wrote is taken in at once."""
        payload = {
            "session_id": self.session,
            "cwd": self.root,
            "hook_event_name": event,
            **fields,
        }
        now, start = self.seeded.clock.tick(20.0), clock.ticks()
        given = json.dumps(payload).encode()
        # The hook measures how long it was waited for by the clock, which stands still here.
        with patch.object(clock, "now", lambda: now + clock.ticks() - start):
            hook_main.answer_event("claude-code", given, self.files, now)
        while self.desk.has_work() and self.desk.consume_events():
            pass
        self.desk.planner.wait(60)

    def run(self, command: str, error: str = "") -> None:
        """A command, which fails if there is an error."""
        tool = {"tool_name": "Bash", "tool_input": {"command": command}}
        self.tell("PreToolUse", **tool)
        if error:
            self.tell("PostToolUseFailure", **tool, error=error)
        else:
            self.tell("PostToolUse", **tool, tool_response={"stdout": "48 passed"})


def talk(seeded: SeededHome, mind: Mind, project: str, session: str, said: list[str]) -> None:
    """A conversation, with a run of the tests in each of the agent's turns; the first fails."""
    agent = Agent(seeded, mind, project, session)
    agent.tell("SessionStart", source="startup")
    for place, text in enumerate(said):
        if place % 2:
            failure = "Exit code 2\nAssertionError: 1999 != 2000 in cart.py"
            agent.run("make test", error=failure if place == 1 else "")
            agent.tell("Stop", last_assistant_message=text)
        else:
            agent.tell("UserPromptSubmit", prompt=text)
            mind.settle()
    agent.desk.close()
    mind.settle()


def anchor_to_cart(seeded: SeededHome, mind: Mind) -> None:
    """Three memories about cart.py as it was then."""
    root, space = seeded.roots["shop"], seeded.space("shop")
    mind.code.index(root)
    about = {
        "total_price returns whole cents as an int.": "cart.py:total_price",
        "The discount of total_price is a fraction between 0 and 1.": "cart.py:total_price",
        "add_line changes the list it is given.": "cart.py:add_line",
    }
    for text, place in about.items():
        mind.remember(text, space=space, about=[str(root / place)])
    mind.settle()


def forbid_force(seeded: SeededHome, mind: Mind) -> None:
    """A prohibition that denies."""
    rule = mind.remember(
        "Never force-push to a shared branch.",
        space=seeded.space("shop"),
        kind="negative",
        provenance="user_stated",
    )
    mind.guards.set(rule.id, "deny")
    mind.settle()


def meet_guard(seeded: SeededHome, mind: Mind) -> None:
    """The command that was stopped yesterday."""
    agent = Agent(seeded, mind, "shop", "release-2-4")
    agent.tell(
        "PreToolUse",
        tool_name="Bash",
        tool_input={"command": "git push --force origin main"},
    )
    agent.desk.close()


def change_cart(seeded: SeededHome, mind: Mind) -> None:
    """The code moves on: total_price is another function now."""
    seeded.at(0.9)
    root = seeded.roots["shop"]
    (root / "cart.py").write_text(CART_AFTER)
    commit(root, "Prices are decimals")
    mind.code.index(root)
    mind.settle()


def sleep_last_night(seeded: SeededHome, mind: Mind) -> None:
    """Two agents had noted the same thing in other words; the night made one of it."""
    seeded.at(0.6)
    # With vectors and not compared yet, as after an hour in which nobody settled.
    for text in TWICE:
        mind.remember(text, space=seeded.space("shop"), provenance="observed")
    while mind.embedder and embed_pending(mind.store, mind.embedder):
        pass
    seeded.at(8 / 24)
    mind.sleep()
    mind.settle()
