"""Which file a path means, and how a file and a page stand to what memory knows of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from reverie.core.errors import BadInput
from reverie.core.privacy_policy import Policy
from reverie.privacy.redacted_text import redact_short_text

if TYPE_CHECKING:
    from reverie.mirror.space_sync import MirrorReport
    from reverie.notes.watched_roots import WatchedRoot
    from reverie.retrieval.note_search import Passage

# Characters of a path that stand in a message: it may be the name of nothing.
MAX_SHOWN_PATH = 200


def find_file(
    roots: Sequence[WatchedRoot],
    path: str | Path,
    policy: Policy,
) -> tuple[WatchedRoot, Path]:
    """The root that a path lies in, and the place of the file; BadInput for what no file can be."""
    try:
        return admit_file(roots, path, policy)
    except BadInput:
        raise
    # Too long a name, a path within a file, one with a NUL, one of a user that there is not.
    except (OSError, ValueError, RuntimeError) as err:
        why = getattr(err, "strerror", None) or str(err)
        shown = ascii(str(path))[:MAX_SHOWN_PATH]
        raise BadInput(f"{shown} is not a file that can be read or written: {why}") from err


def refuse_secret_path(
    path: str,
    what: str,
    policy: Policy,
) -> None:
    """Raise BadInput for a path that holds a secret; `what` it leads to: "file" or "folder"."""
    # Paths are keys of indexes and stand in events, so they cannot be redacted.
    if redact_short_text(path, policy) != path:
        raise BadInput(
            f"That {what}'s name holds a secret. "
            "Paths are written down as they are; rename it first"
        )


def admit_file(
    roots: Sequence[WatchedRoot],
    path: str | Path,
    policy: Policy,
) -> tuple[WatchedRoot, Path]:
    """The root and the place of a file: an existing file wins over a new one, the nearest root over
    those around it.
    """
    from reverie.notes.folder_walk import admit_path, relative_to_root
    from reverie.notes.watched_roots import MIRROR_FILES

    wanted = Path(path).expanduser()
    candidates: list[tuple[WatchedRoot, str]] = []
    # The longest path is the nearest root.
    for root in sorted(roots, key=lambda root: -len(root.path)):
        place = wanted if wanted.is_absolute() else Path(root.path, wanted)
        name = relative_to_root(root, place)
        # Of the mirror's folder only the pages: what else lies there is none of it.
        if name is not None and (not root.own or MIRROR_FILES.fullmatch(name)):
            candidates.append((root, name))
    if not candidates:
        raise BadInput(
            f"{path} is not in a folder that memory may read or write. "
            "`reverie files list` shows them"
        )
    existing = [(root, name) for root, name in candidates if os.path.lexists(Path(root.path, name))]
    candidates = existing or candidates
    if not wanted.is_absolute() and len(candidates) > 1:
        folders = " or ".join(root.path for root, _ in candidates)
        raise BadInput(f"{path} could be in {folders}: give the whole path")
    root, name = candidates[0]
    return root, admit_path(root, name, policy=policy)


def compare_with_file(passage: Passage) -> Passage | None:
    """A passage compared with its file as it is now: None if the file is gone; `why` says so if it
    has changed.
    """
    from reverie.notes.folder_walk import to_stamp
    from reverie.storage.indexed_files import UNSURE_STAMP

    try:
        stamp = to_stamp(Path(passage.path).stat())
    except OSError:
        return None
    # An unsure stamp was taken so soon after a change that it tells nothing.
    if passage.stamp in (stamp, UNSURE_STAMP):
        return passage
    return passage._replace(why=(*passage.why, "changed since it was indexed"))


def list_page_questions(reports: Iterable[MirrorReport], page: str) -> list[str]:
    """What somebody has to answer before the mirror follows a page again."""
    questions = [question for report in reports for question in report.questions]
    return [
        f"{gone:,} of {of:,} lines are gone from it: were they deleted? "
        "`reverie data mirror --yes` forgets them, `--no` writes them anew"
        for name, gone, of in questions
        if name == page
    ]


def ignore_index_progress(
    _stage: str,
    _done: int,
    _total: int | None,
) -> None:
    """A progress callback that does nothing."""
