"""Commands about the key of an encrypted home: how it is kept, unlock, lock."""

import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any

import typer

from reverie.core import clock, environment, key_ways, unlocked_key
from reverie.core.encryption_file import HomeEncryption, read_encryption, write_encryption
from reverie.core.errors import (
    BadInput,
    CannotOpen,
    HomeLockedError,
    StoreBusy,
    StoreDamaged,
)
from reverie.core.home_key import (
    HomeKey,
    check_key,
    damaged_way,
    describe_key,
    key_from_secret,
    read_home_key,
)
from reverie.core.key_ways import KEY_FILE, KEYRING, KINDS, PASSPHRASE, KeyWay
from reverie.interfaces.cli.cli_context import CliContext, CommandTable
from reverie.interfaces.cli.commands.guard_commands import try_to_tell_of_locked_guards
from reverie.interfaces.cli.key_choice import (
    KeyChoice,
    KeyFileOption,
    KeyringOption,
    PassphraseOption,
    describe_recovery,
    describe_way,
    keep_key,
    read_passphrase,
    read_recovery_key,
    unlock_if_locked,
)
from reverie.interfaces.cli.terminal_output import count_noun
from reverie.interfaces.key_watch import has_home_key
from reverie.memory.history_text import format_moment
from reverie.storage.side_files import convert_side_files

commands = CommandTable()
CLOSE_SECONDS = 5.0  # that MCP servers and pages have to notice; they look each second
NOT_ENCRYPTED = "This memory is not encrypted: reverie data encrypt"
RecoveryOption = Annotated[
    bool, typer.Option("--recovery", help="Open it with the recovery key, which is asked for.")
]


@commands.add("key", spaced=False)
def manage_key(
    cli: CliContext,
    passphrase: PassphraseOption = False,
    key_file: KeyFileOption = None,
    keyring: KeyringOption = False,
    remove: Annotated[
        str | None,
        typer.Option(metavar="WAY", help="Give a way up: passphrase, key-file or keyring."),
    ] = None,
    recovery: RecoveryOption = False,
    show_recovery: Annotated[
        bool, typer.Option("--show-recovery", help="Show the recovery key again.")
    ] = False,
) -> None:
    """How the key is kept; add, replace or give up a way.

    Without an option it is told. A new passphrase, key file or keyring entry takes the place of
    the one before; nothing is encrypted anew. With --recovery, a lost or damaged encryption.json
    is made anew.
    """
    home, choice = cli.settings.home, KeyChoice(passphrase, key_file, keyring)
    if show_recovery:
        show_recovery_again(cli)
        return
    encryption = read_what_is_left(home) if recovery else read_encryption_or_refuse(home)
    is_lost = encryption is None
    if any(choice) or remove is not None:
        encryption = change_ways(home, encryption, choice, remove, recovery=recovery)
    elif encryption is None or recovery:
        raise BadInput("Say how the key is to be kept from now on: --passphrase, --key-file PATH …")
    if is_lost:
        take_in_waiting(cli)
    cli.answer(describe_as_json(encryption), describe_key_state(encryption))


def show_recovery_again(cli: CliContext) -> None:
    """Show the recovery key to a person: whoever types the passphrase; where there is none, at a
    terminal, so that it does not come into an agent's transcript by a command that it tries.
    """
    home = cli.settings.home
    encryption = read_encryption_or_refuse(home)
    way = encryption.find(PASSPHRASE)
    if way is not None and not environment.home_passphrase():
        key = check_key(encryption, open_by_typing(home, way))
    elif sys.stdin.isatty() and sys.stdout.isatty():
        key = find_key(home, encryption, recovery=False)
    else:
        raise BadInput(
            "The recovery key is shown at a terminal only, for with it anybody reads this memory"
        )
    cli.answer({"recovery_key": key.files}, describe_recovery(key))


def read_encryption_or_refuse(home: Path) -> HomeEncryption:
    """How a home is encrypted; BadInput if it is not, or the file that says so is lost."""
    from reverie.runtime.home_encryption import check_encryption_file

    encryption = read_encryption(home)
    if encryption is None:
        check_encryption_file(home)
        raise BadInput(NOT_ENCRYPTED)
    return encryption


def read_what_is_left(home: Path) -> HomeEncryption | None:
    """How a home is encrypted; None if the file that says so is lost or damaged."""
    try:
        return read_encryption(home)
    except StoreDamaged:
        return None


def change_ways(
    home: Path,
    before: HomeEncryption | None,
    choice: KeyChoice,
    remove: str | None,
    *,
    recovery: bool,
) -> HomeEncryption:
    """Add, replace or give up ways of keeping the key; what was before stays until all is ready."""
    key = find_key(home, before, recovery=recovery)
    encryption = before or describe_key(key)
    if remove is not None and encryption.find(check_kind(remove)) is None:
        raise BadInput(f"The key is not kept so: {remove}. See: reverie data key")
    made = keep_key(home, key, encryption.recipient, choice) if any(choice) else ()
    if choice.passphrase:
        unlock_if_locked(encryption.name, key)  # it was typed just now
    replaced = {way.kind for way in made} | {remove}
    ways = (*(way for way in encryption.ways if way.kind not in replaced), *made)
    if not ways:
        raise BadInput("It is the only way in which the key is kept. Add another one first")
    after = encryption._replace(ways=ways)
    if before is None:
        restore_encryption(home, after, key)
    else:
        write_encryption(home, after)
    gone = encryption.find(KEYRING)
    if gone is not None and remove == KEYRING:
        with suppress(HomeLockedError):
            key_ways.forget_way(gone)
    return after


def check_kind(name: str) -> str:
    """The name of a way; BadInput for what is none."""
    if name not in KINDS:
        raise BadInput(f"{name!r} is no way of keeping the key. There are: {', '.join(KINDS)}")
    return name


def find_key(home: Path, encryption: HomeEncryption | None, *, recovery: bool) -> HomeKey:
    """The key of a home that is unlocked, or by what its user knows."""
    if recovery:
        return key_by_recovery(home, encryption)
    assert encryption is not None
    try:
        key = read_home_key(home)
        assert key is not None
    except HomeLockedError:
        way = encryption.find(PASSPHRASE)
        if way is None:
            raise
        key = check_key(encryption, open_by_typing(home, way))
    return key


def key_by_recovery(home: Path, encryption: HomeEncryption | None) -> HomeKey:
    """The key that the user wrote down. BadInput for another one."""
    secret = read_recovery_key()
    if encryption is None:
        key = key_from_secret(secret)
        describe_key(key)  # BadInput for what is no key at all
        check_opens(home, key)
        return key
    describe_key(key_from_secret(secret))
    try:
        return check_key(encryption, secret)
    except HomeLockedError as err:
        raise BadInput(f"That is not the recovery key of this memory. {err}") from err


def open_by_typing(home: Path, way: KeyWay) -> str:
    """The secret by a passphrase that is asked for."""
    try:
        return key_ways.open_with_passphrase(way, read_passphrase())
    except CannotOpen as err:
        raise damaged_way(home) from err


def check_opens(home: Path, key: HomeKey) -> None:
    """Raise BadInput for a key that is not that of a home whose `encryption.json` is lost."""
    from reverie.storage.sqlite.database_library import DATABASE_NAME, is_encrypted_database
    from reverie.storage.sqlite.encrypted_pages import has_whole_page

    database = home / DATABASE_NAME
    if not is_encrypted_database(database):
        raise BadInput("There is no encrypted memory in this home")
    if not has_whole_page(database, key.database):
        raise BadInput("That key does not open this memory. Nothing was changed")


def restore_encryption(home: Path, encryption: HomeEncryption, key: HomeKey) -> None:
    """Write a lost `encryption.json` anew, and seal what was written without it."""
    write_encryption(home, encryption)
    unlock_if_locked(encryption.name, key)
    convert_side_files(home, key)


@commands.add("unlock", spaced=False)
def unlock_home(
    cli: CliContext,
    span: Annotated[
        str | None,
        typer.Option("--for", metavar="SPAN", help="How long, such as 8h (default: this login)."),
    ] = None,
    key_file: KeyFileOption = None,
    recovery: RecoveryOption = False,
) -> None:
    """Unlock the memory for this login; nobody is asked again.

    The key is kept in memory that the system forgets when you log out, for your programs alone.
    What happened while it was locked is taken in.
    """
    from reverie.interfaces.cli.user_input import parse_time_ahead

    home = cli.settings.home
    encryption = read_encryption_or_refuse(home)
    until = parse_time_ahead(span, clock.now(), "--for") if span else None
    if not unlocked_key.find_unlocked_folder():
        raise BadInput(unlocked_key.NOWHERE)
    key = key_by_recovery(home, encryption) if recovery else open_locked(home, encryption, key_file)
    unlocked_key.save_unlocked(encryption.name, key.files, until)
    convert_side_files(home, key)  # what was brought back from a copy in the clear, say
    # What was chosen while it was locked.
    try_to_tell_of_locked_guards(cli)
    waiting = take_in_waiting(cli)
    cli.answer(
        {"unlocked": True, "until": until, "waiting": waiting},
        describe_unlocked(until, waiting),
    )


def open_locked(home: Path, encryption: HomeEncryption, key_file: Path | None) -> HomeKey:
    """The key of a locked home: by a file that was named, else by what needs no person, else by the
    passphrase.
    """
    way = encryption.find(KEY_FILE)
    if key_file is not None:
        if way is None:
            raise BadInput("The key of this memory is kept by no file. See: reverie data key")
        try:
            return check_key(encryption, key_ways.open_with_key_file(way, key_file))
        except CannotOpen as err:
            raise damaged_way(home) from err
    typed = encryption.find(PASSPHRASE)
    if typed is not None:
        return check_key(encryption, open_by_typing(home, typed))
    key = read_home_key(home)
    assert key is not None
    return key


def take_in_waiting(cli: CliContext) -> int:
    """Start the worker that takes in what hooks kept meanwhile; how many events wait."""
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker_start import note_worker_exit, wake_worker

    files = HookFiles(str(cli.settings.home))
    waiting = len(files.list_events())
    if waiting:
        note_worker_exit(files.lock, failed=False)  # it may have failed for want of the key
        wake_worker(files.home, files.lock)
    return waiting


def describe_until(until: float | None) -> str:
    """How long a memory is unlocked."""
    return "until you log out" if until is None else f"until {format_moment(until)}"


def describe_unlocked(until: float | None, waiting: int) -> Iterator[str]:
    """What was unlocked, in lines."""
    yield f"Unlocked {describe_until(until)}. To lock it before: reverie data lock"
    if waiting:
        yield f"{count_noun(waiting, 'event')} came while it was locked; a worker takes them in."


@commands.add("lock", spaced=False)
def lock_home(cli: CliContext) -> None:
    """Lock an encrypted memory again.

    Hooks go on writing down what happens, sealed, and hand over nothing.
    """
    from reverie.interfaces.hooks.spool import HookFiles
    from reverie.interfaces.worker import stop_worker

    encryption = read_encryption_or_refuse(cli.settings.home)
    # What was forbidden since a worker was here. It may be locked already, or open elsewhere.
    try_to_tell_of_locked_guards(cli)
    was_unlocked = unlocked_key.remove_unlocked(encryption.name)
    lock = HookFiles(str(cli.settings.home)).lock
    has_stopped = not Path(lock).exists() or stop_worker(lock)
    is_gone = not has_home_key(cli.settings.home)
    is_closed = is_closed_everywhere(cli.settings.home, CLOSE_SECONDS if is_gone else 0.0)
    values = {"locked": True, "was_unlocked": was_unlocked, "worker_stopped": has_stopped}
    cli.answer(
        {**values, "closed": is_closed},
        describe_locked(encryption, has_stopped=has_stopped, is_held=is_gone and not is_closed),
    )


def is_closed_everywhere(home: Path, seconds: float) -> bool:
    """True once no process has the memory open; False if one still has after so many seconds."""
    from reverie.storage.sqlite.home_conversion import alone_in_home

    try:
        with alone_in_home(home, seconds):
            return True
    except StoreBusy:
        return False


def describe_locked(
    encryption: HomeEncryption, *, has_stopped: bool, is_held: bool
) -> Iterator[str]:
    """What was locked, and who has the key all the same."""
    yield "Locked."
    if is_held:
        yield (
            "A program still has the memory open, and the key: one of your own, or `reverie find` "
            "or `review` at a terminal. End it."
        )
    if not has_stopped:
        yield "The worker does not end, and has it too: reverie data worker --restart"
    for way in encryption.ways:
        if way.kind == KEY_FILE and Path(way.place).exists():
            yield f"The key file is there, and opens it again: take {way.place} away"
        elif way.kind == KEYRING:
            yield "The keyring of this login opens it again: lock that too"


def describe_as_json(encryption: HomeEncryption) -> dict[str, Any]:
    """How the key is kept, as JSON values."""
    unlocked = unlocked_key.read_unlocked(encryption.name, clock.now())
    return {
        "recipient": encryption.recipient,
        "ways": [{"way": way.kind, "place": way.place} for way in encryption.ways],
        "unlocked": unlocked is not None,
        "until": unlocked[1] if unlocked else None,
    }


def describe_key_state(encryption: HomeEncryption) -> Iterator[str]:
    """How the key is kept, in lines."""
    for way in encryption.ways:
        yield f"The key is kept {describe_way(way)}."
    unlocked = unlocked_key.read_unlocked(encryption.name, clock.now())
    if unlocked is None:
        yield "Not unlocked for this login."
    else:
        yield f"Unlocked {describe_until(unlocked[1])}."
    yield "The recovery key opens it too. To see it again: reverie data key --show-recovery"
