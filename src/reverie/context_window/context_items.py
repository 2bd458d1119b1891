"""What a context consists of: items. An item stays or goes as a whole.

An item is one message, or a tool's call with all that answers it. Its type decides how much it
weighs; what is sticky never goes, and says why.
"""

from typing import NamedTuple

SYSTEM = "system_prompt"

# What an item of a type weighs; of a type that is not here 1.0.
TYPE_WEIGHTS: dict[str, float] = {
    SYSTEM: 100.0,  # never goes
    "task_state": 2.0,  # a list of what is to be done, a plan
    "user_message": 1.5,
    "assistant_message": 1.2,
    "tool_result": 0.8,  # a call and what was answered
    "code_snippet": 0.7,  # a file that was read
    "graph_result": 0.6,  # what a code map or another index answered
}


class ContextItem(NamedTuple):
    """One inseparable part of a context."""

    id: str  # the numbers of its messages: "7", or "7-9"
    messages: tuple[int, ...]  # their places in the list
    type: str  # a key of TYPE_WEIGHTS, or any other word
    text: str  # what is said in it
    tokens: int
    at: float  # when it came, seconds since 1970
    task: str = ""  # what was worked on when it came
    sticky: str = ""  # why it never goes; empty: it may
    tool: str = ""  # of a tool's call: its name and what it was given, on one line
    answer_count: int = 0  # messages that may be shortened: what tools or the assistant answered
    answer_tokens: int = 0  # tokens of these answers
    picture_count: int = 0  # pictures in them, and documents that are no text
    is_stub: bool = False  # whether of these answers only lines are left: they are kept already

    @property
    def message_count(self) -> int:
        """How many places it takes in the order of roles."""
        return len(self.messages)
