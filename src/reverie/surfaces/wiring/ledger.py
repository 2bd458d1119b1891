"""Writing hosts' settings, and what was there before.

For each file that we wired, `<home>/installed/<host>.json` keeps its text before and the hash of ours. Unwiring brings
the text before back if the file is still as we left it; else only our entries are taken out of it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from reverie.errors import BadInput, Conflict
from reverie.surfaces.wiring.targets import Target


class Edit(NamedTuple):
    """A file as it is and as it is to be; None: it is not there."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> str:
        """What changes, as a unified diff."""
        one, other = (text.splitlines() if text is not None else [] for text in (self.before, self.after))
        return "\n".join(unified_diff(one, other, str(self.path), str(self.path), lineterm=""))


class Ledger:
    """What was wired into one host from one home."""

    def __init__(self, home: Path, host: str) -> None:
        self.path = home / "installed" / f"{host}.json"

    def wiring(self, targets: Sequence[Target]) -> list[Edit]:
        """What wiring would alter; empty where all is as it should be."""
        return [edit for edit in map(wired, targets) if edit.before != edit.after]

    def unwiring(self, targets: Sequence[Target]) -> list[Edit]:
        """What unwiring would alter."""
        known = self.known()
        edits = [unwired(target, known.get(str(target.path))) for target in targets]
        return [edit for edit in edits if edit.before != edit.after]

    def wire(self, edits: Sequence[Edit], targets: Sequence[Target]) -> None:
        """Write the files, and first of all what was there before."""
        known, of = self.known(), {target.path: target for target in targets}
        for edit in edits:
            row = known.get(str(edit.path))
            if row is None or edit.before is None or row["after"] != digest(edit.before):
                before = edit.before if edit.before is None else of[edit.path].drop(edit.before)
                row = {"before": before}
            assert edit.after is not None
            known[str(edit.path)] = {"before": row["before"], "after": digest(edit.after)}
        self._keep(known)
        for edit in edits:
            put(edit)

    def unwire(self, edits: Sequence[Edit]) -> None:
        """Write the files, and forget what was there before."""
        for edit in edits:
            put(edit)
        gone = {str(edit.path) for edit in edits}
        self._keep({path: row for path, row in self.known().items() if path not in gone})

    def known(self) -> dict[str, Any]:
        """What was wired: by path, the text before and the hash after."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return found if isinstance(found, dict) else {}

    def _keep(self, known: dict[str, Any]) -> None:
        if known:
            put(Edit(self.path, text_of(self.path), json.dumps(known, indent=1)), private=True)
        elif self.path.is_file():
            self.path.unlink()


def wired(target: Target) -> Edit:
    """A file with our entries."""
    before = text_of(target.path)
    try:
        return Edit(target.path, before, target.put(before or ""))
    except BadInput as err:
        raise BadInput(f"{target.path}: {err}") from err


def unwired(target: Target, known: dict[str, Any] | None) -> Edit:
    """A file as it was before ours, or, if it was altered since, without ours."""
    now = text_of(target.path)
    if now is None:
        return Edit(target.path, None, None)
    if known is not None and known["after"] == digest(now):
        return Edit(target.path, now, known["before"])
    try:
        return Edit(target.path, now, target.drop(now))
    except BadInput as err:
        raise BadInput(f"{target.path}: {err}") from err


def put(edit: Edit, *, private: bool = False) -> None:
    """Write or remove a file, unless somebody has altered it since it was looked at. Through links, with its mode."""
    path = edit.path.resolve()
    if text_of(path) != edit.before:
        raise Conflict(f"{path} was altered meanwhile, and is left as it is. Run the command again")
    if edit.after is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600 if private else 0o644
    half = path.with_name(f"{path.name}.{os.getpid()}.part")
    with half.open("w", encoding="utf-8", newline="") as file:
        file.write(edit.after)
    half.chmod(mode)
    half.replace(path)


def text_of(path: Path) -> str | None:
    """A file's text as it is, line ends too; None if there is none."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as err:
        raise BadInput(f"{path} is no UTF-8 text; it is left as it is") from err


def digest(text: str) -> str:
    """What tells one text from another."""
    return sha256(text.encode("utf-8")).hexdigest()
