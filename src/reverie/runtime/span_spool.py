"""Spans that wait for the worker, a file each in `<home>/spans`.

A command, or a tool that an agent calls, must not wait for a collector, nor for the SDK to be
imported (0.3 s): it writes down what it did, with the times that it had, and the worker sends it.
Where nobody sends anything, MAX_WAITING spans wait and no more are written.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reverie.core import clock, environment
from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import CannotOpen, ReverieError
from reverie.core.memory_spans import SpanRecord, find_tracer
from reverie.core.private_files import open_bytes, write_private_bytes

if TYPE_CHECKING:
    from reverie.core.config import Settings
    from reverie.runtime.mind import Mind

FOLDER = "spans"  # in the home
# Some minutes of a busy agent; each file has half a kilobyte.
MAX_WAITING = 2_000
TROUBLE_FILE = "trouble"


class SpanSpool:
    """The spans of a home that wait."""

    def __init__(self, home: Path) -> None:
        self._home, self.folder = home, home / FOLDER
        self.has_added = False

    def add(self, record: SpanRecord) -> None:
        """Leave a span for the worker, sealed in an encrypted home, for it may hold what was said.
        What cannot be written is dropped: it is no memory.
        """
        with suppress(OSError, ReverieError):
            make_private_folder(self.folder)
            if sum(1 for _ in os.scandir(self.folder)) < MAX_WAITING:
                path = self.folder / f"{clock.new_id('span')}.json"
                data = json.dumps(record).encode("ascii")
                write_private_bytes(self._home, path, data, durable=False)
                self.has_added = True

    def list_paths(self) -> list[Path]:
        """The files of those that wait, in the order in which they were left."""
        with suppress(OSError):
            return sorted(self.folder.glob("span_*.json"))
        return []

    def take(self) -> Iterator[SpanRecord]:
        """The spans that wait; each is gone once it is taken. What is none is dropped."""
        for path in self.list_paths():
            with suppress(OSError, ValueError, TypeError, CannotOpen):
                written = path.read_bytes()
                # Gone before it is read: a file that a power cut left empty would wait for ever.
                path.unlink()
                yield to_span_record(json.loads(open_bytes(self._home, written)))

    def clear(self) -> None:
        """Drop all that wait."""
        for path in self.list_paths():
            with suppress(OSError):
                path.unlink()

    @property
    def trouble(self) -> str:
        """Why spans do not arrive, as the worker noted it; empty if they do."""
        try:
            return (self.folder / TROUBLE_FILE).read_text("utf-8").strip()
        except (OSError, ValueError):
            return ""

    def note_trouble(self, trouble: str) -> None:
        """Note why spans do not arrive; an empty text that they do."""
        with suppress(OSError):
            path = self.folder / TROUBLE_FILE
            if trouble:
                make_private_folder(self.folder)
                write_atomically(path, trouble.encode("utf-8", "replace"), durable=False)
            else:
                path.unlink(missing_ok=True)


def to_span_record(values: Any) -> SpanRecord:
    """The span that JSON values mean; ValueError or TypeError for what is none."""
    verb, operation, begun, ended, attributes, children = values
    if not isinstance(attributes, dict):
        raise ValueError("a span's attributes are no object")
    return SpanRecord(
        str(verb),
        str(operation),
        float(begun),
        float(ended),
        attributes,
        tuple(map(to_span_record, children)),
    )


def is_sender_installed() -> bool:
    """True if the extra `otel` is there."""
    from importlib.util import find_spec

    try:
        return find_spec("opentelemetry.exporter.otlp.proto.http") is not None
    except ModuleNotFoundError:
        return False


def find_target(settings: Settings) -> str:
    """Where spans of this home are sent; empty: nowhere, also where nothing may be sent."""
    return "" if settings.offline else environment.find_span_address(settings.otel)


def attach_spool(
    mind: Mind, surface: str, call_worker: Callable[[], object] = lambda: None
) -> SpanSpool | None:
    """Have what is done with a memory told by spans, as of this interface; the spool in which they
    wait, if they do. `call_worker` is called after each.
    """
    mind.context.surface = surface
    # Where the process has a provider of its own, as by `opentelemetry-instrument`, that has them.
    if not find_target(mind.settings) or find_tracer() is not None or not is_sender_installed():
        return None
    spool = SpanSpool(mind.settings.home)

    def leave_span(record: SpanRecord) -> None:
        spool.add(record)
        call_worker()

    mind.context.spans = leave_span
    return spool
