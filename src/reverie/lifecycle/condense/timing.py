"""When a conversation is condensed: early enough, not for a handful of messages, not all the time (CC-69)."""

FULL = 0.80              # share of the model's context (CONSTANTS row 15, C98); the setting `condense_at` moves it
COOLDOWN = 300.0         # seconds between two times (C99)
FEWEST = 10              # messages below which nothing is condensed


def due(used: int, limit: int, messages: int, last: float | None, now: float, full: float = FULL) -> bool:
    """Whether it is time: `used` of `limit` tokens are taken by so many messages, and it was done `last`, if ever."""
    return not too_early(used, limit, messages, last, now, full)


def too_early(used: int, limit: int, messages: int, last: float | None, now: float, full: float = FULL) -> str:
    """Why it is not time yet, in a few words; empty if it is."""
    if used < full * limit:
        return f"{used:,} of {limit:,} tokens are used; it is time from {full:.0%} on"
    if messages < FEWEST:
        return f"{messages} messages; it is worth it from {FEWEST} on"
    if last is not None and 0 <= now - last < COOLDOWN:
        return f"it was done {now - last:.0f} seconds ago; {COOLDOWN:.0f} have to pass"
    return ""
