# mypy: no-check-untyped-defs
"""`reverie.core.kinds` as it would be with more rows in its table: for a process of its own, before
anything of Reverie is imported.
"""

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

NAME = "reverie.core.kinds"
TABLE = "    for row in (\n"  # where its rows begin


class EditedSource(SourceFileLoader):
    """Compiles the module with rows that its file does not have."""

    rows: tuple[str, ...] = ()

    def get_code(self, fullname):
        source = Path(self.get_filename(fullname)).read_text("utf-8")
        head, table, rest = source.partition(TABLE)
        assert table, "the table of kinds begins otherwise"
        end = rest.index("\n    )\n}")
        added = "".join(f"\n        {row}," for row in self.rows)
        return compile(head + table + rest[:end] + added + rest[end:], self.path, "exec")


class EditedFinder(MetaPathFinder):
    """Finds the module with these rows, and leaves all others to the others."""

    def __init__(self, rows):
        self.rows = rows

    def find_spec(self, fullname, path=None, target=None):
        spec = PathFinder.find_spec(fullname, path, target) if fullname == NAME else None
        if spec is None:
            return None
        spec.loader = EditedSource(NAME, str(spec.origin))
        spec.loader.rows = self.rows
        return spec


def add_rows(*rows):
    """From now on the table of kinds ends with these rows, given as source."""
    assert NAME not in sys.modules, "the table has been read already"
    sys.meta_path.insert(0, EditedFinder(rows))
