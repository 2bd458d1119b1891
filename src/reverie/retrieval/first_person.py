"""A question that names a speaker, put as that speaker would put it.

People say "I" of themselves and not their name, so the vector of "When did Ann move to Lyon?" is
far from that of "I moved to Lyon in May". On LoCoMo, with "I" and "my" for the name, the embedding
alone finds 0.62 of the evidence among ten instead of 0.34, and the whole ranking 0.02 more
(docs/why-ranking.md). Only the vector is of the changed question; words go on looking for the name.

Always true: a question that names nobody who speaks in the memories asked stays as it is, and so
does one in a language whose file has no `first_person`.
"""

import re
from collections.abc import Iterator

from reverie.retrieval.ranker import ROLES
from reverie.storage.column_cache import Corpus
from reverie.text.prompt_phrases import list_languages, load_language

# Words of the longest name that is looked for, and characters of a question that may name somebody.
MAX_NAME_WORDS, MAX_QUESTION_CHARS = 3, 400
_WORD = re.compile(r"[^\W\d_][\w.-]*")


def put_in_first_person(question: str, corpus: Corpus) -> str:
    """The question with "I" and "my" for the one speaker that it names; unchanged if it names none
    or several.
    """
    if len(question) > MAX_QUESTION_CHARS:
        return question
    named = set(find_speakers(question, corpus))
    return say_as(named.pop(), question) if len(named) == 1 else question


def find_speakers(question: str, corpus: Corpus) -> Iterator[str]:
    """The speakers of a corpus whose name stands in the question as they write it."""
    words = [match for match in _WORD.finditer(question) if match[0][0].isupper()]
    for first in range(len(words)):
        for last in words[first : first + MAX_NAME_WORDS]:
            name = question[words[first].start() : last.end()]
            code = corpus.codes.get(name)
            # Codes are of sessions and kinds too.
            if code is None or name.lower() in ROLES:
                continue
            if any((shard.speaker[: shard.n] == code).any() for shard in corpus.shards):
                yield name


def say_as(name: str, question: str) -> str:
    """The question as the one who is called so would put it."""
    for code in list_languages():
        said = load_language(code).get("first_person")
        if said and set(said["asks_with"]) & set(question.lower().split()):
            owner = rf"\b{re.escape(name)}(?:['’]s|['’](?!\w))"
            owned = re.sub(owner, said["owner"], question)
            return re.sub(rf"\b{re.escape(name)}\b", said["subject"], owned)
    return question
