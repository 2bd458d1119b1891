"""How the key of an encrypted home is to be kept: chosen by options, and asked for.

No passphrase and no recovery key is ever an argument of a command, so no history of a shell and no
list of processes has it: they are typed unseen, or come from the environment or from stdin.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from reverie.core import clock, environment, key_ways, unlocked_key
from reverie.core.encryption_file import HomeEncryption
from reverie.core.errors import BadInput, ExtraMissing, HomeLockedError
from reverie.core.home_key import HomeKey
from reverie.core.key_ways import KEY_FILE, KEYRING, PASSPHRASE, KeyWay

PassphraseOption = Annotated[
    bool,
    typer.Option(
        "--passphrase", help="Keep the key by a passphrase, asked for, or REVERIE_PASSPHRASE."
    ),
]
KeyFileOption = Annotated[
    Path | None,
    typer.Option(
        "--key-file", metavar="PATH", help="Keep the key by a file elsewhere, such as on a stick."
    ),
]
KeyringOption = Annotated[
    bool, typer.Option("--keyring", help="Keep the key by the keyring of this login.")
]

NOTHING_CHOSEN = (
    "Say how the key is to be kept: --passphrase, --key-file PATH or --keyring. More than one is "
    "fine: each by itself is enough"
)


class KeyChoice(NamedTuple):
    """The ways in which a user wants the key kept."""

    passphrase: bool = False
    key_file: Path | None = None
    keyring: bool = False


def keep_key(home: Path, key: HomeKey, recipient: str, choice: KeyChoice) -> tuple[KeyWay, ...]:
    """The ways that were chosen, made ready; BadInput if none was. A passphrase is asked for, first
    of all, so that Ctrl-C there leaves nothing.
    """
    if not any(choice):
        raise BadInput(NOTHING_CHOSEN)
    typed = read_new_passphrase() if choice.passphrase else ""
    made: list[KeyWay] = []
    if choice.passphrase:
        made.append(key_ways.seal_with_passphrase(key.files, typed))
    is_new = choice.key_file is not None and not choice.key_file.expanduser().exists()
    try:
        if choice.key_file is not None:
            made.append(key_ways.seal_with_key_file(key.files, choice.key_file, home))
        if choice.keyring:
            # The name by which an unlocked home is known too.
            name = HomeEncryption(recipient, "").name
            made.append(key_ways.seal_with_keyring(key.files, name))
    except BaseException:
        give_up_ways(made, is_file_new=is_new)
        raise
    return tuple(made)


def give_up_ways(ways: Iterable[KeyWay], *, is_file_new: bool) -> None:
    """Remove what was made for ways of keeping a key that no memory has: the entry of the keyring,
    and the key file if it is new.
    """
    for way in ways:
        with suppress(HomeLockedError, ExtraMissing, OSError):
            key_ways.forget_way(way)
            if way.kind == KEY_FILE and is_file_new:
                Path(way.place).unlink()


def unlock_if_locked(name: str, key: HomeKey) -> None:
    """Unlock a home for this login, for its passphrase was typed just now; where there is no memory
    for that, it stays locked.
    """
    if unlocked_key.read_unlocked(name, clock.now()) is None:
        with suppress(BadInput, OSError):
            unlocked_key.save_unlocked(name, key.files, None)


def read_new_passphrase() -> str:
    """A passphrase for the future: typed twice unseen, or from the environment or stdin."""
    return read_unseen("A new passphrase", "the same command with < FILE", twice=True)


def read_passphrase() -> str:
    """The passphrase of a home: typed unseen, or from the environment or stdin."""
    return read_unseen("The passphrase", "reverie data unlock < FILE")


def read_unseen(what: str, example: str, *, twice: bool = False) -> str:
    """A passphrase; BadInput where nobody can be asked and none is given."""
    if given := environment.home_passphrase():
        return given
    return ask_unseen(what, f"{example}, or set REVERIE_PASSPHRASE", twice=twice)


def read_recovery_key() -> str:
    """The recovery key: typed unseen, or from stdin."""
    return ask_unseen("The recovery key", "reverie data unlock --recovery < FILE").strip()


def ask_unseen(what: str, example: str, *, twice: bool = False) -> str:
    """What is typed unseen at a terminal, else a line from stdin; BadInput where none comes, with
    an `example` of how to give it.
    """
    if not sys.stdin.isatty():
        line = sys.stdin.readline().rstrip("\r\n")
        if not line:
            raise BadInput(f"Nothing came on stdin. Try: {example}")
        return line
    try:
        return str(typer.prompt(what, hide_input=True, confirmation_prompt=twice, err=True))
    except typer.Abort as err:
        # Ctrl-C or Ctrl-D at the prompt: nothing was done yet.
        raise KeyboardInterrupt from err


def describe_recovery(key: HomeKey) -> Iterator[str]:
    """What to tell the user of the recovery key."""
    yield (
        "If passphrase, key file or keyring is lost, this key opens the memory. Write it down "
        "(to see it again: reverie data key --show-recovery):"
    )
    yield f"  {key.files}"


def describe_way(way: KeyWay) -> str:
    """How the key is kept, in words."""
    return {
        PASSPHRASE: "by a passphrase",
        KEY_FILE: f"by the key file {way.place}",
        KEYRING: f"by the keyring of this login ({key_ways.KEYRING_SERVICE}, {way.place})",
    }.get(way.kind, way.kind)
