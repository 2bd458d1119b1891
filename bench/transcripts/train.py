"""The coefficients of `transcripts.talk_gate`, from prompts with and without a need.

    python -m bench.transcripts.train --sessions DIR [--home DIR] [--write]

The prompts are those of DIR and of the half `dev` of `bench.transcripts.unseen`. Each project in
turn is left out: the figures are those of projects that the coefficients have not seen. Prompts
that belong nowhere are asked in every project.
"""

import argparse
import json
import random
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression

import reverie
from bench.transcripts.labelled_sessions import (
    LabelledSessions,
    learn_sessions,
    load_sessions,
    space_of,
)
from bench.transcripts.unseen import load_unseen, to_labelled
from reverie import Mind
from reverie.core.model import visible_spaces
from reverie.storage.indexed_transcripts import IndexedConversation, TranscriptIndex
from reverie.storage.sqlite.transcript_index import SqliteTranscriptIndex
from reverie.text.prompt_phrases import TRAITS
from reverie.transcripts.passage_search import PassageQuery, search_passages
from reverie.transcripts.talk_gate import compute_talk_signals

TARGET = Path(reverie.__file__).parent / "transcripts" / "talk_gate.json"
# The more, the nearer the coefficients stay to 0.
PULL_TO_ZERO = 3.0
# What a prompt counts that needs nothing: of this project, and asked in one of eleven.
SAME_WEIGHT, ELSEWHERE_WEIGHT = 2.0, 0.15


class Example(NamedTuple):
    """A prompt in a project, with its signals."""

    project: str
    needs: bool
    at_home: bool
    signals: dict[str, float]


def make_examples(mind: Mind, data: LabelledSessions, *, meaning: bool) -> list[Example]:
    """The signals of every prompt where it may be asked: among all sessions of a project, and among
    two of them, as on somebody's first days.
    """
    index, embedder = mind.context.store.transcripts, mind.context.embedder
    rng = random.Random(1)
    sessions = {project: data.sessions_of(project) for project in data.projects}
    found: list[Example] = []
    for prompt in data.prompts:
        vector: dict[str, Any] = {}
        if meaning and embedder is not None:
            vector = {"vector": embedder.embed([prompt.text])[0], "model": embedder.model}
        for project in [prompt.project] if prompt.project else data.projects:
            asked = PassageQuery(prompt.text, visible_spaces(space_of(project)), **vector)
            gold = {data.labels[id].session for need in prompt.needs for id in need}
            few = {rng.choice(sessions[project]), *sorted(gold)[:2]}
            small = copy_sessions(index, space_of(project), few, asked.model)
            for where in (index, small):
                best = search_passages(where, asked)
                signals = compute_talk_signals(prompt.text, best)
                found.append(Example(project, bool(prompt.needs), bool(prompt.project), signals))
            small.close()
    return found


def copy_sessions(
    index: TranscriptIndex, space: str, sessions: set[str], model: str
) -> SqliteTranscriptIndex:
    """An index of some sessions alone."""
    copy = SqliteTranscriptIndex(":memory:")
    vectors: dict[int, Any] = {}
    for number, session in enumerate(sorted(sessions), 1):
        found = index.conversation(space, session, 0, 1_000_000)
        said = [one.passage for one in found]
        conversation = IndexedConversation(space, session, number, said)
        copy.replace([conversation], (number - 1, number), "", is_end=False)
        if model:
            known = index.vectors(model, [one.num for one in found])
            there = copy.conversation(space, session, 0, 1_000_000)
            pairs = zip(there, found, strict=True)
            vectors |= {new.num: known[old.num] for new, old in pairs if old.num in known}
    if vectors:
        copy.put_vectors(model, vectors)
    return copy


def without_traits(one: Example) -> Example:
    """The same prompt, put in a way that no phrase knows."""
    return one._replace(signals={**one.signals, **dict.fromkeys(TRAITS, 0.0)})


def fit(known: list[Example], names: list[str]) -> dict[str, float]:
    """Coefficients by name.

    Phrases were written by somebody who had seen these prompts, so each prompt counts once more
    without them: what the passages say must weigh enough for prompts that no phrase knows.
    """
    examples = [*known, *map(without_traits, known)]
    rows = np.array([[one.signals[name] for name in names] for one in examples])
    mean, spread = rows.mean(axis=0), rows.std(axis=0) + 1e-6
    weights = [
        1.0 if one.needs else SAME_WEIGHT if one.at_home else ELSEWHERE_WEIGHT for one in examples
    ]
    model = LogisticRegression(C=1.0 / PULL_TO_ZERO, max_iter=5_000)
    model.fit((rows - mean) / spread, [one.needs for one in examples], sample_weight=weights)
    slopes = model.coef_[0] / spread
    constant = float(model.intercept_[0] - slopes @ mean)
    named = dict(zip(names, slopes.tolist(), strict=True))
    return {"constant": round(constant, 4)} | {k: round(v, 4) for k, v in named.items()}


def report_unseen(examples: list[Example], names: list[str]) -> None:
    """The figures of each project with coefficients that were fitted without it."""
    for title, seen in (
        ("all phrases known", examples),
        ("no phrase known", [without_traits(one) for one in examples]),
    ):
        print(f"  {title}")
        report_chances(examples, seen, names)


def report_chances(examples: list[Example], seen: list[Example], names: list[str]) -> None:
    """What share of the prompts, as they are seen, is given something, at several chances."""
    chances: dict[str, list[float]] = {"needs": [], "same project": [], "elsewhere": []}
    for project in sorted({one.project for one in examples}):
        weights = fit([one for one in examples if one.project != project], names)
        for one in seen:
            if one.project == project:
                margin = sum(weights[name] * one.signals[name] for name in weights)
                group = "needs" if one.needs else "same project" if one.at_home else "elsewhere"
                chances[group].append(1 / (1 + np.exp(-margin)))
    for least in (0.3, 0.4, 0.5, 0.6, 0.7):
        shares = {k: f"{np.mean(np.array(v) >= least):.3f}" for k, v in chances.items()}
        print(f"    at {least}: given", shares)


def main() -> None:
    """Fit, report, and with --write keep the coefficients."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=Path, required=True)
    parser.add_argument("--home", type=Path, help="a home that has learned the sessions, or will")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    sets = [load_sessions(args.sessions), to_labelled(load_unseen("dev"))]
    with TemporaryDirectory() as scratch, reverie.open(args.home or Path(scratch)) as mind:
        for data in sets:
            spaces = [space_of(project) for project in data.projects]
            if not mind.context.store.transcripts.count(spaces).passages:
                learn_sessions(mind, data)
        found = {}
        for name, meaning in (("with meaning", True), ("by words", False)):
            examples = [one for data in sets for one in make_examples(mind, data, meaning=meaning)]
            names = [key for key in examples[0].signals if key != "constant"]
            if not meaning:
                names = [key for key in names if "meaning" not in key]
            print(name)
            report_unseen(examples, names)
            found[name] = fit(examples, names)
    if args.write:
        TARGET.write_text(json.dumps(found, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
