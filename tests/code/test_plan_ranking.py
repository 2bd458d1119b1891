"""What a plan is made of: terms, BM25, past tasks, and a ranking."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reverie.code.code_terms import (
    normalize_identifier,
    tokenize_code,
    tokenize_identifier,
    tokenize_task,
)
from reverie.code.planning import TaskCosines, name_coefficient_set, rank_files
from reverie.code.planning.bm25_field import K1, B, GramField, build_field, count_grams, split_grams
from reverie.code.planning.file_candidates import FileTree, pick_file_name
from reverie.code.planning.file_ranker import (
    compute_likelihoods,
    expand_signal_forms,
    load_coefficients,
    score_places,
)
from reverie.code.planning.past_task_log import list_past_tasks
from reverie.code.planning.past_tasks import PastTask, TaskHistory
from reverie.code.planning.plan_answer import FileSuggestion, TaskPlan, list_similar_tasks
from reverie.code.planning.plan_reasons import explain_file
from reverie.code.planning.task_query import parse_task
from reverie.core.model import Event
from reverie.storage.indexed_code import TermColumns

WORDS = st.sampled_from(["proxy", "tunnel", "cookie", "jar", "parse"])
DOCS = st.lists(st.dictionaries(WORDS, st.integers(1, 9), max_size=4), min_size=1, max_size=8)


def bags(**files):
    """Files as a plan reads them: each a list of chunks, each chunk the counts of its terms."""
    numbers: dict[str, int] = {}
    rows = [
        (place, chunk, numbers.setdefault(term, len(numbers)), times)
        for place, path in enumerate(sorted(files))
        for chunk, terms in enumerate(files[path])
        for term, times in terms.items()
    ]
    columns = np.array(rows, np.int32).reshape(-1, 4).T
    return TermColumns(
        sorted(files), numbers, *(np.ascontiguousarray(column) for column in columns)
    )


def tree(names=(), /, **files):
    """A file tree of these chunks; `names` are (path, name) of what files define."""
    return FileTree(
        bags(
            **{path: [tokenize_code(chunk) for chunk in chunks] for path, chunks in files.items()}
        ),
        names,
    )


def past_of(files, *told):
    return TaskHistory(
        [
            PastTask(f"commit {n}", 1000.0 * n, text, dict(tokenize_task(text)), paths)
            for n, (text, paths) in enumerate(told)
        ],
        files,
    )


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("HTTPProxyTunnel", ("http", "proxi", "tunnel", "httpproxytunnel")),
        ("cookie_jars", ("cooki", "jar", "cookiejars")),
        ("x" * 80, ()),
        ("parse", ("pars",)),
        ("_", ()),
        ("a1b2c3d4e5f6g7h8i9", ()),
    ],
)
def test_identifiers_are_split_and_stemmed(identifier, terms):
    """However a name is written, its parts and the whole are found; data is no name."""
    assert tokenize_identifier(identifier) == terms


@pytest.mark.parametrize(
    ("identifier", "terms"),
    [
        ("GrößenRechner", ("großen", "rechner", "großenrechner")),
        ("déjàVu", ("deja", "vu", "dejavu")),
        ("получить_соединения", ("получ", "соединен", "получитьсоединения")),
        ("支付处理", ("支付", "付处", "处理", "支付处理")),
        ("HTTP接続", ("http", "接続", "http接続")),
        ("x" + "支付处理" * 9, ("支付", "付处", "处理", "理支") * 8 + ("支付", "付处", "处理")),
    ],
)
def test_identifiers_of_any_script_are_split(identifier, terms):
    """Capitals tell in any script, scripts without spaces come in pairs, accents on Latin letters
    do not count.
    """
    assert tokenize_identifier(identifier) == terms


@pytest.mark.parametrize(
    ("task", "comment"),
    [
        ("Rückerstattung bei geänderter Bestellung", "# Rückerstattung und Bestellung"),
        ("Возврат денег не доходит до покупателя", "# возврата денег покупателям"),
        ("退款没有到达客户", "# 处理客户的退款"),
        ("返金が顧客に届かない", "# 顧客への返金を処理する"),
        ("환불이 고객에게 도착하지 않음", "# 고객 환불 처리"),
    ],
)
@pytest.mark.proves("D38", "D40")
def test_a_task_in_any_language_leads_to_code_that_speaks_it(task, comment):
    """By comments, by names, and by what past tasks were called; and `why` says by which words."""
    plain = {f"f{n}.py": ["def a(): pass"] for n in range(4)}
    files = tree(**plain, **{"pay.py": [f"{comment}\ndef b(): pass"]})
    found = rank_files(files, past_of(files), parse_task(task))
    assert files.paths[found.best(1)[0]] == "pay.py"
    assert explain_file(found, files.place["pay.py"])[0].startswith("speaks of ")
    files = tree(**plain, **{"pay.py": ["def b(): pass"]})
    past = past_of(files, ("Sort the list", ("f1.py",)), (comment.strip("# "), ("pay.py",)))
    assert files.paths[rank_files(files, past, parse_task(task)).best(1)[0]] == "pay.py"


def test_a_name_between_characters_without_spaces_is_found():
    """Nobody puts a space between them."""
    assert {"ProxyTunnel"} <= set(parse_task("修复ProxyTunnel类的错误").names)
    assert {"proxytunnel", "错误"} <= set(tokenize_task("修复ProxyTunnel类的错误"))


def test_the_same_name_written_differently_is_one_term():
    """`http_pool`, `HttpPool` and `httppool` meet."""
    assert len({normalize_identifier(name) for name in ("http_pool", "HttpPool", "httppool")}) == 1


def test_words_common_to_all_tasks_are_no_terms():
    """ "Fix", "add" and "support" tell no task from another."""
    assert tokenize_task("Fix and add support for the") == {}
    assert set(tokenize_task("Fix proxy tunnels")) == {"proxi", "tunnel"}


@given(DOCS, st.dictionaries(WORDS, st.integers(1, 5), max_size=4))
def test_bm25_is_what_its_formula_says(docs, question):
    """Against the formula, term by term (Robertson & Zaragoza, 2009)."""
    sizes = [sum(doc.values()) for doc in docs]
    mean = max(sum(sizes) / len(sizes), 1e-9)
    expected = []
    for doc, size in zip(docs, sizes, strict=True):
        score = 0.0
        for term, times in question.items():
            holders = sum(term in other for other in docs)
            if term in doc:
                idf = math.log(1 + (len(docs) - holders + 0.5) / (holders + 0.5)) * min(times, 3)
                score += idf * doc[term] * (K1 + 1) / (doc[term] + K1 * (1 - B + B * size / mean))
        expected.append(score)
    assert build_field(docs).bm25(question) == pytest.approx(expected)


@given(st.lists(st.floats(0, 9), max_size=9))
def test_rank_scores_fall_from_the_best(values):
    """The score of a rank is 1/(4 + rank); candidates that score zero have no rank."""
    column = np.array(values)
    found = score_places(column)
    assert (found[column <= 0] == 0).all()
    order = sorted((-value, place) for place, value in enumerate(values) if value > 0)
    assert [found[place] for _, place in order] == pytest.approx(
        [1 / (4 + n) for n in range(len(order))]
    )


def test_character_grams_match_words_of_one_root():
    """`config` and `configuration` share character grams; a short word is one gram."""
    assert set(split_grams("config")) < set(split_grams("configuration"))
    assert split_grams("jar") == ["jar"]


@given(
    st.lists(st.lists(st.text("abüß退", min_size=1, max_size=7), max_size=5), max_size=5),
    st.lists(st.text("abüß退", min_size=1, max_size=7), max_size=4),
)
def test_looked_up_grams_score_as_in_the_full_field(docs, question):
    """Scores from only the grams that are looked up equal those from the field of all grams."""
    asked = count_grams(question)
    assert GramField(docs).bm25(asked) == pytest.approx(
        build_field(map(count_grams, docs)).bm25(asked)
    )


@pytest.mark.parametrize(
    ("path", "name"), [("a/b.py", "b"), ("a/__init__.py", "a"), ("index.ts", "index")]
)
def test_an_index_file_is_named_after_its_folder(path, name):
    """`proxy/__init__.py` is about proxies."""
    assert pick_file_name(path) == name


@pytest.mark.proves("D11", "D17", "D20")
def test_the_log_tells_of_past_tasks():
    """Commits, and what was recorded under one name, with the files by their present names."""
    moved = {"old.py": [(5.0, "new.py")]}
    events = [
        Event(
            verb="commit",
            space="p",
            at=1.0,
            payload={"commit": "a", "message": "Tunnel", "files": [["old.py", 1, 1]]},
        ),
        Event(
            verb="commit",
            space="p",
            at=2.0,
            payload={
                "commit": "b",
                "message": "Format all",
                "files": [["x.py", 1, 1]],
                "left_out": 90,
            },
        ),
        Event(
            verb="task",
            space="p",
            at=6.0,
            payload={"task": "Cookies", "outcome": "success", "summary": "expire"},
        ),
        Event(
            verb="file",
            space="p",
            at=6.0,
            payload={"path": "jar.py", "operation": "edit", "task": "Cookies"},
        ),
        Event(
            verb="file",
            space="p",
            at=7.0,
            payload={"path": "read.py", "operation": "read", "task": "Cookies"},
        ),
    ]
    assert [(one.key, one.text, one.files) for one in list_past_tasks(events, moved)] == [
        ("commit a", "Tunnel", ("new.py",)),
        ("task Cookies", "Cookies\nexpire", ("jar.py",)),
    ]


@pytest.mark.proves("CC-76")
def test_an_edit_and_its_commit_are_one_change():
    """A file that was edited and committed within a day was changed once, on the commit's occasion,
    which knows both by what the task was called and by its message; what was edited and not
    committed stays the task's.
    """

    def edit(path, at, task):
        return Event(
            verb="file", space="p", at=at, payload={"path": path, "operation": "edit", "task": task}
        )

    events = [
        edit("jar.py", 10.0, "Cookies"),
        edit("net.py", 11.0, "Cookies"),
        edit("log.py", 12.0, "Cookies"),
        edit("old.py", 13.0, "Late"),
        Event(
            verb="task",
            space="p",
            at=14.0,
            payload={"task": "Cookies", "outcome": "success", "summary": "expire"},
        ),
        Event(
            verb="commit",
            space="p",
            at=20.0,
            payload={
                "commit": "a",
                "message": "Sweep",
                "files": [["jar.py", 1, 1], ["net.py", 1, 1]],
            },
        ),
        edit("jar.py", 30.0, "Cookies again"),
        Event(
            verb="commit",
            space="p",
            at=90_000.0,
            payload={"commit": "b", "message": "Much later", "files": [["old.py", 1, 1]]},
        ),
    ]
    assert [(one.key, one.text, one.files) for one in list_past_tasks(events, {})] == [
        ("task Late", "Late", ("old.py",)),
        ("task Cookies", "Cookies\nexpire", ("log.py",)),
        ("commit a", "Sweep\nCookies\nexpire", ("jar.py", "net.py")),
        ("task Cookies again", "Cookies again", ("jar.py",)),
        ("commit b", "Much later", ("old.py",)),
    ]
    assert all(
        dict(one.terms) == dict(tokenize_task(one.text)) for one in list_past_tasks(events, {})
    )


@pytest.mark.proves("D38", "D40")
def test_code_and_past_tasks_both_find_files():
    """A file is found by what stands in it, and by what was done in it."""
    files = tree(
        **{
            "src/net.py": ["def proxy_tunnel(): connect()"],
            "src/jar.py": ["def store(): pass"],
            "src/log.py": ["def write(): pass"],
        }
    )
    past = past_of(files, ("Expire cookies", ("src/jar.py",)), ("Rotate logs", ("src/log.py",)))
    for task, path in (
        ("The proxy tunnel hangs", "src/net.py"),
        ("Cookies never expire", "src/jar.py"),
    ):
        found = rank_files(files, past, parse_task(task))
        assert files.paths[found.best(1)[0]] == path
        assert found.likely.sum() == pytest.approx(1.0)
    assert "was changed on 1970-01-01 for “Expire cookies”" in explain_file(
        found, files.place["src/jar.py"]
    )


def test_why_tells_names_from_paths():
    """What a file defines is told by the name, what its path says by the word: neither passes for
    the other.
    """
    chunks = {
        "proxy/wire.py": ["def a(): pass"],
        "net.py": ["class HttpTunnel: pass"],
        "log.py": ["def write(): pass"],
    }
    names = [("net.py", "HttpTunnel"), ("net.py", "close"), ("log.py", "write")]
    files = tree(names, **chunks)
    found = rank_files(files, past_of(files), parse_task("The proxy breaks the HttpTunnel"))
    told = {path: explain_file(found, files.place[path]) for path in chunks}
    assert "its path says proxy" in told["proxy/wire.py"]
    assert "defines HttpTunnel" in told["net.py"]
    assert not any(
        reason.startswith("defines") for reason in (*told["proxy/wire.py"], *told["log.py"])
    )
    assert not any(reason.startswith("its path says") for reason in told["net.py"])


def test_vectors_count_where_they_exist():
    """Which coefficients are used depends on whether vectors exist; a past task that shares no word
    can rank first.
    """
    files = tree(**{f"src/f{n}.py": ["pass"] for n in range(6)})
    past = past_of(files, *((f"word{n} thing{n}", (f"src/f{n}.py",)) for n in range(6)))
    assert name_coefficient_set(TaskCosines()) == "words"
    assert name_coefficient_set(TaskCosines({})) == "tasks"
    assert name_coefficient_set(TaskCosines({}, {})) == "code and tasks"
    meant = TaskCosines({"commit 2": 0.9, "commit 4": 0.1})
    assert (
        files.paths[rank_files(files, past, parse_task("unrelated"), meant).best(1)[0]]
        == "src/f2.py"
    )


@pytest.mark.proves("D17")
def test_distant_vectors_give_no_reason():
    """A task about something else names neither code nor past tasks as similar."""
    files = tree(**{f"src/f{n}.py": ["pass"] for n in range(6)})
    past = past_of(files, *((f"word{n} thing{n}", (f"src/f{n}.py",)) for n in range(6)))
    for cosine, told in ((0.3, ()), (0.5, ("word2 thing2",))):
        meant = TaskCosines(
            {"commit 2": cosine, "commit 4": 0.1}, {"src/f2.py": [cosine], "src/f4.py": [0.1]}
        )
        found = rank_files(files, past, parse_task("unrelated"), meant)
        reasons = explain_file(found, files.place["src/f2.py"])
        assert told == tuple(one.text for one in list_similar_tasks(found))
        assert bool(told) == ("its code is near to it by meaning" in reasons)
        assert bool(told) == any("word2 thing2" in reason for reason in reasons)


@pytest.mark.parametrize("task", ["", "  ", "the and of", "🙂", "`", "x" * 9_000])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_odd_tasks_and_small_repositories_are_ranked(task, count):
    """Whatever is asked of whatever is there, there is an order and no trouble."""
    files = tree(**{f"f{n}.py": ["def a(): pass"] for n in range(count)})
    found = rank_files(files, past_of(files), parse_task(task))
    assert sorted(found.best(10)) == list(range(count))
    assert np.isfinite(found.likely).all()


def test_every_coefficient_is_for_a_column_that_exists():
    """What ships fits the signals, in each set."""
    files = tree(**{"a.py": ["pass"]})
    columns = rank_files(files, past_of(files), parse_task("x")).columns
    for weights in load_coefficients().values():
        assert set(weights) <= set(columns)
    assert set(expand_signal_forms({"content": np.zeros(2)})) == {
        "content",
        "content place",
        "content log",
    }
    assert compute_likelihoods({}, {}, 0).shape == (0,)


def test_a_plan_is_cut_from_its_least_important_parts():
    """Companions, past tasks and memories go before files; the likeliest file stays (within a
    budget).
    """
    looks = tuple(
        FileSuggestion(f"src/file{n}.py", 0.1, (), ("speaks of proxy",)) for n in range(9)
    )
    past = (PastTask("commit 1", 0.0, "Tunnel", {}, ("a.py",)),)
    whole = TaskPlan("t", "/r", 1, looks, past)
    short = whole.within(60)
    assert len(short.text) <= 240
    assert 0 < len(short.files) < 9
    assert short.past == ()
    assert whole.within(1).files == looks[:1]
    assert whole.within(10_000) == whole
