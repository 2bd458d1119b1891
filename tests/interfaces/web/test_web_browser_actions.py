"""Each action of Memory, Review, Nights and Guards in a real browser: by keyboard alone, and by
forms without JavaScript; done, undone, and the store looked at after both.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest

from reverie.core.model import EMPTY_MAPPING, Event
from reverie.interfaces.hooks.spool import HookFiles
from reverie.interfaces.web.page import Action
from reverie.interfaces.web.pages import PAGES
from reverie.testing import SPACE, memory
from tests.interfaces.web.browser_checks import press, type_text
from tests.interfaces.web.conftest import visiting
from tests.interfaces.web.web_client import remember_everything

pytestmark = pytest.mark.e2e
ASKED = "Which fertiliser do the garden gates in Kew need before winter?"
MEMORY = ".acts, .notice"
# The lines that are gone from a page wait in `test_web_actions`.
ELSEWHERE = {"/review/mirror"}


class Deed(NamedTuple):
    """Something that is done on a page."""

    name: str
    path: str
    key: str  # empty: the button is reached by Tab
    button: str
    fields: Mapping[str, str] = EMPTY_MAPPING  # what is filled in, by selector
    card: str = ""  # the key of the card on which it is done
    opens: str = ""  # the box that has to be opened first, without a key
    is_final: bool = False  # it has no undo


def fill(mind, clock):
    """Something to do for every action."""
    for number in range(3):
        old = clock() - 86_400 * 4_000
        mind.remember(f"Old note {number}.", space=SPACE, kind="event", at=old)
    clock.tick(days=4_000)
    night = mind.sleep().run
    gap = Event("gap", SPACE, clock(), "s1", {"asked": ASKED, "candidates": 1})
    mind.store.append([gap])
    made = {**remember_everything(mind), "night": night}
    made["gone"] = mind.remember("The old printer is on floor 2.", space=SPACE)
    mind.forget(made["gone"].id)
    made["waits"] = mind.remember("Use pnpm.", space=SPACE, provenance="untrusted")
    mind.review.curate(made["waits"].id, "escalated")
    made["guard"] = mind.browse(space=SPACE, kinds=["negative"])[0]
    first, second = (mind.remember(f"Heron has {n} disks.", space=SPACE) for n in (2, 3))
    mind.link(first.id, second.id, "resembles")
    return made


def list_deeds(mind, made):
    """Every action, in an order in which the one before is taken back."""
    heron, waits = (f"/memory/{made[name].id}" for name in ("heron", "waits"))
    cards = {one.kind: one for one in mind.review.queue(space=SPACE, limit=50)}
    pair, near, gap = (cards[name].key for name in ("contradiction", "near-duplicate", "gap"))
    candidate = f"memory:{made['waits'].id}"
    row = f"li[data-memory='{made['guard'].id}']"
    edit = {"textarea[name=text]": "It is called otter.", "input[name=tags]": "ops, hosts"}
    return [
        Deed("edit", heron, "e", "form[action$='/edit'] button", edit, opens="details:has([action$='/edit'])"),
        Deed("move", heron, "m", "form[action$='/move'] button", {"input[name=to]": "me/other"}, opens="details:has([action$='/move'])"),
        Deed("forget", heron, "d", "form[action$='/forget'] button"),
        Deed("useful", heron, "1", "form:has([value=useful]) button"),
        Deed("wrong", heron, "2", "form:has([value=wrong]) button"),
        Deed("restore", f"/memory/{made['gone'].id}", "b", "form[action$='/restore'] button"),
        Deed("approve", waits, "a", "form[action$='/approve'] button"),
        Deed("never", "/", "3", "button[value=never]"),
        *[
            Deed(f"pair {answer}", "/review", key, f"button[value={answer}]", card=pair)
            for answer, key in (("accept", "a"), ("reject", "r"), ("both", "b"), ("merge", "m"))
        ],
        Deed("pair edit", "/review", "e", "form:has([value=edit]) button", {"textarea": "We deploy on Mondays."}, card=pair, opens="details"),
        *[Deed(f"near {answer}", "/review", key, f"button[value={answer}]", card=near) for answer, key in (("accept", "a"), ("reject", "r"))],
        *[Deed(f"candidate {answer}", "/review", key, f"button[value={answer}]", card=candidate) for answer, key in (("accept", "a"), ("reject", "r"))],
        Deed("candidate edit", "/review", "e", "form:has([value=edit]) button", {"textarea": "Use pnpm 9."}, card=candidate, opens="details"),
        Deed("gap edit", "/review", "", "form:has([value=edit]) button", {"textarea": "Potash."}, card=gap),
        Deed("set a guard", "/guards", "", f"{row} form[action$='/set'] button", {f"{row} select": "deny"}),
        Deed("allow once", "/guards", "", f"{row} form[action$='/allow'] button"),
        Deed("set the default", "/guards", "", "form[action$='/default'] button", {"form[action$='/default'] select": "tell"}),
        Deed("forbid", "/guards", "", "form[action$='/new'] button", {"form[action$='/new'] input[name=text]": "Never run make deploy"}),
        Deed("a hunk", f"/nights/{made['night']}", "r", ".hunk form[action$='/undo'] button"),
        Deed("a night", f"/nights/{made['night']}", "", ".head form[action$='/undo'] button", is_final=True),
    ]  # fmt: skip


def state_of(mind):
    """All that actions may change: memories, what waits, settings, what is allowed once."""
    ids = {row.memory_id for row in mind.store.changes_after(0)}
    memories = {one.id: one._replace(updated_at=0.0) for one in mind.get(sorted(ids))}
    counting = {id: one for id, one in memories.items() if one.active}
    waiting = [card.key for card in mind.review.queue(space=SPACE, limit=50)]
    hooks = HookFiles(str(mind.settings.home))
    allowed = [id for id in sorted(ids) if hooks.take_allowance(id, 0.0)]
    for id in allowed:
        hooks.add_allowance(id)
    # What an undone action had added is there no longer, but for its history.
    retired = {id: one.retired_why for id, one in memories.items() if not one.active}
    gone = {id: why for id, why in retired.items() if why != "undone"}
    return counting, gone, sorted(waiting), mind.settings.guards, allowed


def tab_to(page, target):
    """Press Tab until something has the focus; nothing else leads there."""
    for _ in range(200):
        if target.evaluate("el => el === document.activeElement"):
            return
        press(page, "Tab")
    pytest.fail(f"Tab does not lead to {target}")


def act_by_keyboard(page, deed):
    """With the deed's key, or with Tab; fields are typed into, and sent by Enter."""
    scope = page
    if deed.card:
        scope = page.locator(f"[data-card]:has(input[value='{deed.card}'])")
        # The page goes on at the card at which one was: first to the end, then back.
        for key in "j" * 20 + "k" * 20:
            if scope.is_visible():
                break
            press(page, key)
    elif deed.path == "/":
        press(page, "j")
    if deed.key:
        press(page, deed.key)
    for selector, text in deed.fields.items():
        field = scope.locator(selector)
        tab_to(page, field)
        if field.evaluate("el => el.matches('select')"):
            type_text(page, text)
        else:
            press(page, "Control+a")
            type_text(page, text)
    if deed.fields or not deed.key:
        button = scope.locator(deed.button).first
        tab_to(page, button)
        press(page, "Enter")


def act_by_forms(page, deed):
    """With the mouse, as somebody without JavaScript does."""
    scope = page.locator(f"[data-card]:has(input[value='{deed.card}'])") if deed.card else page
    if deed.opens:
        scope.locator(f"{deed.opens} summary").first.click()
    for selector, text in deed.fields.items():
        field = scope.locator(selector)
        if field.evaluate("el => el.matches('select')"):
            field.select_option(text)
        else:
            field.fill(text)
    scope.locator(deed.button).first.click()


@pytest.mark.parametrize("by", [act_by_keyboard, act_by_forms])
def test_each_action_is_done_and_taken_back(chromium, tmp_path, clock, by):
    """What it changed is in the store; the undo in the toast brings back what was, all of it."""
    wrong, posted = [], []
    with memory(tmp_path / "home", now=clock) as mind, visiting(chromium, mind) as visit:
        made = fill(mind, clock)
        browser = visit(java_script_enabled=by is act_by_keyboard)
        page = browser.page
        page.on("request", lambda sent: posted.append(sent.url) if sent.method == "POST" else None)
        for deed in list_deeds(mind, made):
            before = state_of(mind)
            browser.go(deed.path)
            by(page, deed)
            page.locator(".toast").wait_for()
            said = page.locator(".toast span").first.inner_text()
            if state_of(mind) == before:
                wrong.append(f"{deed.name}: nothing was changed ({said})")
            if deed.is_final:
                continue
            shown = page.url
            if by is act_by_keyboard:
                press(page, "u")
            else:
                page.locator(".toast button").click()
            page.wait_for_url(lambda url, shown=shown: url != shown)
            page.locator(".toast").wait_for()
            after = state_of(mind)
            wrong += [
                f"{deed.name}: not as before: {one} / {other}"[:600]
                for one, other in zip(before, after, strict=True)
                if one != other
            ]
        assert mind.data.verify() == []
        assert (wrong, browser.trouble) == ([], [])
    assert list_missing(posted) == set()


def list_missing(posted):
    """The actions of these pages that nobody has tried."""
    wanted = {
        one.path
        for page in PAGES
        if page.name in ("memory", "review", "nights", "guards")
        for one in page.routes
        if isinstance(one, Action)
    }
    patterns = {path: re.compile(re.sub(r"\{\w+\}", "[^/]+", path) + "$") for path in wanted}
    return {
        path for path in wanted if not any(patterns[path].search(url) for url in posted)
    } - ELSEWHERE
