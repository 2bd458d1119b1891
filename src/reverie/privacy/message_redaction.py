"""Messages as they may be written down: without secrets, and no longer than anybody will read."""

from collections.abc import Sequence

from reverie.core.privacy_policy import DEFAULT_POLICY, Policy
from reverie.core.private_passages import CUT_MARGIN, CUT_MARK
from reverie.privacy import hide_known_secrets, hide_private_passages, redact
from reverie.privacy.known_secrets import KnownSecrets
from reverie.privacy.redacted_text import redact_short_text
from reverie.privacy.sensitive_calls import has_sensitive_call, strip_sensitive_calls
from reverie.privacy.sensitive_files import (
    SENSITIVE_MARK,
    drop_sensitive_lines,
    find_sensitive_files,
    is_marked_sensitive,
)
from reverie.privacy.truncation import redact_both_ends
from reverie.text.host_messages import HEAD_CHARS, MAX_MESSAGE_CHARS, TAIL_CHARS, HostMessage
from reverie.text.injection_fence import FENCE, remove_injections
from reverie.text.text_cleaning import clean_text

MAX_ROLE_CHARS = 32
ASSISTANT, TOOL_ROLES = "assistant", ("tool", "function")
# Roles that hold no secret, of nearly all messages.
ROLES = ("user", "system", ASSISTANT, *TOOL_ROLES)


def redact_messages(
    said: Sequence[HostMessage],
    policy: Policy,
    before: Sequence[HostMessage] = (),
    *,
    is_redacted: bool = False,
    known: KnownSecrets | None = None,
) -> list[dict[str, str]]:
    """Messages as they may be written down.

    Without secrets, what stands in sensitive files, and what a tool had from Reverie.

    A tool's answer does not say which of the calls before it it answers. So if any of these calls
    was given a sensitive file, be they in one message or in several on end, every answer goes as a
    whole. `before` are the messages before these. A secret that one message gives away is hidden
    in all of them; `known` are those that earlier ones gave away, and are added to.
    """
    known = KnownSecrets() if known is None else known
    known_before = len(known)
    guarded = asking = False
    written = []
    earlier = last_tool_exchange(before)
    # Those below zero are the messages before: they only tell whether an answer is guarded.
    for number, message in enumerate((*earlier, *said), -len(earlier)):
        if message.role == ASSISTANT:
            # Calls in several messages on end are answered together, so they are judged together.
            guarded = reads_sensitive_file(message, policy) or (asking and guarded)
        asking = message.role == ASSISTANT
        if number >= 0:
            text = drop_sensitive_text(message, policy, guarded=guarded)
            text = shorten_message(text) if is_redacted else redact_and_shorten(text, policy, known)
            role = redact_role(message.role, policy)
            written.append({"role": role, "text": text})
    if len(known) > known_before:
        for line in written:
            line["text"] = hide_known_secrets(line["text"], known)
    return written


def drop_sensitive_text(
    message: HostMessage,
    policy: Policy,
    *,
    guarded: bool,
) -> str:
    """What a message says without the text of sensitive files.

    `guarded` if the call at hand is given one.
    """
    text = clean_text(drop_injected_echo(message))
    if message.role == ASSISTANT:
        return strip_sensitive_calls(text, policy) if guarded else text
    if message.role not in TOOL_ROLES:
        return text
    if text and (guarded or is_marked_sensitive(text)):
        return SENSITIVE_MARK
    kept: str = drop_sensitive_lines(text, policy)
    return kept


def drop_injected_echo(message: HostMessage) -> str:
    """What a message says without injected context that a tool gave back.

    A tool's answer with injected context is an echo: only what stands around it is new.
    """
    answered = message.role in TOOL_ROLES and FENCE in message.text
    return remove_injections(message.text).strip() if answered else message.text


def last_tool_exchange(before: Sequence[HostMessage]) -> Sequence[HostMessage]:
    """The last tool calls among some messages, with their answers."""
    start = len(before)
    while start and before[start - 1].role in (ASSISTANT, *TOOL_ROLES):
        start -= 1
    return before[start:]


def reads_sensitive_file(message: HostMessage, policy: Policy) -> bool:
    """True if a tool that is called in a message is given a sensitive file."""
    return has_sensitive_call(message.text, policy) or any(
        find_sensitive_files(command, policy) for _, command in message.long_commands
    )


def redact_role(role: str, policy: Policy) -> str:
    """A role as it may be written down; "other" for a long one.

    A part of a long one could be half of a secret.
    """
    if role in ROLES:
        return role
    role = redact_short_text(role, policy)
    return role if len(role) <= MAX_ROLE_CHARS else "other"


def redact_and_shorten(
    text: str,
    policy: Policy = DEFAULT_POLICY,
    known: KnownSecrets | None = None,
) -> str:
    """A text without secrets; of a long one its beginning and end. First redacted, then cut."""
    text = hide_private_passages(text)
    # Of a huge text only both ends are searched for secrets: nothing else of it is kept.
    if len(text) > MAX_MESSAGE_CHARS + 2 * CUT_MARGIN:
        return redact_both_ends(text, policy, HEAD_CHARS, TAIL_CHARS, known)
    return shorten_message(redact(text, policy, known=known)[0])


def shorten_message(text: str) -> str:
    """Of a long text without secrets its beginning and its end."""
    if len(text) <= MAX_MESSAGE_CHARS:
        return text
    return text[:HEAD_CHARS] + CUT_MARK + text[-TAIL_CHARS:]
