"""What two claims are to each other, by subject, relation and value rather than by their words.

`compare_claims` answers what the scorer of `statement_comparison` cannot see, for it learnt English
sentences of one frame:

- **replaces**: the same subject and relation, of which there is one value at a time, and another
  value; or the new one names what it puts right.
- **clashes**: the same, but there may be several values, or the value is no name and no number.
- **distinct**: each speaks of something that the other does not: two servers, two people, or one
  thing with two of its sides. Both can be true.
- **more**: one says all that the other says, and something beyond it.
- **equal**: both speak of the same.

`weigh_claims` puts that beside the scorer's verdict. In English it is believed where values are
names or numbers, or the scorer sees a conflict too; in other languages the scorer is not asked.

None where the texts do not show it. A pure function of its arguments.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from reverie.core.model import Memory
from reverie.reconciliation.paraphrase.claim_reading import (
    Claim,
    ClaimWord,
    is_same_word,
    match_words,
    read_claim,
    split_spans,
    split_tokens,
)
from reverie.reconciliation.paraphrase.concept_vocabulary import (
    list_alternatives,
    load_contrasts,
    load_opposites,
    to_concept,
)
from reverie.text.stated_reasons import find_claim, gives_up
from reverie.text.tokenization import STOP_WORDS, fold_text

if TYPE_CHECKING:
    from reverie.reconciliation.paraphrase.statement_comparison import Verdict

REPLACES, CLASHES, DISTINCT = "replaces", "clashes", "distinct"
MORE, EQUAL = "more", "equal"
# A value is a name, a number or a word or two; a longer one is told and not named.
MAX_VALUE_WORDS = 4
# Signs of a name that is written without spaces.
MAX_NAME_SIGNS = 3
# How sure a replacement is; one that only fits what was said of the old thing, and does not name
# it, is as sure as a correction has to be.
REPLACED_CONFIDENCE, FITTING_CONFIDENCE, CLASH_CONFIDENCE = 0.85, 0.75, 0.5
# The confidence of two that cannot concern each other, whatever they say.
CERTAINLY_APART = 1.0
# The language that the scorer learnt.
LEARNT_LANGUAGE = "en"
# What was said as often is not replaced in passing.
OFTEN_SAID = 3

Words = Sequence[ClaimWord]


class ClaimVerdict(NamedTuple):
    """What the new claim is to the old one, and by which value it differs."""

    relation: str
    old: str = ""  # the value that was believed
    new: str = ""  # the one that is told now
    is_whole: bool = True  # whether the new one says itself what it speaks of
    is_exact: bool = True  # whether the values are names or numbers, or what is given up is named
    tells_change: bool = False  # whether it says itself that something has changed


def weigh_claims(  # noqa: PLR0911
    old: Memory,
    new: Memory,
    verdict: "Verdict",
    wordings: Sequence[str],
) -> "Verdict":
    """The verdict on two memories, or another one where their claims show it."""
    if verdict.relation == "same" and adds_fact((old.text, *wordings), new.text):
        return verdict._replace(relation="near", why="the new one says more")
    is_certain = verdict.relation == "apart" and verdict.confidence >= CERTAINLY_APART
    if is_certain or verdict.relation == "updates" or fold_text(old.text) == fold_text(new.text):
        return verdict
    seen = compare_claims(old.text, new.text, corrected=new.provenance == "user_corrected")
    if seen is None or seen.relation not in (REPLACES, CLASHES):
        if verdict.relation == "near" and names_others(old.text, new.text):
            return verdict._replace(relation="apart", why="each names something else")
        if seen is None:
            return verdict
    claim = read_claim(new.text)
    is_learnt = claim is not None and claim.language == LEARNT_LANGUAGE
    match seen.relation:
        case "replaces" if not is_learnt or _agrees(seen, verdict):
            return _replace_verdict(old, seen, verdict)
        case "clashes" if not is_learnt and verdict.relation != "contradicts":
            return verdict._replace(
                relation="contradicts",
                confidence=CLASH_CONFIDENCE,
                why=f"same subject, different value: {seen.old} / {seen.new}",
            )
        case "distinct" if verdict.relation == "contradicts":
            return verdict._replace(relation="apart", why="each speaks of something else")
        case "equal" | "more" if verdict.relation == "contradicts" and not is_learnt:
            return verdict._replace(relation="near", why="nearly the same")
    return verdict


def _agrees(seen: ClaimVerdict, verdict: "Verdict") -> bool:
    """True if the scorer has nothing against a replacement."""
    is_plain = seen.is_exact or seen.tells_change
    return verdict.relation == "contradicts" or (is_plain and verdict.relation != "same")


def _replace_verdict(old: Memory, seen: ClaimVerdict, verdict: "Verdict") -> "Verdict":
    """That the new memory takes the old one's place; what was said time and again is only doubted
    in passing.
    """
    why = f"one value at a time of the same thing: {seen.old} / {seen.new}"
    if not seen.is_whole:
        return verdict._replace(relation="contradicts", confidence=FITTING_CONFIDENCE, why=why)
    is_passing = old.strength >= OFTEN_SAID and not seen.tells_change
    return verdict._replace(
        relation="contradicts" if is_passing else "updates",
        confidence=REPLACED_CONFIDENCE,
        why=why,
        tells_change=seen.tells_change,
    )


def compare_claims(old: str, new: str, *, corrected: bool) -> ClaimVerdict | None:
    """What one text claims against another; `corrected` if the user puts somebody right with it."""
    # What something rests on is not what it says: news about a reason replaces nothing.
    known, told = (read_claim(find_claim(text, by_clause=True)) for text in (old, new))
    if known is None or told is None:
        return None
    if known.denies and not told.denies:
        return _compare_ban(known, told)
    found = _compare_ended(known, told, new) or _compare_read(
        known, told, corrected or told.corrects
    )
    if found and found.old and _is_foreign(known, told, found):
        return None
    found = _keep_reserve(known, told, found, corrected or told.corrects)
    return found and found._replace(
        tells_change=told.changes or told.denies or bool(told.switched) or told.corrects
    )


def _keep_reserve(
    known: Claim, told: Claim, found: ClaimVerdict | None, corrected: bool
) -> ClaimVerdict | None:
    """What is found, or less: a guess, a plan and the words of somebody else are only asked about;
    what was so, what is an example and what is "also" so stand beside the old one, unless that is
    no surer.
    """
    tells_change = told.changes or bool(told.switched)
    was_so = told.is_past and not (known.is_past or tells_change)
    is_thought_up = told.is_supposed and not known.is_supposed
    if (was_so or is_thought_up) and not (corrected or told.denies):
        return ClaimVerdict(DISTINCT)
    if found is None or found.relation != REPLACES:
        return found
    is_guess = told.is_unsure and not known.is_unsure
    is_quoted = told.is_quoted and not known.is_quoted
    if (told.is_later and not known.is_later) or ((is_guess or is_quoted) and not corrected):
        return found._replace(relation=CLASHES)
    return ClaimVerdict(DISTINCT) if told.is_beside and not told.denies else found


def _is_foreign(known: Claim, told: Claim, found: ClaimVerdict) -> bool:
    """True if two values are of two languages, and may be two words for one thing."""
    is_spelt = found.is_exact and not any(value.isalpha() for value in (found.old, found.new))
    return known.language != told.language and not is_spelt and not told.denied


def _compare_read(known: Claim, told: Claim, corrected: bool) -> ClaimVerdict | None:  # noqa: PLR0911
    if told.denied:
        return _compare_denial(known, told)
    if told.denies:
        return None
    if told.topic and not _speaks_of(known, told.topic):
        return ClaimVerdict(DISTINCT)
    if told.refers and (corrected or told.topic):
        return _compare_reference(known, told)
    if told.switched and (found := _compare_switch(known, told)):
        return found
    if known.owner and told.owner and known.owner != told.owner:
        return ClaimVerdict(DISTINCT)
    return _compare_sides(known, told, corrected)


def adds_fact(texts: Sequence[str], new: str) -> bool:
    """True if a text says something behind an "and", a "before" or a "without" that none of the
    others says.
    """
    told = read_claim(new)
    if told is None:
        return False
    known = [claim for claim in map(read_claim, texts) if claim]
    said = {to_concept(token.lower()) for text in texts for token in split_tokens(text)}
    extra = [
        word
        for word in (*told.words, *told.denied)
        if to_concept(word.key) not in said and word.key not in STOP_WORDS
    ]
    for claim in known:
        extra = match_words([*claim.words, *claim.denied], extra)[1]
    return bool(known) and any(word.adds for word in extra)


def names_others(old: str, new: str) -> bool:
    """True if each of two texts has a name or a number that the other has not."""
    known, told = read_claim(old), read_claim(new)
    if known is None or told is None:
        return False
    missing, extra, _ = match_words(known.words, told.words)
    # What a text denies, it speaks of as well.
    missing = match_words(missing, told.denied)[0]
    return all(any(word.named or word.dated for word in words) for words in (missing, extra))


def suggest_terms(text: str) -> list[str]:
    """Further words to look for what a text may replace without naming it: the alternatives of what
    somebody switched to, and how one says where one lives.
    """
    claim = read_claim(text)
    if claim is None or not claim.switched:
        return []
    return list(
        dict.fromkeys(
            (
                *(claim.home_words if claim.moved_home else ()),
                *(term for word in claim.words for term in list_alternatives(to_concept(word.key))),
            )
        )
    )


# What is given up by name


def _compare_ended(known: Claim, told: Claim, new: str) -> ClaimVerdict | None:
    """A text that names what was left and what came instead ("from Hugo to Astro", "took over from
    Ann"), of the thing that the old one speaks of.
    """
    if told.denies:
        return None
    missing, extra, shared = match_words(known.words, told.words)
    come = [word for word in extra if word.named or word.dated]
    if known.relation == "held_by" and told.takes:
        holder = [word for word in known.words if word.side == "subject"]
        is_whole = all(word in holder for word in missing)
        has_held = any(word not in holder for word in shared)
        if is_whole and has_held and extra:
            return ClaimVerdict(REPLACES, _join(holder), _join(come or extra[:1]))
    left = [word for word in shared if word.named and gives_up(new, [word.text])]
    if len(left) != 1 or not come or any(word.named for word in missing):
        return None
    if any(word.side == "subject" for word in (*left, *missing)) or len(missing) > 1:
        return None
    is_mine = known.owner == told.owner == "mine"
    if len(shared) > 1 or (is_mine and len(come) == len(extra)):
        return ClaimVerdict(REPLACES, _join(left), _join(come))
    return None


def _compare_ban(known: Claim, told: Claim) -> ClaimVerdict | None:
    """A text that denies nothing against one that does: what that denies may be something else."""
    _, beyond, denied = match_words(told.words, known.denied)
    return ClaimVerdict(DISTINCT) if _is_other(beyond, denied) else None


def _is_other(beyond: Words, denied: Words) -> bool:
    """True if what is denied goes beyond what the other text says: a name, or most of it."""
    return any(word.dated or word.named for word in beyond) or len(beyond) > len(denied)


def _compare_denial(known: Claim, told: Claim) -> ClaimVerdict | None:  # noqa: PLR0911
    """A text that says what does not hold: "not tabs, spaces", "it is Liquibase, not Flyway"."""
    missing, beyond, denied = match_words(known.words, told.denied)
    if _is_other(beyond, denied):
        return ClaimVerdict(DISTINCT)
    if beyond or not denied:
        return None
    rest, extra, shared = match_words(missing, told.words)
    if told.ends and not rest and not extra and not told.refers:
        return ClaimVerdict(REPLACES, _join(denied), "")
    if not told.words:
        return None
    # Only what is said of the thing can be given up, and it has to be given up as a whole.
    left = [word for word in rest if word.side != "subject" or not told.refers]
    gone, come = _join(denied), _join(extra)
    limbs = {word.limb for word in told.denied}
    is_value = bool(extra) and _is_one(extra) and limbs.isdisjoint(word.limb for word in extra)
    if not is_value or any(word.side == "subject" for word in denied if known.relation != "is"):
        return None
    if not left or (told.refers and not left):
        return ClaimVerdict(REPLACES, gone, come)
    # "Format with black": what is done with the thing is not named again.
    if not shared and len(left) == 1 and known.relation == "" and not left[0].named:
        return ClaimVerdict(REPLACES, gone, come)
    # What is not to be used is used for nothing.
    if known.relation == told.relation == "tools" and denied[0].place == 0:
        return ClaimVerdict(REPLACES, gone, come)
    if told.relation in ("is", "single") and {word.side for word in left} <= {"subject"}:
        return ClaimVerdict(REPLACES, gone, come)
    return ClaimVerdict(CLASHES, gone, come)


# What was spoken of


def _speaks_of(known: Claim, topic: str) -> bool:
    """True if most of what an old claim speaks of is the topic that a correction was made to."""
    spoken = read_claim(topic)
    if spoken is None:
        return True
    missing, _, shared = match_words(known.words, spoken.words)
    return len(shared) > len(missing)


def _compare_reference(known: Claim, told: Claim) -> ClaimVerdict | None:
    """A correction whose subject is "it": what it says fits what was said of the old thing."""
    # "Actually the demo is …" may begin with the verb in other languages.
    spoken = [word for word in known.words if word.side == "subject"]
    said = [word for word in known.words if word.side != "subject"]
    _, news, named = match_words(spoken, told.words)
    missing, extra, shared = match_words(said, news)
    shared += named
    if len(missing) != 1 or len(extra) != 1 or not _are_alike(missing, extra):
        return None
    if not shared and not told.topic and not _is_dated(missing, extra):
        same_relation = known.group == told.group and known.relation not in ("", "is")
        if not same_relation:
            return None
    return ClaimVerdict(REPLACES, _join(missing), _join(extra), is_whole=bool(told.topic))


def _compare_switch(known: Claim, told: Claim) -> ClaimVerdict | None:
    """A change that does not name what was left: "I switched to Emacs", "I moved to Lyon"."""
    speaks_of_mine = known.owner == "mine" or (known.refers and known.is_at_home)
    if not speaks_of_mine or told.owner not in ("mine", ""):
        return None
    missing, extra, shared = match_words(known.words, told.words)
    said = [word for word in missing if word.side != "subject"]
    one_value = len(said) == len(missing) and _is_one(said) and _is_one(extra)
    if one_value and (shared or (told.moved_home and known.is_at_home)):
        return ClaimVerdict(REPLACES, _join(missing), _join(extra))
    for one in known.words:
        for other in extra:
            if _are_alternatives(one, other):
                return ClaimVerdict(REPLACES, one.text, other.text)
    return None


# Sides


def _compare_sides(known: Claim, told: Claim, corrected: bool) -> ClaimVerdict | None:  # noqa: PLR0911
    """Two claims, by what each says that the other does not."""
    missing, extra, shared = match_words(known.words, told.words)
    if _tell_different_things(known, told, shared):
        return ClaimVerdict(DISTINCT)
    if not missing and not extra:
        return ClaimVerdict(EQUAL)
    if not shared and not _has_same_owner(known, told):
        both_told = not _has_no_subject(known) and not _has_no_subject(told)
        return ClaimVerdict(DISTINCT) if known.relation and told.relation and both_told else None
    if not missing or not extra:
        return ClaimVerdict(MORE) if _has_same_relation(known, told) else None
    gone, come = split_spans(missing), split_spans(extra)
    if _counts_a_thing(missing) and _counts_a_thing(extra):
        return None
    if len(gone) == 1 and len(come) == 1:
        return _compare_values(known, told, gone[0], come[0], corrected)
    if {known.relation, told.relation} == {"is", "held_by"}:
        return None
    subjects = [any(word.side == "subject" for word in words) for words in (missing, extra)]
    return ClaimVerdict(DISTINCT) if all(subjects) else None


def _cross(known: Claim, told: Claim) -> bool:
    """True if a word that both have stands on the other side of the relation."""
    return any(
        is_same_word(one, other) and {one.side, other.side} == {"subject", "object"}
        for one in known.words
        for other in told.words
    )


def _has_same_owner(known: Claim, told: Claim) -> bool:
    speaks = known.owner == "mine" or (_has_no_subject(known) and _has_no_subject(told))
    return speaks and known.owner == told.owner and known.group == told.group


def _has_no_subject(claim: Claim) -> bool:
    return bool(claim.relation) and not any(word.side == "subject" for word in claim.words)


def _tell_different_things(known: Claim, told: Claim, shared: Words) -> bool:
    """True if one is of whoever speaks and the other of somebody else, or they tell two relations
    of one thing.
    """
    if known.group == told.group and known.relation not in ("", "is"):
        lacks = [claim for claim in (known, told) if _has_no_subject(claim)]
        return len(lacks) == 1 and lacks[0].owner == "mine"
    relations = {known.relation, told.relation}
    is_known = relations.isdisjoint(("", "is", "tools")) and relations != {"several"}
    return is_known and not any(word.side == "object" for word in shared if word.named)


def _has_same_slot(known: Claim, told: Claim, gone: Words, come: Words) -> bool:
    """True if two values stand in the same place, also where only one claim tells its relation."""
    if known.relation == told.relation:
        return True
    is_short = len(gone) == len(come) == 1 and gone[0].lead == come[0].lead
    said = (word for word in known.words if word.side == "object" and word not in gone)
    return is_short or any(is_same_word(word, one) for word in said for one in told.words)


def _has_same_relation(known: Claim, told: Claim) -> bool:
    """True if both say the same sort of thing; "is" stands for any."""
    if (known.relation, known.group) == (told.relation, told.group):
        return True
    return "is" in (known.relation, told.relation)


def _compare_values(  # noqa: PLR0911
    known: Claim,
    told: Claim,
    gone: Words,
    come: Words,
    corrected: bool,
) -> ClaimVerdict | None:
    """Two claims that differ in one place: is that a value, or what is spoken of?"""
    is_exact = _is_dated(gone, come) or _are_names(gone, come)
    swap = ClaimVerdict(REPLACES, _join(gone), _join(come), is_exact=is_exact)
    is_turned = known.relation == told.relation == "is" and gone[0].side != come[0].side
    if _cross(known, told) and not is_turned:
        return None
    sides = gone[0].side, come[0].side
    if max(len(gone), len(come)) > MAX_VALUE_WORDS or gone[0].limb != known.limb:
        return None
    if not _has_same_relation(known, told) or not _has_same_slot(known, told, gone, come):
        return ClaimVerdict(DISTINCT) if sides == ("subject", "subject") else None
    if "subject" in sides:
        return _compare_subjects(known, told, swap, gone, come)
    if not sides[0] or not sides[1]:
        return _compare_without_relation(swap, gone, come, corrected, told.changes)
    if corrected:
        return swap
    match known.relation if known.relation != "is" else told.relation:
        case "held_by":
            return ClaimVerdict(DISTINCT)
        case "several":
            return _compare_listed(known, swap, gone, come)
        case "tools":
            return _compare_tools(known, swap, gone, come)
        case "is":
            return _compare_attributes(known, told, swap, gone, come)
    if gone[0].lead != come[0].lead and not told.changes:
        return None
    is_side = not told.changes and not is_exact and _is_another_side(known, told, gone)
    if is_side or _holds_elsewhere(gone, come):
        return None
    return swap if _are_alike(gone, come) or told.changes else None


def _holds_elsewhere(gone: Words, come: Words) -> bool:
    """True for a number against one that may hold in some place only: "8080 in dev"."""
    has_place = any(word.lead and not word.dated for word in come[1:])
    return has_place and all(word.dated for word in gone)


def _is_another_side(known: Claim, told: Claim, gone: Words) -> bool:
    """True for claims that are the same in part only, or that tell what a thing is called and how
    it is.
    """
    has_more = any(word.side == "object" and not word.dated for word in _rest(known, gone))
    return has_more or known.relation != told.relation


def _rest(claim: Claim, value: Words) -> list[ClaimWord]:
    return [word for word in claim.words if word not in value]


def _compare_listed(
    known: Claim,
    swap: ClaimVerdict,
    gone: Words,
    come: Words,
) -> ClaimVerdict | None:
    """Two claims of a relation that may have any number of objects: "supports", "has"."""
    is_part = any(_stands_behind(word, gone) for word in known.words)
    # Who speaks several languages says so of each.
    if not is_part and (known.owner == "mine" or _has_no_subject(known)):
        return ClaimVerdict(DISTINCT)
    if _is_dated(gone, come):
        return swap._replace(relation=CLASHES) if is_part else None
    return None if is_part or _are_alternatives(gone[-1], come[-1]) else ClaimVerdict(DISTINCT)


def _compare_tools(known: Claim, swap: ClaimVerdict, gone: Words, come: Words) -> ClaimVerdict:
    """Two claims of what a thing is done with: for one end there may be several tools."""
    first = next((word for word in known.words if word.side == "object"), None)
    if _is_dated(gone, come):
        return swap
    if first != gone[0]:
        return ClaimVerdict(DISTINCT)
    has_purpose = any(_stands_behind(word, gone) for word in known.words)
    if _are_alternatives(gone[-1], come[-1]) and has_purpose:
        return swap
    is_open = has_purpose or _are_alternatives(gone[-1], come[-1])
    return swap._replace(relation=CLASHES if is_open else DISTINCT)


def _compare_subjects(  # noqa: PLR0911
    known: Claim,
    told: Claim,
    swap: ClaimVerdict,
    gone: Words,
    come: Words,
) -> ClaimVerdict | None:
    """Two claims that differ in front of their relation: two things, or two holders of one role."""
    if gone[0].side != come[0].side:
        # "Tom is the treasurer", "the treasurer is Yusuf".
        turned = known.relation == told.relation == "is"
        return swap if turned and _are_names(gone, come) else ClaimVerdict(DISTINCT)
    if known.group != told.group:
        return None
    is_role = known.relation == "is" and known.is_definite and told.is_definite
    if _is_dated(gone, come):
        return swap if is_role else None
    if _are_alternatives(gone[-1], come[-1]):
        return None
    subject = [word for word in known.words if word.side == "subject"]
    # Where each sign is a word, two names may have a part in common.
    is_short_name = len(subject) <= MAX_NAME_SIGNS and all(len(word.text) == 1 for word in subject)
    whole = subject == list(gone) or (is_short_name and known.words[0].text > "\u3400")
    if known.relation == "held_by" and whole:
        return swap._replace(is_exact=True)
    is_counted = any(word.dated for word in (*gone, *come))
    if is_role and whole and not is_counted:
        return swap
    return ClaimVerdict(DISTINCT)


def _compare_without_relation(
    swap: ClaimVerdict,
    gone: Words,
    come: Words,
    corrected: bool,
    changes: bool,
) -> ClaimVerdict | None:
    """Two claims of which no relation is known, and that differ in one place."""
    if corrected and (_are_alike(gone, come) or _are_alternatives(gone[-1], come[-1])):
        return swap
    if changes and _are_names(gone, come):
        return swap
    if _are_opposites(gone[-1], come[-1]):
        return swap
    if _is_dated(gone, come) or _are_alternatives(gone[-1], come[-1]):
        return swap._replace(relation=CLASHES)
    return None


def _compare_attributes(
    known: Claim,
    told: Claim,
    swap: ClaimVerdict,
    gone: Words,
    come: Words,
) -> ClaimVerdict | None:
    """Two claims of what one thing is: its name or number, or only something that it is too."""
    if _is_dated(gone, come) or told.changes:
        return swap
    # "Allergic to …": what it is stays, and that may have several objects.
    before = [word for word in known.words if word.side == "object" and word.place < gone[0].place]
    if any(not word.dated for word in before):
        is_open = _are_names(gone, come) or _are_alternatives(gone[-1], come[-1])
        return None if is_open else ClaimVerdict(DISTINCT)
    is_one = known.is_definite and told.is_definite
    # Ann is Swedish, and a Catholic too; the lead is Ann or is Bob.
    are_names = _are_names(gone, come) and not (known.is_bare and told.is_bare)
    if is_one or are_names or _are_alternatives(gone[-1], come[-1]):
        return swap
    return swap._replace(relation=CLASHES) if len(gone) == len(come) == 1 else None


# Values


def _join(words: Words) -> str:
    return " ".join(word.text for word in words)


def _stands_behind(word: ClaimWord, value: Words) -> bool:
    return word.side == "object" and word.place > value[-1].place


def _is_dated(gone: Words, come: Words) -> bool:
    """True for two numbers, dates or times of one measure."""
    return (
        any(word.dated for word in gone)
        and any(word.dated for word in come)
        and all(word.dated for word in (*gone, *come))
    )


def _are_names(gone: Words, come: Words) -> bool:
    return any(word.named for word in gone) and any(word.named for word in come)


def _are_alike(gone: Words, come: Words) -> bool:
    """True for two values of one sort: two numbers, two names, two short wordings."""
    numbers = [any(word.dated for word in words) for words in (gone, come)]
    return numbers[0] == numbers[1]


def _are_alternatives(one: ClaimWord, other: ClaimWord) -> bool:
    """True for two words of which one is taken instead of the other: Vim, Emacs; light, dark."""
    if is_same_word(one, other):
        return False
    contrasts = load_contrasts()
    first, second = (contrasts.get(to_concept(word.key), frozenset()) for word in (one, other))
    return bool(first & second) or _are_opposites(one, other)


def _are_opposites(one: ClaimWord, other: ClaimWord) -> bool:
    return {to_concept(one.key), to_concept(other.key)} in load_opposites()


def _is_one(words: Words) -> bool:
    """True if these words stand side by side."""
    return len(split_spans(words)) == 1


def _counts_a_thing(words: Words) -> bool:
    """True for a thing and its number, "staging has 2": no value, as "2 months" or "Python 3"."""
    return any(
        not (word.named or word.dated) and after.dated and after.key[0].isdigit()
        for word, after in pairwise(words)
    )
