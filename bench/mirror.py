"""The Markdown mirror as a space grows. `python -m bench.mirror [--sizes 500 5000 20000]`

Made-up facts in one space. Timed: writing the page the first time; syncing with nothing changed; a
person's edit of one line; the program's change of one memory; all memories and the whole page
afresh. Each is also given as a multiple of reading the page from disk and of parsing it, since a
page is one file and is replaced whole. Counted: memories that an edit of one line altered, and
events that it left. Target: 5,000 in under a second after the first time.
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

from bench.common import Texts, percentile, save, table, timed
from reverie.mirror.mirror_folder import MirrorFolder
from reverie.mirror.page_blocks import parse_mirror_page
from reverie.testing import Clock, memory

SPACE = "me/bench"
RUNS = 9


def measured(size: int) -> dict[str, Any]:
    """All timings for a page of so many lines."""
    with (
        tempfile.TemporaryDirectory() as folder,
        memory(Path(folder) / "home", now=Clock(), embedder="none") as mind,
    ):
        made = mind.remember_many([{"text": text} for text in Texts().many(size)], space=SPACE)
        first = timed(lambda: mind.data.mirror(SPACE))
        root = mind.settings.mirror_root
        assert root is not None
        page = MirrorFolder(root, SPACE).path / "MEMORY.md"

        def median(work: Any) -> float:
            return percentile([timed(lambda: work(run)) for run in range(RUNS)], 0.5)

        def edit(run: int) -> float:
            text = page.read_text("utf-8")
            page.write_text(
                text.replace(made[size // 2 + run].text, f"Edited line {run}."), "utf-8"
            )
            return timed(lambda: mind.data.mirror(SPACE))

        def alter(run: int) -> float:
            mind.revise(made[run].id, text=f"Altered memory {run}.")
            return timed(lambda: mind.data.mirror(SPACE))

        last = mind.store.last_event()
        edits = [edit(run) for run in range(RUNS)]
        altered, events = len(mind.store.changes_after(last)), mind.store.last_event() - last
        result = {
            "memories": size,
            "bytes": page.stat().st_size,
            "first_s": first,
            "unchanged_s": median(lambda _: mind.data.mirror(SPACE)),
            "edit_s": percentile(edits, 0.5),
            "altered_s": percentile([alter(run) for run in range(RUNS)], 0.5),
            "afresh_s": median(lambda _: mind.data.mirror(SPACE, afresh=True)),
            "read_s": median(lambda _: page.read_bytes()),
            "parse_s": median(lambda _: parse_mirror_page(page.read_text("utf-8"), "MEMORY.md")),
            "memories_altered_per_edit": altered / RUNS,
            "events_per_edit": events / RUNS,
        }
        assert mind.data.verify() == []
    return {
        **result,
        "edit_per_read": result["edit_s"] / result["read_s"],
        "edit_per_parse": result["edit_s"] / result["parse_s"],
        "unchanged_per_read": result["unchanged_s"] / result["read_s"],
    }


def main() -> None:
    """Measure, print, keep."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[500, 5_000, 20_000])
    rows = [measured(size) for size in parser.parse_args().sizes]
    names = [
        "memories",
        "first_s",
        "unchanged_s",
        "edit_s",
        "altered_s",
        "afresh_s",
        "read_s",
        "parse_s",
        "edit_per_read",
        "edit_per_parse",
        "memories_altered_per_edit",
        "events_per_edit",
    ]
    table([[row[name] for name in names] for row in rows], names)
    save("mirror", {"runs": RUNS, "sizes": rows})


if __name__ == "__main__":
    main()
