"""The web application: the pages of `pages/`, made into routes.

A request is checked (`security`), its view or action is run with a `Mind` in a thread, so that the
event loop never waits for a store, and what came of it is rendered. A view's address answers as
JSON with `.json` behind it, or for who accepts nothing else. After an action the browser is sent on
(303) to a page that shows what was done with a way to take it back: the same with and without
JavaScript.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext, suppress
from typing import Any, TypeAlias
from urllib.parse import parse_qs, urlsplit

from starlette.applications import Starlette
from starlette.background import BackgroundTasks
from starlette.concurrency import run_in_threadpool
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import reverie
from reverie import Mind
from reverie.core import config, errors
from reverie.core.errors import BadInput, ReverieError
from reverie.interfaces.json_values import to_json_values
from reverie.interfaces.key_watch import KeyWatch, has_home_key
from reverie.interfaces.web.live import LiveEvents, LiveSource
from reverie.interfaces.web.page import (
    Action,
    Done,
    Page,
    Values,
    View,
    WebRequest,
    changed_ids,
    quote,
)
from reverie.interfaces.web.pages import PAGES
from reverie.interfaces.web.rendering import ERROR_TEMPLATE, DoneNotes, PageFrame, Renderer
from reverie.interfaces.web.security import CSRF_FIELD, CSRF_HEADER, HEADERS, Refusal, WebSecurity
from reverie.interfaces.web.static_files import serve_static
from reverie.memory.memory_validation import resolve_space

# Gives the mind that a request may use, for as long as it is answered.
MindProvider: TypeAlias = Callable[[Request], AbstractContextManager[Mind]]
Endpoint: TypeAlias = Callable[[Request], Awaitable[Response]]

EVENTS = re.compile(r"[0-9]{1,18}(?:-[0-9]{1,18}){0,999}")
MAX_FORM_BYTES = 1_000_000
MIN_PACKED_BYTES = 600
# Of zlib. The map of a large home takes 12 ms with it, and 33 with the highest, for 2% less.
PACKING_LEVEL = 6
STATUS = (
    (errors.NotFound, 404),
    (errors.BadInput, 400),
    (errors.Unauthenticated, 401),
    (errors.AccessDenied, 403),
    (errors.Disabled, 403),
    (errors.Conflict, 409),
    (errors.HeldByLaw, 409),
    (errors.TryLater, 429),
    (errors.StoreBusy, 503),
    (errors.HomeLockedError, 423),
)


class LocalMinds:
    """One mind for all requests: that of a local home. It is closed when that is locked, and opened
    anew by the first request after it was unlocked.
    """

    def __init__(self, mind: Mind) -> None:
        self._mind: Mind | None = mind
        self._settings = mind.settings
        self._changed_at = config.config_modified_at(mind.settings)
        self._lock = threading.Lock()
        self._key_watch = KeyWatch(mind.settings.home, self.close)

    def __call__(self, _request: Request) -> AbstractContextManager[Mind]:
        """The mind, which stays open, with what config.toml says by now. HomeLockedError while the
        home is locked.
        """
        with self._lock:
            return nullcontext(self._open())

    def _open(self) -> Mind:
        if self._mind is not None and not has_home_key(self._settings.home):
            self._close()
        if self._mind is None:
            self._mind = reverie.open(settings=self._settings)
            self._key_watch = KeyWatch(self._settings.home, self.close)
        context = self._mind.context
        changed_at = config.config_modified_at(context.settings)
        if changed_at != self._changed_at:
            self._changed_at = changed_at
            # Somebody may be editing it by hand: what was chosen before holds.
            with suppress(BadInput):
                context.settings = config.load_settings(context.settings.home)
                self._settings = context.settings
        return self._mind

    def close(self) -> None:
        """Close the mind, if it is open."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        mind, self._mind = self._mind, None
        self._key_watch.stop()
        if mind is not None:
            mind.close()


def build_web_app(
    minds: MindProvider,
    security: WebSecurity,
    *,
    space: str = "",
    pages: tuple[Page, ...] = PAGES,
) -> Starlette:
    """The application; `space` is from where one looks unless an address says otherwise (default:
    that of the working directory).
    """
    return assemble_app(WebSite(minds, security, space or resolve_space(None), pages))


def assemble_app(site: WebSite) -> Starlette:
    """The application of a site, which ends its streams with it."""

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        yield
        site.live.stop()

    app = Starlette(routes=site.list_routes(), lifespan=lifespan)
    app.add_middleware(GZipMiddleware, minimum_size=MIN_PACKED_BYTES, compresslevel=PACKING_LEVEL)
    app.add_middleware(SecurityMiddleware, security=site.security, site=site)
    app.state.site = site
    return app


class OpenRequests:
    """How many requests are being answered, for work that can wait until there are none."""

    def __init__(self) -> None:
        self._count = 0
        self._changed = threading.Condition()

    def __enter__(self) -> None:
        with self._changed:
            self._count += 1

    def __exit__(self, *_: object) -> None:
        with self._changed:
            self._count -= 1
            self._changed.notify_all()

    def wait_for_none(self, seconds: float) -> bool:
        """Wait until there are none, at most so long; True if there are none."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._count, seconds)


class WebSite:
    """What all routes share."""

    def __init__(
        self,
        minds: MindProvider,
        security: WebSecurity,
        space: str,
        pages: tuple[Page, ...],
    ) -> None:
        self.minds, self.security, self.space, self.pages = minds, security, space, pages
        self.notes = DoneNotes()
        self.open_requests = OpenRequests()
        self.renderer = Renderer(pages, space)
        self.live: LiveSource = LiveEvents(minds)

    async def run(self, work: Callable[..., Response], *arguments: Any) -> Response:
        """What `work` answers, in a thread."""
        with self.open_requests:
            return await run_in_threadpool(work, *arguments)

    def list_routes(self) -> list[Route]:
        """Every route of every page, and those that all pages need."""
        routes = [
            Route("/static/{hash}/{name}", serve_static),
            Route("/live", self.live.serve),
            Route(UNDO.path, self._act(UNDO), methods=["POST"]),
        ]
        for page in self.pages:
            for one in page.routes:
                if isinstance(one, Action):
                    routes.append(Route(one.path, self._act(one, page), methods=["POST"]))
                    continue
                # "/.json" would be nobody's guess for the first page.
                twin = "/index.json" if one.path == "/" else f"{one.path}.json"
                routes.append(Route(twin, self._show(page, one, as_json=True)))
                routes.append(Route(one.path, self._show(page, one)))
        return routes

    def _show(self, page: Page, view: View, *, as_json: bool = False) -> Endpoint:
        shown_page = page if view.scripts is None else page._replace(scripts=view.scripts)

        async def show(request: Request) -> Response:
            return await self.run(answer, request)

        def answer(request: Request) -> Response:
            wants_json = as_json or accepts_json_alone(request)
            fields = parse_qs(request.url.query, keep_blank_values=True)
            try:
                asked = self.to_web_request(request, fields)._replace(is_page=not wants_json)
                with self.minds(request) as mind:
                    values = view.read(mind, asked)
                    afterwards = self._list_afterwards(request, view, asked, values)
                    if wants_json:
                        shown = to_json(values)
                    else:
                        frame = self.renderer.frame(mind, asked, shown_page)
                        shown = self._render(request, view.template, frame, values)
                        if self.renderer.is_stale(frame.seen):
                            afterwards.add_task(self._recount, request)
                shown.background = afterwards
                return shown
            except (ReverieError, Refusal) as err:
                return self.answer_error(request, err, wants_json)

        return show

    def _list_afterwards(
        self, request: Request, view: View, asked: WebRequest, values: Values
    ) -> BackgroundTasks:
        """What is to be done once the answer was sent."""
        tasks, after = BackgroundTasks(), view.after
        if after is not None:

            def work() -> None:
                with suppress(ReverieError), self.minds(request) as mind:
                    after(mind, asked, values)

            tasks.add_task(work)
        return tasks

    def _recount(self, request: Request) -> None:
        """Bring what the frame says up to date, after the page was sent."""
        with suppress(ReverieError), self.minds(request) as mind:
            self.renderer.recount(mind)

    def _act(self, action: Action, page: Page | None = None) -> Endpoint:
        async def act(request: Request) -> Response:
            wants_json = accepts_json_alone(request)
            try:
                fields = await read_form(request)
                token = request.headers.get(CSRF_HEADER) or "".join(fields.get(CSRF_FIELD, ())[-1:])
                self.security.check_change(request, token)
            except (ReverieError, Refusal) as err:
                return await self.run(self.answer_error, request, err, wants_json)
            return await self.run(answer, request, fields, wants_json)

        def answer(request: Request, fields: dict[str, list[str]], wants_json: bool) -> Response:
            try:
                asked = self.to_web_request(request, fields)
                with self.minds(request) as mind:
                    done = action.act(mind, asked)
                    if done.shown_once and not wants_json:
                        template, values = done.shown_once
                        frame = self.renderer.frame(mind, asked, page)
                        return self._render(request, template, frame, values)
            except (ReverieError, Refusal) as err:
                return self.answer_error(request, err, wants_json, fields)
            if wants_json:
                return JSONResponse(
                    {
                        "message": done.message,
                        "undo": done.undo or None,
                        "undo_path": done.undo_path or None,
                        "undo_fields": dict(done.back_fields),
                        **to_json_values(dict(done.details)),
                    }
                )
            place = own_address(done.location or asked.text("back"))
            return RedirectResponse(self.notes.add_to(place, done), 303)

        return act

    def to_web_request(self, request: Request, fields: dict[str, list[str]]) -> WebRequest:
        """What a view or action is given."""
        named = "".join(fields.get("space", ())[-1:]).strip()
        with self.minds(request) as mind:
            now = mind.context.now()
        address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        return WebRequest(
            resolve_space(named or self.space), now, dict(request.path_params), fields, address
        )

    def _render(
        self, request: Request, template: str, frame: PageFrame, values: Any, status: int = 200
    ) -> Response:
        frame = frame._replace(
            csrf=self.security.csrf_token(request),
            done=self.notes.find(request.query_params.get("done", "")),
        )
        html = self.renderer.render(template, frame, values)
        headers = {"Cache-Control": "no-store"}
        return Response(html, status, headers, "text/html; charset=utf-8")

    def answer_error(
        self,
        request: Request,
        err: Exception,
        wants_json: bool,
        fields: dict[str, list[str]] | None = None,
    ) -> Response:
        """An error as a page or as JSON."""
        is_refusal = isinstance(err, Refusal)
        status = next((code for kind, code in STATUS if isinstance(err, kind)), 500)
        status = 403 if is_refusal else status
        if wants_json:
            said = {"type": type(err).__name__, "message": str(err)}
            return JSONResponse({"error": said}, status)
        values = {
            "status": status,
            "message": str(err),
            "is_conflict": isinstance(err, errors.Conflict),
            "fields": {} if is_refusal else (fields or {}),
            "address": own_address(request.url.path),
            "again": own_address(
                request.url.path + (f"?{request.url.query}" if request.url.query else "")
            )
            if is_refusal and getattr(err, "is_stranger", False) and request.method == "GET"
            else "",
        }
        frame = self.renderer.bare_frame(self.space)
        if is_refusal:
            html = self.renderer.render("refused.html", frame, values)
            return Response(html, status, {"Cache-Control": "no-store"}, "text/html; charset=utf-8")
        return self._render(request, ERROR_TEMPLATE, frame, values, status)


def undo_events(mind: Mind, asked: WebRequest) -> Done:
    """Take back what some events changed, the last first; for any page."""
    given = asked.path["events"]
    if not EVENTS.fullmatch(given):
        raise BadInput(f"{given!r} are no numbers of events")
    force = asked.text("force") == "yes"
    # All or none: half of a decision is nobody's.
    with mind.store.transaction():
        undone = [mind.undo(int(event), force=force) for event in reversed(given.split("-"))]
    # Of a whole run of sleep the event changed nothing itself, and cannot be taken back again.
    again = [event for event in undone if mind.store.changes_of(event)]
    named = quote(mind, changed_ids(mind, undone))
    said = "Took it back" if len(undone) == 1 else f"Took {len(undone)} changes back"
    said += f": {named}." if named else "."
    return Done(said, again[-1] if again else 0, also=again[:-1])


UNDO = Action("/undo/{events}", undo_events)


class SecurityMiddleware:
    """Lets through who may ask, and puts the headers on every answer."""

    def __init__(self, app: ASGIApp, security: WebSecurity, site: WebSite) -> None:
        self._app, self._security, self._site = app, security, site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                raw = [(k.lower().encode(), v.encode()) for k, v in HEADERS.items()]
                message["headers"] = [*message.get("headers", ()), *raw]
            await send(message)

        request = Request(scope, receive)
        is_static = request.url.path.startswith("/static/")
        answer: ASGIApp = self._app
        try:
            if admitted := self._security.admit(request):
                answer = admitted
            elif not is_static:
                self._security.check(request)
        except Refusal as err:
            answer = self._site.answer_error(request, err, accepts_json_alone(request))
        await answer(scope, receive, send_with_headers)


def to_json(values: Any) -> Response:
    """Values as a JSON document."""
    body = json.dumps(to_json_values(values), ensure_ascii=False, allow_nan=False)
    headers = {"Cache-Control": "no-store"}
    return Response(body, 200, headers, "application/json; charset=utf-8")


def accepts_json_alone(request: Request) -> bool:
    """True if the client asks for JSON and not for a page."""
    accept = request.headers.get("accept", "")
    is_twin = request.url.path.endswith(".json")
    return is_twin or ("application/json" in accept and "text/html" not in accept)


def own_address(address: str) -> str:
    """An address of these pages; the first page for any other."""
    parts = urlsplit(address)
    is_own = address.startswith("/") and not address.startswith(("//", "/\\")) and not parts.netloc
    return address if is_own and "\\" not in address and address.isprintable() else "/"


async def read_form(request: Request) -> dict[str, list[str]]:
    """The fields of a form as browsers send it."""
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > MAX_FORM_BYTES:
            raise BadInput("That form is too large: a megabyte is the most")
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if body and kind != "application/x-www-form-urlencoded":
        raise BadInput(f"A form is application/x-www-form-urlencoded, not {kind or 'nothing'}")
    try:
        return parse_qs(body.decode("utf-8"), keep_blank_values=True, max_num_fields=2_000)
    except ValueError as err:
        raise BadInput("That form cannot be read") from err
