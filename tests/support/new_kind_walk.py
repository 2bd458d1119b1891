# mypy: no-check-untyped-defs
"""A memory of some kind goes through all that a memory goes through; each step holds it to the
columns of its kind's row.
"""

from pathlib import Path

from reverie.context_window.injection_block import render_block
from reverie.core import kinds
from reverie.core.model import visible_spaces
from reverie.core.trigger_patterns import context_of_tool_call
from reverie.llm.extraction_task import INSTRUCTIONS
from reverie.mirror.page_placement import kind_for_heading, list_headings
from reverie.retrieval import find_tool_warnings
from reverie.retrieval.relevance_gate import GateSignals, compute_fit_signals, read_turn
from reverie.testing import SPACE, Clock, make_conversation, memory

TEXT = "The heron garden wants basil and rice before noon."
QUESTION = "basil and rice in the heron garden"


def walk_kind(folder, name):
    """All steps, in one home and in a second one that imports the first."""
    clock, row = Clock(), kinds.kind_of(name)
    assert row.name == name and row.group in kinds.GROUPS and kinds.GROUPS[-1] == "Notes"
    with memory(folder / "one", now=clock) as mind:
        kept = mind.remember(TEXT, kind=name, space=SPACE, triggers=["tool:bake*"])
        mind.remember("Prod is eagle.", space=SPACE)
        mind.settle()
        assert (kept.kind, kept.text) == (name, TEXT)
        check_recall(mind, kept, row)
        check_blocks(mind, row, clock)
        check_turns(mind, kept, row, clock)
        check_mirror(mind, row)
        check_journal(mind, kept, row)
        mind.data.share(folder / "team.jsonl", space=SPACE, once="export")
        is_knowledge = row.type in ("semantic", "procedural")
        assert (TEXT in (folder / "team.jsonl").read_text()) == (row.shared and is_knowledge)
        for days in (1, 60):
            mind.sleep()
            clock.tick(days=days)
        mind.sleep()
        assert mind.explain(kept.id) and mind.data.verify() == []
        rows = list(mind.data.export())
    with memory(folder / "two", now=clock) as mind:
        assert not mind.data.import_(rows).bad
        assert [(name, TEXT)] == [(one.kind, one.text) for one in mind.store.get([kept.id])]
        mind.settle()
        mind.data.purge(kept.id)
        assert mind.store.get([kept.id]) == [] and mind.data.verify() == []


def check_recall(mind, kept, row):
    """Found by words, by its kind and by its type; what is found by request only if it is asked for."""

    def found(**more):
        return {hit.memory.id for hit in mind.recall(QUESTION, space=SPACE, **more)}

    assert (kept.id in found()) == (row.type != "working" and not row.by_request)
    assert {kept.id} == found(kinds=[row.name])
    assert kept.id in found(types=[row.type])


def check_blocks(mind, row, clock):
    """It stands under its heading, alone and beside another; what does not surface is not given."""
    own = mind.recall(QUESTION, space=SPACE, kinds=[row.name])
    for hits in (own, [*own, *mind.recall("eagle", space=SPACE, kinds=["fact"])]):
        text = render_block(hits, clock(), limit=5, budget=1_000).text
        assert f"{row.group}:" in text and TEXT in text
    with mind.companion(SPACE, session="s1") as companion:
        companion.turn(make_conversation(f"Let us make something of {QUESTION}"))
        assert companion.wait(120)
        given = companion.turn(make_conversation("What of the basil?"))
    assert row.surfaces or TEXT not in given.text


def check_turns(mind, kept, row, clock):
    """The gate counts it for the turns that it bears on, its trigger warns before a tool, and a
    model may choose it or not.
    """
    turn = read_turn("Let us make something.\nat bake(\nError: where is our basil?")
    signals = compute_fit_signals(turn, [kept], [GateSignals()])[0]
    named = (kinds.MAKING, kinds.TROUBLE, kinds.QUESTION)
    assert {one for one in named if signals[one]} == set(row.bears_on)
    scene = context_of_tool_call("bake", {"what": "bread"})
    warned = find_tool_warnings(mind.store, scene, visible_spaces(SPACE), clock())
    is_called = row.surfaces and row.type != "working"
    assert [kept.id] * is_called == [hit.memory.id for hit in warned]
    assert (f'"{row.name}"' in INSTRUCTIONS) == row.extracted


def check_mirror(mind, row):
    """A line on its page, and what somebody writes under its heading is of its group."""
    (report,) = mind.data.mirror(SPACE)
    pages = "\n".join(page.read_text() for page in Path(report.folder).rglob("*.md"))
    is_shown = row.on_pages and row.type != "working"
    assert not report.troubles and (TEXT in pages) == is_shown
    if not is_shown or row.type == "episodic":
        return
    page = Path(report.folder, "MEMORY.md")
    assert f"## {row.group}" in pages
    page.write_text(f"{page.read_text()}\n## {row.group}\n\n- Salt comes last\n")
    mind.data.mirror(SPACE)
    (salt,) = [one for one in mind.browse(space=SPACE) if one.text == "Salt comes last"]
    assert kinds.kind_of(salt.kind).group == row.group
    for heading in list_headings("MEMORY.md"):
        assert kinds.kind_of(kind_for_heading(heading)).group == heading


def check_journal(mind, kept, row):
    """The part of the day that its row names tells of it, and no other."""
    parts = [
        part
        for day in mind.episodes.journal(space=SPACE)
        for part in kinds.JOURNAL_PARTS
        if kept.id in {one.id for one in getattr(day, part)}
    ]
    assert parts == [row.journal] * bool(row.journal)
    told = {one.id for one in mind.episodes.browse(space=SPACE)}
    assert (kept.id in told) == (bool(row.journal) and row.type == "episodic")
