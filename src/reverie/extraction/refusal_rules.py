"""Refusals, as a table: why a sentence that fits an extraction rule is not kept.

A question, something for this once, a supposition, a joke are not kept, whatever rule they fit. The
first refusal that fits gives the reason. Adding one is adding a row. Expressions are matched as
those of `extraction_rules` are.
"""

from typing import NamedTuple


class RefusalRule(NamedTuple):
    """A sentence that fits is not kept, for this reason; with `rules`, only theirs."""

    reason: str
    pattern: str
    rules: tuple[str, ...] = ()


OTHERS_SAY = r"(?:he|she|they|somebody|someone|\w+) (?:said|says|told me|wrote|claims?|wants us)"
# Rules for how the project is: what passes is no fact of this kind.
FACT_RULES = (
    "it is called",
    "it lives",
    "infrastructure",
    "ours",
    "this project",
    "no longer",
    "we use",
    "we are on",
    "we have",
    "this not that fact",
)

PASSING_STATES = (
    r"(?:broken|failing|red|down|slow|wrong|missing|empty|flaky|stuck|green|done|ready|off|"
    r"undefined|null|weird|ugly|nice|good|bad|fine|ok|okay|great|not working|still|back|up|too|so|"
    r"really|very|a bit|kind of|kinda|pretty|super|out of|correct|right|taken|unclear|confusing|"
    r"annoying|jumpy|the problem|the issue|the same|because|why|what|no longer working|acting|"
    r"crashing|hanging|throwing|returning|getting|giving|being|full|unreachable|offline|"
    r"not (?:there|found|running|working|starting|building)|unhappy|a mess|going to|gonna|huge|"
    r"tiny|all over the place|problems?|issues?|errors?|an error|a bug|bugs|failed)\b"
)


# The only reasons that speak against an intention: by its nature it is a request, and for once.
INTENTION_REFUSALS = ("hypothetical", "negated", "sarcasm", "quoted", "reported", "secret")


REFUSALS = (
    RefusalRule(
        "question",
        r"(?!(?:can|could|would|will) you\b.*\b(?:from now on|going forward|"
        r"every time)\b)(?:.*\?\W*|(?:do|does|did|is|are|was|were|should|shall|would|will|have|"
        r"has|had|why|what|who|which|how|whose|am|isn'?t|aren'?t|doesn'?t|don'?t (?:we|you|i|"
        r"they)|didn'?t|shouldn'?t|wouldn'?t) (?:\w+ )?(?:i|we|you|it|they|he|she|this|that|there|"
        r"the|our|your|my|is|are|was|do|does|did|happens?|if|about|come)\b.*|(?:when|where) (?:is|"
        r"are|was|were|do|does|did|should|shall|can|could|will|would|has|have)\b.*|.*\b(?:right|"
        r"correct|or (?:no|not)|does it|isn'?t it|do we|is it|don'?t we)\s*\?*)",
    ),
    RefusalRule(
        "one-off",
        r".*\b(?:this (?:one )?time(?! zone)|for now|just (?:this )?once|only this once|"
        r"for this one|today|tonight|tomorrow|right now|rn|for the moment|for the time being|"
        r"temporarily|temporary|(?:in|for|on) this (?:pr|commit|branch|task|session|change|ticket|"
        r"test|file|function|release|one|class|component|chat|case|run|demo|issue)|until (?:i|we|"
        r"then|the|this|that)\b|while (?:i|we) (?:debug|test)|quick test|in this case|"
        r"this (?:morning|afternoon|evening)|already|just now)\b.*",
    ),
    RefusalRule("one-off", r"let'?s use .+ here\W*|.+\bjust here\W*"),
    RefusalRule(
        "hypothetical",
        r"(?:what if|if (?:we|i|you|it|they) (?:were|was|had|used|could|did|moved|switched|would)|"
        r"suppose|imagine|say we|let'?s say|maybe|perhaps|hypothetically|theoretically|in theory|"
        r"i wonder|not sure|i'?m not sure|i (?:guess|think|suppose|bet|assume)|it would be|"
        r"would be|we could|you could|we might|thinking about|wish)\b.*|.*\b(?:might|maybe|"
        r"perhaps|probably|would be nice|i guess|not sure|what if|i think\b\W*$|would (?:never|"
        r"always|need|have)|i wish|we'?d (?:never|always|need|have)|or something|or whatever)\b.*",
    ),
    RefusalRule(
        "negated",
        r"(?:we|i|they|nobody|the team)(?:'ve| have|'s| had)? (?:never|not|haven'?t|hasn'?t|"
        r"didn'?t|did not|have not|hadn'?t)\b.{0,20}\b(?:decid\w+|agree\w*|said|settled|chose\w*|"
        r"pick\w+|mean|meant)\b.*|(?:haven'?t|not) (?:decided|agreed|settled)\b.*|not that we\b.*",
    ),
    RefusalRule(
        "sarcasm",
        r".*(?:\blol\b|\bhaha|\blmao\b|\s/s\b|\brofl\b|🙄|😂|\byeah right\b).*|(?:oh )?(?:sure|"
        r"great|wonderful|fantastic|brilliant),? (?:another|let'?s all|because|just what)\b.*|"
        r"i (?:just )?(?:love|like) (?:it when|how|when)\b.*",
    ),
    RefusalRule(
        "conversation",
        r"(?:(?:no|nope|nah|wrong|actually)[,.:;! -]+)?(?:i meant?|not that|(?:use |it'?s |its |"
        r"let'?s go with |the )*(?:the )?(?:other|second|first|last|left|right|previous|next|"
        r"latter|former|same|wrong|old|new) (?:file|one|two|line|function|test|tab|option|branch|"
        r"version|folder|way|approach|button|column|row|screen|page|window|error|thing)\b.*|"
        r"(?:that|this|these|those) (?:one|ones)\b.*).*",
    ),
    RefusalRule(
        "conversation",
        r"(?:let'?s|we'?ll|we will|lets) (?:go with|stick with|stick to|use|do) (?:it|that|this|"
        r"these|those|yours?|both|option|plan|the (?:first|second|third|last|latter|former)|"
        r"[abc1-9]\b|your|approach|what)\b.*",
    ),
    RefusalRule(
        "conversation",
        r"(?:it'?s|it is|the [\w ]{2,20} (?:is|are)) (?:in |on |at )?(?:above|below|line \d+|here|"
        r"there|fine|ok|good|correct|done|up to you|your call|open|working|not working|still|"
        r"broken|wrong|the same)\b.*",
        ("correction", "instead"),
    ),
    RefusalRule(
        "conversation",
        r"(?:it'?s|it is) (?:just |only )?(?:my|your|his|her|their|been|so|too|very|really|a bit)\b"
        r".*",
        ("correction", "instead"),
    ),
    RefusalRule(
        "a request",
        r".*\b(?:tips|advice|ideas|suggestions|how to)\b.*",
        ("on every occasion", "want"),
    ),
    RefusalRule(
        "conversation",
        r"(?:i'?d|we'?d|i would) rather (?:not|do (?:that|it|this)|wait|leave|skip|keep it|"
        r"have (?:it|that))\b.*|.*\b(?:the (?:first|second|third|last|other|former|"
        r"latter)(?: one)?|that one|this one)\W*",
        ("prefer",),
    ),
    RefusalRule(
        "conversation",
        r"(?:i|we|you)(?:'ve| have)? (?:already |just )?(?:changed|renamed|moved|added|removed|"
        r"fixed|deleted|updated|pushed|merged|forgot|left|had|was|did)\b.*",
        ("remember", "fyi"),
    ),
    RefusalRule("passing state", r"(?:it|this|that|everything) \w+s\b.*", ("from now on",)),
    RefusalRule(
        "passing state",
        r".* (?:deployed|generated|built|stored|served|published|configured) now\W*",
        FACT_RULES,
    ),
    RefusalRule(
        "reported",
        r"(?:i|you|he|she|they|it|that|the \w+) (?:never|always) (?:said|told|asked|wanted|fails?|"
        r"failed|works?|worked|breaks?|crashes|does|did|happens|returns?|gets?|got)\b.*",
    ),
    RefusalRule("quoted", r"[\"“'].*|" + OTHERS_SAY + r"\s*(?:that\b|:|,|[\"“']).*"),
    RefusalRule(
        "passing state",
        rf".*? (?:is|are|was|were|gets?|has|have|still|runs?) (?:\w+ly |now |just |also "
        rf")?{PASSING_STATES}.*",
        FACT_RULES,
    ),
    RefusalRule(
        "passing state",
        r".*\b(?:was|were|went|had been|broke|crashed|failed|used to|weird|why)\b.*",
        FACT_RULES,
    ),
    RefusalRule(
        "passing state",
        r"(?:it|this|that|there|he|she|they|which|what|who|and|but|so|if|when|because|since|then|"
        r"i|you|something|everything|nothing|one|here|thats|that's|its|it's) .*",
        ("it is called", "it lives", "infrastructure", "no longer", "owner"),
    ),
    RefusalRule(
        "passing state",
        r".*\b(?:wrong|twice|incorrectly|badly|again|differently|late|slowly)\W*",
        FACT_RULES,
    ),
    RefusalRule(
        "a request",
        r"(?:can|could|would|will) (?:you|we|u)\b(?!.*\b(?:from now on|always|every time|"
        r"going forward|by default)\b).*|(?:check|look|make|fix|see|show|find|add|change|move|"
        r"rename|remove|delete|write|create|implement|update|run|try|put|set|get|read|open|start|"
        r"tell|explain|help|give|let|need|want)\b.*",
        FACT_RULES,
    ),
    RefusalRule("secret", r".*\b(?:is|are|was|to|with|use)?\s*[:=]?\s*\[REDACTED:[^\]]*\].*"),
)
