# mypy: no-check-untyped-defs
"""The mirror for every text and every order of edits: nothing a person or the program wrote is ever
lost.
"""

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from reverie.core.kinds import KINDS, kind_of
from reverie.core.model import Filter
from reverie.mirror.base_copy import BaseCopy, dump_base_copy, parse_base_copy
from reverie.mirror.markdown_escape import decode_item, encode_item
from reverie.mirror.page_blocks import PageItem, parse_mirror_page, render_item, split_keeping_ends
from reverie.mirror.page_placement import MAIN_HEADINGS, MAIN_PAGE, PageLine
from reverie.mirror.page_rendering import render_page
from reverie.mirror.three_way_merge import merge_page
from reverie.testing import SPACE, Clock, memory
from reverie.text.text_cleaning import clean_text

ID = "mem_" + "0" * 26
anything = st.text(st.characters(), max_size=80)
nasty = st.lists(
    st.one_of(
        anything,
        st.sampled_from(
            [
                "\n",
                "\n\n",
                "<!--",
                "-->",
                f"<!-- {ID} -->",
                "&lt;!--",
                "&amp;lt;!--",
                "&#10;",
                "&",
                "amp;",
                "# Facts\n",
                "- ",
                "```\n",
                "  ",
                "\t",
                "\r\n",
                "\u2028",
                "\x85",
                "\ufeff",
                "12:30 ",
                "<!-- reverie mirror me/demo MEMORY.md ",
            ]
        ),
    ),
    max_size=6,
).map("".join)
lines = st.dictionaries(
    st.integers(0, 999).map(lambda n: f"mem_{n:026}"),
    st.tuples(nasty.filter(str.strip).map(clean_text), st.sampled_from(MAIN_HEADINGS)).map(
        lambda pair: PageLine(*pair)
    ),
    max_size=8,
)
prose = st.lists(
    st.sampled_from(
        [
            "Free prose.",
            "",
            "# My own heading",
            "| a | b |",
            "> quoted",
            "1. one",
            "```",
            "<!-- a remark",
            "-->",
            "***",
            "Facts",
            "-",
        ]
    ),
    max_size=6,
)


@given(nasty)
@pytest.mark.proves("C87")
def test_every_text_comes_back_from_its_item(text):
    """What is written is what is read, whatever the text: no escape is ambiguous."""
    assume(text.strip())
    assert decode_item(encode_item(text)) == text


@given(nasty.filter(str.strip), st.sampled_from(["", "12:30"]))
@pytest.mark.proves("C87")
def test_a_text_is_one_item_and_cannot_pass_for_an_id(text, time):
    """No text ends its item, opens a heading or a fence, or brings an id of its own."""
    name = "memory/2025-10-09.md" if time else MAIN_PAGE
    heading = "What happened" if time else "Facts"
    page = parse_mirror_page(
        f"## {heading}\n\n{render_item(PageLine(text, heading, time), ID)}", name
    )

    assert [(item.marked, item.line) for item in page.items] == [
        (ID, PageLine(text, heading, time))
    ]
    assert len(page.blocks) == 3


@given(nasty, prose)
@pytest.mark.proves("C60")
def test_a_page_is_its_blocks(text, more):
    """Whatever stands in a file is read without losing a byte."""
    text = text + "\r\n".join(more)
    assert parse_mirror_page(text, MAIN_PAGE).text == text
    assert "".join(split_keeping_ends(text)) == text


@given(lines, lines)
@pytest.mark.proves("C87")
def test_a_rendered_page_equals_the_store_and_is_stable(before, after):
    """What is rendered is read back the same, and rendering again changes nothing."""
    first = render_page(parse_mirror_page("", MAIN_PAGE), SPACE, before)
    page = render_page(parse_mirror_page(first.text, MAIN_PAGE), SPACE, after)
    again = parse_mirror_page(page.text, MAIN_PAGE)

    assert {item.marked: item.line for item in again.items} == after
    assert render_page(again, SPACE, after).text == page.text
    assert not merge_page(after, again, after)


@given(lines, lines, prose, st.integers(0, 20))
def test_prose_stays_where_it_stood(before, after, own, place):
    """A person's own lines keep their order and their bytes, whatever the program writes around
    them.
    """
    typed = split_keeping_ends(render_page(parse_mirror_page("", MAIN_PAGE), SPACE, before).text)
    place = min(place, len(typed))
    own = [f"{line} ({number})" for number, line in enumerate(own) if line and line[0] not in "-`<"]
    text = "".join([*typed[:place], *(line + "\r\n" for line in own), *typed[place:]])
    page = parse_mirror_page(text, MAIN_PAGE)
    assume(len([item for item in page.items if item.marked]) == len(before))
    result = render_page(page, SPACE, after).text

    assert [line for line in split_keeping_ends(result) if re.search(r"\(\d\)\r\n$", line)] == [
        line + "\r\n" for line in own
    ]


@given(st.lists(lines, min_size=1, max_size=8))
def test_a_copy_knows_every_state_before(states):
    """The hidden copy gives back each state that was written, also after it was itself written down
    and read.
    """
    copy = BaseCopy()
    stamps = []
    for state in states:
        copy = copy.with_lines(state)
        stamps.append((copy.stamp, state))
    copy = parse_base_copy(dump_base_copy(copy))

    assert [copy.lines_at(stamp) for stamp, _ in stamps] == [state for _, state in stamps]


words = st.lists(
    st.sampled_from(
        ["heron", "osprey", "tea", "port 80", "Tuesday", "<!-- x -->", "a\nb", "&lt;!--"]
    ),
    min_size=1,
    max_size=4,
)


class Editing(RuleBasedStateMachine):
    """A person with an editor, which may be several states behind, and the program, at once; synced
    now and then.
    """

    @initialize(crlf=st.booleans())
    def begin(self, crlf):
        import tempfile

        self.folder = tempfile.TemporaryDirectory()
        self.clock = Clock()
        self.mind = memory(f"{self.folder.name}/home", now=self.clock, embedder="none")
        self.number = 0
        self.typed = {}  # what the person typed and saved → whether they deleted it since
        self.prose = []
        self.altered = set()  # what the program has written otherwise or let go of since
        self.mind.data.mirror(SPACE)
        self.path = self.mind.settings.mirror_root / SPACE / MAIN_PAGE
        if crlf:
            self.path.write_bytes(self.path.read_bytes().replace(b"\n", b"\r\n"))
        self.load()

    def load(self):
        """The person opens the page."""
        self.buffer = self.path.read_bytes().decode()

    def save(self, text):
        """An editor's atomic save."""
        half = self.path.with_name("MEMORY.md~")
        half.write_bytes(text.encode())
        half.replace(self.path)
        self.buffer = text

    def fresh(self, some):
        self.number += 1
        return f"{' '.join(some)} no {self.number}."

    def blocks(self):
        return list(parse_mirror_page(self.buffer, MAIN_PAGE).blocks)

    @property
    def alive(self):
        return self.mind.store.browse(Filter(spaces=(SPACE,), limit=1000))

    # The program

    @rule(some=words, kind=st.sampled_from(["fact", "preference", "event", "negative", "mine"]))
    def remember(self, some, kind):
        self.mind.remember(self.fresh(some), space=SPACE, kind=kind)

    @precondition(lambda self: self.alive)
    @rule(some=words, n=st.integers(0, 99), kind=st.sampled_from(["", "decision"]))
    def revise(self, some, n, kind):
        memory = self.alive[n % len(self.alive)]
        self.altered.add(memory.text)
        self.mind.revise(memory.id, text=self.fresh(some), **({"kind": kind} if kind else {}))

    @precondition(lambda self: self.alive)
    @rule(n=st.integers(0, 99))
    def let_go(self, n):
        memory = self.alive[n % len(self.alive)]
        self.altered.add(memory.text)
        self.mind.forget(memory.id, why="faded")

    # The person

    @rule()
    def look(self):
        self.load()

    @rule(some=words, under=st.sampled_from(["Facts", "Preferences"]), crlf=st.booleans())
    def type_a_line(self, some, under, crlf):
        text = self.fresh(some)
        item = "".join(
            f"{line}\n" for line in (f"- {encode_item(text)[0]}", *encode_item(text)[1:])
        )
        self.save(f"{self.buffer}\n## {under}\n\n{item}")
        self.typed[text] = True

    @rule(n=st.integers(0, 99), some=words)
    def retype_a_line(self, n, some):
        blocks = self.blocks()
        items = [
            i for i, block in enumerate(blocks) if isinstance(block, PageItem) and block.marked
        ]
        if not items:
            return
        at, text = items[n % len(items)], self.fresh(some)
        old = blocks[at]
        blocks[at] = old._replace(raw=render_item(old.line._replace(text=text), old.marked))
        self.typed.pop(old.line.text, None)
        self.save("".join(block.raw for block in blocks))
        self.typed[text] = True

    @rule(n=st.integers(0, 99))
    def delete_a_line(self, n):
        blocks = self.blocks()
        items = [i for i, block in enumerate(blocks) if isinstance(block, PageItem)]
        if not items:
            return
        gone = blocks.pop(items[n % len(items)])
        self.typed.pop(gone.line.text, None)
        self.save("".join(block.raw for block in blocks))

    @rule(n=st.integers(0, 99))
    def strip_an_id(self, n):
        blocks = self.blocks()
        items = [
            i for i, block in enumerate(blocks) if isinstance(block, PageItem) and block.marked
        ]
        if items:
            at = items[n % len(items)]
            blocks[at] = blocks[at]._replace(
                raw=blocks[at].raw.replace(f" <!-- {blocks[at].marked} -->", "")
            )
            self.save("".join(block.raw for block in blocks))

    @rule(n=st.integers(0, 99), shape=st.sampled_from(["1. ", "  - ", "10) "]))
    def reshape_a_line(self, n, shape):
        blocks = self.blocks()
        items = [
            i
            for i, block in enumerate(blocks)
            if isinstance(block, PageItem) and block.marked and block.raw.startswith("- ")
        ]
        if items:
            at = items[n % len(items)]
            blocks[at] = blocks[at]._replace(raw=shape + blocks[at].raw[2:])
            self.save("".join(block.raw for block in blocks))

    @rule(n=st.integers(0, 99))
    def copy_a_line_elsewhere(self, n):
        items = [block for block in self.blocks() if isinstance(block, PageItem) and block.marked]
        if items:
            ending = "" if self.buffer.endswith("\n") else "\n"
            self.save(f"{self.buffer}{ending}\n# My own\n\n{items[n % len(items)].raw}")

    @rule(n=st.integers(0, 99))
    def write_prose(self, n):
        self.number += 1
        line = f"Prose of mine {self.number}."
        where = split_keeping_ends(self.buffer)
        heads = [i for i, one in enumerate(where) if one.startswith("#")]
        at = heads[n % len(heads)] + 1
        self.save("".join([*where[:at], line + "\n", *where[at:]]))
        self.prose.append(line)

    @rule()
    def sync(self):
        """Whoever had a buffer open keeps it: its next save is some states behind."""
        text = self.path.read_bytes().decode()
        done = self.mind.data.mirror(SPACE, forget=True)
        assert [] == [trouble for one in done for trouble in one.troubles]
        self.check(text)

    def check(self, text):
        """File and store agree, and what the person has typed is there or in a history."""
        assert [] == self.mind.data.verify()
        page = self.path.read_bytes().decode()
        shown = {
            item.marked: item.line.text
            for item in parse_mirror_page(page, MAIN_PAGE).items
            if item.marked
        }
        assert shown == {m.id: m.text for m in self.alive if kind_of(m.kind).type != "episodic"}
        everything = set()
        for kept in self.mind.store.browse(Filter(spaces=(SPACE,), active=None, limit=1000)):
            everything |= {
                kept.text,
                *(
                    values["text"]
                    for record in self.mind.history(kept.id)
                    for values in (record.before, record.after)
                    if "text" in values
                ),
            }
        assert self.typed.keys() <= everything
        assert [line for line in text.splitlines() if line.startswith("Prose of mine")] == [
            line for line in page.splitlines() if line.startswith("Prose of mine")
        ]
        for block in parse_mirror_page(
            text, MAIN_PAGE
        ).items:  # the last word is the person's, unless the program came after it
            if block.line.text in self.typed and block.line.text not in self.altered:
                assert block.line.text in shown.values()

    def teardown(self):
        if hasattr(self, "mind"):
            self.sync()
            self.sync()
            self.mind.close()
            self.folder.cleanup()


@pytest.mark.proves("C60", "C87")
def test_no_edit_is_ever_lost():
    """Interleaved edits by a person, whose editor may be states behind, and by the program: after
    each sync file and

    store agree, the person's last word stands, everything that was typed is in the store or its
    history, and prose stands where it stood.
    """
    run_state_machine_as_test(Editing, settings=settings(max_examples=60, stateful_step_count=25))


def test_every_kind_has_a_place_or_none_on_purpose():
    """Only the scratch pad is not mirrored."""
    assert {"Now"} == {row.group for row in KINDS.values()} - set(MAIN_HEADINGS)
