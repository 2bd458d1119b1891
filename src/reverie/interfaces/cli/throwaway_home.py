"""A throw-away memory: a home in a temporary folder, with the model's files of the real one."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from reverie import Mind
from reverie.core import clock
from reverie.core.errors import EmbedderUnavailable, ExtraMissing, ModelUnavailable
from reverie.interfaces.cli.cli_context import CliContext
from reverie.interfaces.cli.terminal_output import print_note

REPLAY_SPACE = "me/replay"


@contextmanager
def open_throwaway_mind(
    cli: CliContext,
    now: Callable[[], float] = clock.now,
) -> Iterator[Mind]:
    """An empty mind that is gone afterwards."""
    import reverie

    real = cli.settings
    with TemporaryDirectory(prefix="reverie-", ignore_cleanup_errors=True) as folder:
        # The model's files are read from the real cache, so that nothing is fetched a second time.
        settings = real._replace(
            home=Path(folder),
            models=str(real.cache),
            store="",
            enabled=True,
            off=(),
            backups=0,
        )
        with (
            cli.progress,
            reverie.open(
                settings=settings,
                progress=cli.progress,
                now=now,
            ) as mind,
        ):
            yield mind


def load_embedder(cli: CliContext, mind: Mind) -> float | None:
    """Load the model, fetching it if need be; the seconds that took, or None where there are only
    words.
    """
    if mind.embedder is None:
        return None
    start = clock.ticks()
    try:
        mind.embedder.embed(["good morning"])
    except (ModelUnavailable, EmbedderUnavailable, ExtraMissing) as err:
        cli.progress.clear()
        print_note(f"Words alone: {str(err).splitlines()[0]}")
        mind.context.embedder = None
        return None
    cli.progress.clear()
    return clock.ticks() - start


class ReplayClock:
    """A clock that is set to when something was said, and goes on from there. It never goes
    back.
    """

    def __init__(self, at: float | None = None) -> None:
        self._base = clock.now() if at is None else at
        self._since = clock.ticks()

    def __call__(self) -> float:
        """Seconds since 1970, as if it were then."""
        return self._base + clock.ticks() - self._since

    def set(self, at: float) -> None:
        """Move the clock to this moment, unless it is later already."""
        if at > self():
            self._base, self._since = at, clock.ticks()
