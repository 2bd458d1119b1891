"""`reverie data encrypt` and `reverie data decrypt`: a home that is unreadable without its key."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.encryption_file import read_encryption
from reverie.core.errors import BadInput, ReverieError, StoreBusy
from reverie.core.home_key import (
    check_value,
    describe_key,
    key_from_secret,
    new_home_key,
    read_home_key,
)
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.guard_commands import (
    LOCKED_CHOICES,
    choose_locked_guards,
    try_to_tell_of_locked_guards,
)
from reverie.interfaces.cli.key_choice import (
    NOTHING_CHOSEN,
    KeyChoice,
    KeyFileOption,
    KeyringOption,
    PassphraseOption,
    describe_recovery,
    describe_way,
    give_up_ways,
    keep_key,
    read_recovery_key,
    unlock_if_locked,
)
from reverie.interfaces.cli.terminal_output import print_line, print_note

if TYPE_CHECKING:
    from reverie.core.encryption_file import HomeEncryption
    from reverie.core.home_key import HomeKey
    from reverie.runtime.home_encryption import EncryptionReport

commands = CommandTable()


@commands.add("encrypt", spaced=False)
def encrypt_memory(
    cli: CliContext,
    passphrase: PassphraseOption = False,
    key_file: KeyFileOption = None,
    keyring: KeyringOption = False,
    guards: Annotated[
        str | None,
        typer.Option(
            metavar="CHOICE",
            help="What hooks know of guards while it is locked: sealed (default) or open, see "
            "reverie guards.",
        ),
    ] = None,
    recovery: Annotated[
        bool,
        typer.Option("--recovery", help="With the recovery key that you have, which is asked for."),
    ] = False,
) -> None:
    """Encrypt the memory at rest.

    Databases, backups, and what lies beside them, all at once: until it is done nothing has
    changed. Before, the recovery key is shown; with --recovery it gets the one that you have,
    so that backups made with it can be restored. In a memory that is encrypted already, what lies
    there in the clear is encrypted too.
    """
    from reverie.runtime.home_encryption import (
        check_encryption_file,
        check_has_databases,
        encrypt_home,
    )
    from reverie.storage.sqlite.database_library import load_sqlcipher

    if guards is not None and guards not in LOCKED_CHOICES:
        raise BadInput(f"--guards {guards!r}: give one of {', '.join(LOCKED_CHOICES)}")
    check_has_databases(cli.settings)
    check_encryption_file(cli.settings.home)
    load_sqlcipher()  # asks for nothing that would be of no use
    choice = KeyChoice(passphrase, key_file, keyring)
    known = read_home_key(cli.settings.home)
    if known is None:
        values, lines = encrypt_plain_home(cli, choice, recovery=recovery)
    elif any(choice) or recovery:
        raise BadInput(
            "This memory is encrypted already. How its key is kept is changed with: "
            "reverie data key"
        )
    else:
        with worker_away(cli), cli.progress:
            done = encrypt_home(cli.settings, known, None, cli.progress)
        values, lines = describe_as_json(done), [*describe_conversion(done, "encrypt")]
    tell_hooks_of_guards(cli, guards)
    cli.answer(values, lines)


def encrypt_plain_home(
    cli: CliContext, choice: KeyChoice, *, recovery: bool
) -> tuple[dict[str, object], list[str]]:
    """Encrypt a home with a key of its own, or the one that its user has written down; what is to
    be answered. Whatever goes wrong before it is encrypted leaves nothing behind.
    """
    from reverie.runtime.home_encryption import check_is_alone, encrypt_home

    if not any(choice):
        raise BadInput(NOTHING_CHOSEN)
    home, file = cli.settings.home, choice.key_file
    is_file_new = file is not None and not file.expanduser().exists()
    with worker_away(cli):
        check_is_alone(home)
        key, encryption = choose_key(cli, choice, recovery=recovery)
        is_shown = not recovery and not cli.as_json  # else it stands in the answer
        try:
            if is_shown:
                show_recovery_key(key)
            with cli.progress:
                done = encrypt_home(cli.settings, key, encryption, cli.progress)
        except BaseException:
            if not is_key_of_home(home, key):
                give_up_ways(encryption.ways, is_file_new=is_file_new)
                if is_shown:
                    print_note("Nothing was changed: the recovery key above opens nothing.")
            elif not recovery and not is_shown:
                # Ctrl-C or a full disk, when it was encrypted already.
                for line in describe_recovery(key):
                    typer.echo(line, err=True)
            raise
        if choice.passphrase:
            unlock_if_locked(encryption.name, key)  # it was typed just now
    values = describe_as_json(done)
    if not recovery:
        values["recovery_key"] = key.files
    return values, [*describe_encrypted(done, encryption)]


def show_recovery_key(key: "HomeKey") -> None:
    """Show the recovery key before anything is changed, so that no kill can come between; at a
    terminal it has to be said that it was written down, or BadInput.
    """
    for line in describe_recovery(key):
        print_line(line)
    sys.stdout.flush()
    if sys.stdin.isatty() and sys.stdout.isatty():
        try:
            is_kept = typer.confirm("Have you written it down?", err=True)
        except typer.Abort as err:
            raise KeyboardInterrupt from err
        if not is_kept:
            raise BadInput("It is not encrypted without that: repeat the command when you have")


def tell_hooks_of_guards(cli: CliContext, choice: str | None) -> None:
    """Write what hooks are to know of guards while the memory is locked, by a choice or as it was
    chosen before.
    """
    if choice is None:
        try_to_tell_of_locked_guards(cli)
        return
    # It is encrypted, and that has to be answered whatever comes of this.
    with suppress(ReverieError, OSError):
        choose_locked_guards(cli, choice)


def is_key_of_home(home: Path, key: "HomeKey") -> bool:
    """True if a home is encrypted with a key."""
    encryption = read_encryption(home)
    return encryption is not None and encryption.check == check_value(key)


def choose_key(
    cli: CliContext, choice: KeyChoice, *, recovery: bool
) -> "tuple[HomeKey, HomeEncryption]":
    """A key for this home, and how it is kept."""
    key = key_from_secret(read_recovery_key()) if recovery else new_home_key()
    encryption = describe_key(key)  # BadInput for what is no key at all
    cli.settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    ways = keep_key(cli.settings.home, key, encryption.recipient, choice)
    return key, encryption._replace(ways=ways)


@commands.add("decrypt", spaced=False)
def decrypt_memory(cli: CliContext) -> None:
    """Decrypt the memory, and give up its key.

    It lies in its home in the clear then. All of it at once: until it is done it is encrypted.
    """
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.runtime.home_encryption import decrypt_home

    with worker_away(cli), cli.progress:
        done = decrypt_home(cli.settings, cli.progress)
    with suppress(OSError):
        Path(HookFiles(str(cli.settings.home)).locked_guards).unlink()
    cli.answer(describe_as_json(done), describe_conversion(done, "decrypt"))


@contextmanager
def worker_away(cli: CliContext) -> Iterator[None]:
    """The worker of hooks ended, and none started, within the block; one that was there is
    started again afterwards.
    """
    from reverie.core.file_lock import name_nobody, take_lock
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import stop_worker
    from reverie.interfaces.worker_start import is_worker_alive, wake_worker

    files = HookFiles(str(cli.settings.home))
    was_alive = is_worker_alive(files.lock)
    held = take_lock(files.lock) if not was_alive or stop_worker(files.lock) else None
    if held is None:
        raise StoreBusy(
            "Another command is just encrypting or decrypting this memory, or its worker does not "
            "end. Nothing was changed: try again"
        )
    name_nobody(held)
    try:
        yield
    finally:
        os.close(held)
        if was_alive:
            wake_worker(files.home, files.lock)


def describe_as_json(done: "EncryptionReport") -> dict[str, object]:
    """What was done, as JSON values."""
    return {
        "databases": [str(path) for path in done.databases],
        "side_files": done.side_files,
        "left": [str(path) for path in done.left],
        "other_homes": [str(path) for path in done.other_homes],
        "mirror": str(done.mirror) if done.mirror else None,
    }


def describe_encrypted(done: "EncryptionReport", encryption: "HomeEncryption") -> Iterator[str]:
    """What was encrypted, and how the key is kept."""
    if done.databases or done.side_files:
        yield from describe_conversion(done, "encrypt")
    else:
        yield "Encrypted. There was nothing in it yet; all that comes will be."
    yield f"The key is kept {', and '.join(map(describe_way, encryption.ways))}."


def describe_conversion(done: "EncryptionReport", verb: str) -> Iterator[str]:
    """What was done, and what was not. `verb` is encrypt or decrypt."""
    if not done.databases and not done.side_files:
        yield f"There was nothing left to {verb}."
    else:
        files = f"databases {len(done.databases)}, other files {done.side_files}"
        yield f"{verb.capitalize()}ed: {files}."
    if done.left:
        yield "These could not be read and stay as they are; delete them if nobody needs them:"
        yield from (f"  {path}" for path in done.left)
    if done.other_homes:
        yield "These replicas of servers are memories of their own, with keys of their own:"
        yield from (f"  reverie data {verb} --home {path}" for path in done.other_homes)
    if done.mirror is not None and verb == "encrypt":
        yield f"The mirror's pages stay readable, which is what they are for: {done.mirror}"
        yield '  To have none, set mirror = "off" in config.toml, and delete that folder.'
