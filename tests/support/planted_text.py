# mypy: no-check-untyped-defs
"""A home in which one thing was said in every way, and what its files hold, to the byte.

For tests that look for a planted text afterwards: in memories and their history, in conversations,
in the log, in what was prepared, in the indexes of notes and code, past tasks, pages and shared
files, backups, what hooks left.
"""

import json
import re
from contextlib import contextmanager

from reverie import privacy
from reverie.interfaces.hooks.spool import HookFiles, write_json_object
from reverie.testing import SPACE, make_conversation


@contextmanager
def without_redaction(monkeypatch):
    """An older version that knew no secret: everything is kept as it comes."""
    with monkeypatch.context() as patch:
        for find in ("assignment", "shape", "personal", "iban"):
            patch.setattr(privacy, f"find_{find}_spans", lambda *_: [])
        patch.setattr(privacy, "named_secret_kind", lambda *_: None)
        yield


def plant_everywhere(mind, tmp_path, words):
    """A life in which these words come up everywhere; the memory that says them."""
    notes, repo, home = tmp_path / "notes", tmp_path / "repo", mind.settings.home
    for folder in (notes, repo):
        folder.mkdir(exist_ok=True)
    kept = mind.remember(
        f"The relay word is {words}, ask Ann.",
        title=f"Relay {words[:40]}",
        space=SPACE,
        tags=["relay"],
        details={"seen": {"where": [f"on {words}"]}},
    )
    mind.describe("relay", f"what {words} is about", space=SPACE)
    mind.remember("The gravel plant is closed on Mondays.", space=SPACE)
    mind.settle()
    mind.recall(words, space=SPACE)
    with mind.companion(f"{SPACE}/s1", session="s1") as companion:
        companion.turn(make_conversation(f"Remember that the relay word is {words}, ask Ann."))
        assert companion.wait(120)
        companion.turn(make_conversation("Which word is it?", f"Is it {words}?"))
        assert companion.wait(120)
    mind.record_tool(
        "bash",
        {"command": f"relay {words}"},
        ok=False,
        error=f"bad word {words}",
        space=SPACE,
        session="s1",
        task=f"find out about {words}",
    )
    mind.activity.record_task(
        f"find out about {words}", "success", summary=f"it was {words}", space=SPACE, session="s1"
    )
    mind.sessions.hold({"next": f"say {words}"}, session="s1", space=SPACE)
    mind.feelings.record("joy", why=f"because of {words}", space=SPACE)
    mind.sessions.condense(
        [
            *make_conversation(
                *[f"The relay said {words}, line {n}. " + "word " * 300 for n in range(8)]
            )
        ],
        limit=2_000,
    )
    (notes / "a.md").write_text(f"# Relay\n\nIt says {words} there.\n")
    (repo / "relay.py").write_text(f'def relay():\n    """Says {words}."""\n    return "{words}"\n')
    mind.files.add_folder(notes, space=SPACE)
    mind.files.sync(space=SPACE)
    mind.code.index(repo)
    mind.plan(f"say {words}", root=repo, space=SPACE)
    mind.settle()
    mind.revise(kept.id, text=f"The relay word is now {words}, ask Bob.")
    mind.data.mirror(SPACE)
    mind.data.share(tmp_path / "shared.jsonl", space=SPACE)
    mind.settle()
    room = HookFiles(str(home))
    write_json_object(
        f"{room.spool}/later.json", {"event": "prompt", "given": {"prompt": f"what of {words}"}}
    )
    write_json_object(room.session_file("s9", "block"), {"text": f"- {words}", "ids": [kept.id]})
    write_json_object(room.guards_file(SPACE), {"guards": [{"text": f"never say {words}"}]})
    (home / "hooks" / "trouble.log").write_text(f"1760000000 could not say {words}\n")
    (home / "trouble.txt").write_text(f"Traceback\n  ValueError: {words}\n")
    return kept


def find_files_holding(folder, *texts):
    """Which files of a folder hold one of these texts in their bytes, in any writing: names from
    the folder.
    """
    wanted = [form for text in texts for form in encode_in_every_way(text)]
    return sorted(
        {
            str(path.relative_to(folder))
            for path in folder.rglob("*")
            if path.is_file()
            and any(form in data for data in (path.read_bytes().lower(),) for form in wanted)
        }
    )


def encode_in_every_way(text):
    """A text as bytes, in lower case: UTF-8, UTF-16, as JSON writes it, and pressed together."""
    low = text.lower()
    yield from {
        low.encode(),
        low.encode("utf-16-le"),
        json.dumps(low)[1:-1].encode(),
        re.sub(r"\s+", "", low).encode(),
    }
