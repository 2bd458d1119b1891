"""The files of a repository as a plan sees them, and what a task's words have to do with each.

Every signal is a number for each file, the higher the likelier that the task is about it; what they
are worth together is learned (`file_ranker`). Pure.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count
from pathlib import PurePosixPath

import numpy as np

from reverie.code.code_terms import (
    count_terms,
    is_code_like,
    normalize_identifier,
    split_into_word_parts,
    tokenize_path,
)
from reverie.code.planning.bm25_field import (
    Bm25Field,
    Column,
    GramField,
    LongInts,
    Signals,
    TermCounts,
    TermEntries,
    build_field,
    build_field_from_entries,
    count_grams,
    count_within_groups,
    number_members,
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
# files and chunks whose scores are summed where the best alone says too little
FEW = 3

# a name → the places of the files that define it
Definers = Mapping[str, Collection[int]]


class FileTree:
    """The indexed files of one repository; what is derived of them is made when first asked for."""

    def __init__(
        self,
        bags: TermColumns,
        names: Iterable[tuple[str, str]],
    ) -> None:
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
        # That of the chunks goes first: its entries are ordered, and sums of floats depend on it.
        chunks = self.chunks
        file_of = number_members(self.chunk_starts)
        # Words that stand in paths alone get numbers, too; those of the index may have gaps.
        free = count(len(chunks.starts) - 1)
        numbers = defaultdict(free.__next__, self._bags.terms)
        paths = self._list_path_entries(numbers)
        entries = TermEntries(
            np.append(file_of[chunks.docs], paths.docs),
            np.append(chunks.terms, paths.terms),
            np.append(chunks.counts, paths.counts),
        )
        return build_field_from_entries(dict(numbers), len(self), entries)

    def _list_path_entries(self, numbers: Mapping[str, int]) -> TermEntries:
        """The words of the paths, each by its number."""
        files: list[int] = []
        terms: list[int] = []
        counts: list[float] = []
        for place, path in enumerate(self.paths):
            for term, times in tokenize_path(split_path(path)).items():
                files.append(place)
                terms.append(numbers[term])
                counts.append(PATH_WEIGHT * times)
        return TermEntries(files, terms, counts)

    @cached_property
    def chunk_starts(self) -> LongInts:
        """The number of the first chunk of each file; at the end, of all chunks."""
        most = np.zeros(len(self), np.int64)
        np.maximum.at(most, self._bags.file, self._bags.chunk + 1)
        return np.concatenate([[0], np.cumsum(most)])

    @cached_property
    def chunks(self) -> Bm25Field:
        """What stands in each chunk of the files."""
        bags, starts = self._bags, self.chunk_starts
        entries = TermEntries(
            starts[bags.file] + bags.chunk,
            bags.term,
            bags.times,
        )
        return build_field_from_entries(bags.terms, int(starts[-1]), entries)

    @cached_property
    def named(self) -> Bm25Field:
        """The names that files define, in parts."""
        return build_field(count_terms(self.names[path]) for path in self.paths)

    @cached_property
    def bases(self) -> Bm25Field:
        """The names of the files; of a file that stands for its folder, the folder's."""
        return build_field(tokenize_path([pick_file_name(path)]) for path in self.paths)

    @cached_property
    def folders(self) -> Bm25Field:
        """The names of the folders that files are in."""
        return build_field(tokenize_path(split_path(path)[:-1]) for path in self.paths)

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
    def definers(self) -> Definers:
        """The files that define a name, as it is written."""
        found: dict[str, set[int]] = defaultdict(set)
        for path, names in self.names.items():
            for name in names:
                found[name].add(self.place[path])
        return dict(found)

    @cached_property
    def plain_definers(self) -> Definers:
        """The files that define a name, or are called so, however it is written."""
        found: dict[str, set[int]] = defaultdict(set)
        for name, places in self.definers.items():
            found[normalize_identifier(name)].update(places)
        for place, path in enumerate(self.paths):
            stem = PurePosixPath(path).stem.replace("-", "_")
            found[normalize_identifier(stem)].add(place)
        return dict(found)

    @cached_property
    def folder(self) -> LongInts:
        """The number of each file's folder."""
        folders = [str(PurePosixPath(path).parent) for path in self.paths]
        return np.unique(folders, return_inverse=True)[1]

    def rarity(self, holders: int) -> float:
        """What a name is worth that so many files have."""
        return float(np.log1p(len(self) / max(holders, 1)))

    def sum_rarities(self, holders: Iterable[Collection[int]]) -> Column:
        """For each file, what the names are worth that it has, given the files that have each."""
        scores = np.zeros(len(self))
        for files in holders:
            places = np.fromiter(files, np.int64, len(files))
            scores[places] += self.rarity(len(files))
        return scores


def split_path(path: str) -> list[str]:
    """The parts of a path, without the file's ending."""
    parts = PurePosixPath(path)
    return [*parts.parts[:-1], parts.stem]


def pick_file_name(path: str) -> str:
    """The name of a file without its ending; of one that stands for its folder, the folder's."""
    parts = PurePosixPath(path)
    return parts.parent.name if parts.stem in ENTRY_STEMS and parts.parent.name else parts.stem


def split_name_words(names: Iterable[str]) -> list[str]:
    """The words in names, of more than two letters, in lower case."""
    return list(split_into_word_parts(word for name in names for word in re.split(r"[-_.]", name)))


def compute_word_signals(tree: FileTree, task: TaskQuery) -> Signals:
    """What the words of a task have to do with each file."""
    content = tree.content.bm25(task.terms)
    return {
        "content": content,
        "content title": tree.content.bm25(task.title),
        "cover": tree.content.coverage(task.terms),
        **score_chunks(tree, task.terms, "chunk"),
        **score_chunks(tree, task.title, "chunk title"),
        **score_names(tree, task),
        **score_code_names(tree, task),
        **measure_files(tree),
        **score_folders(tree, content),
    }


def score_names(tree: FileTree, task: TaskQuery) -> Signals:
    """What a task has to do with the names that files define, and with their paths."""
    grams = count_grams(task.words)
    return {
        "names": tree.named.bm25(task.terms),
        "names title": tree.named.bm25(task.title),
        "base": tree.bases.bm25(task.terms),
        "base title": tree.bases.bm25(task.title),
        "folders": tree.folders.bm25(task.terms),
        "path": score_path(tree, task),
        "path grams": tree.path_grams.bm25(grams),
        "name grams": tree.name_grams.bm25(grams),
    }


def score_code_names(tree: FileTree, task: TaskQuery) -> Signals:
    """What the words of a task that may be names in code have to do with each file."""
    texts = (tree.content.having(name)[0] for name in task.joined)
    definers = (tree.plain_definers.get(name, ()) for name in task.joined)
    return {
        "defines": score_definitions(tree, task.names),
        "symbols": score_symbols(tree, task),
        "mentions": score_mentions(tree, task.coded),
        "rare": score_rare_names(tree, task.coded),
        "quoted": tree.sum_rarities(find_term_holders(tree, task.quoted)),
        "joined": tree.sum_rarities(texts),
        # two or three neighbouring words that are a name together
        "joined name": tree.sum_rarities(definers),
    }


def measure_files(tree: FileTree) -> Signals:
    """What counts of a file whatever the task is: its size and its place."""
    is_entrance = [PurePosixPath(path).stem in ENTRY_STEMS for path in tree.paths]
    depths = [path.count("/") for path in tree.paths]
    return {
        "size": np.log1p(tree.content.sizes),
        "chunks": np.log1p(np.diff(tree.chunk_starts)),
        "entrance": np.array(is_entrance, np.float64),
        "depth": np.array(depths, np.float64),
    }


def find_term_holders(
    tree: FileTree,
    names: Iterable[str],
) -> Iterator[Collection[int]]:
    """The files that each name stands in, as it is or as the term that it is indexed under."""
    for name in names:
        term = name if name in tree.content.numbers else to_whole_term(name)
        yield tree.content.having(term)[0]


def score_chunks(
    tree: FileTree,
    question: TermCounts,
    name: str,
) -> Signals:
    """How well the best chunk of each file answers, the best three, and all."""
    scores = tree.chunks.bm25(question)
    hits = np.flatnonzero(scores)
    file = np.searchsorted(tree.chunk_starts, hits, side="right") - 1
    # by file, the best chunk of each first
    order = np.lexsort((-scores[hits], file))
    file, ranked = file[order], scores[hits][order]
    place = count_within_groups(np.bincount(file, minlength=len(tree)))

    def average_best(most: int) -> Column:
        best = place < most
        return np.bincount(file[best], ranked[best] / most, len(tree)).astype(np.float64)

    return {
        name: average_best(1),
        f"{name} three": average_best(FEW),
        f"{name} all": np.log1p(np.bincount(file, ranked, len(tree))),
    }


def score_path(tree: FileTree, task: TaskQuery) -> Column:
    """The rarity of the words that a path shares with the task, less for a long path."""
    scores = tree.sum_rarities(tree.ways.having(term)[0] for term in task.terms)
    return scores / np.sqrt(np.maximum(tree.ways.sizes, 1.0))


def score_definitions(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that a file defines as they are written."""
    scores = np.zeros(len(tree))
    for name in names:
        places = list(tree.definers.get(name, ()))
        is_coded = is_code_like(name) or name[0].isupper()
        # an everyday word counts only if it names hardly anything else
        if is_coded or len(places) < FEW:
            scores[places] += tree.rarity(len(places)) * (1.0 if is_coded else 0.5)
    return scores


def score_symbols(tree: FileTree, task: TaskQuery) -> Column:
    """The rarity of the names that a file defines and the task says, whole or in part."""
    scores = 3.0 * score_definitions(tree, task.names)
    for docs, counts, _ in tree.named.matches(task.terms):
        scores[docs] += tree.rarity(len(docs)) * counts / (counts + 1.5)
    return scores


def score_mentions(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the names in the task that stand in a file, more if they stand often."""
    scores = np.zeros(len(tree))
    for name in names:
        docs, counts = tree.content.having(to_whole_term(name))
        times = 1.0 + np.log(np.maximum(counts, 1.0))
        scores[docs] += tree.rarity(len(docs)) * times
    return scores


def score_rare_names(tree: FileTree, names: Iterable[str]) -> Column:
    """The rarity of the rarest name in the task that stands in a file, if few files have it."""
    scores = np.zeros(len(tree))
    most = max(FEW, len(tree) // RARE_SHARE)
    for name in names:
        docs, _ = tree.content.having(to_whole_term(name))
        if is_code_like(name) and len(docs) <= most:
            scores[docs] = np.maximum(
                scores[docs],
                tree.rarity(len(docs)),
            )
    return scores


def score_code_cosines(
    tree: FileTree,
    cosines: Mapping[str, Sequence[float]],
) -> Signals:
    """The cosine of the nearest chunk of each file, and of the nearest three; zeros if not known.

    `cosines` has those of chunks by their file's path.
    """
    best = np.zeros(len(tree))
    three = np.zeros(len(tree))
    for path, of_chunks in cosines.items():
        if path in tree.place:
            place = tree.place[path]
            nearest = sorted(of_chunks, reverse=True)[:FEW]
            best[place] = max(0.0, nearest[0])
            three[place] = max(0.0, sum(nearest) / len(nearest))
    return {"code": best, "code three": three}


def score_folders(tree: FileTree, content: Column) -> Signals:
    """How well the best three files of each file's folder answer, and how many it has."""
    # by folder, the best file of each first
    order = np.lexsort((-content, tree.folder))
    sizes = np.bincount(tree.folder)
    best = order[count_within_groups(sizes) < FEW]
    sums = np.bincount(
        tree.folder[best],
        content[best],
        len(sizes),
    )
    means = sums / np.minimum(sizes, FEW)
    return {
        "folder": means[tree.folder],
        "folder size": np.log1p(sizes[tree.folder]),
    }
