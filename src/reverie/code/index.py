"""Making the index what a repository's files are: only what changed is parsed again, then names are resolved anew.

Which files count: those of a known language that no ignore file names, up to 2 MB (`files.walk`), but for vendored
folders and for what was generated, going by its name or by what its first lines say. A file whose stamp is the same is
not opened, one whose bytes are the same is not parsed. Names are resolved from the stored facts of all files, and only
when any of them changed: a change in one file may give a name in another one another meaning.

Whoever is interrupted goes on there the next time; until then the index says that it is not resolved.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from reverie.code.facts import Facts, packed, unpacked
from reverie.code.languages import language_of
from reverie.code.parse import parsed
from reverie.code.resolve import resolved
from reverie.files.index import Progress, batches, planned
from reverie.files.roots import Root
from reverie.files.walk import LeftOut, Seen, read, walked
from reverie.store.code import CodeIndex, Parsed, Size
from reverie.store.files import Indexed

VENDORED = frozenset(("vendor", "vendored", "_vendor", "_vendored", "third_party", "thirdparty", "third-party"))
GENERATED_NAME = re.compile(r"(?i)[._-]min\.[cm]?js$|\.bundle\.js$|_pb2(_grpc)?\.pyi?$|\.pb\.(go|cc|h)$"
                            r"|[._](generated|g|designer)\.\w+$")
GENERATED_TEXT = re.compile(r"(?i)@generated|\bcode generated\b.*\bdo not edit\b|\b(this file (is|was)|"
                            r"autom?atically|auto-?)\s?generated\b")
GO_MODULE = re.compile(r"^module\s+\"?([^\s\"]+)", re.MULTILINE)
FIRST = 1_000              # characters in which a file says that it was generated
LONG_LINE = 5_000          # characters of a line that nobody wrote


class Mapped(NamedTuple):
    """What indexing a repository found and did."""

    root: str
    files: int = 0                     # that count now
    parsed: int = 0                    # that were new or had changed
    gone: int = 0                      # that are not there any more
    bytes: int = 0                     # that were read
    skipped: Mapping[str, int] = {}    # files left out, by reason
    size: Size = Size()


def mapped(index: CodeIndex, root: str, now: Callable[[], float], progress: Progress) -> Mapped:
    """Bring the index of a repository up to date. Raises NotFound where there is no such folder."""
    found = walked(Root(root, ""), lambda name: language_of(name) is not None)
    skipped = found.skipped.copy()
    mine = [file for file in found.files if not unwritten(file.path)]
    skipped.update(why for file in found.files if (why := unwritten(file.path)))
    known = index.known(root)
    plan = planned(known, found._replace(files=mine))
    total, done, count = sum(file.stamp.size for file in plan.changed), 0, 0
    name = Path(root).name
    progress(f"parsing {name}", 0, total)
    for batch in batches(plan.changed):
        some, size = put(index, root, batch, known, now, skipped)
        count, done = count + some, done + size
        progress(f"parsing {name}", done, total)
    index.drop(root, plan.gone)
    if not index.size(root).resolved or root not in index.roots():
        progress(f"resolving {name}", 0, None)
        facts = {path: unpacked(text) for path, text in index.facts(root).items()}
        index.link(root, resolved(called(root, now), facts))
    return Mapped(root, len(mine), count, len(plan.gone), done, +skipped, index.size(root))


def called(root: str, now: Callable[[], float]) -> str:
    """What a repository is called in its own imports: the end of what its go.mod says, else its folder's name."""
    try:
        said = GO_MODULE.search(read(Path(root, "go.mod"), now()).text)
    except (OSError, LeftOut):
        said = None
    return said[1].rpartition("/")[2] if said else Path(root).name


def put(index: CodeIndex, root: str, files: Iterable[Seen], known: Mapping[str, Indexed], now: Callable[[], float],
        skipped: Counter[str]) -> tuple[int, int]:
    """Parse some files that may have changed; how many had, and the bytes read."""
    entries: list[Parsed] = []
    same: list[Indexed] = []
    left: list[str] = []
    size = 0
    for file in files:
        try:
            content = read(Path(root, file.path), now())
        except FileNotFoundError:
            continue
        except LeftOut as err:
            skipped[err.why] += 1
            left.append(file.path)
            continue
        except OSError:
            skipped["unreadable"] += 1
            continue
        size += len(content.data)
        indexed = Indexed(file.path, content.stamp, blake2b(content.data, digest_size=16).digest())
        before = known.get(file.path)
        if before is not None and before.hash == indexed.hash:
            same.append(indexed)
            continue
        facts = facts_of(file.path, content.text)
        skipped["generated"] += generated(content.text)
        entries.append(Parsed(indexed, facts.language, facts.symbols, packed(facts)))
    index.stamp(root, [file for file in same if file.stamp != known[file.path].stamp])
    index.drop(root, [path for path in left if path in known])
    index.put(root, entries)
    return len(entries), size


def facts_of(path: str, text: str) -> Facts:
    """What stands in a file; of one that nobody wrote, nothing."""
    language = language_of(path)
    assert language is not None
    if generated(text):
        return Facts(language.name)
    return parsed(text.encode("utf-8", "replace"), language.name)


def unwritten(path: str) -> str:
    """Why a file is nobody's own work, going by its name; empty if it may be."""
    *folders, name = path.split("/")
    if not VENDORED.isdisjoint(folders):
        return "vendored"
    return "generated" if GENERATED_NAME.search(name) else ""


def generated(text: str) -> bool:
    """Whether a file says that it was generated, or has lines that nobody writes."""
    return bool(GENERATED_TEXT.search(text[:FIRST])) or max(map(len, text.splitlines()), default=0) > LONG_LINE
