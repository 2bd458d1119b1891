"""The files of a sentence-transformers model in ONNX form: found in a folder or fetched from a hub.

A hub says for each file of a commit what its content hashes to (SHA-256 of large files, git's SHA-1
of small ones). What arrives is checked against it, and the commit with its SHA-256 is noted beside
the files: from then on a file with another hash is fetched again, of that commit. Nothing is
fetched from a hub but the model's graph, its weights and its settings; never code.
"""

from __future__ import annotations

import hashlib
import http.client
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote

from reverie.core.atomic_file import make_private_folder, write_atomically
from reverie.core.errors import BadInput, ModelUnavailable
from reverie.embedding import model_weights

if TYPE_CHECKING:
    from reverie.embedding import Progress

HUB = "https://huggingface.co"
# A short name → the hub's.
NAMED = {
    "bge-small-en-v1.5": "BAAI/bge-small-en-v1.5",
    "granite-embedding-97m-multilingual-r2": "ibm-granite/granite-embedding-97m-multilingual-r2",
}
GRAPHS = ("onnx/model.onnx", "model.onnx")  # the first that there is
REQUIRED = ("tokenizer.json",)
# What a graph may keep beside itself, and what says how texts become vectors.
WEIGHTS = ("onnx/model.onnx_data", "onnx/model.onnx.data", "model.onnx_data", "model.onnx.data")
MODULES = "modules.json"
SETTINGS = (
    "config.json",
    "config_sentence_transformers.json",
    MODULES,
    "sentence_bert_config.json",
)
POOLING_CONFIG = "config.json"  # in the folder that modules.json names
PIN = "reverie-pin.json"
SILENCE = 15.0  # seconds without a byte before a hub counts as out of reach
MAX_SETTINGS = 64 << 20  # bytes of a file that is no graph and no weights; tokenizers have 20 MB


class HubModel(NamedTuple):
    """A model of a hub: its name there, and a branch, tag or commit."""

    name: str
    revision: str = "main"
    base: str = HUB


class HubFile(NamedTuple):
    """A file of a commit: path, size in bytes, and the hash that the hub says it has."""

    path: str
    size: int | None
    sha256: str  # "" for a small file
    sha1: str  # git's, of a small file


def parse_hub_name(text: str) -> HubModel:
    """A short name, "owner/model" or "owner/model@revision"; BadInput for anything else."""
    name, _, revision = text.partition("@")
    name = NAMED.get(name, name)
    parts = name.split("/")
    if len(parts) != 2 or not all(part and part.strip(".") for part in parts):
        known = ", ".join(sorted(NAMED))
        raise BadInput(
            f"{text!r} is no folder with a model.onnx, and no model of the hub: those are called "
            f"owner/model[@revision], or {known}"
        )
    return HubModel(name, revision or "main")


def find_local_folder(name: str) -> Path | None:
    """The folder that a name means; None for the name of a hub's model. It need not be there now:
    it may be later, and words work meanwhile.
    """
    folder = Path(name).expanduser()
    is_path = folder.is_dir() or name.startswith(("/", "~", ".")) or folder.is_absolute()
    return folder if is_path else None


def find_hub_folder(model: HubModel, cache: Path) -> Path:
    """Where the files of a hub's model are kept."""
    return cache / "models" / f"{model.name}@{model.revision}".replace("/", "--")


def is_on_this_machine(name: str, cache: Path) -> bool:
    """True if the files of a model are here, as far as their names tell; nothing is fetched."""
    try:
        folder = find_local_folder(name)
        if folder is not None:
            find_graph(folder)
            return True
        fetched = find_hub_folder(parse_hub_name(name), cache)
    except BadInput:
        return False
    pinned = read_pin(fetched)
    return pinned is not None and all((fetched / path).is_file() for path in pinned["files"])


def find_graph(folder: Path) -> Path:
    """The graph in a model's folder; BadInput where there is none, or no vocabulary."""
    graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
    if graph is None:
        raise BadInput(
            f"{folder} has no model.onnx. Write one with: "
            "optimum-cli export onnx --model NAME --task feature-extraction FOLDER"
        )
    for name in REQUIRED:
        if not (folder / name).is_file():
            raise BadInput(f"{folder} has no {name}, which comes with the model")
    return graph


def digest_model(folder: Path) -> str:
    """Twelve hex digits of all that decides a vector: graph, weights, vocabulary, settings."""
    whole = hashlib.sha256()
    for path in list_model_files(folder):
        found = model_weights.hash_weights_file(folder / path)
        whole.update(f"{path}\0{found}\n".encode())
    return whole.hexdigest()[:12]


def list_model_files(folder: Path) -> list[str]:
    """The files of a folder that decide a vector, in a fixed order."""
    graph = find_graph(folder).relative_to(folder).as_posix()
    beside = [name for name in WEIGHTS if name.startswith(graph)]
    wanted = [
        graph,
        *beside,
        *REQUIRED,
        *SETTINGS,
        *pooling_configs(read_modules(folder)),
    ]
    return [name for name in wanted if (folder / name).is_file()]


def pooling_configs(modules: Any) -> list[str]:
    """The settings of the steps after the network, as modules.json names their folders."""
    rows = modules if isinstance(modules, list) else []
    paths = [str(row.get("path") or "") for row in rows if isinstance(row, Mapping)]
    return [f"{path}/{POOLING_CONFIG}" for path in paths if path and is_plain_path(path)]


def is_plain_path(path: str) -> bool:
    """True if a path leads nowhere but into the folder that it is in."""
    pure = PurePosixPath(path)
    return not pure.is_absolute() and ".." not in pure.parts and "\\" not in path


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """The object in a JSON file of a model, an empty one where there is no file; BadInput for
    anything else.
    """
    found = load_json(folder / name)
    if found is not None and not isinstance(found, dict):
        raise BadInput(f"{folder / name} is not a JSON object")
    return found or {}


def read_modules(folder: Path) -> list[Mapping[str, Any]]:
    """The steps of a model, as its modules.json lists them; none where there is no file."""
    found = load_json(folder / MODULES) or []
    if not isinstance(found, list) or not all(isinstance(row, Mapping) for row in found):
        raise BadInput(f"{folder / MODULES} is not a list of JSON objects")
    return found


def load_json(path: Path) -> Any:
    """What a JSON file says; None where there is none."""
    if not path.is_file():
        return None
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as err:
        raise BadInput(f"{path} cannot be read: {err}") from err


def ensure_hub_model(
    model: HubModel,
    cache: Path,
    *,
    progress: Progress | None = None,
    offline: bool = False,
) -> Path:
    """The folder with a hub's model, each file as it was first fetched; ModelUnavailable if it
    cannot be had.
    """
    folder = find_hub_folder(model, cache)
    pinned = read_pin(folder)
    if pinned is not None and not list_damaged(folder, pinned):
        return folder
    if offline:
        raise ModelUnavailable(
            f"The embedding model {model.name} is not here, and this is offline mode. "
            "Words keep working meanwhile; with a connection: reverie data settle"
        )
    try:
        make_private_folder(folder)
        commit = str(pinned["commit"]) if pinned else model.revision
        fetch_hub_model(model._replace(revision=commit), folder, progress)
    except (OSError, http.client.HTTPException, ValueError, LookupError, AttributeError) as err:
        if isinstance(err, urllib.error.HTTPError):
            err.close()
        raise ModelUnavailable(
            f"The embedding model {model.name} could not be fetched from {model.base}: {err}. "
            "Words keep working meanwhile. Or put its files into a folder and name that in "
            'config.toml: embedder = "onnx:FOLDER"'
        ) from err
    return folder


def find_fetched(model: HubModel, cache: Path) -> Path:
    """The folder with a hub's model as it was fetched; ModelUnavailable where it was not."""
    folder = find_hub_folder(model, cache)
    pinned = read_pin(folder)
    if pinned is None or list_damaged(folder, pinned):
        raise ModelUnavailable(
            f"The embedding model {model.name} is not on this machine. Words keep working "
            "meanwhile; to fetch it: reverie data settle"
        )
    return folder


def read_pin(folder: Path) -> Mapping[str, Any] | None:
    """The commit and the hashes of a fetched model; None where none was fetched whole."""
    try:
        found = json.loads((folder / PIN).read_bytes())
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and found.get("files") else None


def list_damaged(folder: Path, pinned: Mapping[str, Any]) -> list[str]:
    """The files that are not there or not as they were fetched."""
    return [
        name
        for name, expected in pinned["files"].items()
        if model_weights.hash_weights_file(folder / name) != expected
    ]


def fetch_hub_model(
    model: HubModel,
    folder: Path,
    progress: Progress | None,
) -> None:
    """Fetch what is needed of one commit, check it, and note its hashes when all is there."""
    commit, files = list_hub_files(model)
    hashes: dict[str, str] = {}
    chosen = choose_files(files)
    chosen += [one for one in map(files.get, fetch_pooling_names(model, commit, files)) if one]
    for file in chosen:
        hashes[file.path] = fetch_hub_file(model, commit, file, folder, progress)
    note = {"model": model.name, "commit": commit, "files": hashes}
    write_atomically(folder / PIN, json.dumps(note, indent=1).encode(), mode=0o600)


def choose_files(files: Mapping[str, HubFile]) -> list[HubFile]:
    """Which of a commit's files are needed; ValueError without a graph or a vocabulary."""
    graph = next((name for name in GRAPHS if name in files), None)
    if graph is None:
        raise ValueError(
            "it has no model.onnx; write one with: "
            "optimum-cli export onnx --model NAME --task feature-extraction FOLDER"
        )
    if missing := [name for name in REQUIRED if name not in files]:
        raise ValueError(f"it has no {missing[0]}")
    beside = [name for name in WEIGHTS if name.startswith(graph)]
    return [files[name] for name in (graph, *beside, *REQUIRED, *SETTINGS) if name in files]


def fetch_pooling_names(
    model: HubModel,
    commit: str,
    files: Mapping[str, HubFile],
) -> list[str]:
    """The settings of the steps after the network, of a commit."""
    if MODULES not in files:
        return []
    with open_hub(file_url(model, commit, MODULES)) as answer:
        return pooling_configs(json.loads(answer.read(MAX_SETTINGS)))


def list_hub_files(model: HubModel) -> tuple[str, dict[str, HubFile]]:
    """The commit that a revision is, and its files by path."""
    url = (
        f"{model.base}/api/models/{model.name}/revision/{quote(model.revision, safe='')}?blobs=true"
    )
    with open_hub(url) as answer:
        found = json.loads(answer.read(MAX_SETTINGS))
    if not isinstance(found, dict) or not isinstance(found.get("siblings"), list):
        raise ValueError("what the hub says of its files cannot be read")
    files = {}
    for row in found["siblings"]:
        path, large = str(row["rfilename"]), row.get("lfs") or {}
        if is_plain_path(path):
            files[path] = HubFile(
                path, row.get("size"), large.get("sha256") or "", row.get("blobId") or ""
            )
    return str(found["sha"]), files


def fetch_hub_file(
    model: HubModel,
    commit: str,
    file: HubFile,
    folder: Path,
    progress: Progress | None,
) -> str:
    """Fetch one file to its place; its SHA-256. ValueError if it is not what the hub lists."""
    final = folder / file.path
    known = model_weights.hash_weights_file(final)
    if known is not None and known == file.sha256:
        return known
    make_private_folder(final.parent)
    part = final.with_name(f"{final.name}.part")
    say = progress or (lambda *_: None)
    with open_hub(file_url(model, commit, file.path)) as answer, part.open("wb") as out:
        done = 0
        while chunk := answer.read(model_weights.CHUNK):
            out.write(chunk)
            done += len(chunk)
            say(f"fetching {model.name} {file.path}", done, file.size)
    found = check_hub_file(part, file)
    model_weights.move_into_place(part, final)
    return found


def check_hub_file(path: Path, file: HubFile) -> str:
    """The SHA-256 of a fetched file; ValueError, and the file is gone, if it is another one."""
    found = model_weights.hash_weights_file(path) or ""
    if file.sha256:
        right = found == file.sha256
    else:
        content = path.read_bytes()
        blob = b"blob %d\0" % len(content) + content
        right = hashlib.sha1(blob, usedforsecurity=False).hexdigest() == file.sha1
    if not right:
        path.unlink()
        raise ValueError(f"{file.path} arrived with another hash than listed, and was thrown away")
    return found


def file_url(model: HubModel, commit: str, path: str) -> str:
    """Where a file of a commit is."""
    return f"{model.base}/{model.name}/resolve/{quote(commit, safe='')}/{quote(path)}"


def open_hub(url: str) -> http.client.HTTPResponse:
    """An answer of the hub, to be read and closed."""
    answer: http.client.HTTPResponse = urllib.request.urlopen(url, timeout=SILENCE)
    return answer
