"""The files of a repository as a plan sees them, and what a task has to do with each by its words.
Pure.

Every signal is a number for each file, the higher the likelier that the task is about it; what they
are worth together is learned (`plan.ranker`).
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import count
from pathlib import PurePosixPath

import numpy as np
import numpy.typing as npt

from reverie.code.code_terms import looks_coded, path_terms, plain, terms_of, word_parts
from reverie.code.planning.bm25_field import Column, Field, Grams, columns, counted, field
from reverie.code.planning.task_query import Task, whole
from reverie.storage.code_index_port import Bags

DEFINED = ("class", "function", "method")
IN_PATH = 5.0  # how often a word in a file's path counts as one in its text
ENTRANCES = frozenset(("__init__", "index", "mod", "lib"))  # files that stand for their folder
RARE = 8  # a name is telling when at most one file in so many has it


class Tree:
    """The indexed files of one repository."""

    def __init__(self, bags: Bags, names: Iterable[tuple[str, str]]) -> None:
        """`names` are (path, name) of what files define."""
        self.paths, self._bags = bags.paths, bags
        self.place = {path: place for place, path in enumerate(self.paths)}
        self.names: dict[str, list[str]] = {path: [] for path in self.paths}
        for path, name in names:
            if path in self.names:
                self.names[path].append(name)

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def content(self) -> Field:
        """What stands in the files, and in their paths. Made from that of the chunks, whose entries
        are ordered.
        """
        numbers = dict(self._bags.terms)
        fresh = count(max(numbers.values(), default=-1) + 1)
        extra: list[tuple[int, int, float]] = []
        for place, path in enumerate(self.paths):
            for term, times in path_terms(parts_of(path)).items():
                if term not in numbers:
                    numbers[term] = next(fresh)
                extra.append((place, numbers[term], IN_PATH * times))
        files, terms, counts = (
            (np.array(column) for column in zip(*extra, strict=True))
            if extra
            else [np.zeros(0)] * 3
        )
        chunks = self.chunks
        file_of = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.chunk_starts))
        numbered = np.repeat(np.arange(len(chunks.starts) - 1), np.diff(chunks.starts))
        return columns(
            numbers,
            len(self),
            np.concatenate([file_of[chunks.docs], files.astype(np.int32)]),
            np.concatenate([numbered, terms.astype(np.int64)]),
            np.concatenate([chunks.counts, counts.astype(np.float64)]),
        )

    @cached_property
    def chunk_starts(self) -> npt.NDArray[np.int64]:
        """The number of the first chunk of each file; at the end, of all chunks."""
        most = np.zeros(len(self), np.int64)
        np.maximum.at(most, self._bags.file, self._bags.chunk + 1)
        return np.concatenate([[0], np.cumsum(most)])

    @cached_property
    def chunks(self) -> Field:
        """What stands in each chunk of the files."""
        starts = self.chunk_starts
        docs = (starts[self._bags.file] + self._bags.chunk).astype(np.int32)
        return columns(
            self._bags.terms,
            int(starts[-1]),
            docs,
            self._bags.term.astype(np.int64),
            self._bags.times.astype(np.float64),
        )

    @cached_property
    def named(self) -> Field:
        """The names that files define, in parts."""
        return field(
            Counter(term for name in self.names[path] for term in terms_of(name))
            for path in self.paths
        )

    @cached_property
    def bases(self) -> Field:
        """The names of the files; where a file stands for its folder, of that."""
        return field(path_terms([own_name(path)]) for path in self.paths)

    @cached_property
    def folders(self) -> Field:
        """The names of the folders that files are in."""
        return field(path_terms(PurePosixPath(path).parts[:-1]) for path in self.paths)

    @cached_property
    def ways(self) -> Field:
        """All parts of the paths, once each."""
        return field(dict.fromkeys(path_terms(parts_of(path)), 1.0) for path in self.paths)

    @cached_property
    def path_grams(self) -> Grams:
        """The pieces of the words in the last two parts of the paths."""
        return Grams(lowered(parts_of(path)[-2:]) for path in self.paths)

    @cached_property
    def name_grams(self) -> Grams:
        """The pieces of the words in the names that files define."""
        return Grams(lowered(self.names[path]) for path in self.paths)

    @cached_property
    def definers(self) -> Mapping[str, frozenset[int]]:
        """The files that define a name, as it is written."""
        found: dict[str, set[int]] = defaultdict(set)
        for path, names in self.names.items():
            for name in names:
                found[name].add(self.place[path])
        return {name: frozenset(places) for name, places in found.items()}

    @cached_property
    def plain_definers(self) -> Mapping[str, frozenset[int]]:
        """The same, and the files called so, however it is written."""
        found: dict[str, set[int]] = defaultdict(set)
        for name, places in self.definers.items():
            found[plain(name)] |= places
        for place, path in enumerate(self.paths):
            found[plain(PurePosixPath(path).stem.replace("-", "_"))].add(place)
        return {name: frozenset(places) for name, places in found.items()}

    @cached_property
    def folder(self) -> npt.NDArray[np.int64]:
        """The number of each file's folder."""
        return np.unique(
            [str(PurePosixPath(path).parent) for path in self.paths], return_inverse=True
        )[1]


def parts_of(path: str) -> list[str]:
    """The parts of a path, without the file's ending."""
    return [*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem]


def own_name(path: str) -> str:
    """What a file is called; where it stands for its folder, what that is called."""
    parts = PurePosixPath(path)
    return parts.parent.name if parts.stem in ENTRANCES and parts.parent.name else parts.stem


def lowered(names: Iterable[str]) -> list[str]:
    """The words in names, of more than two letters, in lower case."""
    return list(word_parts(word for name in names for word in re.split(r"[-_.]", name)))


def signals(tree: Tree, task: Task) -> dict[str, Column]:
    """What the words of a task have to do with each file."""
    content = tree.content.bm25(task.terms)
    return {
        "content": content,
        "content title": tree.content.bm25(task.title),
        "cover": tree.content.coverage(task.terms),
        **in_chunks(tree, task.terms, "chunk"),
        **in_chunks(tree, task.title, "chunk title"),
        "names": tree.named.bm25(task.terms),
        "names title": tree.named.bm25(task.title),
        "base": tree.bases.bm25(task.terms),
        "base title": tree.bases.bm25(task.title),
        "folders": tree.folders.bm25(task.terms),
        "path": on_the_way(tree, task),
        "path grams": tree.path_grams.bm25(counted(task.words)),
        "name grams": tree.name_grams.bm25(counted(task.words)),
        "defines": defines(tree, task.names),
        "symbols": symbols(tree, task),
        "mentions": mentions(tree, task.coded),
        "rare": rare(tree, task.coded),
        "quoted": rarities(tree, task.quoted),
        "joined": rarities(tree, [word for word in task.joined if word in tree.content.numbers]),
        "joined name": joined_names(tree, task.joined),
        "size": np.log1p(tree.content.sizes),
        "chunks": np.log1p(np.diff(tree.chunk_starts)),
        "entrance": np.array([float(PurePosixPath(path).stem in ENTRANCES) for path in tree.paths]),
        "depth": np.array([float(path.count("/")) for path in tree.paths]),
        **in_folder(tree, content),
    }


def in_chunks(tree: Tree, question: Mapping[str, float], name: str) -> dict[str, Column]:
    """How well the best chunk of each file answers, the best three, and all."""
    scores = tree.chunks.bm25(question)
    hits = np.flatnonzero(scores)
    file = np.searchsorted(tree.chunk_starts, hits, side="right") - 1
    order = np.lexsort((-scores[hits], file))
    file, ranked = file[order], scores[hits][order]
    first = np.flatnonzero(np.diff(file, prepend=-1))
    inside = np.arange(len(file)) - np.repeat(first, np.diff(np.append(first, len(file))))
    best, three = np.zeros(len(tree)), np.zeros(len(tree))
    best[file[first]] = ranked[first]
    np.add.at(three, file[inside < 3], ranked[inside < 3] / 3.0)
    return {
        name: best,
        f"{name} three": three,
        f"{name} all": np.log1p(np.bincount(file, ranked, len(tree))),
    }


def on_the_way(tree: Tree, task: Task) -> Column:
    """The rarity of the words that a path shares with the task, less for a long path."""
    scores = np.zeros(len(tree))
    for docs, _, _ in tree.ways.matches(dict.fromkeys(task.terms, 1.0)):
        scores[docs] += np.log1p(len(tree) / len(docs))
    return scores / np.sqrt(np.maximum(tree.ways.sizes, 1.0))


def defines(tree: Tree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that a file defines as they are written."""
    scores = np.zeros(len(tree))
    for name in names:
        places, coded = tree.definers.get(name), looks_coded(name) or name[0].isupper()
        if places and (coded or len(places) < 3):
            scores[list(places)] += np.log1p(len(tree) / len(places)) * (1.0 if coded else 0.5)
    return scores


def symbols(tree: Tree, task: Task) -> Column:
    """Names that the task says, whole or in part."""
    scores = 3.0 * defines(tree, task.names)
    for docs, counts, _ in tree.named.matches(dict.fromkeys(task.terms, 1.0)):
        scores[docs] += np.log1p(len(tree) / len(docs)) * counts / (counts + 1.5)
    return scores


def mentions(tree: Tree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that stand in a file, more where they stand often."""
    scores = np.zeros(len(tree))
    for name in names:
        docs, counts = tree.content.having(whole(name))
        scores[docs] += np.log1p(len(tree) / max(len(docs), 1)) * (
            1.0 + np.log(np.maximum(counts, 1.0))
        )
    return scores


def rare(tree: Tree, names: Iterable[str]) -> Column:
    """The rarity of the rarest name in the task that stands in a file; only of such as few files
    have.
    """
    scores = np.zeros(len(tree))
    for name in names:
        docs, _ = tree.content.having(whole(name))
        if looks_coded(name) and 0 < len(docs) <= max(3, len(tree) // RARE):
            scores[docs] = np.maximum(scores[docs], np.log1p(len(tree) / len(docs)))
    return scores


def rarities(tree: Tree, names: Iterable[str]) -> Column:
    """The rarity of names that stand in a file, whatever else does."""
    scores = np.zeros(len(tree))
    for name in names:
        docs, _ = tree.content.having(whole(name) if name not in tree.content.numbers else name)
        if len(docs):
            scores[docs] += np.log1p(len(tree) / len(docs))
    return scores


def joined_names(tree: Tree, joined: Iterable[str]) -> Column:
    """The rarity of what two or three neighbouring words name."""
    scores = np.zeros(len(tree))
    for name in joined:
        places = tree.plain_definers.get(name)
        if places:
            scores[list(places)] += np.log1p(len(tree) / len(places))
    return scores


def by_meaning(tree: Tree, meant: Mapping[str, Sequence[float]]) -> dict[str, Column]:
    """How near the nearest chunk of each file is to the task by meaning, and the nearest three;
    zeros if not known.

    `meant` has the cosines of chunks by their file's path.
    """
    best, three = np.zeros(len(tree)), np.zeros(len(tree))
    for path, cosines in meant.items():
        if path in tree.place:
            nearest = sorted(cosines, reverse=True)[:3]
            best[tree.place[path]] = max(0.0, nearest[0])
            three[tree.place[path]] = max(0.0, sum(nearest) / len(nearest))
    return {"code": best, "code three": three}


def in_folder(tree: Tree, content: Column) -> dict[str, Column]:
    """How well the best three files of each file's folder answer, and how many it has."""
    order = np.lexsort((-content, tree.folder))
    folder = tree.folder[order]
    sizes = np.bincount(tree.folder) if len(tree) else np.zeros(0, np.int64)
    first = np.cumsum(sizes) - sizes
    top = np.arange(len(order)) - np.repeat(first, sizes) < 3
    sums = np.bincount(folder[top], content[order][top], len(sizes))
    return {
        "folder": (sums / np.maximum(np.minimum(sizes, 3), 1))[tree.folder],
        "folder size": np.log1p(sizes[tree.folder]),
    }
