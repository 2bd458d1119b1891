"""Phrases that are read as one word, in the order in which they are looked for.

A word in capitals is a mark of ours: it stands for what several phrases say. What comes first is
replaced first, so "isn't" is "is not" when "is not allowed" is looked for. Only data;
`concept_vocabulary.replace_phrases` applies it.
"""

# Pattern (letter case apart) → what it is read as.
PHRASES = {
    r"(?-i:\bGo\b)(?! (?:to|ahead|on|for)\b)": "golang",
    # Of "server B" the letter tells it from another server.
    r"\b(team|class|group|option|plan|variant|phase|part|room|type|server|zone) "
    r"(?-i:([A-Z]))\b": r"\1-\2",
    r"\bback to\b": "CHANGE back to",
    r"\bat most\b|\bup to\b|\b(?:no|not) more than\b|\bor (?:less|fewer|lower|below)\b": "ATMOST",
    r"\bat least\b|\b(?:no|not) (?:less|fewer) than\b|"
    r"\bor (?:later|newer|higher|more|above|up)\b": "ATLEAST",
    r"^\s*(?:no|nope|wrong|actually|well|sorry)\b[,.:;!]+ ": "",
    "(?:can|could) ?(?:not|n't|'t) (?:stand|bear)": "hate",
    r"\bwhy (?:not|don't (?:we|you))\b": "please",
    r"\b(should|could|can)n?'t (?=(?:we|you|the|it|there)\b)": r"\1 ",
    # Contractions, before anything that asks for a "not".
    "can't|cannot": "can not",
    "won't": "will not",
    "ain't": "is not",
    r"n't\b": " not",
    r"'ll\b|\b(?:am|is|are|'re|'m|'s) going to(?= \w)": " will",
    r"\b(i|we|you|they)'(?:d|ve|re|m)\b": r"\1",
    r"\b(it|that|there|what|here|he|she|who|let)'s\b": r"\1 is",
    r"(?<=\w)'(?:s|ll|d|re|ve)\b": "",
    r"(?<=s)'(?=\s)": "",
    r"\b(?:not|no) (?:need|have|necessary|required|longer need|longer have) (?:to |"
    r"for (?:you|me) to )": "NONEED ",
    r"\bno need(?: to| for)?\b": "NONEED",
    r"\bi changed my mind\b": "CHANGE",
    r"\bno longer\b|\bnot (.{1,60}?) (?:any ?more|any longer)\b": r"NOLONGER \1",
    r"\b(\w+) no more\b": r"NOLONGER \1",
    r"\bany ?more\b|\bany longer\b": "NOLONGER",
    r",? ?\b(?:if you ask me|in my opinion|i think|i believe|as far as i know|as i said)\b,?": "",
    r"\bbreak (.{1,40}?) up\b": r"split \1",
    r"\bbreak up\b": "split",
    r"\b(?:is|are) NOLONGER (?:allowed|ok|okay|fine|needed|necessary|required|supported|used|"
    r"wanted)\b": "GONE",
    r"\b(?:is|are|was|were) (?:NOLONGER|not) any longer\b": "GONE",
    r"\bhad been\b": "USEDTO",
    r"\b(?:it|that) was (\w+) (?:before|until now|so far)\b": r"USEDTO \1",
    r"(\d[\w.]*) ?(?:->|→) ?(?=\d)": r"CHANGE from \1 to ",
    r"\bfrom (\S+(?: \S+)?) (?:down |up )?to (?=\S)": r"CHANGE from \1 to ",
    r"\bfrom now on(?:wards)?\b|\bgoing forward\b|\bin (?:the )?future\b|"
    r"\bfrom today(?: on)?\b": "FROMNOW",
    r"\bas of (?:today|now|this \w+|\w+day)\b|\bsince (?:today|yesterday|this \w+)\b": "FROMNOW",
    r"\bnot any ": "no ",
    r"\btook over\b": "TAKEOVER",
    r"\bwent from\b": "changed from",
    r"\bthe other way (?:a?round)\b": "CHANGE",
    r"\bin place of\b|\binstead of\b|\brather than\b": "INSTEADOF",
    r"\b(?:is|are|was|were|be|been|get|gets) used (?:to|for|as)\b": "used",
    r"\bused to\b": "USEDTO",
    r"\bturn(?:s|ed)? out\b|\bafter all\b": "TURNEDOUT",
    r"\boff[- ]limits\b": "forbidden",
    r"\b(?:turn|switch)(?:s|es|ed)? off\b|\boff\b": "disabled",
    r"\b(?:turn|switch)(?:s|es|ed)? on\b": "enabled",
    r"\bon(?= ?[.,;:!]| *$| (?:in|for|at|by|again|now|before|today)\b)": "enabled",
    r"\b(?:is|are|was|were) (?:out|gone|history|obsolete|deprecated|retired|dead)\b": "GONE",
    r"\bbefore\b|\bprior to\b|\bahead of\b": "BEFORE",
    r"\bonly (?:after|once|when)\b|\bafter(?:wards)?\b": "AFTER",
    r"\b(?:tdd|red-green-refactor)\b|\btest[- ]driven(?:[- ]development)?\b"
    r"|\btest[- ]first(?: development)?\b": "test BEFORE code",
    r"\b(?:is|are) (?:not allowed|not ok|not okay|not fine|not permitted|forbidden|prohibited|"
    r"banned|taboo|a no-?go)\b": "FORBIDDEN",
    r"\b(?:is|are|'s) (?:not (?:for|good for) (?:me|us)|not (?:my|our) (?:thing|cup of tea|way)|"
    r"a (?:complete |total |pure )?waste(?: of (?:time|effort|money))?|pointless|useless|nonsense|"
    r"overrated|a (?:bad|terrible) idea|not a good idea|not worth (?:it|the (?:effort|time|"
    r"trouble))|out of the question|to be avoided)\b": "FORBIDDEN",
    r"\b(?:should|must|shall|(?:has|have|needs?|ought|is|are) to) be"
    r" (?:avoided|skipped|split(?: up)?|broken (?:up|down))(?: into)?\b": "FORBIDDEN,",
    r"\bso (?=\w+ *(?:[.,;!?]|$))": "",
    r"\bfree of\b": "not with",
    r"\bwithout any (?:problem|trouble)s?\b": "well",
    r"\b(?:nothing|nobody|no one|none) (?:but|except|other than)\b": "only",
    r"\bno one\b": "nobody",
    r"\bmake sure(?: that| to)?\b|\bbe sure to\b|\bensure(?: that)?\b": "always",
    r"\bnot (?:all|every)\b": "NOTALL",
    r"\b(?:or|and) (?:later|newer|higher|lower|more|less|above|up)\b": "BOUND",
    r"\bgithub actions\b": "github-actions",
    r"\bgitlab ci\b": "gitlab-ci",
    r"\bresponsible for\b": "own",
    r"\bbelongs? to\b": "owned by",
    r"\b(?:is|are|was|were) (\w+)'s\b": r"is owned by \1",
    r"\bat (?:most|least)\b|\bup to\b|\bno more than\b|\bmore than\b(?= [\d$€£])": "BOUND",
    r"\bpull[- ]requests?\b|\bmerge requests?\b|\bprs?\b": "pullrequest",
    r"\bforce[- ]push": "forcepush",
    r"\bpush(?:es|ed|ing)? --force\b": "forcepush",
    r"\btype[- ](?:hint|annotation)": "typehint",
    r"\bannotat(?:e|es|ed) (.{1,40}?) with types\b": r"typehint \1",
    r"\bline[- ]length\b": "line long",
    r"\bcontinuous integration\b": "ci",
    r"\bcode ?base\b|\brepository\b|\brepo\b": "project",
    r"\bvs ?code\b|\bvisual studio code\b": "vscode",
    r"\bhost ?name\b": "host name",
    r"\bhalf an? minute\b": "30 seconds",
    r"\bhalf an hour\b": "30 minutes",
    r"\ba couple of\b": "2",
    r"\ba? ?dozen\b": "12",
    r"\ba single\b": "1",
    r"\btwice\b": "2 times",
    r"\b(\d+)-(?=[a-z])": r"\1 ",
    r"\b(one|two|three|four|five|six|seven|eight|nine|ten)-(?=[a-z])": r"\1 ",
    r"(?<=\d)(?= ?%)": " ",
    "%": " percent ",
    r"€ ?(\d+)": r"\1 euros",
    r"\$ ?(\d+)": r"\1 dollars",
    r"\bin an? (\w+) manner\b": r"\1",
    r"\bread[- ]only\b": "readonly",
}
