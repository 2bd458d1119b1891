"""A browser without a screen: requests to the pages of a mind, with cookie and forms."""

import re

from starlette.testclient import TestClient

from reverie.interfaces.web.security import LocalSecurity, make_token
from reverie.interfaces.web.web_app import LocalMinds, build_web_app
from reverie.testing import SPACE

KEY = bytes(range(32))
ADDRESS = "http://127.0.0.1:8378"
ORIGIN = {"origin": ADDRESS, "sec-fetch-site": "same-origin"}
NASTY = "<img src=x onerror=alert(1)>"


class Site(TestClient):
    """A client of the pages; `enter` gets the cookie."""

    now = staticmethod(lambda: 0.0)

    def enter(self):
        """Open the pages with a one-time token."""
        answer = self.get("/?token=" + make_token(KEY, self.now()))
        assert answer.status_code == 200, answer.text
        return self

    def csrf(self):
        """The token that stands in every form."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/guards").text)
        assert found
        return found[1]

    def post_form(self, path, *, headers=ORIGIN, follow=True, **fields):
        """Send a form as a page of this origin does."""
        fields.setdefault("csrf", self.csrf())
        return self.post(path, data=fields, headers=headers, follow_redirects=follow)

    def undo_shown(self, page):
        """Press the button of the toast."""
        found = re.search(r'class="toast".*?action="(/undo/[0-9-]+)"', page.text, re.DOTALL)
        assert found, page.text
        return self.post_form(found[1], back="/ask")


def open_site(mind, *, entered=True, space=SPACE):
    """A client of a mind's pages."""
    clock = mind.context.now
    app = build_web_app(LocalMinds(mind), LocalSecurity(KEY, clock), space=space)
    site = Site(app, base_url=ADDRESS)
    site.now = clock
    return site.enter() if entered else site


def remember_everything(mind):
    """Memories of which every field is hostile, a pair that waits, a turn, a night."""
    from reverie.core.model import Event

    heron = mind.remember("The staging server is called heron.", space=SPACE, tags=["ops"])
    nasty = mind.remember(
        f"Hostile {NASTY}",
        title=NASTY,
        space=SPACE,
        speaker=NASTY,
        session=NASTY,
        tags=["<b>"],
        files=[NASTY],
        details={"heard_from": NASTY, NASTY: NASTY},
        triggers=[NASTY],
        provenance="untrusted",
    )
    older = mind.remember("We deploy on Fridays.", space=SPACE, provenance="user_stated")
    newer = mind.remember("We do not deploy on Fridays.", space=SPACE, provenance="user_stated")
    mind.link(newer.id, older.id, "contradicts")
    mind.remember(
        "Never force-push to main", space=SPACE, kind="negative", provenance="user_stated"
    )
    mind.remember("Use tabs.", space=SPACE, provenance="inferred")
    said = [{"role": "user", "text": f"deploy to staging {NASTY}"}]
    given = {"given": [heron.id, nasty.id, "mem_gone"], "why": [["words 3.0"], [NASTY], []]}
    payload = {"messages": said, "first": 0, "waited": 0.012, **given}
    mind.store.append([Event("turn", SPACE, mind.context.now(), NASTY, payload)])
    return {"heron": heron, "nasty": nasty, "older": older, "newer": newer}
