"""Data exports of ChatGPT and of Claude, built after what such exports hold. All made up."""

import json
import zipfile

SECRET = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"
CHAT_ID = "67c0ffee-0000-4000-8000-000000000001"


def gpt_node(name, parent, children, role="", text="", at=0.0, **more):
    """A node of a conversation's tree; without a role it holds no message."""
    content = more.pop("content", {"content_type": "text", "parts": [text]})
    message = None
    if role:
        message = {
            "id": name,
            "author": {"role": role, "name": None, "metadata": {}},
            "create_time": at or None,
            "update_time": None,
            "content": content,
            "status": "finished_successfully",
            "weight": 1.0,
            "metadata": more.pop("metadata", {}),
            "recipient": more.pop("recipient", "all"),
        }
    return {"id": name, "message": message, "parent": parent, "children": children}


def gpt_conversation():
    """A question that was edited, so that the tree has two branches, with a tool between."""
    about = {
        "content_type": "user_editable_context",
        "user_profile": "I run a small bakery in Graz.",
        "user_instructions": "Always answer in metric units.",
    }
    nodes = [
        gpt_node("root", None, ["sys"]),
        gpt_node("sys", "root", ["ctx"], "system", ""),
        gpt_node("ctx", "sys", ["old", "new"], "user", content=about),
        gpt_node("old", "ctx", [], "user", "How do I ship cookies?", 1_750_000_000.0),
        gpt_node("new", "ctx", ["tool"], "user", "How do I ship sourdough?", 1_750_000_100.5),
        gpt_node(
            "tool",
            "new",
            ["bio"],
            "tool",
            content={"content_type": "execution_output", "text": "42"},
        ),
        gpt_node(
            "bio",
            "tool",
            ["reply"],
            "assistant",
            "User bakes sourdough on Tuesdays.",
            1_750_000_110.0,
            recipient="bio",
        ),
        gpt_node(
            "reply",
            "bio",
            ["thanks"],
            "assistant",
            "Wrap the sourdough loaves in waxed paper before shipping.",
            1_750_000_120.0,
        ),
        gpt_node(
            "thanks",
            "reply",
            [],
            "user",
            f"Thanks. Remember: our parcel carrier is Heronpost. {SECRET}",
            1_750_000_130.0,
        ),
    ]
    return {
        "title": "Shipping sourdough",
        "create_time": 1_750_000_000.0,
        "update_time": 1_750_000_130.0,
        "mapping": {one["id"]: one for one in nodes},
        "current_node": "thanks",
        "conversation_id": CHAT_ID,
        "id": CHAT_ID,
    }


def write_zip(path, files):
    """An archive of these files, by name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in files.items():
            data = value if isinstance(value, (str, bytes)) else json.dumps(value)
            archive.writestr(name, data)
    return path


def chatgpt(folder):
    """The archive as it is sent, its conversations in two files."""
    later = {**gpt_conversation(), "conversation_id": "second", "id": "second", "title": "Again"}
    later["mapping"] = {
        "q": gpt_node("q", None, ["a"], "user", "Which flour for rye bread?", 1_760_000_000.0),
        "a": gpt_node("a", "q", [], "assistant", "Type 960 rye flour.", 1_760_000_001.0),
    }
    later["current_node"] = "a"
    files = {
        "conversations-000.json": [gpt_conversation()],
        "conversations-001.json": [later],
        "user.json": {"id": "user-1", "email": "ann@example.com"},
        "chat.html": "<html></html>",
    }
    return write_zip(folder / "chatgpt.zip", files)


def claude_message(sender, at, text="", content=None):
    """A message of Claude's export."""
    return {
        "uuid": f"m-{at}",
        "text": text,
        "content": [{"type": "text", "text": text}] if content is None else content,
        "sender": sender,
        "created_at": at,
        "updated_at": at,
        "attachments": [],
        "files": [],
    }


def claude_ai(folder):
    """The archive as it is sent, with what Claude keeps."""
    parts = [
        {"type": "thinking", "thinking": "The user wants a table."},
        {"type": "tool_use", "name": "repl", "input": {}},
        {"type": "text", "text": "The invoices of May lie in the blue binder."},
    ]
    talk = {
        "uuid": "c1a0de00-0000-4000-8000-000000000001",
        "name": "Invoices of May",
        "created_at": "2026-05-04T09:00:00.000000Z",
        "updated_at": "2026-05-04T09:02:00.000000Z",
        "account": {"uuid": "acct"},
        "chat_messages": [
            claude_message("human", "2026-05-04T09:00:00.123456Z", "Where do invoices of May lie?"),
            claude_message("assistant", "2026-05-04T09:01:00.000000Z", content=parts),
            claude_message("human", "2026-05-04T09:02:00.000000Z", f"I prefer tables. {SECRET}"),
        ],
    }
    kept = {
        "conversations_memory": "**Work context**\n\nAnn keeps the books of a bakery.\n",
        "project_memories": {"p-1": "The shop sells by weight."},
        "account_uuid": "acct",
    }
    files = {
        "users.json": [{"uuid": "acct", "full_name": "Ann"}],
        "projects.json": [{"uuid": "p-1", "name": "Bakery shop", "docs": []}],
        "memories.json": [kept],
        "conversations.json": [talk],
    }
    return write_zip(folder / "claude.zip", files)
