"""A question that names a speaker, put as that speaker would put it."""

import numpy as np
import pytest

import reverie
from reverie.core.config import Settings
from reverie.retrieval.first_person import find_possible_names, put_in_first_person


def ask_where_speak(question: str, *speakers: str) -> str:
    """The question as it is asked where these speak."""
    return put_in_first_person(question, set(find_possible_names(question)) & set(speakers))


@pytest.mark.parametrize(
    ("question", "as_said"),
    [
        ("When did Ann move to Lyon?", "When did I move to Lyon?"),
        ("What is Ann's dog called?", "What is my dog called?"),
        ("Where did Mary Lou work before Ann Arbor?", "Where did I work before Ann Arbor?"),
        ("Which of James' books did he lend?", "Which of my books did he lend?"),
        ("what does ann like?", "what does ann like?"),
        ("What did Ann tell Ben?", "What did Ann tell Ben?"),
        ("When did Carl move to Lyon?", "When did Carl move to Lyon?"),
        ("Wann ist Ann umgezogen?", "Wann ist Ann umgezogen?"),
        ("Was hat Ann gesagt?", "Was hat Ann gesagt?"),
        ("¿Cuándo se mudó Ann?", "¿Cuándo se mudó Ann?"),
        ("Qu'est-ce que Ann a dit ?", "Qu'est-ce que Ann a dit ?"),
        ("", ""),
    ],
)
def test_a_speaker_is_asked_as_they_say_it(question, as_said):
    """Only one speaker, named as they write it, in a language whose file says how."""
    speaking = ("Ann", "Ben", "James") if "Arbor" not in question else ("Mary Lou", "Ben")
    assert ask_where_speak(question, *speaking) == as_said


def test_a_role_is_no_name():
    """ "User" and "assistant" are in every store of an agent and name nobody."""
    assert ask_where_speak("What did User say?", "User") == "What did User say?"


def test_recall_looks_for_what_the_speaker_said(tmp_path):
    """The vector is of the question in the first person, and words go on looking for the name."""
    asked = []

    class Embedder:
        model, dims = "fixed/1", 4

        def embed(self, texts):
            asked.extend(texts)
            return np.eye(4, dtype=np.float32)[[len(text) % 4 for text in texts]]

        def close(self):
            """Nothing to let go of."""

    with reverie.open(settings=Settings(home=tmp_path), embedder=Embedder()) as mind:
        mind.remember("I moved to Lyon.", space="me/x", session="s1", speaker="Ann")
        mind.remember("Ann owns the billing service.", space="me/x")
        mind.settle()
        found = mind.recall("Where does Ann live?", space="me/x")
        assert "Where does I live?" in asked and "Where does Ann live?" not in asked
        assert {hit.memory.text for hit in found} >= {"Ann owns the billing service."}
