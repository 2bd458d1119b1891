"""What every command is given: where the memory lives, from where one asks, and how to answer.

A module of commands has a `CommandTable`, to which it adds its functions. The first parameter of
each is the `CliContext`; the options `--home`, `--json` and, where it makes sense, `--space` are
added to its own, and may stand before the command's name as well. A parameter whose type is a
dataclass stands for an option for each of its fields. `Annotated[str, "HELP"]` is an option,
`Annotated[str, "NAME", "HELP"]` an argument.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from reverie import Mind
from reverie.core import clock, config, environment
from reverie.core.config import Settings
from reverie.core.errors import ReverieError
from reverie.interfaces.cli.progress_bar import ProgressBar
from reverie.interfaces.cli.shell_completion import (
    complete_forgotten_ids,
    complete_ids,
    complete_spaces,
    complete_tags,
)
from reverie.interfaces.cli.terminal_output import print_json, print_note, print_view
from reverie.memory import short_ids
from reverie.memory.memory_validation import resolve_space
from reverie.pipeline.leases import SETTLE_LEASE

if TYPE_CHECKING:
    from rich.console import RenderableType

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
        autocompletion=complete_spaces,
        help="The space: me, me/project, … (default: the project of this folder).",
    ),
]
SandboxOption = Annotated[
    bool,
    typer.Option("--sandbox", help="Use a separate memory to try things out (REVERIE_SANDBOX=1)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer with one JSON document.")]
Limit = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        min=0,
        help="How many, at most.",
    ),
]
LimitFromOne = Annotated[
    int,
    typer.Option(
        "--limit",
        "-n",
        min=1,
        help="How many, at most.",
    ),
]
ID_ARGUMENT = typer.Argument(
    metavar="ID",
    autocompletion=complete_ids,
    help="The memory's id, mem_…, or its first or last few characters: mem_4k7.",
)
MemoryId = Annotated[str, ID_ARGUMENT]
OptionalMemoryId = Annotated[str | None, ID_ARGUMENT]
NewTags = Annotated[
    list[str] | None,
    typer.Option(
        "--tag",
        "-t",
        autocompletion=complete_tags,
        help="A tag; may be given several times.",
    ),
]
Triggers = Annotated[
    list[str] | None, typer.Option(help="What brings it up: words, a file, tool:Bash(git push*).")
]
RepositoryFolder = Annotated[
    Path | None,
    typer.Option(
        "--in",
        metavar="FOLDER",
        help="A folder of the repository (default: this one).",
    ),
]


@dataclass
class CliContext:
    """The options that all commands share, and the mind that they open."""

    home: Path | None = None
    named_space: str | None = None
    as_json: bool = False
    sandbox: bool = False
    progress: ProgressBar = field(default_factory=ProgressBar)

    @cached_property
    def settings(self) -> Settings:
        """The settings of the home."""
        return config.load_settings(self.home, sandbox=self.sandbox)

    @cached_property
    def space(self) -> str:
        """Where one asks from."""
        return resolve_space(self.named_space)

    def answer(
        self,
        values: object,
        view: "str | Iterable[RenderableType]",
        nothing: str = "",
    ) -> None:
        """Say what came of it: one JSON document with --json, else a line or what a view yields.

        Of a view that yields nothing, `nothing` is noted.
        """
        if self.as_json:
            print_json(values)
        elif not print_view(view) and nothing:
            print_note(nothing)

    def note(self, text: str) -> None:
        """One line on stderr for a person, about the answer; none with --json."""
        if not self.as_json:
            print_note(text)

    def note_missing_model(self) -> None:
        """A line on stderr if the embedding model is not here: only words count until it is."""
        from reverie.interfaces.worker import is_model_missing

        if is_model_missing(self.settings):
            self.note(
                f"The embedding model {self.settings.embedder} is not on this machine: words alone "
                "are compared. What it lacks, or to fetch it: reverie data settle"
            )

    @contextmanager
    def open_mind(self, *, watched: bool = True, as_found: bool = False) -> Iterator[Mind]:
        """The memory, open; closed at the end, whatever happens. Off where an agent's session asks
        that is off. What a user is told once waits for a command that is `watched`. `as_found`:
        what a purge or scrub has left to be done stays so.
        """
        import reverie
        from reverie.runtime.span_spool import attach_spool
        from reverie.storage.private_home import take_notice

        settings = self.settings
        # Claude Code and Codex name their session in the environment of the commands that they run.
        if environment.host_session() in settings.off_sessions:
            settings = settings._replace(enabled=False)
        open_memory = reverie.open_as_found if as_found else reverie.open
        with self.progress, open_memory(settings=settings, progress=self.progress) as mind:
            if watched and not self.as_json and (notice := take_notice(mind.store)):
                self.note(notice)
            spool = None if as_found else attach_spool(mind, "cli")
            yield mind
            if spool is not None and spool.has_added:
                call_sender(mind)


def call_sender(mind: Mind) -> None:
    """Have the worker send the spans that wait; never waits for it."""
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker_start import wake_worker

    # Whoever settles looks for them too. What is in trouble waits for the next worker.
    with suppress(ReverieError, OSError):
        if mind.settings.idle > 0 and mind.store.holder(SETTLE_LEASE, clock.now()) is None:
            files = HookFiles(str(mind.settings.home))
            wake_worker(files.home, files.lock)


class CommandTable(typer.Typer):
    """The commands of a module, in the order in which `--help` lists them."""

    def add(
        self,
        name: str,
        *,
        spaced: bool = True,
        hidden: bool = False,
    ) -> Callable[[CommandFunction], CommandFunction]:
        """Decorate a function that is the command of this name; `spaced`: it takes --space.

        The docstring is its help, and the first line of it what lists say.
        """

        def add_command(function: CommandFunction) -> CommandFunction:
            help = unwrap_help(function.__doc__ or "")
            # Typer would list the whole first paragraph; tests hold the first line to one line of
            # a list.
            short_help = help.partition("\n")[0]
            options = with_shared_options(function, spaced)
            self.command(
                name,
                help=help,
                short_help=short_help,
                hidden=hidden,
            )(options)
            return function

        return add_command


def merge_shared_options(
    ctx: typer.Context,
    home: Path | None,
    place: str | None,
    as_json: bool,
) -> CliContext:
    """The context of a command: these options, and where they are not given those before them."""
    before = ctx.find_root().obj or CliContext()
    return CliContext(
        home or before.home,
        place if place is not None else before.named_space,
        as_json or before.as_json,
        before.sandbox,
    )


def unwrap_help(docstring: str) -> str:
    """A docstring as help text: each paragraph on one line, so that the terminal's width wraps it.

    Indented lines, such as examples, stay as they are.
    """
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(
        text if "\n " in text else " ".join(text.splitlines()) for text in paragraphs
    )


def with_shared_options(function: CommandFunction, spaced: bool) -> CommandFunction:
    """The function as Typer is to see it: with the shared options, and without its context."""

    @wraps(function)
    def run_command(
        ctx: typer.Context,
        home: Path | None = None,
        place: str | None = None,
        as_json: bool = False,
        **own_options: Any,
    ) -> None:
        # Options may stand before the command, too; those behind it win.
        cli = merge_shared_options(ctx, home, place, as_json)
        for name, options_type in grouped.items():
            values = {row.name: own_options.pop(row.name) for row in fields(options_type)}
            own_options[name] = options_type(**values)
        for name in id_names:
            own_options[name] = expand_ids(cli, own_options[name])
        function(cli, **own_options)

    # A module whose annotations are kept as text has helps and names of options in them, too.
    given = list(inspect.signature(function, eval_str=True).parameters.values())[1:]
    grouped: dict[str, Any] = {
        row.name: row.annotation for row in given if is_dataclass(row.annotation)
    }
    id_names = [row.name for row in given if takes_ids(row.annotation)]
    own = [option for row in given for option in expand_options(row)]
    shared = [
        *([option_parameter("place", SpaceOption, None)] if spaced else []),
        option_parameter("home", HomeOption, None),
        option_parameter("as_json", JsonOption, False),
    ]
    context = inspect.Parameter(
        "ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context
    )
    # They are keyword-only: a required option may then follow one that has a default.
    parameters = [context, *own, *shared]
    # Typer reads both: the one for kinds and defaults, the other for types.
    run_command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {row.name: row.annotation for row in parameters}
    return run_command


def takes_ids(annotation: Any) -> bool:
    """True of an argument that is completed with ids of memories."""
    completers = [getattr(one, "autocompletion", None) for one in get_args(annotation)[1:]]
    return complete_ids in completers or complete_forgotten_ids in completers


def expand_ids(cli: CliContext, given: Any) -> Any:
    """Ids as they were typed, with short ones made whole; the memory is opened for those alone."""
    ids = [given] if isinstance(given, str) else list(given or ())
    if not any(map(short_ids.is_short, ids)):
        return given
    with cli.open_mind(watched=False) as mind:
        whole = [short_ids.expand_id(mind.store, id) for id in ids]
    return whole[0] if isinstance(given, str) else whole


def expand_options(parameter: inspect.Parameter) -> list[inspect.Parameter]:
    """A parameter as Typer is to see it: of a dataclass each field is an option by itself."""
    if not is_dataclass(parameter.annotation):
        return [option_parameter(parameter.name, parameter.annotation, parameter.default)]
    return [
        option_parameter(
            row.name,
            row.type,
            row.default,
        )
        for row in fields(parameter.annotation)
    ]


def option_parameter(
    name: str,
    annotation: Any,
    default: Any,
) -> inspect.Parameter:
    """A parameter as Typer is to see it: `Annotated[str, "…"]` is an option with that help, which
    is called as the parameter is (of a bool there is no opposite); with two texts it is an
    argument, its name in the usage and its help.
    """
    match get_args(annotation):
        case (kind, str(help)):
            names = [f"--{name.replace('_', '-')}"] if kind is bool else []
            annotation = Annotated[kind, typer.Option(*names, help=help)]
        case (kind, str(metavar), str(help)):
            annotation = Annotated[kind, typer.Argument(metavar=metavar, help=help)]
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=annotation,
    )
