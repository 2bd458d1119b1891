# mypy: no-check-untyped-defs
"""The verbs over HTTP, with real clients, a real server and a real database."""

import pytest

from reverie.access import KeyScope, Right


def test_what_is_remembered_is_recalled_by_its_owner_alone(team):
    """A private memory is nobody else's: not by search, not by id, not in a count."""
    ann, ben = team.hire("ann"), team.hire("ben")
    kept = ann("remember", text="The staging server is called heron.", space="me/demo")
    assert kept["space"] == "me/demo"
    hits = ann("recall", query="which host is staging?", space="me/demo")
    assert [hit["id"] for hit in hits] == [kept["id"]]
    assert [] == ben("recall", query="which host is staging?", space="me/demo")
    assert [] == ben("get", ids=[kept["id"]])
    assert ben("stats")["memories"] == 0
    assert ben.ask("explain", id=kept["id"]).status_code == 404
    assert ben.ask("forget", ids=[kept["id"]]).status_code == 404


@pytest.mark.proves("X64")
def test_a_colleagues_memory_counts_as_others_words_until_the_space_is_trusted(team):
    """It is stamped by the server with who wrote it, whatever a client says; what would command is
    a note without triggers, for every reader but its writer. Trust given later holds for what was
    written before.
    """
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo")
    rule = "Never deploy on a Friday."
    kept = ann(
        "remember",
        text=rule,
        kind="negative",
        provenance="user_stated",
        triggers=["tool:Bash(deploy*)"],
        space="demo",
        details={"writer": {"user": "boss"}},
    )
    assert (kept["kind"], kept["details"]["writer"]["user"]) == ("negative", "ann")
    (seen,) = ben("recall", query="deploy on Friday", space="demo")
    memory = seen["memory"]
    assert (memory["provenance"], memory["kind"], memory["triggers"]) == ("untrusted", "note", [])
    assert (memory["trust"], memory["details"]["heard_from"]) == (0.3, "ann")
    assert [] == ben("warnings", tool="Bash", arguments={"command": "deploy now"}, space="demo")
    assert ann("warnings", tool="Bash", arguments={"command": "deploy now"}, space="demo")

    ben("spaces/trust", space="demo")
    assert ben("get", ids=kept["id"])[0]["kind"] == "negative"
    assert ben("warnings", tool="Bash", arguments={"command": "deploy now"}, space="demo")


def test_a_linked_space_is_read_together_with_ones_own(team):
    """Who recalls in their own project reads the shared one that it is linked to."""
    ann, ben = team.hire("ann"), team.hire("ben")
    ann("spaces/share", space="me/demo", target="demo")
    ann("remember", text="The staging server is called heron.", space="demo")
    team.grant("demo", Right.READ, user="ben")
    assert [] == ben("recall", query="staging server", space="me/demo")
    ben("spaces/link", space="me/demo", target="demo")
    (found,) = ben("recall", query="staging server", space="me/demo")
    assert found["memory"]["space"] == "demo"
    assert ben.ask("remember", text="It is heron.", space="demo").status_code == 403
    assert ben("whoami")["links"] == [{"space": "me/demo", "target": "demo"}]


def test_reading_a_space_that_one_may_only_read_needs_no_right_to_write(team):
    """What reading counts is left out; what a use changes on purpose is refused."""
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo", Right.WRITE, user="ann")
    team.grant("demo", Right.READ, user="ben")
    kept = ann("remember", text="The staging server is called heron.", space="demo")
    read = ben("retrieve", ids=[kept["id"]], space="demo")
    assert [memory["id"] for memory in read["memories"]] == [kept["id"]]
    for verb, arguments in (
        ("revise", {"id": kept["id"], "text": "It is called stork."}),
        ("forget", {"ids": [kept["id"]]}),
        ("feedback", {"id": kept["id"], "helpful": False}),
        ("tag", {"id": kept["id"], "add": ["mine"]}),
        ("link", {"src": kept["id"], "dst": kept["id"]}),
    ):
        assert ben.ask(verb, **arguments).status_code in (400, 403), verb
    assert ann("get", ids=kept["id"])[0] == kept


def test_an_edit_keeps_who_wrote_it(team):
    """A colleague who may write may put it right; it stays its writer's, and counts as others' words
    for the writer too, until they word it anew or trust the space.
    """
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo")
    kept = ann("remember", text="The staging server is called heron.", space="demo")
    ben("revise", id=kept["id"], text="The staging server is called stork.", details={"a": 1})
    (now,) = ann("get", ids=kept["id"])
    assert (now["text"], now["details"]["writer"]["user"]) == (
        "The staging server is called stork.",
        "ann",
    )
    assert (now["provenance"], now["details"]["heard_from"]) == ("untrusted", "ben")
    ann("revise", id=kept["id"], text="The staging server is called ibis.")
    assert ann("get", ids=kept["id"])[0]["provenance"] == "observed"


def test_a_colleagues_old_wording_is_marked_in_the_history(team):
    """As others' words, also where the memory is one's own again; one's own wordings are not."""
    ann, ben = team.hire("ann"), team.hire("ben")
    team.grant("demo")
    kept = ann("remember", text="The staging server is called heron.", space="demo")
    ben("revise", id=kept["id"], text="Always run the installer first.")
    ann("revise", id=kept["id"], text="The staging server is called ibis.")
    own, others = (
        one["before"] for one in ann("history", id=kept["id"]) if "text" in one["before"]
    )
    assert own["text"] == "The staging server is called heron."
    assert own.get("provenance") is None
    assert (others["text"], others["provenance"]) == (
        "Always run the installer first.",
        "untrusted",
    )
    assert others["details"]["heard_from"] == "ben"
    marks = [one["before"]["provenance"] for one in ben("history", id=kept["id"])[1:]]
    assert set(marks) == {"untrusted"}


def test_nobody_erases_a_colleagues_memory_by_moving_it(team):
    """Out of a shared space it goes by its writer or who administers the space; what is on hold
    goes nowhere.
    """
    ann, ben, boss = team.hire("ann"), team.hire("ben"), team.client(team.founded.key.token)
    team.grant("demo")
    kept = ann("remember", text="The staging server is called heron.", space="demo")
    assert ben.ask("revise", id=kept["id"], space="me").status_code == 403
    boss("holds/place", kind="space", subject="demo", reason="case 7")
    assert ann.ask("revise", id=kept["id"], space="me").status_code == 409
    assert [one["space"] for one in boss("get", ids=kept["id"])] == ["demo"]


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({}, "text"),
        ({"text": 3}, "text"),
        ({"text": "x", "tags": "ops"}, "tags"),
        ({"text": "x", "tags": ["ops", 1]}, "tags[1]"),
        ({"text": "x", "txt": "y"}, "txt"),
        ({"text": "x", "salience": True}, "salience"),
    ],
)
def test_a_wrong_argument_is_named(team, arguments, field):
    """A 400 names the argument that is wrong, and says what it must be."""
    ann = team.client(team.founded.key.token)
    refused = ann.ask("remember", **arguments)
    assert (refused.status_code, refused.json()["field"]) == (400, field)
    assert refused.headers["content-type"] == "application/problem+json"


def test_who_does_not_sign_in_is_told_how(team):
    """A wrong key, another tenant's and none at all are refused alike; the challenge names where
    tokens come from.
    """
    team.hire("ann")
    for headers in ({}, {"Authorization": "Bearer rv_acme_aaaaaaaa_" + "a" * 32}):
        refused = team.client().post("/v1/recall", json={"query": "x"}, headers=headers)
        assert refused.status_code == 401
        assert "resource_metadata=" in refused.headers["www-authenticate"]


def test_a_narrowed_key_does_what_it_may(team):
    """A key for reading one space writes nothing and reads nothing else."""
    team.grant("demo")
    scope = KeyScope(spaces=("demo",), right=Right.READ, verbs=("recall",))
    ci = team.hire("ci")
    ci("remember", text="The staging server is called heron.", space="demo")
    narrow = team.client(team.issue("ci", scope=scope))
    assert narrow("recall", query="staging", space="demo")
    assert narrow.ask("recall", query="staging", space="me").status_code == 403
    assert narrow.ask("remember", text="x", space="demo").status_code == 403
    assert narrow.ask("browse", space="demo").status_code == 403


def test_what_is_no_route_and_what_is_too_large_is_a_problem_too(team):
    """Whatever is refused is refused in the same form."""
    ann = team.client(team.founded.key.token)
    assert ann.get("/v1/recall").status_code == 405
    assert ann.post("/v1/nothing").json()["type"] == "urn:reverie:problem:no-such-route"
    assert ann.post("/v1/recall", content=b"[1]").status_code == 400
    assert ann.post("/v1/recall", content=b"{").status_code == 400
    limit = team.deployment.limits.body_bytes
    assert ann.post("/v1/remember", content=b" " * (limit + 1)).status_code == 413


def test_a_key_that_only_reads_is_told_so(team):
    """What it cannot do is refused, not answered as if it were done."""
    ann = team.hire("ann", scope=KeyScope(right=Right.READ))
    said = {"verb": "turn", "payload": {"text": "x"}}
    assert ann.post("/v1/record", json=said).status_code == 403


def test_a_narrowed_key_manages_nothing(team):
    """It tells who it is and what there is; what it is refused stays as it was."""
    team.grant("demo")
    whole = team.hire("ann")
    whole("spaces/link", space="me/demo", target="demo")
    reading = team.client(whole("keys/issue", right="read")["token"])
    writing = team.client(whole("keys/issue", right="write")["token"])
    of_demo = team.client(whole("keys/issue", spaces=["demo"])["token"])
    prefix = whole("whoami")["key"]
    for narrow in (reading, writing):
        for verb, arguments in (
            ("keys/issue", {}),
            ("keys/revoke", {"prefix": prefix}),
            ("spaces/unlink", {"space": "me/demo", "target": "demo"}),
            ("spaces/trust", {"space": "demo"}),
            ("spaces/share", {"space": "me/shop", "target": "shop"}),
        ):
            assert narrow.ask(verb, **arguments).status_code == 403, verb
        assert narrow("whoami")["links"] == [{"space": "me/demo", "target": "demo"}]
        assert len(narrow("keys")) == 4
    assert of_demo.ask("keys/revoke", prefix=prefix).status_code == 403
    assert whole("whoami")["key"] == prefix


def test_a_key_for_spaces_of_ones_own(team):
    """They are named as everywhere: `me/demo`."""
    ann = team.hire("ann")
    token = ann("keys/issue", spaces=["me/demo"])["token"]
    narrow = team.client(token)
    assert narrow("remember", text="The staging server is called heron.", space="me/demo")
    assert narrow.ask("browse", space="me/other").status_code == 403


def test_a_made_up_method_makes_no_new_metric(team):
    """Anybody may send one: the metrics keep one label for all of them."""
    client = team.client()
    for name in ("BREW", "STEEP"):
        assert client.request(name, "/v1/recall").status_code == 405
    told = client.get("/metrics").text
    assert 'method="other"' in told and "BREW" not in told
