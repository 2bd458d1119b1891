# mypy: no-check-untyped-defs
"""A browser without a screen for the pages of a team's server."""

import re

import httpx


class PageClient(httpx.Client):
    """Signs in, opens pages, sends their forms."""

    def __init__(self, url):
        super().__init__(base_url=url, timeout=120, follow_redirects=True)
        self.own = {"Origin": url, "Sec-Fetch-Site": "same-origin"}  # as a form here is sent

    def sign_in(self, token, next="/ask"):
        """Paste a key."""
        said = self.post("/sign-in", data={"key": token, "next": next}, headers=self.own)
        assert said.status_code == 200, said.text
        return self

    def csrf(self):
        """The token that stands in every form."""
        found = re.search(r'name="csrf" value="([^"]+)"', self.get("/ask").text)
        assert found
        return found[1]

    def post_form(self, path, *, headers=None, **fields):
        """Send a form as these pages do."""
        fields.setdefault("csrf", self.csrf())
        return self.post(path, data=fields, headers=headers or self.own)

    def act(self, path, **fields):
        """What an action did, which must have worked."""
        done = self.post_form(path, **fields)
        assert done.status_code == 200, done.text
        return done

    def undo_shown(self, page):
        """Press the button of the toast."""
        toast = re.search(r'class="toast".*?</form>', page.text, re.DOTALL)
        assert toast, page.text
        action = re.search(r'action="([^"]+)"', toast[0])
        fields = re.findall(r'name="([^"]+)" value="([^"]*)"', toast[0])
        return self.act(action[1], **{name: unescape(value) for name, value in fields})


def unescape(text):
    """What an attribute means."""
    from html import unescape

    return unescape(text)
