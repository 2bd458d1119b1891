"""Bundles: what is written is what the format says, and comes back."""

import json

import pytest
from jsonschema import Draft202012Validator

from reverie.core.errors import BadInput
from reverie.core.model import Filter
from reverie.porting import importers
from reverie.porting.bundles import BUNDLE_NAMES, choose_bundle
from tests.support.helpers import run_command

# What the schema of MIF 2.0 (mif-tools 0.2.2) asks of a document and of a memory.
MIF_SCHEMA = {
    "type": "object",
    "required": ["mif_version", "memories"],
    "properties": {
        "mif_version": {"type": "string", "pattern": "^2\\."},
        "generator": {"type": "object", "required": ["name", "version"]},
        "memories": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "content", "created_at"],
                "properties": {
                    "id": {"type": "string", "format": "uuid"},
                    "content": {"type": "string"},
                    "memory_type": {"type": "string"},
                    "created_at": {"type": "string", "format": "date-time"},
                    "updated_at": {"type": "string", "format": "date-time"},
                    "tags": {"type": "array", "items": {"type": "string"}},
                    "metadata": {"type": "object"},
                    "source": {"type": "object"},
                    "external_id": {"type": ["string", "null"]},
                },
            },
        },
        "vendor_extensions": {"type": "object"},
    },
}
# What `mif convert … --to shodh` of mif-tools 0.2.2 made of an export of mem0.
WRITTEN_BY_MIF_TOOLS = {
    "mif_version": "2.0",
    "memories": [
        {
            "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "content": "Is allergic to peanuts",
            "created_at": "2026-02-26T07:08:17+00:00",
            "metadata": {"source": "chat"},
            "source": {"source_type": "mem0"},
            "external_id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
        },
        {
            "id": "992db2ae-06d9-49e5-8b3e-585ef9b85b8e",
            "content": "Prefers morning meetings",
            "created_at": "2026-02-26T07:08:17+00:00",
            "source": {"source_type": "mem0"},
            "related_memory_ids": ["892db2ae-06d9-49e5-8b3e-585ef9b85b8e"],
        },
        {"id": "broken", "content": None},
    ],
    "generator": {"name": "mem0-import", "version": "1.0"},
    "export_meta": {"user_id": "ann"},
}


def test_a_document_of_ours_keeps_to_the_format_and_comes_back(mind, tmp_path):
    """Memories that count, their links, tags and times; not what was put away."""
    one = mind.remember("The cache lives on heron.", space="me/p", kind="fact", tags=["ops"])
    two = mind.remember("We chose heron for its disks.", space="me/p", kind="decision", title="Why")
    gone = mind.remember("Forget me.", space="me/p")
    mind.link(one.id, two.id, "relates_to", 0.75)
    mind.forget(gone.id)
    path = tmp_path / "memories.mif.json"
    path.write_text("".join(choose_bundle("mif").write(mind.data.export(log=False))))
    document = json.loads(path.read_text())
    Draft202012Validator(MIF_SCHEMA).validate(document)
    assert {one["content"] for one in document["memories"]} == {
        "The cache lives on heron.",
        "We chose heron for its disks.",
    }
    assert importers.choose_format(path).name == "mif"
    done = mind.data.import_from(path, space="me/q", trusted=True)
    assert (done.plan.kinds, done.plan.links, done.plan.bad) == ({"fact": 1, "decision": 1}, 1, ())
    back = {one.text: one for one in mind.store.browse(Filter(spaces=("me/q",), limit=10))}
    assert back["The cache lives on heron."].tags == ("ops",)
    assert back["We chose heron for its disks."].title == "Why"
    assert back["We chose heron for its disks."].at == pytest.approx(two.at, abs=1e-3)
    assert mind.data.import_from(path, space="me/q", trusted=True).event == 0


def test_what_its_own_tools_wrote_is_read(mind, tmp_path):
    """Relations become links, and a broken memory loses no other."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(WRITTEN_BY_MIF_TOOLS, indent=2))
    done = mind.data.import_from(path, space="me/p", trusted=True)
    assert (done.system, done.plan.kinds, done.plan.links) == ("mif", {"fact": 2}, 1)
    assert [one.where for one in done.plan.bad] == ["x.json, memory 3"]


def test_another_version_or_format_ends_with_a_sentence(mind, tmp_path):
    """Nothing of it is taken in."""
    path = tmp_path / "x.json"
    path.write_text('{"mif_version": "3.0", "memories": []}')
    done = mind.data.import_from(path, space="me/p", trusted=True)
    assert [one.why for one in done.plan.bad] == ["its version is '3.0'; known is 2"]
    with pytest.raises(BadInput, match=", ".join(BUNDLE_NAMES)):
        choose_bundle("omi")


def test_the_command_writes_each_format(tmp_path):
    """To a file or stdout; the default is our own, line by line."""
    home = ("--home", str(tmp_path / "home"))
    run_command("remember", "The cache lives on heron.", "--space", "me/p", *home)
    file = tmp_path / "out.json"
    run_command("data", "export", str(file), "--format", "mif", *home)
    assert json.loads(file.read_text())["memories"][0]["content"] == "The cache lives on heron."
    lines = run_command("data", "export", *home).stdout.splitlines()
    assert json.loads(lines[0])["type"] == "reverie"
    assert "is not one of" in run_command("data", "export", "--format", "x", *home, code=2).stderr
