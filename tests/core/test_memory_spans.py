# mypy: no-check-untyped-defs
"""Spans of an application's own provider of OpenTelemetry, in a process of its own: a provider can
be set once.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

HERON = "The staging server is called heron."

APPLICATION = """
import json, os, sys
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from reverie.testing import memory

exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
mind = memory()
with trace.get_tracer("app").start_as_current_span("answer a customer"):
{body}
mind.close()
spans = [
    {{
        "name": span.name,
        "said": {{key: list(v) if isinstance(v, tuple) else v for key, v in span.attributes.items()}},
        "parent": span.parent and span.parent.span_id,
        "id": span.context.span_id,
        "status": span.status.status_code.name,
        "why": span.status.description,
        "events": len(span.events),
    }}
    for span in exporter.get_finished_spans()
]
print(json.dumps(spans))
"""


def run_application(body, **env):
    """The spans of an application that does this with `mind`."""
    lines = "\n".join(f"    {line}" for line in body.strip().splitlines())
    done = subprocess.run(
        [sys.executable, "-c", APPLICATION.format(body=lines)],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "HOME": "/nonexistent", "PYTHONPATH": ":".join(sys.path), **env},
        cwd=Path(__file__).parent,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_verbs_have_spans_of_the_applications_provider():
    """Below the application's own span, one each, with ids and counts and no word."""
    spans = run_application(
        f"""
kept = mind.remember({HERON!r}, space="me/demo", session="s1")
mind.remind("Renew the certificate", when="2027-01-01", space="me/demo")
mind.settle()
assert mind.recall("which host is staging?", space="me/demo")
mind.recall("zebra crossing", space="me/other")
mind.revise(kept.id, text="The staging server is called osprey.")
mind.data.purge(kept.id)
"""
    )
    app = spans.pop()
    assert app["name"] == "answer a customer" and {one["parent"] for one in spans} >= {app["id"]}
    top = [one for one in spans if one["parent"] == app["id"]]
    assert [(one["said"]["reverie.verb"], one["name"]) for one in top] == [
        ("remember", "create_memory"),
        ("remind", "create_memory"),
        ("settle", "upsert_memory"),
        ("recall", "search_memory"),
        ("recall", "search_memory"),
        ("revise", "update_memory"),
        ("purge", "delete_memory"),
    ]
    kept, _, _, found, missed, revised, purged = (one["said"] for one in top)
    id = kept["gen_ai.memory.record.id"]
    assert kept["gen_ai.conversation.id"] == "s1" and kept["reverie.surface"] == "python"
    assert id in found["reverie.record.ids"] and revised["gen_ai.memory.record.id"] == id
    assert (found["reverie.gate.verdict"], missed["reverie.gate.verdict"]) == (
        "given",
        "nothing found",
    )
    assert missed["reverie.memory.abstained"] and missed["gen_ai.memory.record.count"] == 0
    assert purged["gen_ai.memory.record.count"] == 1
    assert all(word not in json.dumps(spans) for word in ("heron", "staging", "zebra", "osprey"))


def test_an_error_is_told_by_its_name_alone():
    """Its message may quote what somebody asked."""
    (span, _app) = run_application(
        """
try:
    mind.recall("my heron question", space="me/demo", mode="heron-mode")
except Exception:
    pass
"""
    )
    assert (span["status"], span["why"], span["events"]) == ("ERROR", None, 0)
    assert span["said"]["error.type"] == "BadInput" and "heron" not in json.dumps(span)


def test_contents_are_there_for_who_asks_without_secrets():
    """By the convention's own variable."""
    secret = "sk-ant-api03-" + "aB3dE5gH7jK9mN1p" * 5 + "-AA"
    kept, found, _app = run_application(
        f"""
mind.remember({HERON!r}, space="me/demo")
mind.recall("which host is staging? {secret}", space="me/demo")
""",
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true",
    )
    (record,) = json.loads(kept["said"]["gen_ai.memory.records"])
    assert record["content"] == HERON and record["metadata"]["kind"] == "fact"
    (again,) = json.loads(found["said"]["gen_ai.memory.records"])
    assert again["id"] == record["id"] and again["score"] > 0
    assert "which host is staging?" in found["said"]["gen_ai.memory.query.text"]
    assert "aB3dE5" not in json.dumps(found)


def test_a_turn_of_a_companion_says_what_was_given():
    """And to which conversation."""
    spans = run_application(
        f"""
kept = mind.remember({HERON!r}, space="me/demo")
with mind.companion(space="me/demo", session="s7") as companion:
    companion.turn([{{"role": "user", "content": "Which host is the staging server?"}}])
    companion.wait(120)
"""
    )
    (turn,) = [one for one in spans if one["said"].get("reverie.verb") == "turn"]
    assert turn["name"] == "search_memory" and turn["said"]["gen_ai.conversation.id"] == "s7"
    assert turn["said"]["reverie.gate.verdict"] == "given"


@pytest.mark.parametrize("setup", ["", "import opentelemetry.trace\n"])
def test_where_nobody_listens_nothing_is_loaded(tmp_path, setup):
    """Neither without OpenTelemetry, nor with its interface alone, as MCP's SDK brings it."""
    script = (
        f"{setup}import sys\nbefore = set(sys.modules)\nimport reverie\n"
        f"with reverie.open({str(tmp_path / 'memory.db')!r}) as mind:\n"
        "    mind.remember('heron', space='me/demo')\n"
        "    mind.recall('heron', space='me/demo', mode='words')\n"
        "print([m for m in set(sys.modules) - before if m.startswith('opentelemetry')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"REVERIE_HOME": str(tmp_path), "HOME": str(tmp_path)},
    )
    assert done.stdout.strip() == "[]"
