"""What a text is about: its words, and those that say nothing of that.

Words count without their endings. Those of nearly every working session say nothing.

A module of its own, so that a hook that asks only this of a prompt loads little else.
"""

from functools import lru_cache

from reverie.text.tokenization import tokenize_query

_DOMAIN_STOPWORDS = """
able actual add again all also anything app apply back bad bit bug build button call cannot case
change check class clean clear click close code come command comment commit compile complete content
copy correct create current data day default delete different display do done down edit else empty
end enough error even ever every everything example exist explain export extra fail fail false far
fast field file fill find fine first fix follow format forget found free full function get give go
good great group guess handle happen hello help hey hi high hmm idea implement import include input
install instead issue item keep kind know large last later leave less let level line list little
load local long look lot low main maybe mean message method mind minute miss morning move name need
never new next nice night nope nothing now null number off oh ok okay old one open option order out
output page part pass paste path per perfect please point possible print probably problem project
push put question quick quite ready real really reason remove rename repeat replace request reset
response rest restart result return revert review right run same save say screen search second see
seem select send set short should show side simple single size small some something sort sorry start
state step still stop string structure stuff super sure switch table take task tell test text thank
thanks thing think third this three time title today todo together tomorrow top total true try turn
two type undo unused update use user value variable version wait want way well what while whole why
without word work write wrong yeah year yep yes yesterday yet
"""


@lru_cache(maxsize=512)
def stems_of(text: str) -> frozenset[str]:
    """The words of a text without stop words and endings."""
    return frozenset(map(strip_ending, tokenize_query(text)))


def strip_ending(word: str) -> str:
    """A word without a common English ending.

    Cheap: all that is asked is that both sides of a comparison get the same.
    """
    if not word.endswith(("g", "d", "s", "e")):
        return word
    for ending in ("ing", "ed", "es", "s", "e"):
        is_long = len(word) > len(ending) + 2
        if is_long and word.endswith(ending) and not word.endswith("ss"):
            return word[: -len(ending)]
    return word


@lru_cache(maxsize=1)
def domain_stop_stems() -> frozenset[str]:
    """Words of nearly every working session, without their endings."""
    return frozenset(map(strip_ending, _DOMAIN_STOPWORDS.split()))
