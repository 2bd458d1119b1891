"""Writing hosts' settings, and how to bring back what was there before.

For each file that we wired, `<home>/installed/<host>.json` (0600) keeps the hash of ours and the
cuts that take ours out again: never the file's text, which is full of other programs' keys and
tokens. Unwiring makes these cuts if the file is still as we left it; else only our entries are
taken out of what it is now. Folders and files that were not there before are gone afterwards, if
nothing else came into them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import unified_diff
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import BadInput, Conflict
from reverie.interfaces.install.json_edit import BOM, apply_cuts, hide_foreign_values
from reverie.interfaces.install.settings_targets import SettingsTarget
from reverie.privacy import redact

# What is left of a file of ours that nobody else has written into: such a file is removed.
UNCHANGED = ("{}", "")


class SettingsEdit(NamedTuple):
    """A file as it is and as it is to be; None: it is not there."""

    path: Path
    before: str | None
    after: str | None
    row: dict[str, Any] | None = None  # what the ledger is to know of it

    @property
    def diff(self) -> str:
        """What changes, as a unified diff, without what stands next to it and is none of ours."""
        name = str(self.path)
        one, other = self._shown_lines(self.before), self._shown_lines(self.after)
        lines = unified_diff(one, other, name, name, lineterm="")
        # Values of others are hidden already; this is for TOML, and for names that hold a secret.
        return redact("\n".join(lines))[0]

    def _shown_lines(self, text: str | None) -> list[str]:
        if text is None:
            return []
        is_json = self.path.suffix == ".json"
        return (hide_foreign_values(text) if is_json else text).splitlines()


class WiringLedger:
    """What was wired into one host from one home."""

    def __init__(self, home: Path, host: str) -> None:
        self.path = home / "installed" / f"{host}.json"

    def plan_wiring(self, targets: Sequence[SettingsTarget]) -> list[SettingsEdit]:
        """The changes that wiring would make; empty where it is complete."""
        known = self.load_rows()
        edits = [
            plan_wired_edit(
                target,
                known.get(str(target.path)),
            )
            for target in targets
        ]
        return require_writable(edit for edit in edits if edit)

    def plan_unwiring(self, targets: Sequence[SettingsTarget]) -> list[SettingsEdit]:
        """What unwiring would alter."""
        known = self.load_rows()
        edits = [
            plan_unwired_edit(
                target,
                known.get(str(target.path)),
            )
            for target in targets
        ]
        return require_writable(edit for edit in edits if edit.before != edit.after)

    def wire(self, edits: Sequence[SettingsEdit]) -> None:
        """Write the files, and first of all how to bring back what was there before."""
        known = self.load_rows()
        for edit in edits:
            folders = known.get(str(edit.path), {}).get(
                "folders",
                [],
            )
            # Wired a second time, the folders that the first one made are still ours to remove.
            missing = missing_folders(edit.path.parent)
            known[str(edit.path)] = {**(edit.row or {}), "folders": folders + missing}
        # Before the files: killed in between, too much is known rather than too little.
        self._keep(known)
        for edit in edits:
            write_edit(edit)

    def unwire(self, edits: Sequence[SettingsEdit]) -> None:
        """Write the files, and forget what was there before."""
        known = self.load_rows()
        for edit in edits:
            write_edit(edit)
            for folder in known.pop(str(edit.path), {}).get(
                "folders",
                [],
            ):
                # `rmdir` refuses a folder that somebody else has put something into.
                with suppress(OSError):
                    Path(folder).rmdir()
        self._keep(known)

    def load_rows(self) -> dict[str, dict[str, Any]]:
        """What was wired, by path. What is not as `wire` writes it is as if it were not there."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        rows = found.items() if isinstance(found, dict) else ()
        return {path: row for path, row in rows if is_sound_row(row)}

    def _keep(self, known: dict[str, dict[str, Any]]) -> None:
        if known:
            make_private_folder(self.path.parent)
            write_atomically(
                self.path,
                json.dumps(known, indent=1).encode(),
                mode=0o600,
            )
            return
        with suppress(OSError):
            self.path.unlink()
            self.path.parent.rmdir()


def is_sound_row(row: Any) -> bool:
    """True if a row of the ledger is as `wire` writes it."""
    # The file lies in a home that other programs can write to, and its cuts go into settings.
    if not isinstance(row, dict):
        return False
    if not isinstance(row.get("after"), str) or not isinstance(row.get("new"), bool):
        return False
    cuts = row.get("undo")
    if not isinstance(cuts, list) or not all(isinstance(cut, list) for cut in cuts):
        return False
    if any(list(map(type, cut)) != [int, int, str] for cut in cuts):
        return False
    return is_text_list(row.get("made")) and is_text_list(row.get("folders"))


def is_text_list(value: Any) -> bool:
    """True for a list of texts."""
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


def plan_wired_edit(
    target: SettingsTarget,
    row: dict[str, Any] | None,
) -> SettingsEdit | None:
    """A file with our entries; None if it has them."""
    before = read_settings_text(target.path)
    untouched = row is not None and before is not None and row["after"] == text_digest(before)
    try:
        done = target.add_entries(before or "")
        if done.text == before and not (untouched and target.what == "command"):
            return None
        if row is not None and before is not None and untouched:
            # From what was there before ours: so the new cuts lead back to it as well.
            done = target.add_entries(apply_cuts(before, row["undo"]))
            if done.text == before:
                return None
    except BadInput as err:
        raise BadInput(f"{target.path}: {err}") from err
    try:
        after = text_digest(done.text)
    except UnicodeEncodeError as err:
        raise BadInput(
            f"{target.path} is UTF-8, and the name of a folder of ours is not. Set REVERIE_HOME, "
            "or move Reverie, to a folder whose name is"
        ) from err
    # A command's file that another installation of ours wrote is ours as a whole.
    replaces = target.what == "command" and before and not target.remove_entries(before, None)
    new = before is None or bool(replaces) or (untouched and row is not None and row["new"])
    made = done.made if row is None or untouched else {*done.made, *row["made"]}
    return SettingsEdit(
        target.path,
        before,
        done.text,
        {
            "after": after,
            "new": new,
            "undo": done.undo,
            "made": sorted(made),
        },
    )


def plan_unwired_edit(target: SettingsTarget, row: dict[str, Any] | None) -> SettingsEdit:
    """A file as it was before ours, or, if it was altered since, without ours."""
    now = read_settings_text(target.path)
    if now is None:
        return SettingsEdit(target.path, None, None)
    if row is not None and row["after"] == text_digest(now):
        return SettingsEdit(
            target.path,
            now,
            None if row["new"] else apply_cuts(now, row["undo"]),
        )
    # Altered since: the cuts no longer fit, so only entries that are ours to the letter go.
    try:
        left = target.remove_entries(now, None if row is None else row["made"])
    except BadInput as err:
        raise BadInput(f"{target.path}: {err}") from err
    # The whole file of a command is ours, whoever wired it.
    is_made = target.what == "command" or (row is not None and row["new"])
    ours = is_made and left != now
    is_empty = left.strip().removeprefix(BOM) in UNCHANGED
    return SettingsEdit(target.path, now, None if ours and is_empty else left)


def require_writable(edits: Iterable[SettingsEdit]) -> list[SettingsEdit]:
    """These edits; BadInput if a file is write-protected: somebody meant it to stay as it is."""
    found = list(edits)
    for edit in found:
        if edit.path.exists() and not edit.path.stat().st_mode & 0o222:
            raise BadInput(
                f"{edit.path} is write-protected, and is left as it is. Allow it (chmod u+w), or "
                "wire Reverie by hand: reverie install HOST --print"
            )
    return found


def missing_folders(folder: Path) -> list[str]:
    """Which folders have to be made for this one, the innermost first."""
    return [str(one) for one in (folder, *folder.parents) if not one.exists()]


def write_edit(edit: SettingsEdit) -> None:
    """Write or remove a file, unless somebody has altered it since it was looked at. Through links,
    with its mode.
    """
    # A link is followed, not replaced: people keep their settings in a repository and link them.
    path = edit.path.resolve()
    if read_settings_text(path) != edit.before:
        raise Conflict(f"{path} was altered meanwhile, and is left as it is. Run the command again")
    if edit.after is None:
        path.unlink()
        return
    path.parent.mkdir(
        parents=True,
        exist_ok=True,
        mode=0o700,
    )
    write_atomically(path, edit.after.encode(), new_mode=0o644)


def read_settings_text(path: Path) -> str | None:
    """A file's text as it is, line ends and byte order mark too; None if there is none."""
    try:
        # `newline=""`: line ends are the owner's.
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as err:
        raise BadInput(f"{path} is no UTF-8 text; it is left as it is") from err


def text_digest(text: str) -> str:
    """What tells one text from another."""
    return sha256(text.encode("utf-8")).hexdigest()
