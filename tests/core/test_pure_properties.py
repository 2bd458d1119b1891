"""What holds for every input of the pure parts."""

import math
import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reverie.context_window import HEAD, Block, render_block
from reverie.context_window.injection_history import (
    MAX_IDS,
    InjectionHistory,
    compute_overlap,
    replaces_waiting_block,
)
from reverie.core.code_anchors import CHANGED, GONE, OUTDATED
from reverie.core.errors import BadInput
from reverie.core.kinds import KINDS, is_unverified, retention
from reverie.core.model import TRUST_BY_PROVENANCE, Hit, visible_spaces
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.core.trigger_patterns import context_of_conversation, matches_trigger
from reverie.extraction.rule_extraction import extract_lessons
from reverie.memory.memory_validation import (
    build_memory,
    to_clean_json,
    validate_space,
    validate_tags,
)
from reverie.retrieval.rescoring import (
    BESIDE_ODDS,
    EMOTION_FACTORS,
    MIN_SHOWN_CHANCE,
    PRIOR_BOUND,
    UNVERIFIED_FACTOR,
    apply_priors,
    compute_prior,
    drop_duplicate_texts,
    finalize_hits,
    list_prior_factors,
    multiply_odds,
    select_beside_best,
    to_odds,
)
from reverie.retrieval.trigger_search import match_triggers
from reverie.storage.row_codec import (
    memory_from_dict,
    memory_to_dict,
    to_json,
    to_memory,
    to_row,
)
from reverie.testing import NOON, make_memory
from reverie.text.escaping import escape_line, escape_text
from reverie.text.injection_fence import FENCE, FENCE_END, remove_injections
from reverie.text.text_cleaning import clean_text
from reverie.text.token_counts import estimate_tokens

anything = st.text(st.characters(), max_size=300)  # surrogates and NUL too
nasty = st.one_of(
    anything,
    st.sampled_from([FENCE_END, HEAD, f"</{FENCE} >", "```", "<|im_end|>", "\n\n- ", "\u202e"]),
)
unit = st.floats(0, 1)
kinds = st.one_of(st.sampled_from(sorted(KINDS)), st.just("mine"))


@st.composite
def memories(draw, text=nasty):
    words = draw(text)
    assume(words.strip())
    return make_memory(
        words,
        speaker=draw(nasty),
        kind=draw(kinds),
        title=draw(nasty),
        trust=draw(unit),
        at=draw(st.floats(0, 4e9)),
        tags=draw(st.lists(st.text("ab#é ", max_size=5), max_size=4)),
        provenance=draw(st.sampled_from(["observed", "user_stated", "inferred"])),
        details=draw(
            st.dictionaries(anything, st.one_of(st.integers(), anything, st.none()), max_size=3)
        ),
    )


@st.composite
def lived_memories(draw):
    """Memories with all that makes one deserve more or less: use, repetition, feeling, success."""
    memory, intensities = draw(memories()), [*EMOTION_FACTORS, "unheard of", None]
    traits = {
        "emotion": st.fixed_dictionaries({"intensity": st.sampled_from(intensities)}),
        "rate": st.floats(allow_nan=False),
        "season": st.sampled_from(["audit", "release-week"]),
        OUTDATED: st.fixed_dictionaries({"state": st.sampled_from([CHANGED, GONE, ""])}),
    }
    return memory._replace(
        provenance=draw(st.sampled_from(sorted(TRUST_BY_PROVENANCE))),
        confidence=draw(unit),
        strength=draw(st.integers(0, 10_000)),
        access_count=draw(st.integers(0, 10_000)),
        last_accessed_at=draw(st.none() | st.floats(0, 5e9)),
        details={**memory.details, **draw(st.fixed_dictionaries({}, optional=traits))},
    )


hits = st.builds(Hit, memories(), unit, st.just(("words",)))


# Rendering


@given(st.lists(hits, max_size=8), st.integers(0, 8), st.integers(0, 800))
@pytest.mark.proves("A22")
def test_a_block_stays_within_its_budget(found, limit, budget):
    """Never more tokens or memories than allowed, whatever the texts."""
    block = render_block(found, NOON, limit=limit, budget=budget)

    assert len(block.memories) <= limit
    assert estimate_tokens(block.text) <= budget or not block
    assert len(block.why) == len(block.memories)


@given(st.lists(hits, max_size=5))
def test_no_text_gets_out_of_the_fence(found):
    """One opening, one closing, one line for each memory: stored text cannot pretend to be anything
    else.
    """
    block = render_block(found, NOON, limit=5, budget=100_000)
    if not block:
        return
    lines = block.text.split("\n")
    inside = lines[2:-1]

    assert block.text.startswith(HEAD) and lines[-1] == FENCE_END
    assert sum("```" in line or escape_text(line) != line for line in inside) == 0
    assert block.text.count(f"<{FENCE}") == block.text.count(f"</{FENCE}") == 1
    assert not re.search(r"<\|\w+\||<\W*(reverie|system)", "\n".join(inside), re.IGNORECASE)
    assert sum(line.startswith("- ") for line in inside) == len(block.memories)
    assert all(line.startswith("- ") or line.endswith(":") for line in inside)
    assert len(block.text.splitlines()) == len(lines)
    assert remove_injections(block.text).strip() == ""


@given(nasty)
def test_an_escaped_line_is_one_line(text):
    """No line break, no control character, nothing twice."""
    line = escape_line(text)

    assert len(line.splitlines()) <= 1
    assert escape_line(line) == line
    assert all(ch.isprintable() for ch in line)


# What surfaces, and priors


@given(st.lists(unit, max_size=20).map(lambda scores: sorted(scores, reverse=True)))
@pytest.mark.proves("CC-27", "X6")
def test_a_prefix_that_stands_out_surfaces(scores):
    """Nothing where the best has no even chance; else the best and none far below its odds."""
    hits = [Hit(make_memory(f"memory {n}"), score) for n, score in enumerate(scores)]
    kept = select_beside_best(hits)

    assert kept == hits[: len(kept)]
    assert bool(kept) == bool(scores and scores[0] >= MIN_SHOWN_CHANCE)
    assert all(to_odds(hit.score) >= BESIDE_ODDS * to_odds(scores[0]) for hit in kept)
    assert select_beside_best(kept) == kept


@given(lived_memories(), st.floats(0, 5e9), st.sampled_from(["", "audit"]))
@pytest.mark.proves("B57")
def test_priors_are_bounded(memory, now, season):
    """No prior is more than a quarter either way, whatever a memory went through; what others wrote
    is halved at least.
    """
    factors = list_prior_factors(memory, now, season)
    prior = compute_prior(memory, now, season)

    assert all(1 - PRIOR_BOUND <= factor <= 1 + PRIOR_BOUND for factor in factors)
    assert prior == pytest.approx(math.prod(factors)) or is_unverified(memory)
    assert 0 < prior <= UNVERIFIED_FACTOR or not is_unverified(memory)


@given(unit, st.floats(0.2, 4.0), st.floats(0.2, 4.0))
def test_factors_keep_scores_in_range_and_in_order(score, factor, more):
    """A score stays within 0..1, and a larger factor never lowers it."""
    low, high = sorted((factor, more))

    assert 0.0 <= multiply_odds(score, low) <= multiply_odds(score, high) <= 1.0


@given(st.lists(hits, max_size=8))
@pytest.mark.proves("CC-32")
def test_rescoring_orders_and_loses_nothing(found):
    """The same hits, best first, ties by id; shaping does not depend on the order they came in."""
    ordered = apply_priors(found, NOON)

    assert sorted(h.memory.id for h in ordered) == sorted(h.memory.id for h in found)
    assert ordered == sorted(ordered, key=lambda hit: (-hit.score, hit.memory.id))
    assert ordered == apply_priors(found[::-1], NOON)
    assert len(drop_duplicate_texts(ordered)) <= len(ordered)
    assert finalize_hits(ordered, 3, automatic=False) == drop_duplicate_texts(ordered)[:3]


# Fading


@given(lived_memories(), st.integers(0, 10_000), st.floats(0, 1e9), st.floats(0, 1e9))
@pytest.mark.proves("CC-50", "CC-51", "B51")
def test_retention_falls_with_age_and_rises_with_use(memory, uses, age, more):
    """Retention lies within 0..1; older is never more, used is never less."""
    used = memory._replace(access_count=memory.access_count + uses)
    young, old = sorted((age, more))

    assert 0.0 <= retention(used, NOON + old) <= retention(used, NOON + young) <= 1.0
    assert retention(used, NOON + age) >= retention(memory, NOON + age)
    assert retention(memory, NOON - age) <= 1.0


# Spaces


segments = st.text(
    st.characters(exclude_categories=("Cs", "Zs", "Zl", "Zp", "Cc"), exclude_characters="/"),
    min_size=1,
    max_size=10,
).filter(lambda s: s not in (".", "..") and not any(c.isspace() for c in s))
paths = st.lists(segments, min_size=1, max_size=6).map("/".join)


@given(paths, paths)
@pytest.mark.proves("CC-11", "B88")
def test_a_space_sees_itself_and_what_is_above(one, other):
    """Nearest first; a sibling is never in the lineage."""
    seen = visible_spaces(one)

    assert seen[0] == validate_space(one) == one
    assert all(one.startswith(above + "/") for above in seen[1:])
    assert (other in seen) == (other == one or one.startswith(other + "/"))


@given(anything)
def test_what_is_no_space_is_refused(text):
    """Either it is a clean path or it is an error; nothing is guessed."""
    try:
        space = validate_space(text)
    except BadInput:
        return
    assert validate_space(space) == space
    assert "" not in space.split("/")


# Intake


@given(anything)
def test_cleaning_twice_is_cleaning_once(text):
    """Clean text can be encoded, and stays as it is."""
    once = clean_text(text)
    once.encode()

    assert clean_text(once) == once
    assert "\x00" not in once
    assert len(once) == len(text)


leaves = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), anything, st.binary(max_size=3)
)
json_like = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(anything, inner, max_size=3), st.tuples(inner)
    ),
    max_leaves=8,
)


@given(json_like)
def test_any_value_becomes_json(value):
    """What JSON does not know becomes text; a second time changes nothing."""
    plain = to_clean_json(value)
    to_json(plain).encode()

    assert to_clean_json(plain) == plain


@given(st.lists(st.text(st.characters(), max_size=12), max_size=8))
@pytest.mark.proves("CC-3", "CC-84")
def test_tags_are_stable(tags):
    """Each once, no space around, nothing changes a second time."""
    try:
        found = validate_tags(tags, DEFAULT_POLICY)
    except BadInput:
        return
    assert validate_tags(found, DEFAULT_POLICY) == found
    assert len(set(found)) == len(found)
    assert all(tag == tag.strip() and tag and tag[0] != "#" for tag in found)


@given(lived_memories())
@pytest.mark.proves("CC-7", "CC-90")
def test_rows_and_json_give_the_memory_back(memory):
    """To the table and back, to JSON and back: the same."""
    assert to_memory(tuple(to_row(memory))) == memory
    assert memory_from_dict(memory_to_dict(memory)) == memory


@given(memories(text=anything))
def test_what_is_built_is_built_the_same_again(memory):
    """A memory made of its own fields is the same: revising with what is there changes nothing."""
    again = build_memory(
        memory.id,
        NOON,
        memory.text,
        space=memory.space,
        kind=memory.kind,
        title=memory.title,
        tags=memory.tags,
        at=memory.at,
        speaker=memory.speaker,
        provenance=memory.provenance,
        details=memory.details,
        trust=memory.trust,
        policy=DEFAULT_POLICY,
    )
    assert again == memory


# Attention


ids = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=5)


def block(names, at):
    return Block("x", tuple(make_memory("x", id=f"mem_{name}") for name in names), (), at)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["turn", "prepared", "given", "dropped", "topic", "blocked"]),
            ids,
            st.floats(-100, 4_000),
        ),
        max_size=30,
    )
)
@pytest.mark.proves("A21")
def test_injection_history_is_bounded_and_consistent(steps):
    """Whatever happens, in whatever order, also with a clock that jumps: what was given just now is
    blocked.
    """
    state, now = InjectionHistory("s"), NOON
    for what, names, passed in steps:
        now += passed
        some = block(names, now)
        match what:
            case "turn":
                state.count_turn()
            case "prepared":
                state.mark_prepared(some, now)
            case "given":
                state.mark_injected(some.ids, now)
                assert set(some.ids) <= state.list_blocked_ids(now)
                assert not state.may_inject(some, now)
            case "dropped":
                state.mark_dropped(some)
            case "topic":
                state.note_similarity(0.1)
            case "blocked":
                state.list_blocked_ids(now)
    assert len(state.surfaced) <= MAX_IDS and len(state.injected) <= MAX_IDS
    assert 0 <= state.drifting < 2


@given(ids.map(frozenset), ids.map(frozenset))
def test_overlap_is_a_share(one, other):
    """Between 0 and 1, the same from both sides, 1 when one holds the other."""
    assert 0.0 <= compute_overlap(one, other) == compute_overlap(other, one) <= 1.0
    assert compute_overlap(one, one | other) == (1.0 if one else 0.0)


@given(ids, ids, st.floats(0, 2_000))
@pytest.mark.proves("CC-41")
def test_a_stale_block_is_always_replaced(newer, waiting, age):
    """A block that waits keeps its place only while it is fresh and says nearly the same."""
    stays = not replaces_waiting_block(block(newer, NOON), block(waiting, NOON - age), NOON)

    assert stays == (
        age < 600
        and compute_overlap(
            frozenset(f"mem_{n}" for n in newer), frozenset(f"mem_{n}" for n in waiting)
        )
        >= 0.8
    )


# Triggers and extraction


@given(nasty, nasty)
@pytest.mark.proves("CC-66")
def test_any_pattern_meets_any_context(pattern, context):
    """No pattern that may be kept is an error or slow; a literal that stands there is met; an empty
    one never.
    """
    try:
        memories = [make_memory("x", triggers=[pattern])] if pattern.strip() else []
    except BadInput:  # such as "re:(", which nobody can keep
        return
    hit = match_triggers(memories, context_of_conversation(context))

    assert len(hit) <= 1
    literal = clean_text(pattern).strip().lower()
    if literal and not set("*?") & set(literal) and hit:
        assert (
            literal in clean_text(context).lower()
            or "[redacted" in str(hit).lower()
            or literal in context.lower()
        )
    assert not matches_trigger("", context_of_conversation(context))


@given(st.text(max_size=500))
@pytest.mark.proves("CC-61", "CC-62")
def test_extraction_never_fails_and_keeps_words_of_the_user(text):
    """What is found stands in the text; finding does not depend on what is injected."""
    for hit in extract_lessons([("user", text)]).lessons:
        assert hit.text[1:] in text
        assert not math.isnan(len(hit.text))
    assert (
        extract_lessons([("user", f"{HEAD}\n- {text.replace('<', '')}\n{FENCE_END}")]).lessons == ()
    )
