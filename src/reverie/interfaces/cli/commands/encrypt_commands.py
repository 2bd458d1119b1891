"""`reverie data encrypt` and `reverie data decrypt`: a home that is unreadable without its key."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reverie.core.errors import BadInput
from reverie.core.home_key import (
    check_value,
    describe_key,
    key_from_secret,
    new_home_key,
    read_encryption,
    read_home_key,
)
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.key_choice import (
    NOTHING_CHOSEN,
    KeyChoice,
    KeyFileOption,
    KeyringOption,
    PassphraseOption,
    describe_recovery,
    describe_way,
    keep_key,
    read_recovery_key,
)

if TYPE_CHECKING:
    from reverie.core.home_key import HomeEncryption, HomeKey
    from reverie.runtime.home_encryption import EncryptionReport

commands = CommandTable()


@commands.add("encrypt", spaced=False)
def encrypt_memory(
    cli: CliContext,
    passphrase: PassphraseOption = False,
    key_file: KeyFileOption = None,
    keyring: KeyringOption = False,
    recovery: Annotated[
        bool,
        typer.Option("--recovery", help="With the recovery key that you have, which is asked for."),
    ] = False,
) -> None:
    """Encrypt the memory at rest.

    Databases, backups, and what lies beside them, all at once: until it is done nothing has
    changed. The recovery key is shown once; with --recovery the memory gets the one that you have,
    so that backups made with it can be restored. In a memory that is encrypted already, what lies
    there in the clear is encrypted too.
    """
    from reverie.runtime.home_encryption import (
        check_encryption_file,
        check_has_databases,
        encrypt_home,
    )
    from reverie.storage.sqlite.database_library import load_sqlcipher

    check_has_databases(cli.settings)
    check_encryption_file(cli.settings.home)
    load_sqlcipher()  # asks for nothing that would be of no use
    choice = KeyChoice(passphrase, key_file, keyring)
    known = read_home_key(cli.settings.home)
    if known is not None:
        if any(choice) or recovery:
            raise BadInput(
                "This memory is encrypted already. How its key is kept is changed with: "
                "reverie data key"
            )
        with worker_away(cli), cli.progress:
            done = encrypt_home(cli.settings, known, None, cli.progress)
        cli.answer(describe_as_json(done), describe_conversion(done, "encrypt"))
        return
    key, encryption = choose_key(cli, choice, recovery=recovery)
    try:
        with worker_away(cli), cli.progress:
            done = encrypt_home(cli.settings, key, encryption, cli.progress)
    except BaseException:
        # Ctrl-C or a full disk when it was encrypted already: nobody could show the key later.
        if not recovery and is_key_of_home(cli.settings.home, key):
            for line in describe_recovery(key):
                typer.echo(line, err=True)
        raise
    values = describe_as_json(done)
    if not recovery:
        values["recovery_key"] = key.files
    cli.answer(values, describe_encrypted(done, key, encryption, is_new=not recovery))


def is_key_of_home(home: Path, key: "HomeKey") -> bool:
    """True if a home is encrypted with a key."""
    encryption = read_encryption(home)
    return encryption is not None and encryption.check == check_value(key)


def choose_key(
    cli: CliContext, choice: KeyChoice, *, recovery: bool
) -> "tuple[HomeKey, HomeEncryption]":
    """A key for this home, and how it is kept."""
    if not any(choice):
        raise BadInput(NOTHING_CHOSEN)
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
    from reverie.runtime.home_encryption import decrypt_home

    with worker_away(cli), cli.progress:
        done = decrypt_home(cli.settings, cli.progress)
    cli.answer(describe_as_json(done), describe_conversion(done, "decrypt"))


@contextmanager
def worker_away(cli: CliContext) -> Iterator[None]:
    """The worker of hooks ended, and none started, within the block; one that was there is
    started again afterwards.
    """
    from reverie.core.file_lock import take_lock
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import stop_worker
    from reverie.interfaces.worker_start import is_worker_alive, wake_worker

    files = HookFiles(str(cli.settings.home))
    was_alive = is_worker_alive(files.lock)
    if was_alive and not stop_worker(files.lock):
        raise BadInput("The worker does not end, and does not say which process it is. End it")
    held = take_lock(files.lock)
    try:
        yield
    finally:
        if held is not None:
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


def describe_encrypted(
    done: "EncryptionReport", key: "HomeKey", encryption: "HomeEncryption", *, is_new: bool
) -> Iterator[str]:
    """What was encrypted, how the key is kept, and the recovery key."""
    yield from describe_conversion(done, "encrypt")
    yield f"The key is kept {', and '.join(map(describe_way, encryption.ways))}."
    if is_new:
        yield ""
        yield from describe_recovery(key)


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
