"""What is looked at on every page that a browser shows: addresses of all of them, layout, names,
landmarks, axe-core; and how keys are pressed on it.
"""

from functools import cache
from pathlib import Path

from reverie.interfaces.web.page import View
from reverie.interfaces.web.pages import PAGES
from reverie.interfaces.web.rendering import name_part

VENDORED = Path(__file__).parents[2] / "support" / "vendored"
VIEWS = [one.path for page in PAGES for one in page.routes if isinstance(one, View)]
# Every control has a name, every id is there once, every page its landmarks; nothing that somebody
# wrote has become an element.
WHOLE = """() => {
  const wrong = [];
  const named = (el) => el.labels?.length || el.getAttribute('aria-label') || el.type === 'hidden' || el.textContent.trim();
  for (const el of document.querySelectorAll('input, select, textarea, button')) if (!named(el)) wrong.push(el.outerHTML);
  const ids = [...document.querySelectorAll('[id]')].map((el) => el.id);
  if (new Set(ids).size !== ids.length) wrong.push('ids ' + ids);
  for (const place of ['main', 'header', 'nav[aria-label=Pages]', 'footer']) if (document.querySelectorAll(place).length !== 1) wrong.push(place);
  if (document.querySelectorAll('h1').length !== 1) wrong.push('h1');
  for (const el of document.querySelectorAll('img, iframe, object, embed, base, script:not([src]), style:not([data-sigma]), marquee')) wrong.push('element ' + el.outerHTML.slice(0, 200));
  for (const el of document.querySelectorAll('*')) for (const name of el.getAttributeNames()) if (name.startsWith('on')) wrong.push(name + ' ' + el.outerHTML.slice(0, 200));
  for (const el of document.querySelectorAll('a[href], button, summary')) if (el.checkVisibility() && !/[\\p{L}\\p{N}\\p{P}\\p{S}]/u.test(el.textContent + (el.ariaLabel ?? ''))) wrong.push('nothing to press: ' + el.outerHTML.slice(0, 200));
  if (window.pwned) wrong.push('something was executed');
  return wrong;
}"""
# What is drawn anew when the size changes is so with the next frame.
DRAWN = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# Its scripts listen for keys, and a field that takes the focus by itself has it: that comes with a
# frame, after the page was loaded.
READY = """() => window.isReady || (document.readyState === 'complete'
  && ('script' in document.documentElement.dataset || !document.querySelector('script[src*="/app.js"]'))
  && new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(window.isReady = true)))))"""
# Nothing is wider than the screen, nothing is cut off, no button is squeezed into a column.
FITS = """() => {
  const wrong = [];
  if (document.documentElement.scrollWidth > innerWidth) wrong.push(`${document.documentElement.scrollWidth} wide`);
  const scrolls = (el) => { for (let at = el; at; at = at.parentElement) if (['auto', 'scroll'].includes(getComputedStyle(at).overflowX)) return true; return false; };
  for (const el of document.querySelectorAll('body *')) {
    const box = el.getBoundingClientRect();
    if (!box.width || !el.checkVisibility() || el.closest('.skip, .unseen, memory-map [data-canvas], svg') || scrolls(el)) continue;
    if (box.right > innerWidth + 1 || box.left < -1) wrong.push(`sticks out: ${el.outerHTML.slice(0, 160)}`);
    if (getComputedStyle(el).overflowX === 'hidden' && el.scrollWidth > el.clientWidth + 1) wrong.push(`cut off: ${el.outerHTML.slice(0, 160)}`);
  }
  for (const el of document.querySelectorAll('button')) if (el.checkVisibility() && el.clientHeight > 64 && el.clientHeight > el.clientWidth) wrong.push(`squeezed: ${el.outerHTML.slice(0, 160)}`);
  return wrong.slice(0, 3);
}"""
# As many focusable elements as a keyboard reaches have a mark that one can see.
FOCUS = """() => [...document.querySelectorAll('a[href], button, input:not([type=hidden]), select, textarea, summary, [tabindex="0"]')]
  .filter((el) => el.checkVisibility() && !el.disabled)
  .filter((el) => { el.focus(); const style = getComputedStyle(el); return document.activeElement === el && (style.outlineStyle === 'none' || parseFloat(style.outlineWidth) < 2); })
  .map((el) => el.outerHTML.slice(0, 160)).slice(0, 5)"""
AXE = """(rules) => axe.run(document, rules.length ? { runOnly: { type: 'rule', values: rules } } : { runOnly: { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] } })
  .then((found) => found.violations.map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html.slice(0, 160) + ' ' + (node.any[0]?.message ?? '')).join(' | ')}`))"""


def wait_until_ready(page):
    """Wait until a page, which has scripts, takes keys as it will from now on."""
    page.wait_for_function(READY)


def press(page, *keys):
    """Press keys, one after the other, once the page is ready: before that they would be lost."""
    wait_until_ready(page)
    for key in keys:
        page.keyboard.press(key)


def type_text(page, text):
    """Type a text once the page is ready."""
    wait_until_ready(page)
    page.keyboard.type(text)


@cache
def axe_source():
    """The script of axe-core."""
    return (VENDORED / "axe.min.js").read_text("utf-8")


def find_violations(page, *rules):
    """What axe-core has to say against a page as it is shown; only some rules, if any are named."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(axe_source())
    return page.evaluate(AXE, list(rules))


def list_addresses(known):
    """An address of every view; `known` has the parts of those that need some, by the view's path.

    A view that is not among them is left out: an empty memory has none of them.
    """
    addresses = {}
    for path in VIEWS:
        if "{" not in path:
            addresses[path] = path
        elif path in known:
            addresses[path] = path.format(**known[path])
    return addresses


def know_views(memory_id, *, turn, run, session, number=0, root="", file=""):
    """The parts of the addresses of all views that need some."""
    name = name_part(session)
    known = {
        "/memory/{id}": {"id": memory_id},
        "/turn/{event}": {"event": turn},
        "/turn/{event}/gates": {"event": turn},
        "/nights/{run}": {"run": run},
        "/sessions/{id}": {"id": name},
        "/sessions/{id}/{number}": {"id": name, "number": number},
    }
    if file:
        known["/code/{root}/{path}"] = {"root": name_part(root), "path": name_part(file)}
    return known
