"""Messages as they may be written down: without secrets, and not longer than anybody will read."""

from collections.abc import Sequence

from reverie.core.privacy_policy import USUAL, Policy
from reverie.core.private_passages import GAP, SPARE
from reverie.privacy import hidden, redact
from reverie.privacy.redacted_text import private
from reverie.privacy.sensitive_calls import bare_calls, touches
from reverie.privacy.sensitive_files import MARK, is_marked, touched_by, without_lines
from reverie.privacy.truncation import ends
from reverie.text.host_messages import HEAD, MOST_CHARS, TAIL, Said
from reverie.text.injection_fence import FENCE, without_injections
from reverie.text.text_cleaning import clean

MOST_ROLE = 32
ASSISTANT, TOOLS = "assistant", ("tool", "function")


def redacted(
    said: Sequence[Said], policy: Policy, before: Sequence[Said] = ()
) -> list[dict[str, str]]:
    """Messages as they may be written down: without secrets, and without what stands in sensitive
    files.

    What a tool answers is not said to which of the calls before it, so what answers any call that
    is given such a file goes as a whole, be they in one message or in several on end. `before` are
    the messages before these. What a tool had from Reverie is left out as well (CC-62).
    """
    guarded = asking = False
    written = []
    earlier = lately(before)
    for place, message in enumerate((*earlier, *said), -len(earlier)):
        if message.role == ASSISTANT:
            guarded = reads(message, policy) or (asking and guarded)
        asking = message.role == ASSISTANT
        if place >= 0:
            text = open_part(message, policy, guarded=guarded)
            written.append(
                {"role": short_role(message.role, policy), "text": shortened(text, policy)}
            )
    return written


def open_part(message: Said, policy: Policy, *, guarded: bool) -> str:
    """What a message says beside what stands in sensitive files; `guarded` if the call at hand is
    given one.
    """
    text = clean(news_in(message))
    if message.role == ASSISTANT:
        return bare_calls(text, policy) if guarded else text
    if message.role not in TOOLS:
        return text
    return MARK if text and (guarded or is_marked(text)) else without_lines(text, policy)


def news_in(message: Said) -> str:
    """What a message says. An answer of `recall` is an echo: only what stands around it is new."""
    answered = message.role in TOOLS and FENCE in message.text
    return without_injections(message.text).strip() if answered else message.text


def lately(before: Sequence[Said]) -> Sequence[Said]:
    """The last calls among some messages, with what answered them."""
    start = len(before)
    while start and before[start - 1].role in (ASSISTANT, *TOOLS):
        start -= 1
    return before[start:]


def reads(message: Said, policy: Policy) -> bool:
    """Whether a tool that is called in a message is given a sensitive file."""
    return touches(message.text, policy) or any(
        touched_by(command, policy) for _, command in message.ran
    )


def short_role(role: str, policy: Policy) -> str:
    """A role as it may be written down."""
    role = private(role, policy)
    return role if len(role) <= MOST_ROLE else "other"  # a part of it may be half of a secret


def shortened(text: str, policy: Policy = USUAL) -> str:
    """A text without secrets, of a long one its beginning and its end. First redacted, then cut."""
    text = hidden(text)
    if len(text) > MOST_CHARS + 2 * SPARE:
        return ends(text, policy, HEAD, TAIL)
    text = redact(text, policy)[0]
    return text if len(text) <= MOST_CHARS else text[:HEAD] + GAP + text[-TAIL:]
