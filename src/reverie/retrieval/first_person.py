"""A question that names a speaker, put as that speaker would put it.

People say "I" of themselves and not their name, so the vector of "When did Ann move to Lyon?" is
far from that of "I moved to Lyon in May". On LoCoMo, with "I" and "my" for the name, the embedding
alone finds 0.62 of the evidence among ten instead of 0.34, and the whole ranking 0.02 more
(docs/why-ranking.md). Only the vector is of the changed question; words go on looking for the name.

Always true: a question that names nobody who speaks in the memories asked stays as it is, and so
does one in a language whose file has no `first_person`.
"""

import re
from collections.abc import Collection

from reverie.retrieval.ranker import ROLES
from reverie.text.prompt_phrases import list_languages, load_language

# Words of the longest name that is looked for, and characters of a question that may name somebody.
MAX_NAME_WORDS, MAX_QUESTION_CHARS = 3, 400
_WORD = re.compile(r"[^\W\d_][\w.-]*")


def find_possible_names(question: str) -> list[str]:
    """What may be a speaker's name in a question, in order, each once: up to MAX_NAME_WORDS words
    of which each begins in upper case, and no role.
    """
    if len(question) > MAX_QUESTION_CHARS:
        return []
    words = [match for match in _WORD.finditer(question) if match[0][0].isupper()]
    names = [
        question[words[first].start() : last.end()]
        for first in range(len(words))
        for last in words[first : first + MAX_NAME_WORDS]
    ]
    return [name for name in dict.fromkeys(names) if name.lower() not in ROLES]


def put_in_first_person(question: str, speakers: Collection[str]) -> str:
    """The question with "I" and "my" for the one speaker that it names; unchanged if it names none
    or several. `speakers` are those of its possible names that speak in the memories asked.
    """
    if len(speakers) != 1:
        return question
    (name,) = speakers
    return say_as(name, question)


def say_as(name: str, question: str) -> str:
    """The question as the one who is called so would put it."""
    for code in list_languages():
        said = load_language(code).get("first_person")
        if said and set(said["asks_with"]) & set(question.lower().split()):
            owner = rf"\b{re.escape(name)}(?:['’]s|['’](?!\w))"
            owned = re.sub(owner, said["owner"], question)
            return re.sub(rf"\b{re.escape(name)}\b", said["subject"], owned)
    return question
