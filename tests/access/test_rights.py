"""Rights against a plain model: whoever may do what is listed, space by space."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from reverie.access.callers import Caller
from reverie.access.rights import (
    NOTHING,
    Rights,
    check_shared,
    effective_rights,
    escape_regex,
    spaces_read_from,
    spaces_regex,
)
from reverie.core.errors import AccessDenied, BadInput
from reverie.storage.access_records import ALL_SHARED, Grant, KeyScope, Right, SpaceLink, SpaceTrust

USERS = ("ann", "bob", "an")
TEAMS = ("web", "data")
SPACES = (
    "~ann",
    "~ann/demo",
    "~an",
    "~bob/x/y",
    "demo",
    "demo/api",
    "demo/api/s1",
    "demonstration",
    "demo.api",
    "platform",
    "platform/api",
    "a+b(c|d)",
    "a+b(c|d)/^$",
    "aab",
)
rights = st.sampled_from(Right)
grants = st.lists(
    st.one_of(
        st.builds(
            Grant,
            space=st.sampled_from((*SPACES, ALL_SHARED)),
            kind=st.just("user"),
            grantee=st.sampled_from(USERS),
            right=rights,
        ),
        st.builds(
            Grant,
            space=st.sampled_from((*SPACES, ALL_SHARED)),
            kind=st.just("team"),
            grantee=st.sampled_from(TEAMS),
            right=rights,
        ),
        st.builds(Grant, space=st.sampled_from(SPACES), kind=st.just("everyone"), right=rights),
    ),
    max_size=6,
)
members = st.fixed_dictionaries({team: st.frozensets(st.sampled_from(USERS)) for team in TEAMS})
scopes = st.builds(
    KeyScope,
    spaces=st.lists(st.sampled_from((*SPACES, ALL_SHARED)), max_size=3).map(tuple),
    right=rights,
)


def is_below(space, prefix):
    """The plain rule: a path begins with another."""
    parts, wanted = space.split("/"), prefix.split("/")
    return parts[: len(wanted)] == wanted


def modelled(user, right, space, given, teams):
    """Whether a user may, by walking over everything that was granted."""
    if space.startswith("~"):
        return is_below(space, "~" + user)
    return any(
        grant.right >= right
        and not grant.space.startswith("~")
        and (grant.space == ALL_SHARED or is_below(space, grant.space))
        and (
            grant.kind == "everyone"
            or (grant.kind == "user" and grant.grantee == user)
            or (grant.kind == "team" and user in teams[grant.grantee])
        )
        for grant in given
    )


def rights_of(user, given, teams, **more):
    return effective_rights(user, given, [t for t, users in teams.items() if user in users], **more)


@given(given=grants, teams=members, user=st.sampled_from(USERS))
def test_rights_are_those_of_the_model(given, teams, user):
    """For every user, right and space: `may`, and the patterns of row security, as the model."""
    held = rights_of(user, given, teams)
    for space in SPACES:
        for right in Right:
            assert held.may(right, space) == modelled(user, right, space, given, teams)
        for pattern, right in (
            (held.readable_regex, Right.READ),
            (held.writable_regex, Right.WRITE),
        ):
            found = re.search(pattern, space) is not None
            assert found == modelled(user, right, space, given, teams), (pattern, space)


@given(given=grants, teams=members, user=st.sampled_from(USERS), scope=scopes)
def test_a_key_has_the_rights_of_its_user_within_its_scope(given, teams, user, scope):
    """Never more than its user has, and of that what the scope says."""
    held = rights_of(user, given, teams)
    narrow = held.narrowed(scope)
    for space in SPACES:
        for right in Right:
            within = not scope.spaces or any(
                (one == ALL_SHARED and not space.startswith("~"))
                or (one != ALL_SHARED and is_below(space, one))
                for one in scope.spaces
            )
            wanted = held.may(right, space) and within and right <= scope.right
            assert narrow.may(right, space) == wanted


@given(given=grants, teams=members)
def test_an_administrator_has_every_shared_space_and_no_private_one(given, teams):
    """Of others' private spaces they may not even read."""
    held = rights_of("boss", given, teams, is_admin=True)
    for space in SPACES:
        assert held.may(Right.ADMINISTER, space) == (not space.startswith("~"))


@given(
    given=grants,
    teams=members,
    links=st.lists(
        st.builds(
            SpaceLink,
            user=st.just("ann"),
            space=st.sampled_from(("~ann", "~ann/demo")),
            target=st.sampled_from([space for space in SPACES if space[0] != "~"]),
        )
    ),
    space=st.sampled_from(("~ann", "~ann/demo", "~ann/demo/s1", "~bob", "demo/api")),
)
def test_links_show_nothing_that_may_not_be_read(given, teams, links, space):
    """A recall reads its own space, ancestors and what is linked, and only what may be read."""
    held = rights_of("ann", given, teams)
    seen = spaces_read_from(space, links, held)
    assert len(seen) == len(set(seen))
    assert all(held.may(Right.READ, one) for one in seen)
    for link in links:
        if is_below(space, link.space) and held.may(Right.READ, link.target):
            assert link.target in seen


@given(text=st.text(max_size=20))
@example("a.b*c")
@example("\\d+[^/]")
def test_a_name_is_matched_as_it_stands(text):
    """Whatever a space is called, its pattern matches it and nothing else."""
    assert re.fullmatch(escape_regex(text), text)
    assert not re.fullmatch(escape_regex(text), text + "x")


def test_patterns():
    """As they are told to the database."""
    assert spaces_regex(["demo", "~ann"]) == "^(demo|~ann)(/|$)"
    assert spaces_regex([ALL_SHARED, "~ann"]) == "^([^~]|(~ann)(/|$))"
    assert spaces_regex([ALL_SHARED]) == "^[^~]"
    assert spaces_regex([]) == NOTHING == Rights().readable_regex
    assert Rights().prefixes(Right.READ) == ()


def test_only_the_highest_spaces_are_in_a_pattern():
    """What lies below one that is in it already is left out."""
    held = Rights((("demo", Right.READ), ("demo/api", Right.WRITE), ("d", Right.READ)))
    assert held.prefixes(Right.READ) == ("d", "demo")
    assert held.prefixes(Right.WRITE) == ("demo/api",)
    assert Rights((("*", Right.READ), ("demo", Right.READ))).prefixes(Right.READ) == ("*",)


def test_refusals_do_not_tell_what_there_is():
    """The same text for a space that is not shared with one, and for one that is not there."""
    held = Rights((("~ann", Right.ADMINISTER),))
    told = []
    for space in ("payroll", "nowhere"):
        with pytest.raises(AccessDenied) as err:
            held.check(Right.READ, space)
        told.append(str(err.value).replace(space, "…"))
    assert told[0] == told[1]


@pytest.mark.parametrize(
    "space",
    [
        "~ann",
        "~ann/x",
        "me",
        "me/x",
        "",
        "a//b",
        "/a",
        "a/",
        "a/*",
        "a b",
        "a\x00",
        "..",
        "a/.",
        "x/" * 40 + "x",
    ],
)
def test_what_is_private_cannot_be_shared(space):
    """Nor what is no space."""
    with pytest.raises(BadInput):
        check_shared(space)


def test_the_nearest_decision_of_trust_counts():
    """The space before its ancestors; of one space the reader's word before everyone's."""
    trusts = (
        SpaceTrust(space="demo"),
        SpaceTrust(space="demo/api", reader="ann", is_trusted=False),
        SpaceTrust(space="lab", is_trusted=False),
        SpaceTrust(space="lab", reader="ann"),
    )
    ann = Caller(tenant="t", user="ann", rights=Rights(), trusts=trusts)
    bob = Caller(tenant="t", user="bob", rights=Rights(), trusts=trusts)
    assert [ann.is_trusted(s) for s in ("demo", "demo/api/x", "lab", "web")] == [
        True,
        False,
        True,
        False,
    ]
    assert [bob.is_trusted(s) for s in ("demo", "demo/api/x", "lab")] == [True, True, False]
