"""The relevance gate with other embedding models, on the default's scale and without. `python -m
bench.gate.models`

    python -m bench.gate.models [--model onnx:NAME ...] [--cache PATH] [--data PATH]

Its coefficients were fitted with the default's cosines. Each model judges the labelled sessions of
the develop part twice in one run: as it is, and on the default's scale
(`reverie.embedding.likeness_scale`), as `embedder = "onnx:…"` uses it. Beside the default and its
int8 form stand models that are made of it: `squeezed`, whose cosines lie from .6 or from .8 up, as
those of many models do, and `whitened`, whose principal components are evened out in part or wholly
(1). `--model` adds models as in config.toml; `--made` leaves out those whose name has not this.

The gate holds each cosine against the usual one of a store as well, so it bears a wrong scale better
than plain thresholds do: what part of unrelated pairs counts as related is told by the floor of a
memory's relatives (`merge_rules.MIN_COSINE`, memories of different stores) and of passages
(`note_search.MIN_COSINE`, turns and memories of another store, beside turns and what they need).
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from bench.common import save, table
from bench.gate import sessions
from bench.gate.cases import chat, desk_place
from bench.gate.walk import Gate, Shown, figures, walked
from bench.retrieval import data, stores
from reverie.embedding import Embedder, embed_query, open_embedder
from reverie.embedding.likeness_scale import (
    ScaledEmbedder,
    embed_triples,
    load_triples,
    mean_cosines,
)
from reverie.embedding.vector_cache import CachedEmbedder, RecentVectors
from reverie.reconciliation import merge_rules
from reverie.retrieval import note_search

GROUPS = ("sessions", "commits", "chat")
SQUEEZES = (0.6, 0.8)  # the cosine of texts that have nothing in common
EVENED = (1.0,)  # the share of the differences between principal components that is taken out
LINES = 1_200  # of chat that the components are those of
Rows = np.ndarray[Any, np.dtype[np.float32]]


class Reshaped:
    """A model whose vectors are another's, changed."""

    def __init__(self, inner: Embedder, name: str, change: Callable[[Rows], Rows]) -> None:
        self.inner, self.model, self.change = inner, f"{name}/1", change
        self.dims = inner.dims

    def embed(self, texts: Sequence[str]) -> Rows:
        rows = self.change(self.inner.embed(texts))
        found: Rows = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return found

    def close(self) -> None:
        self.inner.close()


def squeezed(inner: Embedder, least: float) -> Reshaped:
    """Cosines from `least` up: a part of each vector is the same in all."""
    common = np.random.default_rng(1).normal(size=inner.dims)
    common *= np.sqrt(least) / np.linalg.norm(common)
    return Reshaped(
        inner, f"squeezed to {least:g}..1", lambda rows: np.sqrt(1 - least) * rows + common
    )


def whitened(inner: Embedder, share: float, texts: Sequence[str]) -> Reshaped:
    """Components of some texts' vectors with a share of their differences taken out."""
    rows = inner.embed(texts)
    mean = rows.mean(axis=0)
    _, sizes, axes = np.linalg.svd(rows - mean, full_matrices=False)
    weights = np.maximum(sizes, sizes[0] * 1e-3) ** -share
    return Reshaped(
        inner, f"whitened by {share:g}", lambda given: ((given - mean) @ axes.T) * weights
    )


def iter_models(
    args: argparse.Namespace, default: Embedder
) -> Iterator[tuple[str, Embedder, Embedder]]:
    """Name, the model as it is, and on the default's scale."""
    folder = args.cache.absolute() / "bench" / "scales"
    lines = chat(args.data)[:LINES]
    own: list[Embedder] = [
        default,
        open_embedder("minilm:int8", cache=args.cache.absolute() / "cache"),
        *(squeezed(default, least) for least in SQUEEZES),
        *(whitened(default, share, lines) for share in EVENED),
        open_embedder("toy", cache=args.cache),
    ]
    for one in [one for one in own if args.made in one.model]:
        yield one.model, one, ScaledEmbedder(one, folder)
    for name in args.model:
        scaled = open_embedder(name, cache=args.cache.absolute() / "cache")
        assert isinstance(scaled, ScaledEmbedder)
        yield name, scaled.inner, scaled


def judge(embedder: Embedder, args: argparse.Namespace) -> list[Shown]:
    """Every turn beside the stores of the develop part, by the gate that ships."""
    found: list[Shown] = []
    kept = CachedEmbedder(embedder, RecentVectors())
    for desk in sessions.desks():
        if desk.name not in sessions.held_out():
            with desk_place(desk, kept, args.cache.absolute(), args.data) as place:
                found += walked(place, kept, Gate("learned"))
    return found


def share_at_floors(embedder: Embedder) -> dict[str, float]:
    """The parts of pairs whose cosine reaches a floor."""
    notes = [(desk.name, note) for desk in sessions.desks() for note in desk.notes]
    turns = [(desk.name, turn) for desk in sessions.desks() for turn in desk.turns]
    kept = embedder.embed([note.text for _, note in notes])
    asked = np.stack([embed_query(embedder, turn.text) for _, turn in turns])
    near, found = kept @ kept.T, asked @ kept.T
    at = np.array([name for name, _ in notes])
    typed_at = np.array([name for name, _ in turns])
    needed = np.array(
        [[a == b and note.key in turn.needs for b, note in notes] for a, turn in turns]
    )
    elsewhere = typed_at[:, None] != at[None, :]
    floor = note_search.MIN_COSINE
    return {
        "unrelated memories": float(
            (near[at[:, None] != at[None, :]] >= merge_rules.MIN_COSINE).mean()
        ),
        "unrelated turns": float((found[elsewhere] >= floor).mean()),
        "needing turns": float((found[needed] >= floor).mean()),
    }


def measure(embedder: Embedder, args: argparse.Namespace) -> dict[str, Any]:
    """The mean cosines of the triples, and the gate's figures by group."""
    shown = judge(embedder, args)
    return {
        "cosines": mean_cosines(*embed_triples(embedder)),
        "floors": share_at_floors(embedder),
        **{
            group: asdict(figures([one for one in shown if one.case.group == group]))
            for group in GROUPS
        },
    }


def show(result: dict[str, dict[str, Any]]) -> None:
    """The figures as a table."""
    rows = [
        (
            name,
            which,
            *(f"{one:.2f}" for one in found["cosines"]),
            *(f"{one:.3f}" for one in found["floors"].values()),
            *(found["sessions"][key] for key in ("clean", "surfaced", "precision")),
            *(found[group]["clean"] for group in GROUPS[1:]),
        )
        for name, both in result.items()
        for which, found in both.items()
    ]
    cosines = ("unrelated q", "unrelated", "answer", "wordings")
    floors = ("unrelated >= .5", "turns >= .35", "needing >= .35")
    gate = ("clean", "surfaced", "precision", "commits clean", "chat clean")
    table(rows, ("model", "", *cosines, *floors, *gate))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", action="append", default=[], help="such as onnx:NAME")
    parser.add_argument("--made", default="", help="a part of the names of models made of it")
    args = data.arguments(parser)
    print("the default's mean cosines:", load_triples().default)
    default = stores.remembering(args.cache.absolute())
    result: dict[str, dict[str, Any]] = {}
    for name, raw, scaled in iter_models(args, default):
        result[name] = {"as it is": measure(raw, args), "scaled": measure(scaled, args)}
        show({name: result[name]})
    print()
    show(result)
    save("gate-models", result)


if __name__ == "__main__":
    main()
