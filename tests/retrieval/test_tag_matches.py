"""Which tags a prompt's words match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.retrieval.tag_search import (
    EXACT,
    NOT,
    PARTLY,
    grade_tag,
    parse_tag_prompt,
    select_keywords,
)

FAR = "The widget is blue. " + "Nothing else matters here. " * 3 + "Some cache is warm."
LONG = "the widget " + "goes on and on without an end " * 10 + "to the cache"


@pytest.mark.parametrize(
    ("tag", "prompt", "grade"),
    [
        (
            "widget_cache",
            "why is the widget-cache stale?",
            EXACT,
        ),  # the whole tag, however it is joined
        ("widget_cache", '{"id": 7, "widget_cache": {"ttl": 30}, "n": [1, 2]}', EXACT),
        (
            "widget_cache",
            "The cache forgets a widget now and then.",
            EXACT,
        ),  # its parts in one sentence
        ("widget_cache", "Caches forget widgets now and then.", PARTLY),  # in other forms
        ("widget_cache", FAR, NOT),  # in two sentences
        ("widget_cache", LONG, NOT),  # a sentence of 300 characters
        ("widget_cache", '{"widget": {"id": 7}, "x": [1, 2], "cache": {"t": 9}}', NOT),
        ("widget_cache", "make --widget --cache --verbose", NOT),
        ("plan-v2", "where is v2 of it?", NOT),
        ("plan-v2", "where is the plan?", EXACT),
        ("subagents", "How do I create a subagent efficiently?", PARTLY),
        ("spawn", "spawning is slow", PARTLY),
        ("db", "the DB is down", EXACT),
        ("x", "x marks it", NOT),  # a tag of one letter
        ("the", "the end", NOT),
        ("cat", "concatenate", NOT),
        ("go", "let's go home", NOT),  # what everybody says all the time
        ("go", "Go and look for it", NOT),
        ("go", "is it written in Go?", EXACT),  # but where it is a name
        ("go", "why does `go vet` fail?", EXACT),
        ("connection_pool", "how large is the connection pool?", EXACT),
        ("connection_pool", "$ ls connection\npool  x", NOT),  # a line ends
        ("缓存", "为什么缓存失效了", EXACT),
        ("die", "Wie ist die Lage?", NOT),  # function words of the prompt's own language
        ("die", "what is the die size of this chip?", EXACT),
        ("la", "où est la base de données ?", NOT),
        ("para", "¿qué hace falta para el despliegue?", NOT),
        ("это", "что это такое и как это работает?", NOT),
        ("die-cutting", "Wo steht die Doku zum Cutting?", EXACT),
        ("日", "休みの日はいつ?", EXACT),  # a word of one character
        ("税", "税を払う", EXACT),
        ("日", "今日は何をする?", NOT),  # a part of another word
        ("の", "休みの日", NOT),
    ],
)
@pytest.mark.proves("E39", "E40", "E43", "CC-81", "X39")
def test_a_prompt_speaks_of_a_tag(tag, prompt, grade):
    """Whole tags anywhere, parts within one sentence of prose, exact before partial."""
    assert grade == grade_tag(tag, parse_tag_prompt(prompt))


@pytest.mark.proves("E15", "E42", "E43", "E44")
def test_keywords_are_words_that_say_something():
    """Alphanumeric words of four letters and more, without stop words."""
    said = parse_tag_prompt("How would you refresh the OAuth2 token? It's for us!")
    assert {"oauth2", "token", "refresh"} == {
        word for words in said.sentences for word in select_keywords(words)
    }


@given(st.text(max_size=400), st.text(min_size=1, max_size=40))
def test_any_text_may_be_asked(prompt, tag):
    """No prompt and no tag is too odd, and a tag of two letters or more that is the prompt is met
    in it.
    """
    assert grade_tag(tag, parse_tag_prompt(prompt)) in (EXACT, PARTLY, NOT)
    word = "".join(ch for ch in tag if ch.isascii() and ch.isalpha())
    if len(word) >= 2 and grade_tag(word, parse_tag_prompt(word)) == NOT:
        from reverie.retrieval.tag_search import EVERYDAY
        from reverie.text.tokenization import STOP_WORDS

        assert word.casefold() in STOP_WORDS | EVERYDAY
