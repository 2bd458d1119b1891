# mypy: no-check-untyped-defs
"""What a server with several tenants holds and who may see it, as plain dictionaries.

It shares no code with `reverie.access` and `reverie.storage`: spaces are split at slashes, rights
are looked up grant by grant, and every question is answered by walking over everything.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

READ, WRITE, ADMINISTER = 1, 2, 3
USERS = ("ann", "anna", "bob", "cleo")
ADMINS = ("cleo",)
TEAMS = {"core": ("ann", "bob"), "web": ("anna",)}


def ancestors(space):
    """The space and everything above it."""
    parts = space.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


@dataclass(frozen=True)
class Reader:
    """A user, perhaps by a key that is narrowed to some spaces and a right."""

    user: str
    spaces: tuple[str, ...] = ()
    right: int = ADMINISTER


@dataclass
class Tenant:
    """One tenant's content, each thing with the space that it lies in."""

    grants: dict[Any, Any] = field(default_factory=dict)  # (space, kind, grantee) → right
    memories: dict[str, Any] = field(
        default_factory=dict
    )  # id → {"text", "space", "tags", "kind", "active"}
    events: list[Any] = field(default_factory=list)  # (seq, space, payload)
    changes: list[Any] = field(
        default_factory=list
    )  # [memory, seq, op, space], and an edge's other end
    edges: dict[Any, Any] = field(default_factory=dict)  # (src, rel, dst) → (weight, space)

    def may(self, reader, right, space):
        """True if the reader has at least this right there."""
        if reader.right < right:
            return False
        if reader.spaces and not set(ancestors(space)) & set(reader.spaces):
            return False
        if space.startswith("~"):
            return ancestors(space)[0] == f"~{reader.user}"
        if not space:
            return False
        if reader.user in ADMINS:
            return True
        return any(
            has >= right and above in ancestors(space) and self.reaches(reader.user, kind, name)
            for (above, kind, name), has in self.grants.items()
        )

    @staticmethod
    def reaches(user, kind, name):
        """True if a grant to this grantee is one to the user."""
        match kind:
            case "everyone":
                return True
            case "team":
                return user in TEAMS[name]
        return user == name

    def readable(self, reader):
        """The memories that the reader may see."""
        return {
            id: memory
            for id, memory in self.memories.items()
            if self.may(reader, READ, memory["space"])
        }

    def readable_events(self, reader):
        """The events that the reader may see, in order."""
        return [event for event in self.events if self.may(reader, READ, event[1])]

    def readable_edges(self, reader):
        """The edges that the reader may see, with their weights."""
        return {
            (*key, weight)
            for key, (weight, space) in self.edges.items()
            if self.may(reader, READ, space)
        }

    def readable_history(self, reader, id):
        """The numbers of the events that changed a memory, as far as the reader may see both."""
        seen = {seq for seq, _, _ in self.readable_events(reader)}
        return [
            (seq, op)
            for memory, seq, op, space, *_ in self.changes
            if memory == id and seq in seen and self.may(reader, READ, space)
        ]

    def tag_counts(self, reader):
        """How many active memories carry each tag, of those that the reader may see."""
        found = self.readable(reader).values()
        return dict(Counter(tag for one in found if one["active"] for tag in one["tags"]))

    # Writing: what a change does when it is allowed.

    def log(self, seq, space, payload):
        """An event."""
        self.events.append((seq, space, payload))

    def add(self, id, memory, seq):
        """A memory that was not there."""
        self.memories[id] = memory
        self.changes.append([id, seq, "add", memory["space"]])
        self.set_tags(id)

    def revise(self, id, fields, seq, op="revise"):
        """Other values in some fields; history and edges follow into another space."""
        memory = self.memories[id]
        if fields.get("space", memory["space"]) != memory["space"]:
            for change in self.changes:
                if change[0] == id:
                    change[3] = fields["space"]
            for key, (weight, _) in list(self.edges.items()):
                if key[0] == id:
                    self.edges[key] = (weight, fields["space"])
        memory |= fields
        self.changes.append([id, seq, op, memory["space"]])
        self.set_tags(id)

    def set_tags(self, id):
        """The edges to a memory's tags."""
        for key in [key for key in self.edges if key[0] == id and key[1] == "has_tag"]:
            del self.edges[key]
        memory = self.memories[id]
        for tag in memory["tags"]:
            self.edges[id, "has_tag", f"tag:{tag}"] = (1.0, memory["space"])

    def spaces_naming(self, id):
        """The spaces of whatever a purge of the memory would change."""
        seqs = {seq for memory, seq, *_ in self.changes if memory == id}
        return [
            *(space for seq, space, _ in self.events if seq in seqs),
            *(space for key, (_, space) in self.edges.items() if id in key),
            *(space for memory, _, op, space, *_ in self.changes if memory == id or op == "link"),
        ]

    def purge(self, id, reader):
        """Neither the memory nor what the reader may write of it; what others noted stays."""
        del self.memories[id]
        self.edges = {
            key: (weight, space)
            for key, (weight, space) in self.edges.items()
            if id not in key or not self.may(reader, WRITE, space)
        }
        self.changes = [
            change
            for change in self.changes
            if id not in (change[0], *change[4:]) or not self.may(reader, WRITE, change[3])
        ]

    def link(self, edge, space, seq):
        """The weight of an edge."""
        self.edges[edge[:3]] = (edge[3], space)
        self.changes.append([edge[0], seq, "link", space, edge[2]])
