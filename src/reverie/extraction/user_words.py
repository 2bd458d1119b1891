"""What in a user's message is the user's own word: nothing that they quote or paste, and nothing
that shows, though nothing quotes it, that it was written to be obeyed. Pure.
"""

from reverie.privacy.prompt_injection import find_pasted_order
from reverie.text.own_sentences import MessageSentences, separate_lines, separate_sentences


def separate_user_sentences(text: str) -> MessageSentences:
    """A message's sentences, the user's own apart from what others wrote."""
    found = separate_sentences(text)
    if find_pasted_order("\n".join(found.own)):
        return MessageSentences((), (*found.own, *found.quoted))
    return found


def separate_user_lines(text: str) -> tuple[str, str]:
    """A message in two: the lines in which the user speaks, and all others."""
    own, theirs = separate_lines(text)
    if find_pasted_order(own):
        return "", f"{own}\n{theirs}".strip()
    return own, theirs
