"""Write docs/reference from the code. `python -m tools.reference` writes; the tests compare.

Four pages: the verbs (docstrings of Mind and Companion), the command line (help of every command),
the settings (comments of Settings), the kinds (rows of KINDS).
"""

import inspect
import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, is_typeddict

import reverie
from reverie.core import config, errors
from reverie.core.kinds import CUSTOM_KIND, KINDS, Kind
from reverie.memory.memory_validation import MemoryFields
from reverie.runtime import verb_options
from reverie.runtime.mind.mind_context import VerbGroup
from reverie.testing import memory

FOLDER = Path(__file__).parents[1] / "docs" / "reference"
HEAD = "<!-- Made by `python -m tools.reference`. Do not edit: change the code. -->\n\n"


def verbs() -> str:
    """Every public verb of Mind, of its groups and of Companion: signature and docstring."""
    parts = ["# The verbs\n\n", paragraph(reverie.open, "reverie.open")]
    groups = {name: type(group) for name, group in verb_groups()}
    owners: dict[str, type] = {"mind": reverie.Mind}
    owners |= {f"mind.{name}": groups[name] for name in sorted(groups)}
    for name, owner in {**owners, "companion": reverie.Companion}.items():
        title = name if name.startswith("mind.") else owner.__name__
        parts.append(f"## {title}\n\n{inspect.getdoc(owner)}\n\n")
        parts += [
            paragraph(member, f"{name}.{verb}")
            if callable(member)
            else f"### `{name}.{verb}`\n\n{inspect.getdoc(member)}\n\n"
            for verb, member in members(owner)
            if owner is reverie.Mind or verb not in vars(reverie.Mind)
        ]
    options = [MemoryFields, *filter(is_typeddict, vars(verb_options).values())]
    parts.append("## Further keyword arguments\n\n")
    parts += [f"```text\n{inspect.getsource(option).strip()}\n```\n\n" for option in options]
    parts.append(f"## Errors\n\n```text\n{(inspect.getdoc(errors) or '').strip()}\n```\n")
    return "".join(parts)


def verb_groups() -> Iterator[tuple[str, VerbGroup]]:
    """The groups of verbs that a mind has, with the names under which they are reached."""
    with memory() as mind:
        for name, value in vars(mind).items():
            if isinstance(value, VerbGroup) and not name.startswith("_"):
                yield name, value


def members(owner: type) -> Iterator[tuple[str, Any]]:
    """The public methods and properties of a class, in the order of its lines."""
    for name, member in vars(owner).items():
        if not name.startswith("_") and (callable(member) or isinstance(member, property)):
            yield name, member


def paragraph(member: Callable[..., object], name: str) -> str:
    """A heading with the signature, then the docstring."""
    signature = re.sub(r"^\((self(, )?)?", "(", str(inspect.signature(member)).replace("'", ""))
    return f"### `{name}`\n\n```text\n{name}{signature}\n```\n\n{inspect.getdoc(member)}\n\n"


def setting_rows() -> list[tuple[str, str, str]]:
    """(name, default, the comment above or beside it) of each field of Settings."""
    rows, above = [], []
    for line in inspect.getsource(config.Settings).splitlines():
        if line.startswith("    # "):
            above.append(line.strip("# "))
            continue
        if field := re.match(r"    (\w+): [^=#]+?(?: = ([^#]+?))?(?:\s+#\s(.+))?$", line):
            name, default, beside = field.groups()
            words = " ".join([*above, *([beside] if beside else [])])
            rows.append((name, default or "required", words))
        above = []
    return rows


def settings() -> str:
    """Every setting with its default and the sentence beside it."""
    rows = [f"| `{name}` | `{default}` | {words} |" for name, default, words in setting_rows()]
    variables = (
        "`REVERIE_HOME` moves the home, `REVERIE_SANDBOX=1` exchanges it for one to try things out,\n"
        "`REVERIE_OFF=1` switches memory off, `REVERIE_OFFLINE=1` forbids fetching,\n"
        "`REVERIE_EMBEDDER`, `REVERIE_API_KEY` and `REVERIE_MCP_TOKEN` override the settings of "
        "these names. `REVERIE_PASSPHRASE` opens an encrypted memory where nobody can be asked;\n"
        "`XDG_RUNTIME_DIR` is where its key lies while it is unlocked "
        "([how](../how-to/encrypt-key.md)).\n"
    )
    return (
        "# Settings\n\nLines of `config.toml` in the home (`~/.reverie`), or environment variables, which win.\n\n"
        "| setting | default | meaning |\n|---|---|---|\n" + "\n".join(rows) + f"\n\n{variables}\n"
    )


def kinds() -> str:
    """The table of kinds."""
    return (
        "# Kinds of memory\n\nA kind that is not listed is welcome too: it behaves like the last row.\n\n"
        "| kind | type | half-life | meaning | shown under | whose word |\n|---|---|---|---|---|---|\n"
        + "\n".join(map(kind_row, (*KINDS.values(), CUSTOM_KIND)))
        + "\n"
    )


def kind_row(kind: Kind) -> str:
    """One line of the table."""
    days = "never fades" if math.isinf(kind.half_life) else f"{kind.half_life:.3g} days"
    return (
        f"| `{kind.name}` | {kind.type} | {days} | {kind.meaning} | {kind.group} | {kind.voice} |"
    )


def commands() -> str:
    """Exit codes, and the help of every command as a terminal of 100 columns without colours has it."""
    from reverie.interfaces.cli.app import EXIT_CODES, INTERRUPTED, UNFORESEEN

    codes = {0: "done"}
    codes |= {number: what for _, number, what in EXIT_CODES}
    codes |= {UNFORESEEN: "a bug", INTERRUPTED: "Ctrl-C"}
    table = "\n".join(f"| {number} | {what} |" for number, what in sorted(codes.items()))
    return (
        f"# The command line\n\n## Exit codes\n\n| code | meaning |\n|---|---|\n{table}\n\n"
        + "\n".join(f"## `{name}`\n\n```text\n{text}\n```\n" for name, text in helps())
    )


def helps() -> Iterator[tuple[str, str]]:
    """(command, help) of the program and of each command that is not hidden."""
    from typer.main import get_command
    from typer.testing import CliRunner

    from reverie.interfaces.cli.app import app

    runner = CliRunner(env={"COLUMNS": "100", "TERM": "dumb", "NO_COLOR": "1"})
    for path in ([], *paths(get_command(app))):
        output = runner.invoke(
            app, [*path, "--help"], terminal_width=100, prog_name="reverie"
        ).output
        yield (
            " ".join(["reverie", *path]),
            "\n".join(line.rstrip() for line in output.strip().splitlines()),
        )


def paths(group: object, before: tuple[str, ...] = ()) -> Iterator[list[str]]:
    """The words of every command that is not hidden, those of groups after the group."""
    for name, command in getattr(group, "commands", {}).items():
        if not command.hidden:
            yield [*before, name]
            yield from paths(command, (*before, name))


PAGES: dict[str, Callable[[], str]] = {
    "verbs.md": verbs,
    "settings.md": settings,
    "kinds.md": kinds,
    "command-line.md": commands,
}


def main() -> None:
    """Write every page."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, page in PAGES.items():
        (FOLDER / name).write_text(HEAD + page(), "utf-8")


if __name__ == "__main__":
    main()
