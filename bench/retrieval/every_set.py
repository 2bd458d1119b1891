"""Every set that ranking can be held against, as cases: questions with their candidates.

Besides the public sets of `bench.retrieval.data` there are mixed stores (`mixed`), the labelled
sessions of `bench.gate` and of `bench.transcripts`, the labelled agent sessions beside the public
sets, and two that lie in every checkout: what this project promises with the tests that prove it,
and numpy's docstrings. Each case holds the candidates themselves and not numbers about them, so a
new idea is tried on all sets within seconds.
"""

import ast
import hashlib
import inspect
import json
import pickle
import re
from collections.abc import Callable, Iterator, Sequence, Set
from datetime import datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import reverie
from bench.common import ROOT
from bench.gate.sessions import desks, held_out
from bench.retrieval import data, mixed, stores
from bench.retrieval.candidate_pools import gather_pools
from bench.transcripts import unseen
from bench.transcripts.labelled_sessions import load_sessions
from reverie.core.config import Settings
from reverie.embedding import Embedder
from reverie.retrieval import first_person
from reverie.storage import candidate_columns, candidates, column_cache
from reverie.storage.candidates import CandidatePool

MAX_CHARS = 2_000
"""Characters of a long message that are kept."""
MAX_DOCSTRINGS = 700
GATHERING = (candidates, candidate_columns, first_person, column_cache, mixed, stores, unseen)
"""Modules on whose code it depends what the candidates are."""
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")  # of an object, another in each run


class Case(NamedTuple):
    """One question with its candidates."""

    dataset: str
    family: frozenset[str]  # what else is left out with it: stores, conversations, prompts
    text: str
    pool: CandidatePool
    gold: np.ndarray  # which candidates are evidence
    typed: CandidatePool  # with the vector of the question as it was typed
    typed_gold: np.ndarray
    pieces: int  # how much evidence there is, among the candidates or not
    corpus: str


class Asked(NamedTuple):
    """A question to a store and the keys (`details["source"]`) of what answers it."""

    text: str
    gold: frozenset[str]


Items = list[dict[str, object]]


class Corpus(NamedTuple):
    """Memories as `remember_many` takes them, and the questions about them."""

    name: str
    items: Items
    questions: list[Asked]


def item(text: str, source: str, **more: object) -> dict[str, object]:
    """A memory that a question can name."""
    return {"text": text[:MAX_CHARS], "details": {"source": source}, **more}


def public(name: str) -> Callable[[Path | None], Iterator[Corpus]]:
    """The corpora of a set of `data`."""

    def load(root: Path | None) -> Iterator[Corpus]:
        dataset = data.load(name, root)
        for corpus, rows in dataset.corpora.items():
            some = [Asked(q.text, q.gold) for q in dataset.questions if q.corpus == corpus]
            yield Corpus(corpus, [stores.item(row) for row in rows], some)

    return load


def load_desks(chosen: Callable[[str], bool]) -> Callable[[Path | None], Iterator[Corpus]]:
    """The memories of all made projects in one store, and what is typed beside each."""

    def load(_root: Path | None) -> Iterator[Corpus]:
        some = [desk for desk in desks() if chosen(desk.name)]
        items = [
            item(note.text, f"{desk.name}/{note.key}", kind=note.kind)
            for desk in some
            for note in desk.notes
        ]
        asked = [
            Asked(turn.text, frozenset(f"{desk.name}/{key}" for key in turn.needs))
            for desk in some
            for turn in desk.turns
            if turn.needs
        ]
        yield Corpus("desks", items, asked)

    return load


def load_gists(root: Path | None) -> Iterator[Corpus]:
    """What a colleague would want remembered of real agent sessions, as facts in one store."""
    folder = (root or data.default_root()) / "sessions"
    labels = _lines(folder / "labels.jsonl")
    items = [item(row["gist"], row["id"], session=row["session"]) for row in labels]
    prompts = [
        Asked(prompt.text, frozenset(id for need in prompt.needs for id in need))
        for prompt in load_sessions(folder).prompts
        if prompt.needs
    ]
    yield Corpus("gists", items, prompts)


def load_agent_talk(root: Path | None) -> Iterator[Corpus]:
    """The same sessions as talk: what people typed, and the agent's last text before it."""
    folder = (root or data.default_root()) / "sessions"
    labels = _lines(folder / "labels.jsonl")
    wanted = {(row["session"], row["n"]) for row in labels}
    where = {row["id"]: f"{row['session']}/{row['n']}" for row in labels}
    items: dict[str, Items] = {}
    messages = _lines(folder / "messages.jsonl")
    for session, group in groupby(messages, key=lambda row: row["session"]):
        rows = list(group)
        for row, after in zip(rows, [*rows[1:], None], strict=True):
            ends = after is None or after.get("typed", False)
            said = row.get("typed") or (row["role"] == "assistant" and ends)
            if (said or (session, row["n"]) in wanted) and row["content"].strip():
                key = f"{session}/{row['n']}"
                more = {"session": session, "speaker": row["role"], "kind": "observation"}
                if row.get("at"):
                    more["at"] = float(row["at"])
                items.setdefault(row["repo"], []).append(item(row["content"], key, **more))
    prompts = [prompt for prompt in load_sessions(folder).prompts if prompt.needs]
    for project, some in sorted(items.items()):
        questions = [
            Asked(prompt.text, frozenset(where[id] for need in prompt.needs for id in need))
            for prompt in prompts
            if prompt.project == project
        ]
        if questions:
            yield Corpus(project.replace("/", "-"), some, questions)


def load_unseen_talk(part: str) -> Callable[[Path | None], Iterator[Corpus]]:
    """Sessions of made projects in several languages, all in one store."""

    def load(_root: Path | None) -> Iterator[Corpus]:
        found = unseen.load_unseen(part)
        items = [
            item(
                message["content"],
                f"{row['session']}/{number}",
                session=row["session"],
                speaker=message["role"],
                kind="observation",
                at=datetime.fromisoformat(row["at"]).timestamp() + 90.0 * number,
            )
            for row in found.sessions
            for number, message in enumerate(row["messages"])
        ]
        asked = [
            Asked(row["text"], frozenset(f"{row['session']}/{n}" for n in row["messages"]))
            for row in found.queries
        ]
        asked += [
            Asked(
                row["text"],
                frozenset(f"{row[a]['session']}/{row[a]['message']}" for a in ("older", "newer")),
            )
            for row in found.amendments
        ]
        yield Corpus(f"unseen-{part}", items, asked)

    return load


def load_promises(_root: Path | None) -> Iterator[Corpus]:
    """What this project promises, and the first sentences of the tests that prove it."""
    import tomllib

    from tools.requirements import marked_ids

    pages = tomllib.loads((ROOT / "docs" / "requirements.toml").read_text("utf-8"))
    promised = {id: text for rows in pages.values() for id, text in rows.items()}
    items: Items = []
    gold: dict[str, set[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        names = dict.fromkeys(name for name, _ in marked_ids(tree))
        claims = {
            node.name: " ".join((ast.get_docstring(node) or "").split())
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef) and node.name in names
        }
        for name, claim in claims.items():
            if claim:
                items.append(item(claim, f"{path.stem}/{name}"))
        for name, id in marked_ids(tree):
            if claims.get(name):
                gold.setdefault(id, set()).add(f"{path.stem}/{name}")
    asked = [Asked(promised[id], frozenset(keys)) for id, keys in gold.items() if id in promised]
    yield Corpus("promises", items, asked[::2])


def load_docstrings(_root: Path | None) -> Iterator[Corpus]:
    """Functions of numpy: the first sentence asks for the rest of the page."""
    pages: dict[str, str] = {}
    for module in (np, np.linalg, np.random, np.fft, np.ma, np.char, np.polynomial.polynomial):
        for name, one in sorted(vars(module).items()):
            text = inspect.getdoc(one) if callable(one) and not name.startswith("_") else None
            if text and len(text) > 400:
                pages.setdefault(_ADDRESS.sub("0x0", text), f"{module.__name__}.{name}")
    items, asked = [], []
    for text, name in list(pages.items())[:MAX_DOCSTRINGS]:
        paragraphs = [part for part in text.split("\n\n") if "(" not in part.split("\n")[0]]
        if len(paragraphs) < 2:
            continue
        items.append(item("\n\n".join(paragraphs[1:]), name))
        asked.append(Asked(" ".join(paragraphs[0].split()), frozenset([name])))
    yield Corpus("docstrings", items, asked[::2])


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]


LOADERS: dict[str, tuple[frozenset[str], Callable[[Path | None], Iterator[Corpus]]]] = {
    "locomo": (frozenset({"locomo"}), public("locomo")),
    "beam-100k": (frozenset({"beam"}), public("beam-100k")),
    "cosqa": (frozenset({"cosqa"}), public("cosqa")),
    "desks": (frozenset({"desks"}), load_desks(lambda name: name not in held_out())),
    "gists": (frozenset({"sessions"}), load_gists),
    "agent talk": (frozenset({"sessions"}), load_agent_talk),
    "unseen talk": (frozenset({"unseen"}), load_unseen_talk("dev")),
    "promises": (frozenset({"promises"}), load_promises),
    "docstrings": (frozenset({"docstrings"}), load_docstrings),
}
MIXED = frozenset({"locomo", "desks"})
MIXED_SETS = (mixed.FACTS, mixed.TALK)
SETS = (*LOADERS, *MIXED_SETS)
LAST = {
    "desks, last look": (frozenset({"desks"}), load_desks(lambda name: name in held_out())),
    "unseen talk, last look": (frozenset({"unseen"}), load_unseen_talk("held")),
}
"""Sets on which nothing is chosen: looked at when everything is fixed."""


def family_of(name: str) -> frozenset[str]:
    """What a set shares with others: stores, conversations, prompts."""
    return MIXED if name in MIXED_SETS else {**LOADERS, **LAST}[name][0]


def load_cases(name: str, root: Path | None, cache: Path) -> list[Case]:
    """The cases of a set, from the cache if the same were gathered before by the same code."""
    corpora = [] if name in MIXED_SETS else list({**LOADERS, **LAST}[name][1](root))
    path = cache / "bench" / f"cases-{name.replace(' ', '-')}-{print_of(corpora)}.pkl"
    if path.exists():
        found: list[Case] = pickle.loads(path.read_bytes())
        return found
    embedder = stores.remembering(cache)
    if name in MIXED_SETS:
        found = gather_mixed(name, root, cache, embedder)
    else:
        found = [
            case
            for corpus in corpora
            for case in gather_cases(name, family_of(name), corpus, cache, embedder)
        ]
    path.write_bytes(pickle.dumps(found))
    return found


def print_of(corpora: Sequence[Corpus]) -> str:
    """Changes with the texts and with the code that gathers candidates."""
    sources = [Path(inspect.getfile(one)).read_bytes() for one in GATHERING]
    told = repr(
        [
            (corpus.items, [(one.text, sorted(one.gold)) for one in corpus.questions])
            for corpus in corpora
        ]
    )
    return hashlib.sha256(b"\0".join([*sources, told.encode()])).hexdigest()[:12]


def gather_cases(
    name: str, family: frozenset[str], corpus: Corpus, cache: Path, embedder: Embedder
) -> Iterator[Case]:
    """The cases of one corpus, in a store of its own."""
    with reverie.open(":memory:", settings=Settings(home=cache), embedder=embedder) as mind:
        mind.remember_many(corpus.items, space=stores.SPACE)
        mind.settle()
        ids = stores.find_sources(mind)
        for asked in corpus.questions:
            gold = {ids[key] for key in asked.gold if key in ids}
            if gold:
                yield to_case(name, family, corpus.name, asked.text, gold, mind, embedder)


def gather_mixed(name: str, root: Path | None, cache: Path, embedder: Embedder) -> list[Case]:
    """The cases of mixed stores."""
    found: list[Case] = []

    def each(mind: reverie.Mind, one: mixed.Asked) -> None:
        if one.name == name and one.gold:
            found.append(to_case(name, MIXED, one.corpus, one.text, one.gold, mind, embedder))

    unseen_desks = held_out()
    mixed.asked(root, cache, lambda desk: desk.name not in unseen_desks, each)
    return found


def to_case(
    name: str,
    family: frozenset[str],
    corpus: str,
    text: str,
    gold: Set[str],
    mind: reverie.Mind,
    embedder: Embedder,
) -> Case:
    """A case with its candidates as the package gathers them."""
    pools = gather_pools(mind, embedder, text)
    hits = [np.array([id in gold for id in pool.ids], bool) for pool in pools]
    return Case(name, family, text, pools.asked, hits[0], pools.typed, hits[1], len(gold), corpus)
