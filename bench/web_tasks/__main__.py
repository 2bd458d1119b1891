"""Ten tasks on the pages, by the shortest way that somebody finds who looks at them: clicks and keys.
`python -m bench.web_tasks [--only march] [--shots FOLDER]`

A home of a fortnight is made (`seed`), `reverie web` started on it, and each task of `tasks.toml`
done in a real browser with a mouse and a keyboard; the store is looked at after each. A choice in a
list counts as two clicks, a letter as one key, and so does a shortcut. The first count was made by
hand before the pages were mended (`first_count.toml`); dead ends cannot be counted by a script, so
those that are left stand in `tasks.toml` as they were met on a second walk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from bench.common import save, table
from bench.web_tasks.seed import SeededHome, seed_home
from reverie import Mind
from reverie.core import clock
from reverie.testing import memory

HERE = Path(__file__).parent
BROWSERS = ("/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome")
STAGING = "Please deploy the shop to staging, release 2.4."

# Where on the screen some words of a field's first line end.
WIDTH = """(field, words) => {
  const style = getComputedStyle(field), box = field.getBoundingClientRect();
  const pen = document.createElement("canvas").getContext("2d");
  pen.font = style.font;
  const x = box.x + parseFloat(style.paddingLeft) + pen.measureText(words).width;
  return [x, box.y + parseFloat(style.paddingTop) + 8];
}"""


class Hands:
    """A mouse and a keyboard, which count."""

    def __init__(self, page: Any, seeded: SeededHome) -> None:
        self.page, self.seeded = page, seeded
        self.clicks = self.keys = 0
        self.paths: set[str] = set()
        page.on("framenavigated", lambda frame: self.paths.add(urlsplit(frame.url).path))

    def start(self) -> None:
        """On the first page, as after `reverie web`."""
        self.page.goto(self.page.url.split("/", 3)[0] + "//" + urlsplit(self.page.url).netloc)
        self.clicks = self.keys = 0
        self.paths = {"/"}

    def click(self, what: Any) -> None:
        """One click, and whatever page it leads to."""
        self.clicks += 1
        what.click()
        self.page.wait_for_load_state()

    def link(self, name: str) -> None:
        """Click on a link by its words."""
        self.click(self.page.get_by_role("link", name=name).first)

    def button(self, name: str, within: Any = None) -> None:
        """Click on a button by its words."""
        self.click((within or self.page).get_by_role("button", name=name).first)

    def row(self, text: str) -> Any:
        """The row in which these words stand."""
        return self.page.locator("li").filter(has=self.page.get_by_text(text, exact=True)).first

    def press(self, key: str) -> None:
        """One key, or several together."""
        self.keys += 1
        self.page.keyboard.press(key)
        self.page.wait_for_load_state()

    def type(self, text: str) -> None:
        """As many keys as letters."""
        self.keys += len(text)
        self.page.keyboard.type(text)

    def choose(self, field: Any, value: str) -> None:
        """Open a list and click on one of its lines."""
        self.clicks += 2
        field.select_option(value)
        self.page.wait_for_load_state()

    def double_click_on_word(self, field: Any, before: str) -> None:
        """Choose the word at the end of `before`, which stands in the field's first line."""
        x, y = field.evaluate(WIDTH, before)
        self.clicks += 2
        self.page.mouse.dblclick(x, y)

    def ask(self, words: str) -> None:
        """Search by `/`."""
        self.press("/")
        self.type(words)
        self.press("Enter")
        self.page.locator("#results").wait_for()

    def sees(self, text: str) -> bool:
        """True once these words stand on the page; False if they do not come."""
        try:
            self.page.get_by_text(text).first.wait_for(timeout=5_000)
        except Exception:
            return False
        return True

    def store(self) -> Any:
        """The memory, to look whether it is done."""
        return memory(self.seeded.home, now=clock.now, idle=0.0)


Task = Callable[[Hands], bool]
TASKS: dict[str, Task] = {}


def task(act: Task) -> Task:
    """Add a task under the name of its function."""
    TASKS[act.__name__.removeprefix("do_")] = act
    return act


@task
def do_why(hands: Hands) -> bool:
    """Why it was told of the VPN, and whose word that is."""
    told = hands.row("Deploys to staging need the VPN profile north.")
    is_told = "likely to help" in told.inner_text() and hands.sees(STAGING)
    hands.link("Deploys to staging need the VPN profile north.")
    return is_told and hands.sees("because the user said so")


@task
def do_merge(hands: Hands) -> bool:
    """The merge of last night is taken back, the rest stands."""
    hands.link("Nights")
    hands.click(hands.page.locator("main ol a, main ul a").first)
    hands.press("r")
    is_told = hands.sees("Took it back: “Feature flags")
    with hands.store() as mind:
        flags = find(mind, hands.seeded, "shop", "Feature flags live")
        night = mind.nights.browse(limit=1)[0]
        return is_told and len(flags) == 2 and not night.is_undone


@task
def do_never(hands: Hands) -> bool:
    """It is never said again."""
    hands.button("Never again", hands.row("The deploy to staging hangs."))
    is_told = hands.sees("Never again: “The deploy to staging hangs”")
    with hands.store() as mind:
        return is_told and not find(mind, hands.seeded, "shop", "The deploy to staging hangs")


@task
def do_march(hands: Hands) -> bool:
    """What it knew of the server on 1 March."""
    hands.link("Ask")
    hands.type("staging server")
    hands.click(hands.page.get_by_label("As of"))
    hands.type("1 March")
    is_told = hands.sees("What was known at the end of") and hands.sees("heron")
    return is_told and "kingfisher" not in hands.page.locator("#results").inner_text()


@task
def do_contradiction(hands: Hands) -> bool:
    """04:30 is right."""
    hands.link("Review")
    hands.press("a")
    is_told = hands.sees("Kept: “The nightly backup of the shop database runs at 04:30”")
    with hands.store() as mind:
        kept = find(mind, hands.seeded, "shop", "The nightly backup")
        cases = mind.review.cases(space=hands.seeded.space("shop"))
        return is_told and len(kept) == 1 and "04:30" in kept[0] and not cases


@task
def do_correct(hands: Hands) -> bool:
    """60, not 100, and what it said before."""
    hands.ask("rate limit")
    hands.link("The API rate limit is 100 requests per minute.")
    hands.press("e")
    hands.double_click_on_word(hands.page.locator("textarea"), "The API rate limit is 10")
    hands.type("60")
    hands.button("Save")
    shown = hands.page.locator(".version del").first
    is_told = hands.sees("Changed.") and shown.inner_text() == "100"
    with hands.store() as mind:
        (text,) = find(mind, hands.seeded, "shop", "The API rate limit")
        return is_told and "60" in text


@task
def do_blocked(hands: Hands) -> bool:
    """The rule is found from the call that it stopped, tried, and asks from now on."""
    is_told = hands.sees("denied: the call met")
    hands.link("The rule, and what it does")
    hands.press("t")
    hands.type("git push --force-with-lease")
    hands.press("Enter")
    is_told = is_told and hands.sees("deny: it is not run. Nothing was run.")
    rule = hands.page.locator("li.guard").first
    hands.choose(rule.get_by_label("What it does"), "ask")
    hands.button("Set", rule)
    is_told = is_told and hands.sees("From now on: you are asked.")
    with hands.store() as mind:
        (guard,) = mind.guards.browse(space=hands.seeded.space("shop"))
        return is_told and guard.decision == "ask"


@task
def do_outdated(hands: Hands) -> bool:
    """What is outdated of cart.py; one of them is corrected."""
    hands.link("Code")
    hands.link("cart.py")
    row = hands.row("total_price returns whole cents as an int.")
    hands.click(row.get_by_text("Correct"))
    hands.press("Control+a")
    hands.type("total_price returns a Decimal and a currency.")
    hands.button("Save", row)
    is_told = hands.sees("Corrected, and about the code as it is now")
    with hands.store() as mind:
        left = mind.code.outdated(space=hands.seeded.space("shop"))
        return is_told and [one.text[:12] for one in left] == ["The discount"]


@task
def do_cost(hands: Hands) -> bool:
    """Tokens and waits of this week, and whether it is worth it."""
    hands.link("Health")
    is_told = hands.sees("In the last 7 days agents were given about")
    return is_told and hands.sees("and waited") and hands.sees("Not measured. To compare")


@task
def do_private(hands: Hands) -> bool:
    """Out of atlas, looked for there, and back again."""
    atlas = hands.seeded.space("atlas")
    hands.ask("salary")
    hands.link("Ann's salary review")
    hands.press("m")
    hands.press("Control+a")
    hands.type("me/private")
    hands.press("Enter")
    is_told = hands.sees(f"{atlas} is not given it any more")
    with hands.store() as mind:
        is_told = is_told and not mind.recall("salary review", space=atlas, mode="words")
    hands.press("u")
    is_told = is_told and hands.sees("Took it back: “Ann's salary")
    with hands.store() as mind:
        return is_told and len(find(mind, hands.seeded, "atlas", "Ann's salary")) == 1


def find(mind: Mind, seeded: SeededHome, project: str, beginning: str) -> list[str]:
    """The texts of a project that begin so and count."""
    found = mind.browse(space=seeded.space(project), limit=200)
    return [memory.text for memory in found if memory.text.startswith(beginning)]


class Count(NamedTuple):
    """What a task took."""

    clicks: int
    keys: int
    pages: int
    done: bool


@contextmanager
def serving(seeded: SeededHome) -> Iterator[str]:
    """`reverie web` in the folder of the shop; the address that it prints."""
    words = [sys.executable, "-m", "reverie", "web", "--no-open", "--port", "0"]
    env = {**os.environ, "REVERIE_HOME": str(seeded.home)}
    web = subprocess.Popen(
        words, cwd=seeded.roots["shop"], env=env, stdout=subprocess.PIPE, text=True
    )
    try:
        assert web.stdout is not None
        yield web.stdout.readline().strip()
    finally:
        web.terminate()
        web.wait(20)


def count_tasks(names: list[str], shots: Path | None) -> dict[str, Count]:
    """Do them one after the other, on one home."""
    from playwright.sync_api import sync_playwright

    program = next(path for path in BROWSERS if Path(path).exists())
    counts: dict[str, Count] = {}
    options = ["--no-sandbox"] if os.getuid() == 0 else []
    with tempfile.TemporaryDirectory(prefix="web-tasks-") as folder, sync_playwright() as tools:
        seeded = seed_home(Path(folder))
        with serving(seeded) as address:
            browser = tools.chromium.launch(executable_path=program, args=options)
            page = browser.new_page(viewport={"width": 1280, "height": 900}, locale="en-GB")
            page.goto(address)
            for name in names:
                hands = Hands(page, seeded)
                hands.start()
                done = TASKS[name](hands)
                counts[name] = Count(hands.clicks, hands.keys, len(hands.paths), done)
                if shots is not None:
                    page.screenshot(path=shots / f"{name}.png")
            browser.close()
    return counts


def read_toml(name: str) -> dict[str, Any]:
    """A file beside this one."""
    return tomllib.loads((HERE / name).read_text("utf-8"))


def tell(count: dict[str, Any]) -> list[object]:
    """A count as a part of a line."""
    done = "yes" if count["done"] else "no"
    return [count["clicks"], count["keys"], count["dead_ends"], done]


def main() -> int:
    """Count, tell, save; 1 if a task was not done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", choices=list(TASKS), default=[])
    parser.add_argument("--shots", type=Path)
    asked = parser.parse_args()
    tasks = {one["name"]: one for one in read_toml("tasks.toml")["task"]}
    first = read_toml("first_count.toml")
    counts = count_tasks(asked.only or list(tasks), asked.shots)
    rows: list[dict[str, Any]] = []
    for name, count in counts.items():
        left = tasks[name].get("dead_ends", [])
        before = first[name]
        rows.append(
            {
                "task": name,
                "first": {**before, "dead_ends": len(before["dead_ends"])},
                "second": {**count._asdict(), "dead_ends": len(left)},
            }
        )
    head = ["task"]
    for which in ("first", "second"):
        head += [f"{which}: clicks", "keys", "dead ends", "done"]
    table([[row["task"], *tell(row["first"]), *tell(row["second"])] for row in rows], head)
    if not asked.only:
        save("web_tasks", {"tasks": rows})
    return 0 if all(count.done for count in counts.values()) else 1


if __name__ == "__main__":
    raise SystemExit(main())
