"""Code that is like some code."""

import json
import os
from pathlib import Path

import pytest

from reverie.testing import CountingEmbedder, memory
from tests.code.test_code_map import OLD, written
from tests.support.helpers import run_command, toy_home

FILES = {
    "shop/cart.py": "def price_of_cart(items):\n    return sum(item.price for item in items)\n\n\n"
    "def empty(cart):\n    cart.clear()\n",
    "shop/send.py": "class ParcelSender:\n    def sendParcel(self, address):\n        self.van.drive(address)\n",
}


@pytest.fixture
def repo(tmp_path):
    return written(tmp_path / "repo", **FILES)


@pytest.fixture
def mind(tmp_path, clock, repo):
    with memory(tmp_path / "home", now=clock, embedder=CountingEmbedder()) as made:
        made.code.index(repo)
        yield made


def names(found):
    return [(one.path, one.first, one.last, one.symbol) for one in found]


@pytest.mark.proves("D19")
def test_words_find_code_before_any_vector(mind, repo):
    """Split identifiers are words; nothing is embedded while indexing, only the question while
    asking.
    """
    assert mind.embedder.asked == []
    best = mind.code.search_similar("where is the parcel sent", root=repo)[0]
    assert names([best]) == [("shop/send.py", 2, 3, "ParcelSender.sendParcel")]
    assert best.why[0].startswith("words")
    assert names(mind.code.search_similar("price cart", root=repo, k=1, mode="words")) == [
        ("shop/cart.py", 1, 2, "price_of_cart")
    ]
    assert len(mind.embedder.asked) == 1


@pytest.mark.proves("D16", "D18", "C71")
def test_settling_gives_each_chunk_its_vector_once(mind, repo, tmp_path):
    """Vectors are made in the background; the same code in another repository is embedded once."""
    mind.settle()
    made = [text.partition("\n")[0] for text in mind.embedder.asked]
    assert sorted(made) == [
        "shop/cart.py empty",
        "shop/cart.py price_of_cart",
        "shop/send.py ParcelSender",
        "shop/send.py ParcelSender.sendParcel",
    ]
    found = mind.code.search_similar(
        "def total_price(items): return sum(item.price for item in items)", root=repo
    )
    assert found[0].symbol == "price_of_cart"
    assert any(why.startswith("meaning") for why in found[0].why)
    mind.embedder.asked.clear()
    other = written(tmp_path / "other", **{f"src/{path}": text for path, text in FILES.items()})
    (repo / "shop/cart.py").write_text("import os\n\n\n" + FILES["shop/cart.py"])
    mind.code.index(other)
    mind.code.index(repo)
    assert mind.settle().embedded == 1
    assert [text.partition("\n")[2] for text in mind.embedder.asked] == ["import os"]


def test_memories_come_before_code(mind):
    """What was remembered is embedded first, then notes, then code."""
    mind.remember("The van is red.", space="me/demo")
    mind.settle()
    assert mind.embedder.asked[0] == "The van is red."


def test_answers_show_the_file_as_it_is_now(mind, repo):
    """A file that changed since: the lines and text of now, with a word that it did; what is gone
    is left out.
    """
    place = repo / "shop/cart.py"
    place.write_text("# first\n\n" + FILES["shop/cart.py"].replace("return sum", "return 2 * sum"))
    found = mind.code.search_similar("price of cart", root=repo)[0]
    assert (found.first, found.text.split("\n")[1]) == (
        3,
        "    return 2 * sum(item.price for item in items)",
    )
    assert "changed since it was indexed" in found.why
    place.write_text("def other(): pass\n")
    assert "price_of_cart" not in [
        one.symbol for one in mind.code.search_similar("price of cart", root=repo)
    ]
    place.unlink()
    assert [one.path for one in mind.code.search_similar("price of cart parcel", root=repo)] == [
        "shop/send.py"
    ] * 2


def test_a_change_right_after_indexing_is_seen(mind, repo):
    """Two changes within the time that a stamp cannot tell apart: the text of now all the same."""
    place = repo / "shop/cart.py"
    for factor in (2, 3):
        place.write_text(FILES["shop/cart.py"].replace("return sum", f"return {factor} * sum"))
        if factor == 2:
            mind.code.index(repo)
    assert "return 3 * sum" in mind.code.search_similar("price of cart", root=repo)[0].text


def test_a_changed_file_is_parsed_once_for_an_answer(mind, repo, monkeypatch):
    """However many of its chunks are proposed."""
    from reverie.code import code_indexing, similar_code

    parsed: list[str] = []

    def facts_of(path, text):
        parsed.append(path)
        return code_indexing.parse_facts(path, text)

    monkeypatch.setattr(similar_code, "parse_facts", facts_of)
    place = repo / "shop/cart.py"
    place.write_text("# first\n" + "".join(f"def price_{n}(cart): pass\n" for n in range(5)))
    mind.code.index(repo)
    place.write_text("# first\n\n" + place.read_text())
    assert 5 <= len(mind.code.search_similar("price of cart", root=repo, mode="words"))
    assert ["shop/cart.py"] == parsed


def test_chunks_follow_the_index(mind, repo):
    """What is dropped, ignored or forgotten is found no longer; one index stops halfway, the next
    run completes it.
    """
    root = os.path.realpath(repo)
    mind.store.code_chunks.clear()
    mind.code.index(repo)
    assert mind.store.code_chunks.count([root]).chunks == 4
    (repo / ".secretsignore").write_text("send.py\n")
    mind.code.index(repo)
    assert mind.code.search_similar("parcel", root=repo) == []
    mind.code.forget(repo)
    assert mind.store.code_chunks.count(None).chunks == 0


def test_secrets_are_neither_kept_nor_embedded(tmp_path, clock):
    """A secret in the code stands in no chunk, no vector's text and no answer, and lines stay in
    place.
    """
    secret = "ghp_" + "a1B2" * 9
    repo = written(
        tmp_path / "repo", **{"a.py": f'def login():\n    token = "{secret}"\n    return token\n'}
    )
    embedder = CountingEmbedder()
    with memory(tmp_path / "home", now=clock, embedder=embedder) as mind:
        mind.code.index(repo)
        mind.settle()
        assert len(embedder.asked) == 1
        found = mind.code.search_similar(f"login with {secret}", root=repo)
        assert (found[0].first, found[0].last) == (1, 3)
        assert secret not in found[0].text
        os.utime(repo / "a.py", (OLD + 1, OLD + 1))
        (repo / "a.py").write_text((repo / "a.py").read_text() + "    # more\n")
        assert secret not in mind.code.search_similar("login", root=repo)[0].text
        assert not any(secret in text for text in embedder.asked)
    stored = b"".join(path.read_bytes() for path in (tmp_path / "home" / "cache").glob("*chunks*"))
    assert stored
    assert secret.encode() not in stored


def test_an_empty_question_finds_nothing(mind, repo):
    """An empty question and k of none are answered with nothing."""
    assert (
        mind.code.search_similar(" ", root=repo)
        == mind.code.search_similar("cart", root=repo, k=0)
        == []
    )
    assert mind.code.search_similar("zebra", root=repo, mode="words") == []


@pytest.mark.proves("D19")
def test_the_command(repo, tmp_path):
    """`reverie code similar`, from the command line and from stdin, with --json."""
    home = ("--home", str(toy_home(tmp_path)))
    run_command("code", "index", str(repo), *home)
    where = ("--in", str(repo), *home)
    assert (
        "shop/send.py:2-3  ParcelSender.sendParcel"
        in run_command("code", "similar", "send parcel", *where).stdout
    )
    told = json.loads(
        run_command(
            "code", "similar", "-", "-n", "1", *where, "--json", stdin="def price_of_cart(x): ..."
        ).stdout
    )
    assert [Path(one["path"]).name for one in told["snippets"]] == ["cart.py"]
    assert "No code is like that." in run_command("code", "similar", "zebra", *where).stdout
