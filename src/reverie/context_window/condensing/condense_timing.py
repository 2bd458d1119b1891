"""When a conversation is condensed: early enough, not for a handful of messages, not all the time
(CC-69).
"""

COOLDOWN = 300.0  # seconds between two times (C99)
FEWEST = 10  # messages below which nothing is condensed


def too_early(
    used: int, limit: int, messages: int, last: float | None, now: float, full: float
) -> str:
    """Why it is not time yet, in a few words; empty if it is.

    `used` of `limit` tokens are taken by so many messages, and it was done `last`, if ever; it is
    time from the share `full` on (CONSTANTS row 15, C98: the setting `condense_at`).
    """
    if used < full * limit:
        return f"{used:,} of {limit:,} tokens are used; it is time from {full:.0%} on"
    if messages < FEWEST:
        return f"{messages} messages; it is worth it from {FEWEST} on"
    if last is not None and 0 <= now - last < COOLDOWN:
        return f"it was done {now - last:.0f} seconds ago; {COOLDOWN:.0f} have to pass"
    return ""
