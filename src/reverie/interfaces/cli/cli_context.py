"""What every command is given: where the memory lives, from where one asks, and how to answer.

`command` registers a function as a command. Its first parameter is the `Desk`; the options
`--home`, `--json` and, where it makes sense, `--space` are added to its own, and may stand before
the command's name as well.
"""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie import Mind
from reverie.core import config, environment
from reverie.core.config import Settings
from reverie.interfaces.cli import shell_completion
from reverie.interfaces.cli.progress_bar import ProgressBar
from reverie.memory.memory_validation import resolve_space

CommandFunction = Callable[..., None]

HomeOption = Annotated[
    Path | None,
    typer.Option(
        "--home",
        metavar="FOLDER",
        help="Where the memory lives (default: REVERIE_HOME or ~/.reverie).",
    ),
]
SpaceOption = Annotated[
    str | None,
    typer.Option(
        "--space",
        "-s",
        metavar="PATH",
        autocompletion=shell_completion.complete_spaces,
        help="Whose memory: me, me/project, … (default: the project of this folder).",
    ),
]
SandboxOption = Annotated[
    bool,
    typer.Option(
        "--sandbox", help="Try things out in a memory apart, empty at first (REVERIE_SANDBOX=1)."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Limit = Annotated[int, typer.Option("--limit", "-n", min=0, help="How many, at most.")]


@dataclass
class CliContext:
    """The options that all commands share, and the mind that they open."""

    home: Path | None = None
    place: str | None = None
    json: bool = False
    sandbox: bool = False
    telling: ProgressBar = field(default_factory=ProgressBar)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the home."""
        return config.load_settings(self.home, sandbox=self.sandbox)

    @cached_property
    def space(self) -> str:
        """Where one asks from."""
        return resolve_space(self.place)

    @contextmanager
    def mind(self) -> Iterator[Mind]:
        """The memory, open; closed at the end, whatever happens. Off where an agent's session asks
        that is off.
        """
        import reverie

        here = environment.host_session()
        settings = (
            self.settings._replace(enabled=False)
            if here in self.settings.off_sessions
            else self.settings
        )
        with self.telling, reverie.open(settings=settings, progress=self.telling) as mind:
            yield mind


def command(
    app: typer.Typer, name: str, *, panel: str, spaced: bool = True, hidden: bool = False
) -> Callable[[CommandFunction], CommandFunction]:
    """Register a function as a command of that name, with the shared options."""

    def register(function: CommandFunction) -> CommandFunction:
        own = list(inspect.signature(function).parameters.values())[1:]
        shared = [
            option_parameter("home", HomeOption, None),
            option_parameter("as_json", JsonOption, False),
        ]
        if spaced:
            shared.insert(0, option_parameter("place", SpaceOption, None))
        context = inspect.Parameter(
            "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
        )

        @wraps(function)
        def called(
            ctx: typer.Context,
            home: Path | None = None,
            place: str | None = None,
            as_json: bool = False,
            **rest: Any,
        ) -> None:
            before = ctx.find_root().obj or CliContext()
            function(
                CliContext(
                    home or before.home,
                    place if place is not None else before.place,
                    as_json or before.json,
                    before.sandbox,
                ),
                **rest,
            )

        parameters = [
            context,
            *(p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *shared)),
        ]
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {p.name: p.annotation for p in parameters}
        app.command(name, rich_help_panel=panel, hidden=hidden)(called)
        return function

    return register


def option_parameter(name: str, annotation: Any, default: Any) -> inspect.Parameter:
    """A parameter for an option."""
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation
    )
