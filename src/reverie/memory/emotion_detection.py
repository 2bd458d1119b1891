"""Detecting a user's feeling from their words alone: a small table, no model. Pure.

Most of what is said to a coding agent says nothing of the kind, and much of it looks as if it did:
"fatal error", "kill the process", "great, now add a test". So the rules look at what is said to the
agent or of the work, not at words of a mood; quoted text, code and pasted lines are left out;
thanks and praise that only open the next request count for nothing. Measured on sentences labelled
by hand, against a lexicon of moods: `python -m bench.appraisal`. These rules are for English; other
languages have phrases of theirs in `text/languages`.
"""

import re
from typing import NamedTuple

from reverie.core.guarded_patterns import GuardedPattern, PatternGuard
from reverie.memory.feelings import INTENSITIES, Feeling
from reverie.text.learned_phrases import find_feeling
from reverie.text.own_sentences import separate_sentences

# Characters that are looked at: who writes more describes something.
MAX_MESSAGE_CHARS = 2_000


class EmotionRule(NamedTuple):
    """Words that show a feeling: regular expressions, one of which must match in a sentence."""

    emotion: str
    intensity: str
    patterns: tuple[str, ...]


WORKS = (
    r"(?:works?|worked|working|passes|passed|fixed|green|runs?|running|compiles|gone"
    r"|solved|over|back)"
)
PRAISE = (
    r"(?:great|awesome|amazing|excellent|perfect(?:ly)?|fantastic|brilliant|superb|wonderful|lovely"
    r"|impressive|beautiful(?:ly)?|outstanding|flawless(?:ly)?|gorgeous|incredible|stunning"
    r"|marvell?ous|terrific|phenomenal)"
)
GOOD = (
    r"(?:good|nice|clever|smart|neat|elegant|cool|sweet|clean|helpful|useful|handy|slick"
    r"|fast|easy|fun|cute|solid)"
)
BETTER = r"(?:better|nicer|cleaner|faster|simpler|clearer|easier|smoother)"
BAD = (
    r"(?:useless|terrible|horrible|awful|garbage|rubbish|ridiculous|annoying|unacceptable"
    r"|infuriating|exhausting|pathetic|nonsense|absurd|maddening|unbelievable|insane(?! (?:amount"
    r"|number))|stupid|hopeless|a (?:complete |total )?(?:mess|disaster|joke|nightmare)(?=\W*$"
    r"|[.,;!]| (?:of|now|again|to|and)\b)|getting (?:old|ridiculous|nowhere))"
)
BROKEN = (
    r"(?:broken|failing|fails|wrong|crash(?:es|ing)|red|stuck|the same|not (?:work|right|fix)\w*"
    r"|doesn'?t|does not|won'?t)"
)
VERY = r"(?:so|really|very|super|way|pretty|truly|incredibly|such an?|that|too|quite|extremely)"
ALWAYS = r"(?!.*\b(?:when|if|unless|on an?)\b)"  # under which condition it does is a report
OPENING = r"(?:(?:ok|hey|oh|haha|and|now|yes|yep),? )?"
STATED = r"(?!.*\?)"  # and not asked
# nor begins like a question
TOLD = r"^(?!(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would)\b).*?"
WRONGED = (
    r"(?:broke|ignored?|deleted|ruined|messed|keep \w+ing|kept \w+ing|never (?:listen|read|learn"
    r"|check)|lied|made it up)(?!\w*.{0,80}\?$)"
)

RULES: tuple[EmotionRule, ...] = (
    EmotionRule(
        "frustration",
        "high",
        (
            r"(?<!-)\b(?:fuck(?:ing|ed|s)?|shit(?! happens)|bullshit|damn(?: it)?|dammit|goddamn|"
            r"crap|wtf|ffs|jfc)\b(?!-)",
            r"\bwhat the (?:hell|fuck|heck)\b(?! (?:is|are) an?\b)",
            r"\bi(?:'m| am|'ve| have) (?:\w+ ){0,2}(?:frustrated|annoyed|angry|fed up|sick of"
            r"|tired of|pissed|disappointed|furious|losing (?:my )?patience|out of patience"
            r"|had enough)\b(?!-)",
            r"\bwaste of (?:my )?time\b",
            r"\b(?:lost|wasted|cost me) (?:the|my|a|an) whole\b",
            r"\bi hate (?:this|it|that|when|how)\b",
            r"\b(?:it|this|that) (?:really )?(?:annoys|bugs) me\b",
            r"\b(?:drives?|driving) me (?:crazy|mad|nuts|insane|up the wall)\b",
            r"\bhow (?:many times|often) (?:(?:do i (?:have|need) to|must i|should i) (?:say|tell"
            r"|ask|repeat|explain|remind|write)|have i (?:said|told|asked|explained|written)"
            r"|did i (?:say|tell|ask|explain))\b",
            r"\bfor the last time\b",
            r"\b(?:third|fourth|fifth|tenth|hundredth) time\b.*\b(?:i|you)\b",
            r"\bthe worst (?!case\b)\w+(?: \w+)? i(?:'ve| have)?\b",
            r"\bnothing works any ?more\b",
        ),
    ),
    EmotionRule(
        "frustration",
        "medium",
        (
            # told before
            r"\bi(?:'ve| have)? (?:already |just )?(?:told|asked) you\b",
            r"\bas i (?:already )?said\b.*!",
            r"\bi already (?:said|told|asked|wrote|explained)\b",
            r"\b(?:repeat|repeating) myself\b",
            r"\bsay (?:it|this|that) again\b",
            r"\b(?:we(?:'ve| have)?|been) (?:already )?(?:been )?(?:through|over) this"
            r"(?! (?!already|before|again|a (?:hundred|thousand))\w)",
            # what the agent did
            rf"\byou(?:'ve| have)? (?:just |completely |simply )?{WRONGED}",
            r"\byou (?:said|claimed|promised|told me)\b.*\b(?:isn'?t|doesn'?t|didn'?t|wasn'?t|not|"
            r"never)\b",
            r"\byou(?:'re| are) (?:not (?:listening|reading|even)|ignoring|making (?:it"
            r"|things) worse|wrong again|breaking)\b",
            r"\bwhy do you (?:keep|always|never)\b",
            r"\bdo you keep\b",
            r"\bdid you even (?:read|look|listen|test|run|try|check|open|compile|think)\b",
            r"\bwhy (?:would|did) you\b.*!",
            r"\b(?:your|those) .{0,20}\bwere (?:all )?wrong\b",
            r"\bnothing (?:\w+ )?you\b(?!.*\b(?:should|may|must|can)\b)",
            r"\bwas working before you\b",
            r"(?<!to )\bstop (?:it|guessing|rewriting|changing|doing|making|touching|ignoring"
            r"|apologi[sz]ing|adding|lying|pretending)\b",
            r"\bjust do (?:what|as) i\b",
            r"\bfor once\b(?!-)",
            r"\b(?:not|isn'?t) (?:at all )?what i (?:asked|wanted|meant|said)\b",
            r"\bmade (?:it|things|that|everything) (?:even )?worse\b",
            # still, and again
            rf"(?<!if )(?<!when )\b(?:it|this|that|everything)(?:'s"
            rf"| is)? still {BROKEN}(?!.*\?$){ALWAYS}",
            rf"^(?:\w+, )?still {BROKEN}(?!.*\?$){ALWAYS}",
            r"\bonce more thanks to\b",
            r"^again\s*[?!]",
            r"^not again\b",
            r"\b(?:broke(?: it)?|broken|fails?|wrong\b.*|mess(?:ed)?|failing|crash\w*|this|ugh|gone"
            r"|red)[,.]* (?:yet )?again\s*[.!]*$",
            # sighs and verdicts
            r"^(?:u+gh+|a+r+gh+|grr+|sigh(?=[\s,.!]*$|[,.!])|seriously(?=\W*$|[,?!.])"
            r"|(?:oh )?come on(?=\W*$|[,!.] (?!an?\b))|good grief|jesus|jeez|are you (?:kidding"
            r"|serious|joking)|for (?:god|christ|heaven)'?s sake)\b",
            r"^(?:oh )?no,? not\b.*!",
            r"\bthanks for nothing\b",
            r"\byou(?:'ve| have)? (?:got to|must) be (?:kidding|joking)\b",
            r"\bmakes (?:no|zero) sense at all\b",
            rf"\b(?:this|that|it)(?:'s| is| was)? (?:\w+ )?{BAD}\b{STATED}",
            r"\bwhat an? (?:mess|disaster|nightmare|joke)\b",
        ),
    ),
    EmotionRule(
        "joy",
        "high",
        (
            rf"{TOLD}(?<!the )(?<!an )(?<!a )(?<!/)\b(?:finally(?! ?(?::|block|clause))"
            rf"|at (?:long )?last(?! \w+ the\b)(?! (?:count|week|month|check"
            rf"|look))).{{0,30}}\b{WORKS}\b{STATED}",
            rf"{TOLD}\b{WORKS}\b.{{0,12}}\b(?:finally|at last)\b(?! \w){STATED}",
            r"^(?:yay|yes{2,}|woo+ ?ho+o*|yeehaw)\b.{0,40}!",
            r"^yes+!{2,}",
            r"^yes+[!,]+ (?:that|this|it|finally|you|we|works?|green)\b(?!.*\?)",
            r"\bhoora+y\b",
            r"\bhell yeah\b",
            rf"^omg\b(?!\.\w){STATED}",
            r"\byou(?:'re| are) (?:a |an |the )?(?:lifesaver|genius|amazing|awesome|hero|star|"
            r"wizard|brilliant)\b",
            r"\byou(?:'re| are) (?:a |an |the )?best(?=\W*$|[.!,]| (?:at|for)\b)",
            r"\byou (?:rock|saved (?:me|my|us)|nailed it)\b",
            r"\bmade my day\b",
            r"\bi owe you(?=\W*$|[.!,]| (?:one|big|a (?:beer|coffee|drink|lunch))\b)",
            r"\bi(?:'m| am) (?:really |so |very )?(?:happy|impressed|delighted|thrilled|glad"
            r"|blown away|in love)\b(?! (?:to|with (?:either|any|both|whatever|whichever))\b)(?!-)",
            rf"\b(?:really |absolutely )?lov(?:e|ing) (?:it|this|that|how|"
            rf"the way)\b(?! when){STATED}",
        ),
    ),
    EmotionRule(
        "relief",
        "medium",
        (
            r"\bphew\b",
            r"\bwhat a relief\b",
            r"\b(?:so|i'?m|what) relieved\b",
            r"^(?:so )?glad (?:that|it)'?s?\b",
        ),
    ),
    EmotionRule(
        "joy",
        "medium",
        (
            rf"\b(?:{PRAISE}|good|nice|solid) (?:job|work|catch|find|stuff|one)\b",
            r"\bwell done\b",
            r"\bkudos\b",
            r"\bchef'?s kiss\b",
            r"\blike a charm\b",
            r"\bexactly (?:what i (?:wanted|needed|meant)|right)\b",
            r"\bcouldn'?t (?:have done it better|be happier|ask for more)\b",
            r"\bdid the trick\b",
            r"\bnailed it\b",
            rf"^(?!.*\b(?:make|makes|should|could|can|would|must|be|want|wants|need|needs|if|or"
            rf"|than)\b).*?\b(?:much|so much|way|far|a lot) {BETTER}\b(?! to\b){STATED}",
            r"\bwithout a hitch\b",
            r"\bon the first (?:try|attempt|go)\b.*!",
            rf"^(?:oh )?wow\b(?=\W*$|\W+(?:that|this|it|you|what|how|i|just|ok|so|nice|{VERY}|"
            rf"{GOOD}|{PRAISE})\b)"
            r"(?!.*\b(?:errors?|fail\w*|broken|wrong|slow)\b)",
            rf"\b{WORKS} {PRAISE}\b",
            rf"^{OPENING}(?:this|that|it|everything)(?:'?s| is| was| (?:now )?(?:looks?|feels?"
            rf"|sounds?)) (?:\w+ ){{0,3}}{PRAISE}\b{STATED}",
            rf"^(?:looks|feels|sounds) {PRAISE}\b",
            rf"^{PRAISE},? (?:i love|exactly|that(?:'s| is| was)|this|ship it|all)",
            rf"^{OPENING}(?:that|this|it)(?:'?s| is| was| looks"
            rf"| got) (?:\w+ )?{VERY} (?:\w+ )?{GOOD}\b{STATED}",
            rf"^{VERY} {GOOD}(?: .{{0,15}})?[.!]*$",
            rf"^{OPENING}that(?:'s| is| was) {GOOD},? (?:i|thank)",
        ),
    ),
    EmotionRule(
        "satisfaction",
        "medium",
        (
            r"\b(?:thanks|thank you|thx),? (?:so much|a (?:lot|million|ton|bunch)|very much|"
            r"again for|the (?:quick )?help)",
            r"\b(?:thanks|thank you|thx),? for (?:catching|fixing|finding|explaining|helping"
            r"|spotting|the (?:quick )?(?:help|fix)|your (?:help|patience))",
            r"\b(?:big|many|huge|thousand) thanks\b",
            r"\bthanks .{0,30}\bi was stuck\b",
            r"^(?:very |so |really )?helpful\b",
        ),
    ),
    EmotionRule("joy", "low", (rf"^(?:(?:absolutely|simply|just) )?{PRAISE}\s*(?:[.!]|$)",)),
    EmotionRule(
        "satisfaction",
        "low",
        (
            r"^(?:thanks|thank you|thx|ty|cheers)\s*(?:[!.]|$)",
            rf"^(?:thanks|thank you|thx|ty|cheers),? (?:that|this|it|you)\b.*\b(?:{WORKS}|helped|"
            rf"rock|did)",
            rf"\b(?:{WORKS}|fixed it|better|helped|trick)\b.{{0,12}}\b(?:thanks|thank you|thx|"
            rf"cheers)\b",
            r"(?:^|[,.!] )that (?:really )?(?:fixed it|helped)\b",
            r"\blgtm\b.*!",
        ),
    ),
)

_RULES = tuple((rule, GuardedPattern(rule.patterns)) for rule in RULES)
_RULE_GUARD = PatternGuard(pattern.pattern for _, pattern in _RULES)
_QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|(?<!\w)'[^']*'(?!\w)")
_SHOUTED = re.compile(r"\b[A-Z]{2,}\b")
_SPOKEN_TO = re.compile(r"\b(?:YOU|YOUR|I(?= \w)|MY|ME|WHY|STOP|AGAIN)\b")
# A rule that is stressed is no shout.
_RULED = re.compile(r"^(?:PLEASE )?(?:DO NOT|DON'?T|NEVER|ALWAYS|MUST|REMEMBER)\b")
_REPORTED = re.compile(
    r"^(?:(?:the|our|a|some) (?:users?|customers?|clients?|tickets?|issues?|logs?|comments?)"
    r"|this issue|s?he|they|somebody|someone) (?:\w+ )?(?:says?|said|complain\w*|told|wrote"
    r"|reports?|thinks?)\b|^(?:please )?(?:write|translate|print|log|title|rename)\b"
    r"|\b(?:commit message|comment|docstring|fixme|todo)\b",
    re.IGNORECASE,
)
# How strong a feeling in other languages is taken to be.
INTENSITY = {"frustration": "medium", "relief": "medium", "joy": "medium", "satisfaction": "low"}
# Words in capitals that make a shout, if they are half of all words.
SHOUTED_WORDS = 4


def detect_emotion(text: str) -> Feeling | None:
    """What the user feels, by their own words in one message; None where they do not say.

    The strongest counts. A low one counts only as the last word of a message that asks for nothing:
    "thanks" and "great." mostly open the next request.
    """
    if len(text) > MAX_MESSAGE_CHARS:
        return None
    sentences = separate_sentences(text).own
    asks = any(sentence.endswith(("?", "？")) for sentence in sentences)
    found = []
    for place, sentence in enumerate(sentences, start=1):
        feeling = detect_in_sentence(sentence)
        closes = place == len(sentences) and not asks
        if feeling is not None and (feeling.intensity != "low" or closes):
            found.append(feeling)
    if not found:
        return None
    strongest = max(found, key=lambda one: INTENSITIES.index(one.intensity))
    if text.count("!") + text.count("！") >= 2 and strongest.intensity != "high":
        return raise_intensity(strongest)
    return strongest


def detect_in_sentence(sentence: str) -> Feeling | None:
    """The feeling that one sentence shows, with the words that show it; None if it shows none."""
    plain = _QUOTED.sub(" ", sentence).strip()
    if _REPORTED.search(plain):
        return None
    for number in _RULE_GUARD.select(plain):
        rule, pattern = _RULES[number]
        if met := pattern.search(plain):
            return Feeling(
                rule.emotion,
                rule.intensity,
                " ".join(met[0].split())[:80],
            )
    if is_shouted(plain):
        return Feeling("frustration", "high", "written in capitals")
    emotion, words = find_feeling(plain)
    return Feeling(emotion, INTENSITY[emotion], words[:80]) if emotion else None


def is_shouted(text: str) -> bool:
    """True if it is shouted at somebody: mostly capitals, and no constant, query or line of a
    log.
    """
    loud = _SHOUTED.findall(text)
    return (
        len(loud) >= SHOUTED_WORDS
        and 2 * len(loud) >= len(text.split())
        and "_" not in text
        and _SPOKEN_TO.search(text) is not None
        and not _RULED.match(text)
    )


def raise_intensity(feeling: Feeling) -> Feeling:
    """The feeling, one step stronger; it must not be the strongest yet."""
    return feeling._replace(intensity=INTENSITIES[INTENSITIES.index(feeling.intensity) + 1])
