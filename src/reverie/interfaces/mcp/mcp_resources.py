"""Resources and prompts, which a person attaches or starts; the same for every tool set."""

from __future__ import annotations

from pathlib import Path

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceNotFoundError
from mcp_types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    PromptReference,
    ResourceTemplateReference,
)

from reverie.core import clock
from reverie.core.errors import ReverieError
from reverie.interfaces.mcp.tool_answers import MAX_QUERY_CHARS, NOTE, to_memory_answer
from reverie.interfaces.mcp.tool_context import ToolContext
from reverie.interfaces.recall_use import count_recall
from reverie.mirror.page_placement import MAIN_PAGE, day_page_name, to_calendar_time
from reverie.text.escaping import escape_text

MARKDOWN = "text/markdown"
# Of the prompt `recall`; as many tags complete its topic.
MAX_PROMPT_MEMORIES = 20
# More than a block has that nobody asked for: a person wants this one.
PROMPT_TOKENS = 2_000

WRAP_UP = """Look back over this conversation and decide what a later one should know.

Keep with the memory tools, one thing each, in full sentences that stand by themselves:
- what the user prefers, corrected or forbade;
- decisions, with their reasons;
- conventions and non-obvious design of this project;
- what an error meant and what fixed it;
- what is left to do.
Do not keep passing answers, steps of the task, what the code plainly says, or guesses. Look first \
whether it is known
already, and revise that instead. Then say in a line or two what you kept."""


def add_resources(server: MCPServer, tool_context: ToolContext) -> None:
    """Put what a person can attach on a server: two pages, and each memory by its id."""

    @server.resource(
        "reverie://pages/MEMORY.md",
        name="MEMORY.md",
        title="What is remembered here",
        mime_type=MARKDOWN,
        description="Long-term memory of this project as a page.",
    )
    def lasting() -> str:
        return read_page_resource(tool_context, MAIN_PAGE)

    @server.resource(
        "reverie://pages/today.md",
        name="today.md",
        title="Today's log",
        mime_type=MARKDOWN,
        description="What happened today (UTC) in this project.",
    )
    def today() -> str:
        return read_page_resource(tool_context, day_page_name(to_calendar_time(clock.now())))

    @server.resource(
        "reverie://memory/{id}",
        name="memory",
        title="One memory",
        mime_type=MARKDOWN,
        description="A memory with where it came from and why it is believed.",
    )
    def memory(id: str) -> str:
        try:
            (one,) = tool_context.get_visible([id])
        except ReverieError as err:
            raise ResourceNotFoundError(str(err)) from err
        fields = to_memory_answer(one, tool_context.scope_of(one, "project", "user"))
        facts = [f"- {name}: {value}" for name, value in fields.items() if name != "text"]
        story = tool_context.mind.explain(one.id).story
        return "\n".join((fields["text"], "", "---", NOTE, "", *facts, "", *story, ""))


def add_prompts(server: MCPServer, tool_context: ToolContext) -> None:
    """Put what a person can start on a server, with tags to complete its topic."""

    @server.prompt(
        "recall",
        title="Recall",
        description="Bring in what memory has on a topic; without one, on what was last said.",
    )
    def recall(topic: str = "") -> str:
        from reverie.context_window.injection_block import render_block

        topic = topic.strip() or tool_context.last_user_words()
        mode = tool_context.search_mode() if topic else "auto"
        hits = tool_context.mind.recall(
            topic[:MAX_QUERY_CHARS],
            space=tool_context.space,
            limit=MAX_PROMPT_MEMORIES,
            mode=mode,
        )
        count_recall(tool_context.mind, topic, hits, tool_context.space)
        block = render_block(
            hits,
            clock.now(),
            limit=MAX_PROMPT_MEMORIES,
            budget=PROMPT_TOKENS,
            asked=True,
        )
        # Without any words it is the newest.
        head = f"On {topic}" if topic else "What was kept last"
        note = tool_context.describe_search(mode).removeprefix(NOTE).strip()
        return f"{head}:\n\n{block.text or 'Memory has nothing on it.'}\n{note}".rstrip()

    @server.prompt(
        "wrap_up",
        title="Wrap up",
        description="Keep what this conversation taught.",
    )
    def wrap_up() -> str:
        return WRAP_UP

    @server.completion()  # type: ignore[no-untyped-call, untyped-decorator]  # the SDK has no annotation there
    async def completed(
        ref: PromptReference | ResourceTemplateReference,
        argument: CompletionArgument,
        context: CompletionContext | None,  # noqa: ARG001 - nothing depends on others
    ) -> Completion:
        """Topics are tags; nothing else is completed."""
        if not isinstance(ref, PromptReference) or argument.name != "topic":
            return Completion(values=[])
        tags = await anyio.to_thread.run_sync(tool_context.mind.tags, tool_context.space)
        found = sorted(tag for tag in tags if tag.startswith(argument.value.lower()))
        return Completion(
            values=found[:MAX_PROMPT_MEMORIES],
            total=len(found),
            has_more=len(found) > MAX_PROMPT_MEMORIES,
        )


def read_page_resource(tool_context: ToolContext, name: str) -> str:
    """A page of this space's Markdown mirror; a line that says so where there is none yet."""
    space = tool_context.space
    nothing = f"Nothing is written in {name} of {space} yet.\n"
    if tool_context.settings.is_off(space):
        return nothing
    for folder in tool_context.mind.files.folders(space=space):
        page = Path(folder.path, name)
        if not (folder.own and folder.space == space and page.is_file()):
            continue
        try:
            return escape_text(tool_context.mind.files.read(page, space=space).text)
        # Such as: it is too long.
        except ReverieError as err:
            return f"{name} of {space} cannot be shown: {err}\n"
    return nothing
