"""Does news say that what another memory states is so no longer? Two structures tell, in any
language: it gives up a thing that the other names, or it is the same sentence with another value.

Pure. Stricter than what asks a person about two memories: what this says puts others in doubt.
"""

from collections import Counter
from difflib import SequenceMatcher

from reverie.core.model import Memory
from reverie.reconciliation.merge_rules import judge_pair
from reverie.reconciliation.paraphrase.concept_vocabulary import load_number_words
from reverie.text.stated_reasons import (
    find_names,
    find_stated_reasons,
    gives_up,
    remove_now,
    says_now,
)
from reverie.text.tokenization import fold_text

# Words of a statement that another one puts another value in the place of.
MAX_VALUE_WORDS = 3
# Words beside that value in which the two may differ ("now").
MAX_OTHER_WORDS = 2
# Words that both have in common.
MIN_KEPT_WORDS = 2


def shakes_ground(news: Memory, ground: Memory) -> bool:
    """True if news says that what another memory states is so no longer."""
    if judge_pair(ground, news, None, ()).relation == "same":
        return False
    # News about its own reason is not news about it.
    claims = [reason.claim for reason in find_stated_reasons(ground.text)] or [ground.text]
    return any(
        gives_up(news.text, find_names(claim)) or replaces_value(claim, news.text)
        for claim in claims
    )


def replaces_value(old: str, new: str) -> bool:
    """True if a text says the same of something as another but for one value, a number or a name,
    and says that it is so now, or the value is a number.
    """
    before, after = split_words(old), split_words(remove_now(new))
    codes = SequenceMatcher(
        None, list(map(fold_text, before)), list(map(fold_text, after)), autojunk=False
    ).get_opcodes()
    count = Counter(kind for kind, *_ in codes)
    kept = sum(end - start for kind, start, end, _, _ in codes if kind == "equal")
    more = sum(end - start for kind, _, _, start, end in codes if kind == "insert")
    is_one_swap = count["replace"] == 1 and not count["delete"]
    if not is_one_swap or more > MAX_OTHER_WORDS or kept < MIN_KEPT_WORDS:
        return False
    was, becomes = next(
        (" ".join(before[start:end]), " ".join(after[new_start:new_end]))
        for kind, start, end, new_start, new_end in codes
        if kind == "replace"
    )
    if max(len(was.split()), len(becomes.split())) > MAX_VALUE_WORDS:
        return False
    if (has_digit(was) and has_digit(becomes)) or (counts(was) and counts(becomes)):
        return True
    is_named = all(value in find_names(text) for value, text in ((was, old), (becomes, new)))
    return is_named and says_now(new)


def split_words(text: str) -> list[str]:
    """The words of a sentence as they are written, without what closes it."""
    return [bare for word in text.split() if (bare := word.strip(".,;:!"))]


def counts(value: str) -> bool:
    """True if a value is a number in words and what it counts: "one host", and no more than that:
    "the old one" is no number.
    """
    number, _, counted = value.partition(" ")
    return bool(counted) and number.lower() in load_number_words()


def has_digit(word: str) -> bool:
    """True if a word has a digit."""
    return any(letter.isdigit() for letter in word)
