"""What can go wrong, as a tree. The docstring of each class is its default message.

ReverieError
├── BadInput                what the caller passed cannot be used
│   ├── UnknownScheme
│   ├── Refused             its owner does not want such a text kept
│   └── BadTranscript
├── NotFound                no such memory or event
├── Conflict                the thing changed meanwhile
│   └── Overwritten         a file was put there by somebody else
├── Disabled                memory is switched off here
├── Unauthenticated         a server does not know who asks
├── AccessDenied            a server knows who asks, and they may not
├── HeldByLaw               a legal hold forbids to erase this
├── TryLater                with `retry_after`, in seconds
│   ├── RateLimited         too many requests in too short a time
│   ├── QuotaExceeded       the tenant has used up what it may
│   └── LoginPending        a device login waits for a person
├── LoginRefused            a sign-in was denied, has expired or is not for here
├── ServerAway              the team's server does not answer just now
│   └── ServerFull          it answers, and keeps as much as it may
├── StoreError
│   ├── StoreBusy           another process kept the store locked for too long
│   ├── StoreDamaged        the database file is not readable
│   ├── StoreReadOnly       the home cannot be written
│   ├── StoreFull           the disk is full
│   ├── NewerStore          written by a newer version of Reverie
│   └── HomeLockedError     the home is encrypted, and its key is not to be had
├── CannotOpen              something sealed was sealed for others, or altered
├── ModelUnavailable        the embedding model's weights are not to be had
├── EmbedderUnavailable     a remote embedder does not answer
├── ModelAway               the language model is not to be had just now
├── PortTaken               somebody else listens there
└── ExtraMissing            an optional dependency is not installed

"Nothing found" is never an error: it is an empty list.
"""


class ReverieError(Exception):
    """Something went wrong in Reverie."""

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or " ".join((type(self).__doc__ or "").split()))


class BadInput(ReverieError, ValueError):
    """That input cannot be used."""


class UnknownScheme(BadInput):
    """That address names no backend that Reverie knows."""


class Refused(BadInput):
    """Such a text is not kept: its owner does not want it."""


class BadTranscript(BadInput):
    """That file is not a conversation in a format that Reverie reads."""


class EmptyTranscript(BadTranscript):
    """Nothing is said in that file."""


class NotFound(ReverieError, LookupError):
    """There is no memory or event with that id."""


class Conflict(ReverieError):
    """What you want to change was changed by somebody else meanwhile. Look at it again, then
    repeat.
    """


class Overwritten(Conflict):
    """Another file lies there already. Look at it before you put yours in its place."""


class Disabled(ReverieError):
    """Memory is switched off here. `reverie on` switches it on again."""


class Unauthenticated(ReverieError):
    """This key is not valid here. Check that it was copied whole, or get a new one: reverie login
    URL
    """


class AccessDenied(ReverieError):
    """You may not do that, or there is no such thing. Ask an administrator of your team's
    memory.
    """


class HeldByLaw(ReverieError):
    """A legal hold forbids to erase this. Ask an administrator who placed it, and why."""


class TryLater(ReverieError):
    """Not now. Try again later."""

    def __init__(self, message: str | None = None, *, retry_after: float | None = None) -> None:
        super().__init__(message)
        # Seconds from now; None if waiting alone does not help.
        self.retry_after = retry_after


class RateLimited(TryLater):
    """Too many requests in too short a time. Wait a little, then go on."""


class QuotaExceeded(TryLater):
    """Your team has used up what it may keep or use. Ask an administrator to raise the limit."""


class LoginPending(TryLater):
    """Nobody has let this device in yet. Open the page that was shown and type the code."""


class LoginRefused(ReverieError):
    """You could not be signed in. Start again: reverie login URL"""


class ServerAway(ReverieError):
    """The team's server does not answer just now. What waits for it goes on waiting; see `reverie
    sync --status`.
    """


class ServerFull(ServerAway):
    """The team's server keeps as much as it may. What waits for it goes on waiting."""


class StoreError(ReverieError):
    """The memory store could not do that."""


class StoreBusy(StoreError):
    """Another process kept the memory store locked for too long. Nothing was changed: try again."""


class StoreDamaged(StoreError):
    """The memory file is damaged. `reverie data verify --repair` keeps what is readable."""


class StoreReadOnly(StoreError):
    """The memory store cannot be written. Check who may write to the folder, or set
    REVERIE_HOME.
    """


class StoreFull(StoreError):
    """The disk is full: nothing was changed. Free some space and try again."""


class StoreGone(StoreError):
    """The memory file was removed or replaced while it was open. This was not kept: open the memory
    again, and look where the file went.
    """


class NewerStore(StoreError):
    """This memory store was written by a newer Reverie. Upgrade with: pip install --upgrade
    reverie.
    """


class HomeLockedError(StoreError):
    """This memory is encrypted and locked. Unlock it with: reverie data unlock"""


class CannotOpen(ReverieError):
    """Something sealed cannot be opened with the keys of this machine."""


class ModelUnavailable(ReverieError):
    """The embedding model could not be fetched. Words keep working meanwhile; try again, with a
    connection: reverie data settle
    """


class EmbedderUnavailable(ReverieError):
    """The remote embedder does not answer. Words keep working meanwhile."""


class ModelAway(ReverieError):
    """The language model does not answer just now. What waits for it goes on waiting; see `reverie
    data llm`.
    """


class PortTaken(ReverieError):
    """Somebody else listens on that port. Choose another one."""


class ExtraMissing(ReverieError):
    """This feature needs an optional dependency that is not installed."""
