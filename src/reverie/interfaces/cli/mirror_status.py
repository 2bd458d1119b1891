"""What the mirror and shared files leave to a person: pages out of step, files that wait."""

from pathlib import Path

from reverie import Mind


def find_unsynced_shares(
    mind: Mind,
    space: str | None = None,
) -> dict[str, str]:
    """The shared files of a space, or of all, that are left alone just now, and why: for `share`,
    `settle`, `status` and `doctor`.
    """
    from reverie.porting import shared_files

    return {
        share.path: why
        for share, why in shared_files.find_stuck_shares(mind.store)
        if space in (None, share.space)
    }


def list_mirror_questions(mind: Mind) -> list[str]:
    """The questions that wait, for `review` and `stats`."""
    from reverie.mirror.mirror_sync import list_deletion_questions

    return [
        format_mirror_question(one.path, one.gone, one.of)
        for one in list_deletion_questions(mind.settings, mind.store)
    ]


def format_mirror_question(
    path: Path,
    gone: int,
    of: int,
) -> str:
    """What waits for an answer, and how to give it."""
    return (
        f"{path}: {gone:,} of {of:,} lines are gone. Nothing is forgotten yet: "
        "reverie data mirror --yes forgets them, reverie data mirror --no writes them again"
    )
