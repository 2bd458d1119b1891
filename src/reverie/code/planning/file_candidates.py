"""The files of a repository as a plan sees them, and what a task's words have to do with each.

Every signal is a number for each file, the higher the likelier that the task is about it; what they
are worth together is learned (`file_ranker`). Pure.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import PurePosixPath

import numpy as np

from reverie.code.code_terms import (
    is_code_like,
    normalize_identifier,
    split_into_word_parts,
    tokenize_identifier,
    tokenize_path,
)
from reverie.code.planning.bm25_field import (
    Bm25Field,
    Column,
    GramField,
    LongInts,
    build_field,
    build_field_from_entries,
    count_grams,
)
from reverie.code.planning.task_query import TaskQuery, to_whole_term
from reverie.storage.indexed_code import TermColumns

DEFINED_KINDS = ("class", "function", "method")
# how often a word in a file's path counts as one in its text
PATH_WEIGHT = 5.0
# files that stand for their folder
ENTRY_STEMS = frozenset(("__init__", "index", "mod", "lib"))
# a name is telling if at most one file in so many has it
RARE_SHARE = 8


class FileTree:
    """The indexed files of one repository."""

    def __init__(self, bags: TermColumns, names: Iterable[tuple[str, str]]) -> None:
        """`names` are (path, name) of what files define."""
        self._bags = bags
        self.paths = bags.paths
        self.place = {path: place for place, path in enumerate(self.paths)}
        self.names: dict[str, list[str]] = {path: [] for path in self.paths}
        for path, name in names:
            if path in self.names:
                self.names[path].append(name)

    def __len__(self) -> int:
        return len(self.paths)

    @cached_property
    def content(self) -> Bm25Field:
        """What stands in the files, and in their paths."""
        # Made from that of the chunks, whose entries are ordered.
        numbers = dict(self._bags.terms)
        next_number = max(numbers.values(), default=-1) + 1
        path_files: list[int] = []
        path_terms: list[int] = []
        path_counts: list[float] = []
        for place, path in enumerate(self.paths):
            for term, times in tokenize_path(split_path(path)).items():
                if term not in numbers:
                    numbers[term] = next_number
                    next_number += 1
                path_files.append(place)
                path_terms.append(numbers[term])
                path_counts.append(PATH_WEIGHT * times)
        chunks = self.chunks
        file_of = np.repeat(np.arange(len(self), dtype=np.int32), np.diff(self.chunk_starts))
        chunk_terms = np.repeat(np.arange(len(chunks.starts) - 1), np.diff(chunks.starts))
        return build_field_from_entries(
            numbers,
            len(self),
            np.concatenate([file_of[chunks.docs], np.array(path_files, np.int32)]),
            np.concatenate([chunk_terms, np.array(path_terms, np.int64)]),
            np.concatenate([chunks.counts, np.array(path_counts, np.float64)]),
        )

    @cached_property
    def chunk_starts(self) -> LongInts:
        """The number of the first chunk of each file; at the end, of all chunks."""
        most = np.zeros(len(self), np.int64)
        np.maximum.at(most, self._bags.file, self._bags.chunk + 1)
        return np.concatenate([[0], np.cumsum(most)])

    @cached_property
    def chunks(self) -> Bm25Field:
        """What stands in each chunk of the files."""
        starts = self.chunk_starts
        docs = (starts[self._bags.file] + self._bags.chunk).astype(np.int32)
        return build_field_from_entries(
            self._bags.terms,
            int(starts[-1]),
            docs,
            self._bags.term.astype(np.int64),
            self._bags.times.astype(np.float64),
        )

    @cached_property
    def named(self) -> Bm25Field:
        """The names that files define, in parts."""
        return build_field(
            Counter(term for name in self.names[path] for term in tokenize_identifier(name))
            for path in self.paths
        )

    @cached_property
    def bases(self) -> Bm25Field:
        """The names of the files; of a file that stands for its folder, the folder's."""
        return build_field(tokenize_path([pick_file_name(path)]) for path in self.paths)

    @cached_property
    def folders(self) -> Bm25Field:
        """The names of the folders that files are in."""
        return build_field(tokenize_path(PurePosixPath(path).parts[:-1]) for path in self.paths)

    @cached_property
    def ways(self) -> Bm25Field:
        """All parts of the paths, once each."""
        terms = (tokenize_path(split_path(path)) for path in self.paths)
        return build_field(dict.fromkeys(counts, 1.0) for counts in terms)

    @cached_property
    def path_grams(self) -> GramField:
        """The pieces of the words in the last two parts of the paths."""
        return GramField(split_name_words(split_path(path)[-2:]) for path in self.paths)

    @cached_property
    def name_grams(self) -> GramField:
        """The pieces of the words in the names that files define."""
        return GramField(split_name_words(self.names[path]) for path in self.paths)

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
        """The files that define a name, or are called so, however it is written."""
        found: dict[str, set[int]] = defaultdict(set)
        for name, places in self.definers.items():
            found[normalize_identifier(name)] |= places
        for place, path in enumerate(self.paths):
            stem = PurePosixPath(path).stem.replace("-", "_")
            found[normalize_identifier(stem)].add(place)
        return {name: frozenset(places) for name, places in found.items()}

    @cached_property
    def folder(self) -> LongInts:
        """The number of each file's folder."""
        folders = [str(PurePosixPath(path).parent) for path in self.paths]
        return np.unique(folders, return_inverse=True)[1]


def split_path(path: str) -> list[str]:
    """The parts of a path, without the file's ending."""
    return [*PurePosixPath(path).parts[:-1], PurePosixPath(path).stem]


def pick_file_name(path: str) -> str:
    """The name of a file without its ending; of one that stands for its folder, the folder's."""
    parts = PurePosixPath(path)
    return parts.parent.name if parts.stem in ENTRY_STEMS and parts.parent.name else parts.stem


def split_name_words(names: Iterable[str]) -> list[str]:
    """The words in names, of more than two letters, in lower case."""
    return list(split_into_word_parts(word for name in names for word in re.split(r"[-_.]", name)))


def compute_word_signals(tree: FileTree, task: TaskQuery) -> dict[str, Column]:
    """What the words of a task have to do with each file."""
    content = tree.content.bm25(task.terms)
    known_joined = [word for word in task.joined if word in tree.content.numbers]
    return {
        "content": content,
        "content title": tree.content.bm25(task.title),
        "cover": tree.content.coverage(task.terms),
        **score_chunks(tree, task.terms, "chunk"),
        **score_chunks(tree, task.title, "chunk title"),
        "names": tree.named.bm25(task.terms),
        "names title": tree.named.bm25(task.title),
        "base": tree.bases.bm25(task.terms),
        "base title": tree.bases.bm25(task.title),
        "folders": tree.folders.bm25(task.terms),
        "path": score_path(tree, task),
        "path grams": tree.path_grams.bm25(count_grams(task.words)),
        "name grams": tree.name_grams.bm25(count_grams(task.words)),
        "defines": score_definitions(tree, task.names),
        "symbols": score_symbols(tree, task),
        "mentions": score_mentions(tree, task.coded),
        "rare": score_rare_names(tree, task.coded),
        "quoted": sum_rarities(tree, task.quoted),
        "joined": sum_rarities(tree, known_joined),
        "joined name": score_joined_names(tree, task.joined),
        "size": np.log1p(tree.content.sizes),
        "chunks": np.log1p(np.diff(tree.chunk_starts)),
        "entrance": np.array(
            [float(PurePosixPath(path).stem in ENTRY_STEMS) for path in tree.paths]
        ),
        "depth": np.array([float(path.count("/")) for path in tree.paths]),
        **score_folders(tree, content),
    }


def file_rarity(tree: FileTree, holders: int) -> float:
    """What a name is worth that so many files have."""
    return float(np.log1p(len(tree) / holders))


def score_chunks(tree: FileTree, question: Mapping[str, float], name: str) -> dict[str, Column]:
    """How well the best chunk of each file answers, the best three, and all."""
    scores = tree.chunks.bm25(question)
    hits = np.flatnonzero(scores)
    file = np.searchsorted(tree.chunk_starts, hits, side="right") - 1
    # by file, the best chunk of each first
    order = np.lexsort((-scores[hits], file))
    file, ranked = file[order], scores[hits][order]
    first = np.flatnonzero(np.diff(file, prepend=-1))
    place = np.arange(len(file)) - np.repeat(first, np.diff(np.append(first, len(file))))
    best, three = np.zeros(len(tree)), np.zeros(len(tree))
    best[file[first]] = ranked[first]
    np.add.at(three, file[place < 3], ranked[place < 3] / 3.0)
    return {
        name: best,
        f"{name} three": three,
        f"{name} all": np.log1p(np.bincount(file, ranked, len(tree))),
    }


def score_path(tree: FileTree, task: TaskQuery) -> Column:
    """The rarity of the words that a path shares with the task, less for a long path."""
    scores = np.zeros(len(tree))
    for docs, _, _ in tree.ways.matches(dict.fromkeys(task.terms, 1.0)):
        scores[docs] += file_rarity(tree, len(docs))
    return scores / np.sqrt(np.maximum(tree.ways.sizes, 1.0))


def score_definitions(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that a file defines as they are written."""
    scores = np.zeros(len(tree))
    for name in names:
        places = tree.definers.get(name)
        is_coded = is_code_like(name) or name[0].isupper()
        # an everyday word counts only if it names hardly anything else
        if places and (is_coded or len(places) < 3):
            scores[list(places)] += file_rarity(tree, len(places)) * (1.0 if is_coded else 0.5)
    return scores


def score_symbols(tree: FileTree, task: TaskQuery) -> Column:
    """The rarity of the names that a file defines and the task says, whole or in part."""
    scores = 3.0 * score_definitions(tree, task.names)
    for docs, counts, _ in tree.named.matches(dict.fromkeys(task.terms, 1.0)):
        scores[docs] += file_rarity(tree, len(docs)) * counts / (counts + 1.5)
    return scores


def score_mentions(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that stand in a file, more if they stand often."""
    scores = np.zeros(len(tree))
    for name in names:
        docs, counts = tree.content.having(to_whole_term(name))
        times = 1.0 + np.log(np.maximum(counts, 1.0))
        scores[docs] += file_rarity(tree, max(len(docs), 1)) * times
    return scores


def score_rare_names(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the rarest name in the task that stands in a file, if few files have it."""
    scores = np.zeros(len(tree))
    most = max(3, len(tree) // RARE_SHARE)
    for name in names:
        docs, _ = tree.content.having(to_whole_term(name))
        if is_code_like(name) and 0 < len(docs) <= most:
            scores[docs] = np.maximum(scores[docs], file_rarity(tree, len(docs)))
    return scores


def sum_rarities(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of names that stand in a file, whatever else does."""
    scores = np.zeros(len(tree))
    for name in names:
        term = name if name in tree.content.numbers else to_whole_term(name)
        docs, _ = tree.content.having(term)
        if len(docs):
            scores[docs] += file_rarity(tree, len(docs))
    return scores


def score_joined_names(tree: FileTree, joined: Iterable[str]) -> Column:
    """The rarity of what two or three neighbouring words name."""
    scores = np.zeros(len(tree))
    for name in joined:
        places = tree.plain_definers.get(name)
        if places:
            scores[list(places)] += file_rarity(tree, len(places))
    return scores


def score_code_cosines(tree: FileTree, cosines: Mapping[str, Sequence[float]]) -> dict[str, Column]:
    """The cosine of the nearest chunk of each file, and of the nearest three; zeros if not known.

    `cosines` has those of chunks by their file's path.
    """
    best, three = np.zeros(len(tree)), np.zeros(len(tree))
    for path, of_chunks in cosines.items():
        if path in tree.place:
            nearest = sorted(of_chunks, reverse=True)[:3]
            best[tree.place[path]] = max(0.0, nearest[0])
            three[tree.place[path]] = max(0.0, sum(nearest) / len(nearest))
    return {"code": best, "code three": three}


def score_folders(tree: FileTree, content: Column) -> dict[str, Column]:
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
