"""What open pages are told: nothing that happens while one begins to listen is lost."""

import asyncio
import json
from contextlib import contextmanager, suppress

import pytest
from starlette.requests import Request
from starlette.responses import StreamingResponse

from reverie.core.model import Event
from reverie.interfaces.web.live import LiveEvents
from reverie.testing import SPACE


@pytest.mark.parametrize("place", [1, 2, 3, 4])
def test_what_happens_while_a_page_begins_to_listen_is_told(mind, place):
    """An event comes just before the page's stream looks into the store for the first, second, …
    time.
    """
    begin, looks = mind.store.last_event(), []

    @contextmanager
    def minds(_request):
        looks.append(1)
        if len(looks) == place:
            mind.store.append([Event("turn", SPACE, mind.context.now(), "s", {"messages": []})])
        yield mind

    query = f"after={begin}".encode()
    request = Request({"type": "http", "query_string": query, "headers": [], "method": "GET"})

    async def listen():
        live = LiveEvents(minds)
        answer = await live.serve(request)
        assert isinstance(answer, StreamingResponse)
        try:
            async for sent in answer.body_iterator:
                part = str(sent)
                if part.startswith("data: "):
                    return json.loads(part[6:])["verbs"]
        finally:
            live.stop()

    told = None
    with suppress(TimeoutError):
        told = asyncio.run(asyncio.wait_for(listen(), 60))
    assert told == ["turn"]
