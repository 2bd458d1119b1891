"""Files as other programs write them. All that stands in them is made up.

Those in `written_by_tools.zip` were written by the programs themselves: claude-mem 13.25.3,
agentmemory 0.9.29, MemPalace 3.11.0, mcp-memory-service 12.4.0, Basic Memory 0.24.1, LangGraph's
SqliteStore and PostgresStore (dumped by pg_dump 15); Hindsight's archive by the classes with which
hindsight-api-slim 1.1.0 writes one. The other files are made here after what the programs write.
"""

import json
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import duckdb

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
ONE, TWO = "mem_1767950000123_11112222333344445555", "mem_1767960000456_99990000111122223333"

WRITTEN_BY_TOOLS = Path(__file__).with_name("written_by_tools.zip")


def written(name):
    """A maker of the files that a program itself wrote: `name` in the archive."""

    def make(folder):
        with zipfile.ZipFile(WRITTEN_BY_TOOLS) as archive:
            for member in archive.namelist():
                if member.startswith(name):
                    archive.extract(member, folder)
        return folder / name

    return make


def put(path, text):
    """A file with its folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def jcode_graph():
    """Two memories, one of which stepped back for the other."""
    return {
        "graph_version": 2,
        "memories": {
            ONE: {
                "id": ONE,
                "category": "preference",
                "content": "Prefers small commits with imperative subjects",
                "tags": ["git", "style"],
                "created_at": "2026-01-09T09:13:20.123456789Z",
                "updated_at": "2026-02-01T08:00:00Z",
                "access_count": 4,
                "source": "ses-blue-otter",
                "trust": "high",
                "strength": 3,
                "active": True,
                "reinforcements": [
                    {
                        "session_id": "ses-red-fox",
                        "message_index": 0,
                        "timestamp": "2026-01-20T10:00:00Z",
                    },
                    {
                        "session_id": "dedup",
                        "message_index": 0,
                        "timestamp": "2026-02-01T08:00:00Z",
                    },
                ],
                "embedding": [0.6, 0.0, 0.8],
                "embedding_model": "minilm-l6-v2",
                "confidence": 0.95,
            },
            TWO: {
                "id": TWO,
                "category": {"custom": "note"},
                "content": "Staging server is called heron",
                "tags": ["git"],
                "created_at": "2026-01-09T12:00:00Z",
                "updated_at": "2026-01-09T12:00:00Z",
                "access_count": 0,
                "source": None,
                "trust": "medium",
                "strength": 0,
                "active": False,
                "superseded_by": ONE,
                "reinforcements": [],
                "embedding": [0.5, 0.5, 0.5, 0.5],
                "embedding_model": "openai:text-embedding-3-small",
                "unheard_of": {"x": 1},
            },
        },
        "tags": {},
        "clusters": {},
        "edges": {
            ONE: [
                {"target": "tag:git", "kind": "has_tag"},
                {"target": TWO, "kind": "supersedes"},
                {"target": TWO, "kind": "relates_to", "weight": 0.2},
                {"target": TWO, "kind": "relates_to", "weight": 0.6},
            ]
        },
        "metadata": {"retrieval_count": 17, "link_discovery_count": 1},
    }


def jcode_flat():
    """The form before the graph."""
    return {
        "entries": [
            {
                "id": "mem_1767000000000_1",
                "category": "fact",
                "content": "Tests run with just test",
                "tags": [],
                "created_at": "2025-12-29T10:00:00Z",
                "updated_at": "2025-12-29T10:00:00Z",
                "access_count": 0,
                "source": None,
            }
        ],
        "metadata": {},
    }


def jcode(folder):
    """~/.jcode with the user's memories, flat, and no project."""
    put(folder / "memory" / "global.json", json.dumps(jcode_flat()))
    put(
        folder / "ambient" / "queue.json",
        json.dumps(
            [
                {
                    "id": "sched_1",
                    "scheduled_for": "2026-03-01T10:00:00Z",
                    "context": "Look at the flaky test",
                    "priority": "High",
                    "target": {"kind": "ambient"},
                    "created_by_session": "s",
                    "created_at": "2026-02-01T10:00:00Z",
                }
            ]
        ),
    )
    return folder


ZUCKERMAN = {
    "semantic": [
        {
            "id": "6f2a1c1e-0000-4000-8000-00000000000a",
            "type": "semantic",
            "createdAt": 1770144000000,
            "updatedAt": 1770144000000,
            "fact": "Ann works on the billing service",
            "category": "person",
            "confidence": 0.9,
            "relationships": [
                {"type": "about", "targetId": "6f2a1c1e-0000-4000-8000-000000000001"}
            ],
        }
    ],
    "episodic": [
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000001",
            "type": "episodic",
            "createdAt": 1770144000000,
            "updatedAt": 1770144000000,
            "event": "Migrated blog to Hugo",
            "timestamp": 1770143000000,
            "context": {"what": "Blog migration", "when": 1770143000000, "why": "Faster builds"},
            "conversationId": "conv-7",
            "emotionalTag": {
                "emotion": "satisfaction",
                "intensity": "high",
                "timestamp": 1770143500000,
            },
        }
    ],
    "procedural": [
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000002",
            "type": "procedural",
            "createdAt": 1770144000000,
            "updatedAt": 1770150000000,
            "successRate": 0.595,
            "useCount": 2,
            "lastUsed": 1770150000000,
            "pattern": "check a file exists before reading",
            "trigger": "/read\\s+file/i",
            "action": "stat first",
        },
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000012",
            "type": "procedural",
            "createdAt": 1770144000000,
            "updatedAt": 1770150000000,
            "pattern": "keep calm",
            "trigger": "",
            "action": "breathe",
        },
    ],
    "prospective": [
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000003",
            "type": "prospective",
            "createdAt": 1770144000000,
            "updatedAt": 1770144000000,
            "intention": "Renew TLS certificate",
            "triggerTime": 1772000000000,
            "triggerContext": "nginx",
            "status": "pending",
            "priority": 0.8,
        },
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000004",
            "type": "prospective",
            "createdAt": 1770144000000,
            "updatedAt": 1770145000000,
            "intention": "Water the plants",
            "status": "completed",
        },
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000005",
            "type": "prospective",
            "createdAt": 1770144000000,
            "updatedAt": 1770145000000,
            "intention": "Call Ben",
            "status": "whatever",
        },
    ],
    "emotional": [
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000006",
            "type": "emotional",
            "createdAt": 1770144000000,
            "updatedAt": 1770144000000,
            "targetMemoryId": "6f2a1c1e-0000-4000-8000-000000000002",
            "targetMemoryType": "procedural",
            "tag": {"emotion": "joy", "intensity": "low", "timestamp": 1770144000000},
        },
        {
            "id": "6f2a1c1e-0000-4000-8000-000000000007",
            "type": "emotional",
            "createdAt": 1770144000000,
            "updatedAt": 1770144000000,
            "targetMemoryId": "goal-1",
            "targetMemoryType": "episodic",
            "context": "The release slipped again",
            "tag": {"emotion": "frustration", "intensity": "medium", "timestamp": 1770144000000},
        },
    ],
}


def zuckerman(folder):
    """An agent's home with pages and stores."""
    for name, records in ZUCKERMAN.items():
        put(
            folder / ".memory" / "stores" / f"{name}.json",
            json.dumps({"memories": records}, indent=1),
        )
    put(folder / "MEMORY.md", "\n\n---\n\n[2026-02-03T09:00:00.000Z]\n\nThe user lives in Graz.\n")
    put(
        folder / "memory" / "2026-02-03.md",
        b"\xef\xbb\xbf\r\n\r\n---\r\n\r\n[2026-02-03T10:00:00.000Z]\r\n\r\n"
        b"Fixed the \xc3\xbcber-bug.\r\n\r\n---\r\n\r\n[2026-02-03T11:00:00.000Z]\r\n\r\nWent for lunch.\r\n",
    )
    return folder


SCHEMA = """
create table tool_executions (id integer, timestamp timestamp, session_id varchar, task_id varchar, tool_name varchar,
  parameters {json}, result {json}, success boolean, error_message varchar, duration_ms integer,
  context_tokens integer);
create table file_interactions (id integer, timestamp timestamp, session_id varchar, task_id varchar, file_path varchar,
  operation varchar, line_range {json}, success boolean, context varchar, changes_summary varchar);
create table task_history (id integer, task_id varchar, session_id varchar, description varchar, intent varchar,
  status varchar, started_at timestamp, completed_at timestamp, files_touched {json}, tools_used {json},
  outcome varchar);
insert into tool_executions values
  (1, '2025-11-14 10:02:11.5', 'session_1', null, 'edit_file', '{{"path": "src/a.py"}}', '{{"ok": true}}', true, null,
   42, null),
  (2, '2025-11-14 10:02:11.6', 'session_1', null, 'execute', '{{"args": [], "kwargs": {{"path": "src/a.py"}}}}', null,
   true, null, 42, null),
  (3, '2025-11-14 10:03:00', 'session_1', 't-1', 'bash', '{{"command": "pytest"}}', null, false,
   'ModuleNotFoundError: yaml, token {secret}', 900, null);
insert into file_interactions values
  (1, '2025-11-14 10:02:11.5', 'session_1', null, 'src/a.py', 'edit', '{{"start": 10, "end": 20}}', true, null,
   'rename'),
  (2, '2025-11-14 10:02:12', 'session_1', null, 'src/b.py', 'juggle', null, true, null, null);
insert into task_history values
  (1, 't-1', 'session_1', 'Rename helper', 'CodeWriting', 'completed', '2025-11-14 10:02:00', '2025-11-14 10:05:00',
   '["src/a.py"]', '{{"edit_file": 1}}', 'done');
"""


def aircher(folder, engine="duckdb"):
    """~/.aircher with its episodic database."""
    file = folder / "data" / ("episodic.duckdb" if engine == "duckdb" else "episodic.db")
    file.parent.mkdir(parents=True)
    script = SCHEMA.format(json="json" if engine == "duckdb" else "text", secret=SECRET)
    if engine == "duckdb":
        with closing(duckdb.connect(str(file))) as db:
            db.execute(script)
    else:
        with closing(sqlite3.connect(file)) as db:
            db.executescript(script)
    return folder


JAATO = {
    "id": "mem_20260301_091500_1234",
    "content": "Widget cache is invalidated by the build id.",
    "description": "Widget cache invalidation",
    "tags": ["widget_cache", "build_id"],
    "timestamp": "2026-03-01T09:15:00.123456",
    "usage_count": 2,
    "last_accessed": "2026-03-04T10:00:00",
    "maturity": "validated",
    "confidence": 0.8,
    "scope": "project",
    "evidence": "stale widget seen after deploy",
    "source_agent": "main",
    "source_session": "s-42",
    "generated_by": {
        "kind": "ai",
        "provider": "p",
        "model": "m",
        "session_id": "s-42",
        "agent_id": "main",
    },
    "curated_by": {
        "kind": "ai",
        "provider": "p",
        "model": "n",
        "session_id": "s-43",
        "agent_id": "curator",
    },
}
JAATO_OLD = {
    "id": "mem_20231211_143022",
    "content": "Old form.",
    "description": "First generation record",
    "tags": ["legacy"],
    "timestamp": "2023-12-11T14:30:22",
    "usage_count": 0,
    "last_accessed": None,
}


def jaato(folder):
    """A project's .jaato of three generations."""
    put(
        folder / "memories.jsonl",
        json.dumps(JAATO_OLD)
        + "\n{ broken\n"
        + json.dumps({**JAATO, "usage_count": 1, "last_accessed": None})
        + "\n",
    )
    put(
        folder / "memories" / "curated.jsonl",
        json.dumps(JAATO)
        + "\n"
        + json.dumps(
            {
                **JAATO_OLD,
                "id": "mem_20260302_000000_0001",
                "content": "Everybody uses tabs.",
                "scope": "universal",
            }
        )
        + "\n",
    )
    put(
        folder / "memories" / "raw" / "mem_20260303_000000_0001.json",
        json.dumps(
            {
                **JAATO_OLD,
                "id": "mem_20260303_000000_0001",
                "content": "Put away.",
                "maturity": "dismissed",
            },
            indent=2,
        ),
    )
    return folder


def mem0(folder):
    """What get_all gives."""
    return put(
        folder / "mem0.json",
        json.dumps(
            {
                "count": 2,
                "results": [
                    {
                        "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
                        "memory": "Is allergic to peanuts",
                        "user_id": "ann",
                        "metadata": {"source": "chat"},
                        "categories": ["health"],
                        "created_at": "2026-02-26T07:08:17.512031-08:00",
                        "updated_at": "2026-02-27T07:08:17-08:00",
                        "expiration_date": None,
                    },
                    {
                        "id": "992db2ae-06d9-49e5-8b3e-585ef9b85b8e",
                        "memory": "Prefers morning meetings",
                        "user_id": "ann",
                        "categories": ["user_preferences"],
                        "created_at": "2026-02-26T07:08:17Z",
                        "updated_at": None,
                    },
                    {"id": "broken", "memory": None},
                ],
                "relations": [{"source": "ann", "relationship": "works_at", "target": "techcorp"}],
            },
            indent=1,
        ),
    )


def claude_code(folder):
    """A project's folder with its auto memory."""
    memory = folder / "memory"
    put(
        memory / "MEMORY.md",
        "# Memory\n\n- [Role](user-role.md) — a data scientist\n- [Tests](testing.md)\n\n"
        "## Preferences\n\n- Answers in German, please.\n",
    )
    put(
        memory / "user-role.md",
        "---\nname: user-role\ndescription: Ann is a data scientist\n"
        "metadata:\n  type: user\n---\n\nAnn is a data scientist who knows R well. See [[testing]].\n",
    )
    put(
        memory / "testing.md",
        "---\nname: testing\ndescription: How tests are wanted\ntype: feedback\n"
        f"modified: 2026-05-01T10:00:00Z\n---\n\nNo mocks of the database: a mock hid a bug. {SECRET}\n",
    )
    return folder


def skills(folder):
    """Two skills, one of which says nothing in its head."""
    put(
        folder / ".claude" / "skills" / "invoices" / "SKILL.md",
        "---\nname: invoices\ndescription: Print and number "
        f"the invoices of a month, {SECRET}\n---\n\n1. Run make invoices\n",
    )
    put(
        folder / ".claude" / "skills" / "heron" / "SKILL.md",
        "# Heron\n\nBring the staging server heron up again.\n",
    )
    return folder


def basic_memory(folder):
    """Two notes."""
    put(
        folder / "design" / "auth.md",
        "---\ntitle: Authentication Design\ntype: note\ntags: [auth, security]\n"
        "permalink: design/auth\ncreated: 2026-01-02\n---\n\n# Authentication Design\n\nWhy we log in so.\n\n"
        "## Observations\n- [decision] Use JWT for stateless authentication #security (reviewed)\n"
        "- [ ] a task is no observation\n\n## Relations\n- depends_on [[User Schema]]\n- implements [[Not There]]\n",
    )
    put(
        folder / "user.md",
        "---\ntitle: User Schema\npermalink: user-schema\n---\n- [fact] Ids are UUIDs\n",
    )
    return folder


def reverie(at):
    """An export of Reverie: a wish with its trigger, a fact it is linked to, and one put away."""
    head = {"at": 1772356500.0, "space": "me/theirs"}
    wish = {
        **head,
        "type": "memory",
        "id": "mem_01kjk0000000000000000000a1",
        "text": "Always deploy with the blue script.",
        "kind": "preference",
        "provenance": "user_stated",
        "trust": 0.95,
        "confidence": 0.95,
        "strength": 3,
        "triggers": ["deploy"],
        "details": {"curated": {"by": "user"}, "maturity": "validated"},
    }
    fact = {
        **head,
        "type": "memory",
        "id": "mem_01kjk0000000000000000000a2",
        "text": f"The blue script asks for {SECRET}.",
        "space": "me",
    }
    gone = {**fact, "id": "mem_01kjk0000000000000000000a3", "retired_at": 1772356600.0}
    link = {
        "type": "edge",
        "src": wish["id"],
        "rel": "relates_to",
        "dst": fact["id"],
        "weight": 0.5,
    }
    event = {"type": "event", "seq": 1, "at": 1.0, "verb": "tool", "space": "me/theirs"}
    rows = [{"type": "reverie", "version": 1}, wish, fact, gone, link, event]
    return put(at / "all.jsonl", "".join(json.dumps(row) + "\n" for row in rows))


MAKERS = {
    "jcode": jcode,
    "zuckerman": zuckerman,
    "aircher": aircher,
    "jaato": jaato,
    "mem0": mem0,
    "claude-code": claude_code,
    "skills": skills,
    "reverie": reverie,
    "basic-memory": basic_memory,
    "claude-mem": written("claude-mem"),
    "agentmemory": written("agentmemory"),
    "mempalace": written("mempalace"),
    "mcp-memory-service": written("mcp-memory-service"),
    "hindsight": written("hindsight/bank.zip"),
    "langgraph": written("langgraph/store.db"),
}
