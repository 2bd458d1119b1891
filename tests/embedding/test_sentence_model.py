"""Any sentence-transformers model in ONNX form: pooling, prefixes, limits, the hub, the command."""

import hashlib
import http.server
import json
import shutil
import threading
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

import reverie
from reverie.core.config import Settings
from reverie.core.errors import BadInput, ModelUnavailable
from reverie.embedding import embed_query, open_embedder, sentence_files
from reverie.embedding.likeness_scale import ScaledEmbedder
from reverie.embedding.vector_cache import CachedEmbedder, RecentVectors
from reverie.interfaces.worker import is_embedder_ready, is_model_missing
from reverie.testing import make_conversation
from tests.support.helpers import TRICKY, run_command, run_in_threads

WIDTH, WORDS = (
    8,
    [
        "the",
        "staging",
        "server",
        "is",
        "called",
        "heron",
        "and",
        "its",
        "port",
        "4100",
        "query",
        "passage",
        ":",
    ],
)


def write_model(
    folder, *, pooling="mean_tokens", prompts=None, seed=1, pooled=False, types=True, limit=16
):
    """A model of two operations whose files are laid out as sentence-transformers does."""
    (folder / "onnx").mkdir(parents=True)
    letters = [*map(chr, range(33, 127))]
    pieces = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *letters,
        *(f"##{one}" for one in letters),
        *WORDS,
    ]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    words = Tokenizer(models.WordPiece(vocab=vocabulary, unk_token="[UNK]"))
    words.add_special_tokens(pieces[:4])
    words.normalizer = normalizers.BertNormalizer()
    words.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    words.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    words.save(str(folder / "tokenizer.json"))
    matrix = (
        np.random.default_rng(seed).normal(size=(words.get_vocab_size(), WIDTH)).astype("float32")
    )
    tokens = ["n", "t"]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])]
    out = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [*tokens, WIDTH])
    if pooled:
        nodes.append(
            helper.make_node(
                "ReduceMean", ["last_hidden_state"], ["sentence_embedding"], axes=[1], keepdims=0
            )
        )
        out = helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["n", WIDTH])
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, tokens) for name in names]
    graph = helper.make_graph(
        nodes, "tiny", inputs, [out], [numpy_helper.from_array(matrix, "table")]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8),
        str(folder / "onnx" / "model.onnx"),
    )
    kinds = ["Transformer", "Pooling", "Normalize"]
    rows = [
        {
            "idx": n,
            "path": f"{n}_{kind}" if n else "",
            "type": f"sentence_transformers.models.{kind}",
        }
        for n, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(rows))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps(
            {
                f"pooling_mode_{one}": one == pooling
                for one in ("cls_token", "mean_tokens", "max_tokens", "lasttoken")
            }
        )
    )
    (folder / "config.json").write_text(
        json.dumps({"hidden_size": WIDTH, "max_position_embeddings": 512})
    )
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": limit}))
    (folder / "config_sentence_transformers.json").write_text(
        json.dumps({"prompts": prompts or {}})
    )
    return folder, words, matrix


@pytest.fixture
def opened(tmp_path):
    """Open a model as it is, without the scale of `test_likeness_scale`, and close it at the
    end.
    """
    made = []

    def open_named(name, **options):
        scaled = open_embedder(f"onnx:{name}", cache=tmp_path / "cache", **options)
        assert isinstance(scaled, ScaledEmbedder)
        made.append(scaled.inner)
        return made[-1]

    yield open_named
    for one in made:
        one.close()


def unit(rows):
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


POOLED = {
    "cls_token": lambda rows: rows[0],
    "lasttoken": lambda rows: rows[-1],
    "mean_tokens": lambda rows: rows.mean(0),
    "max_tokens": lambda rows: rows.max(0),
}


@pytest.mark.parametrize("pooling", POOLED)
def test_each_pooling_is_that_of_the_models_settings(tmp_path, opened, pooling):
    folder, words, matrix = write_model(
        tmp_path / "m", pooling=pooling, types=pooling != "max_tokens"
    )
    texts = ["heron", "the staging server is called heron", "port 4100"]
    expected = np.stack([unit(POOLED[pooling](matrix[words.encode(text).ids])) for text in texts])
    embedder = opened(folder)
    np.testing.assert_allclose(embedder.embed(texts), expected, atol=1e-6)
    assert embedder.dims == WIDTH


def test_any_text_has_a_unit_vector_whatever_stands_beside_it(tmp_path, opened):
    embedder = opened(write_model(tmp_path / "m")[0])
    texts = [*TRICKY, "heron " * 10_000]
    together = embedder.embed(texts)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, atol=1e-5)
    np.testing.assert_allclose(
        together, np.concatenate([embedder.embed([one]) for one in texts]), atol=1e-6
    )
    assert embedder.embed([]).shape == (0, WIDTH)


def test_a_graph_that_pools_by_itself_and_one_without_settings(tmp_path, opened):
    folder, words, matrix = write_model(tmp_path / "m", pooled=True)
    expected = unit(matrix[words.encode("heron").ids].mean(0))
    np.testing.assert_allclose(opened(folder).embed(["heron"])[0], expected, atol=1e-6)
    bare, _, _ = write_model(tmp_path / "bare")
    for name in (
        "modules.json",
        "config.json",
        "sentence_bert_config.json",
        "config_sentence_transformers.json",
    ):
        (bare / name).unlink()
    shutil.rmtree(bare / "1_Pooling")
    shutil.move(bare / "onnx" / "model.onnx", bare / "model.onnx")
    np.testing.assert_allclose(opened(bare).embed(["heron"])[0], expected, atol=1e-6)


def test_only_so_many_tokens_count(tmp_path, opened):
    embedder = opened(write_model(tmp_path / "m", limit=4)[0])
    np.testing.assert_array_equal(*embedder.embed(["heron port 4100 server", "heron port staging"]))


def test_questions_and_passages_have_their_prefixes(tmp_path, opened):
    prompts = {"query": "query: ", "document": "passage: "}
    folder, _, _ = write_model(tmp_path / "m", prompts=prompts)
    without = shutil.copytree(folder, tmp_path / "plain")
    (without / "config_sentence_transformers.json").unlink()
    embedder, plain = opened(folder), opened(without)
    cached = CachedEmbedder(embedder, RecentVectors())
    for asked in (embedder, cached, cached):
        np.testing.assert_allclose(
            asked.embed(["heron"]), plain.embed(["passage: heron"]), atol=1e-6
        )
        np.testing.assert_allclose(
            embed_query(asked, "heron"), plain.embed(["query: heron"])[0], atol=1e-6
        )
    np.testing.assert_allclose(embed_query(plain, "heron"), plain.embed(["heron"])[0])


def test_another_file_is_another_model(tmp_path, opened):
    first = opened(write_model(tmp_path / "a" / "tiny")[0]).model
    again = opened(shutil.copytree(tmp_path / "a" / "tiny", tmp_path / "b" / "tiny")).model
    other = opened(write_model(tmp_path / "c" / "tiny", seed=2)[0]).model
    pooled = opened(write_model(tmp_path / "d" / "tiny", pooling="cls_token")[0]).model
    assert first == again and len({first, other, pooled}) == 3 and first.startswith("tiny/")


def test_threads_and_a_close_between(tmp_path, opened):
    embedder = opened(write_model(tmp_path / "m")[0])
    expected, wrong = embedder.embed(["heron"]), []

    def work():
        for _ in range(20):
            if not np.allclose(embedder.embed(["heron"]), expected):
                wrong.append(1)
            embedder.close()

    run_in_threads(work, work, work)
    assert [] == wrong


def break_dense(folder):
    rows = json.loads((folder / "modules.json").read_text())
    (folder / "modules.json").write_text(
        json.dumps([*rows, {"path": "3_Dense", "type": "x.Dense"}])
    )


def break_pooling(folder):
    (folder / "1_Pooling" / "config.json").write_text('{"pooling_mode_weightedmean_tokens": true}')


BROKEN: dict[str, Any] = {
    "cannot be run": lambda folder: (folder / "onnx" / "model.onnx").write_bytes(b"no graph"),
    "no tokenizer.json that can be used": lambda folder: (folder / "tokenizer.json").write_text(
        "{}"
    ),
    "a step Dense": break_dense,
    "is not supported": break_pooling,
    "cannot be read": lambda folder: (folder / "config.json").write_text("{"),
    "config.json is not": lambda folder: (folder / "config.json").write_text("[1]"),
    "modules.json is not": lambda folder: (folder / "modules.json").write_text('["a"]'),
    "The prompts in": lambda folder: (folder / "config_sentence_transformers.json").write_text(
        '{"prompts": ["query"]}'
    ),
    "has no tokenizer.json": lambda folder: (folder / "tokenizer.json").unlink(),
    "has no model.onnx": shutil.rmtree,
}


@pytest.mark.parametrize("said", BROKEN)
def test_a_model_that_cannot_be_used_keeps_words_working(tmp_path, opened, said):
    folder, _, _ = write_model(tmp_path / "m")
    embedder = opened(folder)
    BROKEN[said](folder)
    with pytest.raises(ModelUnavailable, match=said):
        embedder.embed(["heron"])


@pytest.mark.parametrize("name", ["", "nowhere", "a/b/c", "x/.."])
def test_names_that_are_none(opened, name):
    with pytest.raises(BadInput, match=r"onnx:|no folder with a model"):
        opened(name)


class Hub(http.server.ThreadingHTTPServer):
    """A hub that lists and gives the files of one folder, large ones by SHA-256."""

    def __init__(self, folder):
        super().__init__(("127.0.0.1", 0), Answer)
        self.folder, self.asked, self.spoilt, self.listing = folder, [], set(), None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_address[1]}"

    def siblings(self):
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                data = path.read_bytes()
                row = {"rfilename": path.relative_to(self.folder).as_posix(), "size": len(data)}
                row["blobId"] = hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()
                if path.suffix == ".onnx":
                    row["lfs"] = {"sha256": hashlib.sha256(data).hexdigest(), "size": len(data)}
                yield row


class Answer(http.server.BaseHTTPRequestHandler):
    server: Hub

    def do_GET(self):
        hub = self.server
        hub.asked.append(self.path)
        if self.path.startswith("/api/models/owner/tiny/revision/"):
            content = json.dumps(
                hub.listing or {"sha": "c0ffee", "siblings": list(hub.siblings())}
            ).encode()
        elif self.path.startswith("/owner/tiny/resolve/c0ffee/"):
            name = self.path.removeprefix("/owner/tiny/resolve/c0ffee/")
            content = (hub.folder / name).read_bytes() + (b" " if name in hub.spoilt else b"")
        else:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@pytest.fixture
def hub(tmp_path, monkeypatch):
    (tmp_path / "hub").mkdir()
    made = Hub(write_model(tmp_path / "hub" / "tiny")[0])
    (made.folder / "evil.py").write_text("raise SystemExit")
    monkeypatch.setattr(sentence_files, "HUB", made.url)
    monkeypatch.setattr(sentence_files.HubModel.__new__, "__defaults__", ("main", made.url))
    yield made
    made.shutdown()
    made.server_close()


def test_a_hubs_model_is_fetched_once_checked_and_pinned(tmp_path, opened, hub):
    said = []
    embedder = opened("owner/tiny", progress=lambda *what: said.append(what))
    assert embedder.embed(["heron"]).shape == (1, WIDTH) and said
    folder = tmp_path / "cache" / "models" / "owner--tiny@main"
    assert json.loads((folder / "reverie-pin.json").read_text())["commit"] == "c0ffee"
    assert not (folder / "evil.py").exists() and not any("evil" in path for path in hub.asked)
    asked = len(hub.asked)
    assert opened("owner/tiny", offline=True).model == embedder.model and len(hub.asked) == asked
    # A file that another program spoilt is fetched again, of the commit that was pinned.
    (folder / "tokenizer.json").write_text("{}")
    hub.asked.clear()
    assert opened("owner/tiny").embed(["heron"]).shape == (1, WIDTH)
    assert hub.asked[0] == "/api/models/owner/tiny/revision/c0ffee?blobs=true"
    assert "/owner/tiny/resolve/c0ffee/onnx/model.onnx" not in hub.asked


@pytest.mark.parametrize("name", ["onnx/model.onnx", "tokenizer.json"])
def test_what_arrives_with_another_hash_is_thrown_away(tmp_path, opened, hub, name):
    hub.spoilt.add(name)
    with pytest.raises(ModelUnavailable, match=f"{name} arrived with another hash"):
        opened("owner/tiny").embed(["heron"])
    folder = tmp_path / "cache" / "models" / "owner--tiny@main"
    assert not (folder / name).exists() and not (folder / "reverie-pin.json").exists()
    hub.spoilt.clear()
    assert opened("owner/tiny").embed(["heron"]).shape == (1, WIDTH)


@pytest.mark.parametrize(
    ("listing", "said"),
    [
        ({"sha": "c0ffee", "siblings": [{"rfilename": "model.safetensors"}]}, "no model.onnx"),
        ({"sha": "c0ffee", "siblings": [{"rfilename": "model.onnx"}]}, "no tokenizer.json"),
        ({"error": "gone"}, "cannot be read"),
        ([1], "cannot be read"),
        ({"sha": "c0ffee", "siblings": [{"rfilename": "../../model.onnx"}]}, "no model.onnx"),
    ],
)
def test_a_hub_that_has_no_such_model_is_told(opened, hub, listing, said):
    hub.listing = listing
    with pytest.raises(ModelUnavailable, match=said):
        opened("owner/tiny").embed(["heron"])
    with pytest.raises(ModelUnavailable, match="offline"):
        opened("owner/tiny", offline=True).embed(["heron"])
    with pytest.raises(ModelUnavailable, match="404"):
        opened("owner/other").embed(["heron"])


def test_the_background_makes_vectors_of_a_model_that_is_here(tmp_path):
    """Of a folder that has one, and of what was fetched; what is not here is missing, and no
    background fetches it.
    """
    folder, _, _ = write_model(tmp_path / "m")
    fetched = tmp_path / "cache/models/owner--tiny@main"
    own = Settings(home=tmp_path, embedder=f"onnx:{folder}")
    hub = own._replace(embedder="onnx:owner/tiny")
    assert is_embedder_ready(own) and not is_model_missing(own)
    assert not is_embedder_ready(hub) and is_model_missing(hub)
    shutil.copytree(folder, fetched)
    note = {"commit": "c", "files": {"onnx/model.onnx": "x", "tokenizer.json": "y"}}
    (fetched / sentence_files.PIN).write_text(json.dumps(note))
    assert is_embedder_ready(hub) and not is_model_missing(hub)
    (fetched / "tokenizer.json").unlink()
    shutil.rmtree(folder)
    for gone in (hub, own, own._replace(embedder="onnx:a/b/c")):
        assert not is_embedder_ready(gone) and is_model_missing(gone)


def test_a_home_with_a_model_of_its_own(tmp_path, monkeypatch):
    folder, _, _ = write_model(tmp_path / "m")
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.toml").write_text(f"embedder = {json.dumps(f'onnx:{folder}')}\nidle = 0\n")
    monkeypatch.setenv("REVERIE_HOME", str(home))
    run_command("remember", "The staging server is called heron.")
    run_command("data", "settle")
    with reverie.open() as mind:
        (found,) = mind.recall("which server is staging?")
        assert mind.data.stats().waiting == 0 and "meaning" in " ".join(map(str, found.why)), found
    assert "heron" in run_command("recall", "which server is staging?").stdout
    (folder / "tokenizer.json").unlink()
    (folder / "tokenizer.json").mkdir()
    assert "heron" in run_command("recall", "which server is staging?").stdout


LOOKS = (
    ("status",),
    ("data", "stats"),
    ("review", "--space", "me/demo"),
    ("list", "--space", "me/demo"),
    ("doctor",),
    ("sleep", "--dry-run"),
)


@pytest.mark.parametrize("is_hub", [False, True])
def test_a_model_that_is_not_here_stops_no_command(tmp_path, monkeypatch, hub, is_hub):
    """Its folder is gone, or it is a hub's: commands that look go on by words, say so, and fetch
    nothing; what was said is learned all the same.
    """
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("REVERIE_HOME", str(home))
    model = "owner/tiny" if is_hub else str(tmp_path / "gone")
    (home / "config.toml").write_text(f"embedder = {json.dumps(f'onnx:{model}')}\nidle = 0\n")
    for text in ("The port is 4100.", "The port is 4200."):
        run_command("remember", text, "--space", "me/demo")
    said = {words: run_command(*words, code=None) for words in LOOKS}
    assert hub.asked == []
    for words, done in said.items():
        assert done.exit_code == (1 if words == ("doctor",) else 0), (words, done.stderr)
    for words in LOOKS[:3]:
        told = " ".join((said[words].stdout + said[words].stderr).split())
        assert "words alone" in told, words
    assert "4100" in said[LOOKS[3]].stdout
    with reverie.open() as mind:
        if is_hub:
            hub.shutdown(), hub.server_close()
        mind.learn(make_conversation(USER_SAID), space="me/demo")
        report = mind.settle()
        assert report.trouble and not report.failed
        assert any("pnpm" in one.text for one in mind.browse(space="me/demo"))


USER_SAID = "We always use pnpm and never npm in this project."
