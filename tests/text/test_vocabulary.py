"""A vocabulary read from its file gives the numbers that the library which wrote the file gives."""

import json
import os
import subprocess
import sys
import threading
from unicodedata import ucd_3_2_0

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from reverie.core.errors import BadInput
from reverie.text.token_counts import VocabularyTokenizer
from reverie.text.vocabulary import Vocabulary

WORDS = [
    "the",
    "staging",
    "server",
    "is",
    "called",
    "heron",
    "and",
    "its",
    "port",
    "is",
    "4100",
    "café",
    "naïve",
    "parse",
    "line",
    "split",
]
MARKS = ["[UNK]", "[CLS]", "[SEP]", "[PAD]"]
# Marks whose nature later versions of Unicode changed.
RECLASSIFIED = "\u166d\u1734\u1885\u1886"
# Assigned long ago: of younger ones each library knows what its Unicode knows.
TEXTS = st.text(
    st.sampled_from(
        "abehnorst 4ABÉñßİſ漢字かな한글ไทย עברית\u0301\u0327\t\n\x00\ufffd.,!?-_'\"[]#@€…“”—👩🏽\u200d"
    ),
    max_size=60,
)


def trained(model, trainer, normalizer, pieces, template):
    made = Tokenizer(model)
    made.normalizer, made.pre_tokenizer = normalizer, pieces
    made.train_from_iterator([" ".join(WORDS), "a heron, [or] two! 漢字 €"] * 3, trainer)
    made.post_processor = template(made)
    return made


def bert():
    return trained(
        models.WordPiece(unk_token="[UNK]"),
        trainers.WordPieceTrainer(vocab_size=200, special_tokens=MARKS),
        normalizers.BertNormalizer(),
        pre_tokenizers.BertPreTokenizer(),
        lambda made: processors.TemplateProcessing(
            single="[CLS] $A [SEP]",
            special_tokens=[(mark, made.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")],
        ),
    )


def roberta():
    return trained(
        models.BPE(),
        trainers.BpeTrainer(
            vocab_size=400,
            special_tokens=["<s>", "</s>"],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
        normalizers.NFC(),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
        lambda _: processors.RobertaProcessing(("</s>", 1), ("<s>", 0), add_prefix_space=False),
    )


@pytest.fixture(scope="module", params=[bert, roberta], ids=lambda made: made.__name__)
def both(request, tmp_path_factory):
    """The library's tokenizer and ours, of one file that pads and cuts."""
    theirs, path = request.param(), tmp_path_factory.mktemp("words") / "tokenizer.json"
    theirs.enable_padding(length=128)
    theirs.enable_truncation(20)
    theirs.save(str(path))
    theirs.no_padding()
    return theirs, Vocabulary(path)


@given(text=TEXTS)
@settings(max_examples=300)
def test_any_text_has_the_numbers_of_the_library(both, text):
    theirs, ours = both
    assert ours.encode(text, 20) == theirs.encode(text).ids


def test_special_tokens_in_a_text_and_long_texts(both):
    theirs, ours = both
    for text in ["[SEP] x </s>", "heron " * 300, "h" * 5_000, ""]:
        assert ours.encode(text, 20) == theirs.encode(text).ids
        assert len(ours.encode(text, 20)) <= 20


def test_threads_share_one_vocabulary(both):
    theirs, ours = both
    wrong = []

    def work():
        for word in WORDS * 50:
            if ours.encode(word, 20) != theirs.encode(word).ids:
                wrong.append(word)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [] == wrong


@pytest.mark.model
def test_the_vocabulary_of_the_default_model(model_cache):
    """Characters of Unicode 3.2, alone and within a word."""
    path = next(model_cache.rglob("tokenizer.json"))
    theirs, ours = Tokenizer.from_file(str(path)), Vocabulary(path)
    theirs.no_padding()
    theirs.no_truncation()
    old = [
        one
        for one in map(chr, range(0x30000))
        if ucd_3_2_0.category(one) not in ("Cn", "Cs") and one not in RECLASSIFIED
    ]
    texts = [f"a{one}b {one}" for one in old[:2_000] + old[2_000::7]]
    assert [] == [text for text in texts if ours.encode(text, 999) != theirs.encode(text).ids]


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"model": {"type": "Nothing"}}', "\ufeff{"])
def test_what_is_no_vocabulary_is_refused(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content)
    with pytest.raises(BadInput, match=r"is no tokenizer\.json"):
        VocabularyTokenizer(path).count("x")
    path.unlink()
    with pytest.raises(BadInput, match=r"is no tokenizer\.json"):
        VocabularyTokenizer(path).count("x")


def test_processors_after_one_another_and_none(tmp_path):
    made = bert()
    settings_ = json.loads(made.to_str())
    settings_["post_processor"] = {"type": "Sequence", "processors": [settings_["post_processor"]]}
    path = tmp_path / "tokenizer.json"
    path.write_text(json.dumps(settings_))
    assert Vocabulary(path).encode("heron", 20) == made.encode("heron").ids
    settings_["post_processor"] = None
    path.write_text(json.dumps(settings_))
    assert (
        Vocabulary(path).encode("heron", 20) == made.encode("heron", add_special_tokens=False).ids
    )


IN_THREADS = """
import sys, threading
from reverie.text.vocabulary import Vocabulary

def run(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

opened = []
for _ in range(5):
    run(lambda: opened.append(Vocabulary(sys.argv[1])))
    for _ in range(20):
        run(lambda: print(opened[-1].encode("the staging server", 64)))
"""


def test_a_vocabulary_outlives_the_thread_that_opened_it(tmp_path):
    """Sessions of agents come and go, each with a thread of its own; the worker stays. It died of
    SIGSEGV at the first prompt of its second session.
    """
    path = tmp_path / "tokenizer.json"
    bert().save(str(path))
    done = subprocess.run(
        [sys.executable, "-c", IN_THREADS, str(path)],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.returncode == 0, done
    assert len(done.stdout.splitlines()) == 100 and len(set(done.stdout.splitlines())) == 1
