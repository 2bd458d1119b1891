"""The command `reverie`: wiring, and what happens when something goes wrong.

Each command is a thin function in `commands/` over one verb of `Mind`. Whatever goes wrong becomes
one clear line on stderr and an exit code from `EXIT_CODES`, never a traceback; what nobody foresaw
is written to `trouble.txt` in the home. Rich, numpy and the model are imported by the commands that
need them, so that `--help` and completion are quick.
"""

import errno
import os
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from reverie.core import errors
from reverie.interfaces.cli.cli_context import (
    CliContext,
    HomeOption,
    JsonOption,
    SandboxOption,
    SpaceOption,
    merge_shared_options,
)
from reverie.interfaces.cli.command_names import (
    FIRST_COMMANDS,
    GROUPS,
    LISTING_COMMANDS,
    MOVED_COMMANDS,
    SECTIONS,
)
from reverie.interfaces.cli.commands import (
    activity_commands,
    code_commands,
    data_commands,
    encrypt_commands,
    episode_commands,
    erasure_commands,
    file_commands,
    guard_commands,
    import_command,
    install_commands,
    key_commands,
    learn_command,
    login_commands,
    map_command,
    mcp_command,
    memory_commands,
    mirror_commands,
    plan_command,
    procedure_commands,
    proof_command,
    remember_commands,
    reminder_commands,
    review_commands,
    search_commands,
    server_admin_commands,
    server_commands,
    session_commands,
    share_commands,
    sleep_command,
    sql_command,
    status_commands,
    sync_commands,
    terminal_commands,
    web_command,
)
from reverie.interfaces.cli.terminal_output import (
    get_console,
    print_error,
    print_json,
    print_line,
    print_note,
)

# The first row that fits says how the program ends. 0: done. 130: Ctrl-C.
EXIT_CODES: tuple[tuple[type[BaseException], int, str], ...] = (
    (errors.NotFound, 1, "no such id, or verify found problems"),
    (errors.BadInput, 2, "usage, or input that cannot be used"),
    (errors.Disabled, 3, "memory is switched off here"),
    (errors.Conflict, 4, "changed by somebody else meanwhile"),
    (errors.StoreBusy, 5, "store busy"),
    (errors.StoreDamaged, 6, "store damaged"),
    (errors.StoreReadOnly, 7, "store read-only"),
    (errors.StoreFull, 8, "disk full"),
    (errors.NewerStore, 9, "store of a newer version"),
    (errors.HomeLockedError, 14, "encrypted, and locked"),
    (errors.StoreError, 10, "other trouble with the store"),
    (errors.PortTaken, 13, "port in use"),
    (errors.ServerAway, 15, "a team's server does not answer"),
    (errors.Unauthenticated, 16, "a team's server does not let you in, or not do that"),
    (errors.LoginRefused, 16, "a team's server does not let you in, or not do that"),
    (errors.AccessDenied, 16, "a team's server does not let you in, or not do that"),
    (errors.ReverieError, 11, "model or extra missing"),
    (OSError, 12, "a file could not be read or written"),
)
INTERRUPTED, UNFORESEEN = 130, 70
# The last lines of `reverie --help`.
MORE_HELP = """\
What each does: reverie help; how to use one: reverie COMMAND --help
--home --space --json --sandbox. Exit codes: docs/reference/command-line.md"""
# Options with a value, which is no command's name even if it looks like one.
VALUE_OPTIONS = ("--home", "--space", "-s", "--grep")
FULL_DISK = next(number for kind, number, _ in EXIT_CODES if kind is errors.StoreFull)


class CommandGroup(TyperGroup):
    """The command group: runs a command and turns whatever goes wrong into a line and a code."""

    def main(
        self,
        args: Sequence[str] | None = None,
        *rest: Any,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run, and leave with the right code."""
        # Typer on its own prints errors with its own codes, and a traceback for what it does not
        # know.
        plain_run = partial(
            super().main,
            args,
            *rest,
            **{**extra, "standalone_mode": False},
        )
        if not standalone_mode:
            return plain_run()
        sys.exit(run_guarded(plain_run, list(sys.argv[1:] if args is None else args)))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find a command; a former name leads to the new command, with a hint on stderr.

        `help` is none: with a command behind it, it is the help of that; alone, the list of all.
        """
        name, *rest = args
        if name == "help":
            if rest:
                return self.resolve_command(ctx, [*rest, "--help"])
            print_command_list(self.commands)
            ctx.exit()
        new_name = find_new_name(name, rest)
        if new_name and not ctx.resilient_parsing:  # Tab, too, resolves what stands there so far
            print_note(f"`reverie {name}` is now `reverie {new_name}`")
        return super().resolve_command(
            ctx,
            [*(new_name or name).split(), *rest],
        )

    def format_help(self, ctx: Any, _formatter: Any) -> None:
        """Print the page of `reverie --help`."""
        print_help_page(self.get_usage(ctx), self.help or "", self.commands)


class InnerGroup(TyperGroup):
    """A group of commands below the main one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Where nothing follows, print help; whoever asked for JSON is told so instead."""
        outer = ctx.find_root().obj
        if not args and outer and outer.as_json:
            raise errors.BadInput(f"Name a command of {self.name}: {', '.join(self.commands)}")
        return super().parse_args(ctx, args)


class StartingGroup(InnerGroup):
    """A group that by itself, or with options alone, is one of its commands."""

    usual = "start"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put the usual command in front where no command of the group stands."""
        is_usual = all(arg.startswith("-") for arg in args[:1])
        if is_usual and "--help" not in args and not self.commands.keys() & set(args):
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


class SyncGroup(StartingGroup):
    """`reverie sync` by itself brings in step now."""

    usual = "now"


GROUP_CLASSES = {"server": StartingGroup, "sync": SyncGroup}


def find_new_name(name: str, rest: Sequence[str]) -> str:
    """What a command is called now, where it has moved; empty where it has not.

    `session` was a command and is a group: it is the group where a command of it comes next.
    """
    # Alone it was the map of a repository, and a picture of one there never was.
    if name == "map" and any(word.split("=")[0] == "--svg" for word in rest):
        return "memory map"
    first_word = next(iter(drop_options(rest)), "")
    is_group = name in COMMAND_NAMES and (not first_word or first_word in COMMAND_NAMES[name])
    return "" if is_group else MOVED_COMMANDS.get(name, "")


def drop_options(words: Sequence[str]) -> list[str]:
    """The words that are neither an option nor the value of one of VALUE_OPTIONS."""
    values = [word in VALUE_OPTIONS for word in ("", *words)]
    return [
        word
        for word, is_value in zip(words, values, strict=False)
        if not (is_value or word.startswith("-"))
    ]


def print_help_page(
    usage: str,
    help: str,
    commands: Mapping[str, Any],
) -> None:
    """Print what a beginner needs, and the names of the rest, on one screen of 80 x 24."""
    first = FIRST_COMMANDS.split()
    also = [name for names in SECTIONS.values() for name in names.split() if name not in first]
    page = "\n".join(
        (
            f"{usage}\n{help}\n",
            *(command_line(name, commands) for name in first),
            textwrap.fill(f"Also    {' '.join(also)}", 80, subsequent_indent=" " * 8),
            textwrap.fill(f"Groups  {' '.join(GROUPS)}", 80, subsequent_indent=" " * 8),
            MORE_HELP,
        )
    )
    # What is written down in docs/reference must not depend on the width of the terminal.
    get_console().print(page, soft_wrap=True)


def print_command_list(commands: Mapping[str, Any]) -> None:
    """Print every command with its sentence: Typer's boxes would take three screens."""
    from rich.text import Text

    lists = {heading: names.split() for heading, names in SECTIONS.items()}
    lists["Groups: reverie GROUP --help"] = list(GROUPS)
    page = Text()
    for heading, names in lists.items():
        page.append(f"{heading}\n", style="bold")
        for name in names:
            page.append(f"{command_line(name, commands)}\n")
    get_console().print(page, soft_wrap=True, end="")


def command_line(name: str, commands: Mapping[str, Any]) -> str:
    """A command's line in a list."""
    return f"  {name:<11}{commands[name].get_short_help_str(80)}"


def run_guarded(
    run: Callable[[], Any],
    words: list[str],
) -> int:
    """Run a command; whatever happens, an exit code."""
    try:
        code = run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = INTERRUPTED
    except BrokenPipeError:
        return discard_stdout()
    except Exception as err:
        return report_failure(err, words)
    if code == INTERRUPTED:  # Typer has turned Ctrl-C into its code already
        print_note("\nInterrupted. What was kept so far is safe.")
    return code if isinstance(code, int) else 0


def discard_stdout() -> int:
    """Whoever read our output has left (`| head`): leave quietly too."""
    # Python flushes stdout once more as it ends, and would complain of the broken pipe.
    os.dup2(
        os.open(os.devnull, os.O_WRONLY),
        sys.stdout.fileno(),
    )
    return 0


def report_failure(err: Exception, words: list[str]) -> int:
    """Say what went wrong; the code to leave with."""
    code, text = classify_error(err, words)
    try:
        if "--json" in words:
            print_json(
                {
                    "error": {
                        "type": type(err).__name__,
                        "message": text,
                        "exit": code,
                    }
                }
            )
        sys.stdout.flush()
    except OSError:  # it is stdout that takes no more: Python would say so once more
        discard_stdout()
    print_error(text)
    return code


def classify_error(err: Exception, words: list[str]) -> tuple[int, str]:
    """(exit code, message) of an error."""
    # A full disk is one whoever meets it, the store or a file.
    if isinstance(err, OSError) and err.errno in (errno.ENOSPC, errno.EDQUOT):
        return FULL_DISK, describe_error(err)
    if hasattr(err, "format_message"):  # usage, as Typer (or the Click inside it) sees it
        return getattr(err, "exit_code", 2), describe_usage_error(err.format_message(), words)
    is_file = str(err).startswith(("There is no file", "There is no folder"))  # no list has it
    if isinstance(err, errors.NotFound) and "reverie " not in str(err) and not is_file:
        lists = LISTING_COMMANDS.get(find_command_name(words), "list")
        return 1, f"{str(err).rstrip('.')}. Try: reverie {lists}"
    for kind, number, _ in EXIT_CODES:
        if isinstance(err, kind):
            return number, describe_error(err)
    if type(err).__name__ == "Abort":
        return INTERRUPTED, "Stopped: it was not confirmed. Without a terminal, confirm with --yes."
    what = f"{type(err).__name__}: {err}"
    return UNFORESEEN, f"{what}. This is a bug in Reverie.{save_traceback(err, words)}"


def describe_usage_error(message: str, words: list[str]) -> str:
    """A usage error as a sentence, and where the usage is explained."""
    said = message or "Name a command"
    said = said if said.endswith((".", "?", "!")) else f"{said}."
    name = find_command_name(words)
    return f"{said} Try: reverie {f'{name} ' if name else ''}--help"


def find_command_name(words: Sequence[str]) -> str:
    """The command that was called; empty where there was none."""
    rest = iter(drop_options(words))
    name = next((word for word in rest if word in COMMAND_NAMES or word in MOVED_COMMANDS), "")
    after = list(rest)
    if new_name := find_new_name(name, after):
        return new_name
    inner = next(
        (word for word in after if word in COMMAND_NAMES.get(name, ())),
        "",
    )
    return f"{name} {inner}".strip()


def describe_error(err: BaseException) -> str:
    """An error's message; those of the system name their file."""
    if isinstance(err, OSError) and not isinstance(err, errors.ReverieError):
        where = f": {err.filename}" if err.filename else ""
        return f"{err.strerror or err}{where}"
    return str(err)


def find_named_home(words: Sequence[str]) -> Path:
    """The home that a command was given, or the usual one; nothing of it is read."""
    from reverie.core.config import default_home, sandbox_folder

    named = ""
    for word, after in zip(words, (*words[1:], ""), strict=True):
        if word == "--home" or word.startswith("--home="):
            named = after if word == "--home" else word.removeprefix("--home=")
    home = Path(named).expanduser().absolute() if named else default_home()
    return sandbox_folder(home, "--sandbox" in words)


def save_traceback(err: Exception, words: Sequence[str]) -> str:
    """Save an unexpected traceback without secrets, in the home that the command was given;
    returns the words that say where.
    """
    import traceback

    from reverie.core.atomic_file import make_private_folder, write_atomically
    from reverie.core.environment import is_encrypted
    from reverie.privacy import redact

    try:
        home = find_named_home(words)
        path = home / "trouble.txt"
        # A traceback quotes source lines and values: a text that was being kept may stand in it.
        # An encrypted home keeps the lines of the program alone, for a person is to read them.
        quoted = not is_encrypted(home)
        lines = (
            traceback.format_exception(err) if quoted else traceback.format_tb(err.__traceback__)
        )
        safe, _ = redact("".join(lines))
        make_private_folder(path.parent)
        write_atomically(path, safe.encode("utf-8", "backslashreplace"), mode=0o600)
    except (OSError, RuntimeError):  # no home, or a `~name` that is nobody's
        return ""
    return f" Details are in {path}"


app = typer.Typer(
    name="reverie",
    cls=CommandGroup,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def print_version(wanted: bool) -> None:
    """Print the version and stop."""
    if wanted:
        from reverie import __version__

        print_line(f"reverie {__version__}")
        raise typer.Exit


@app.callback()
def collect_options(
    ctx: typer.Context,
    home: HomeOption = None,
    place: SpaceOption = None,
    as_json: JsonOption = False,
    sandbox: SandboxOption = False,
    _version: bool = typer.Option(
        False,
        "--version",
        callback=print_version,
        is_eager=True,
        help="Print the version.",
    ),
) -> None:
    """Long-term memory for AI agents: what they need comes up by itself."""
    ctx.obj = CliContext(home, place, as_json, sandbox)


def collect_group_options(
    ctx: typer.Context,
    home: HomeOption = None,
    place: SpaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Options of all commands that stand between a group and its command."""
    ctx.find_root().obj = merge_shared_options(ctx, home, place, as_json)


TOP_LEVEL = (
    remember_commands.commands,
    search_commands.commands,
    terminal_commands.top,
    review_commands.commands,
    reminder_commands.top,
    guard_commands.commands,
    plan_command.commands,
    learn_command.commands,
    sleep_command.commands,
    status_commands.commands,
    proof_command.commands,
    install_commands.commands,
    mcp_command.commands,
    server_commands.top,
    login_commands.top,
    share_commands.top,
    web_command.commands,
)
TABLES = {
    "memory": (memory_commands.commands, web_command.memory, map_command.commands),
    "reminder": (reminder_commands.commands,),
    "procedure": (procedure_commands.commands,),
    "code": (code_commands.commands,),
    "files": (file_commands.commands,),
    "session": (session_commands.commands, status_commands.session),
    "episode": (episode_commands.commands,),
    "activity": (activity_commands.commands, terminal_commands.commands, sql_command.commands),
    "data": (
        data_commands.commands,
        key_commands.commands,
        encrypt_commands.commands,
        import_command.commands,
        mirror_commands.commands,
        erasure_commands.commands,
        review_commands.data,
    ),
    "server": (server_commands.commands, server_admin_commands.commands),
    "sync": (sync_commands.commands,),
    "team": (login_commands.commands, share_commands.commands),
}
for table in TOP_LEVEL:
    app.add_typer(table)
for name, tables in TABLES.items():
    group = typer.Typer(
        name=name,
        help=GROUPS[name],
        no_args_is_help=True,
        cls=GROUP_CLASSES.get(name, InnerGroup),
        callback=collect_group_options,
    )
    # Typer takes over the commands of a table that has no name as the group's own (since 0.15).
    for table in tables:
        group.add_typer(table)
    app.add_typer(group)
# The names in each group; of a command by itself there are none.
COMMAND_NAMES = {
    **{str(row.name): frozenset[str]() for table in TOP_LEVEL for row in table.registered_commands},
    **{
        group: frozenset(str(row.name) for table in tables for row in table.registered_commands)
        for group, tables in TABLES.items()
    },
}


def main() -> None:
    """The program `reverie`."""
    # A pipe in a test may be an object that cannot be reconfigured.
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # a terminal that lacks a letter is no reason to stop
            stream.reconfigure(errors="backslashreplace")
    try:
        app(prog_name="reverie")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
