"""The verbs of members and administrators, as pages call them: with the checks of the API."""

from __future__ import annotations

from typing import Any, cast

from reverie import Mind
from reverie.access import AccessControl, Caller, Right
from reverie.core.errors import AccessDenied
from reverie.interfaces.server.caller_mind import CallerContext
from reverie.interfaces.server.member_routes import MEMBER_ROUTES, check_member_key
from reverie.interfaces.server.member_verbs import MemberRequest
from reverie.interfaces.server.reader_values import with_reader_spaces
from reverie.interfaces.server.space_names import to_server_space
from reverie.interfaces.server.verb_requests import with_server_spaces
from reverie.interfaces.web.page import Action, View, WebRequest
from reverie.storage.postgres.connection import EVERYTHING

ROWS = {row.name: row for row in MEMBER_ROUTES}


def find_context(mind: Mind) -> CallerContext:
    """What the verbs of this request share."""
    return cast("CallerContext", mind.context)


def find_caller(mind: Mind) -> Caller:
    """Who asks."""
    return find_context(mind).caller


def find_control(mind: Mind) -> AccessControl:
    """Who may what."""
    return find_context(mind).deployment.access


def call_member(mind: Mind, verb: str, /, **arguments: Any) -> Any:
    """What a verb of `member_routes` answers this caller, as the API would; spaces are named as the
    caller knows them, and are the server's in the answer.
    """
    context, row = find_context(mind), ROWS[verb]
    deployment, caller = context.deployment, context.caller
    check_member_key(caller, row)
    whole = deployment.database.store(caller.tenant, readable=EVERYTHING, writable=EVERYTHING)
    asked = MemberRequest(deployment.access, caller, deployment.now(), whole)
    return row.verb(asked, **with_server_spaces(arguments, caller))


def show_reader(view: View) -> View:
    """The view with the reader's names of spaces, in what is asked and in what is shown."""

    def read(mind: Mind, asked: WebRequest) -> Any:
        root = find_caller(mind).private_root
        return with_reader_spaces(view.read(mind, to_inner(asked, root)), root)

    return view._replace(read=read)


def let_reader(action: Action) -> Action:
    """The action with the server's names of spaces, for who may write anything at all."""

    def act(mind: Mind, asked: WebRequest) -> Any:
        caller = find_caller(mind)
        if caller.scope.right < Right.WRITE:
            raise AccessDenied(
                "You are signed in with a key that may only read. Sign in with another one."
            )
        return action.act(mind, to_inner(asked, caller.private_root))

    return action._replace(act=act)


def to_inner(asked: WebRequest, private_root: str) -> WebRequest:
    """What is asked, with the space as the server names it."""
    return asked._replace(space=to_server_space(asked.space, private_root))
