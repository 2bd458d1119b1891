# mypy: no-check-untyped-defs
"""Anchors under whatever happens to code: none is silently wrong, and restoring the code restores
them.
"""

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.code.code_mentions import find_code_words
from reverie.code.definition_digest import compare_definitions
from reverie.core.code_anchors import (
    CodeAnchor,
    anchor_to_row,
    anchors_in,
    details_with_anchors,
    outdated_notice,
)
from reverie.testing import SPACE, make_memory, memory

pytestmark = pytest.mark.proves("B112")


FILES, NAMES, BODIES = ("a.py", "b.py", "c/d.py"), ("load", "save", "merge", "total"), range(6)
LAYOUT = ("", "    # why\n", "\n\n")


def body(number):
    """Bodies that are not like one another."""
    words = (
        "alpha beta gamma",
        "delta epsilon",
        "zeta eta theta iota",
        "kappa",
        "lam mu nu",
        "xi omicron",
    )[number]
    lines = [f"    {word} = fetch_{word}(source, {number})\n" for word in words.split()]
    return "".join(lines) + f"    return {number}\n"


def text_of(definitions):
    return "import os\n\n" + "\n\n".join(
        f"def {name}(source):\n{LAYOUT[layout]}{body(number)}"
        for name, (number, layout) in sorted(definitions.items())
    )


definitions = st.dictionaries(
    st.sampled_from(NAMES), st.tuples(st.sampled_from(BODIES), st.integers(0, 2)), max_size=4
)
trees = st.dictionaries(st.sampled_from(FILES), definitions, max_size=3)


def put(root, tree, moment):
    """Make the folder hold this tree and nothing else."""
    for name in FILES:
        place = root / name
        place.unlink(missing_ok=True)
        if name in tree:
            place.parent.mkdir(exist_ok=True)
            place.write_text(text_of(tree[name]))
            os.utime(place, (moment, moment))


def fold(tree):
    """(file, name) → number of the body."""
    return {
        (path, name): number for path, some in tree.items() for name, (number, _) in some.items()
    }


@given(
    first=trees.filter(lambda tree: any(tree.values())),
    versions=st.lists(trees, min_size=1, max_size=3),
)
def test_no_anchor_is_silently_wrong(first, versions):
    """After any change an anchor that holds stands at a definition with the body that was spoken
    of; one whose body is where it was holds; and when everything is as it was at first, all of them
    hold where they began.
    """
    with tempfile.TemporaryDirectory() as place, memory(embedder="none") as mind:
        root = Path(place).resolve()
        put(root, first, 1_700_000_000)
        mind.code.index(root)
        said = [
            (
                key,
                number,
                mind.remember(f"{key}", space=SPACE, about=[f"{root / key[0]}:{key[1]}"]).id,
            )
            for key, number in fold(first).items()
        ]
        for step, tree in enumerate((*versions, first)):
            put(root, tree, 1_700_000_100 + step)
            mind.code.index(root)
            now = fold(tree)
            for key, number, id in said:
                one = mind.get([id])[0]
                (anchor,) = anchors_in(one.details)
                if not anchor.state:
                    assert number == now.get((anchor.path, anchor.symbol)), (key, anchor)
                assert bool(outdated_notice(one)) == bool(anchor.state)
                if not anchor.was and now.get(key) == number:
                    assert "" == anchor.state
                assert {anchor.edge_end} == {
                    edge.dst for edge in mind.store.edges([id], ("about",))
                }
        for key, number, id in said:
            (anchor,) = anchors_in(mind.get([id])[0].details)
            assert ("", number) == (anchor.state, now.get((anchor.path, anchor.symbol))), (
                key,
                anchor,
            )


texts = st.text(max_size=60)


@given(
    details=st.dictionaries(texts, texts, max_size=3),
    path=texts,
    symbol=texts,
    state=st.sampled_from(["", "changed", "gone"]),
    names=st.lists(texts, max_size=3),
)
def test_anchors_come_back_as_they_were_kept(details, path, symbol, state, names):
    """Kept as JSON beside whatever else is there, read as the same; taking them off leaves what was
    there.
    """
    anchor = CodeAnchor("/r", path, symbol, state=state, namesakes=tuple(names))
    one = make_memory("x")._replace(
        details={
            name: value for name, value in details.items() if name not in ("anchors", "outdated")
        }
    )
    both = one._replace(details=details_with_anchors(one, [anchor]))
    assert [anchor] == anchors_in(both.details) and anchor == anchors_in(
        {"anchors": [anchor_to_row(anchor)]}
    )[0]
    assert bool(state) == bool(outdated_notice(both))
    assert dict(one.details) == details_with_anchors(both, [])


@given(st.text(max_size=300), st.text(max_size=300))
def test_any_text_can_be_looked_through(one, other):
    """Whatever a text holds, what it names can be told, and how like two texts are is a share."""
    words = find_code_words(one)
    assert len(words.paths) <= 40 and len(words.names) <= 40
    assert 0.0 <= compare_definitions(one, other) <= 1.0
