"""When a conversation is condensed: early enough, not for few messages, not all the time."""

# Between two times.
COOLDOWN_SECONDS = 300.0
# Below which nothing is condensed.
MIN_MESSAGES = 10


def explain_too_early(
    used: int, limit: int, messages: int, last: float | None, now: float, full: float
) -> str:
    """Why it is not time yet, in a few words; empty if it is.

    `used` of `limit` tokens are taken by so many messages, and it was done `last`, if ever; it is
    time from the share `full` on (the setting `condense_at`).
    """
    if used < full * limit:
        return f"{used:,} of {limit:,} tokens are used; it is time from {full:.0%} on"
    if messages < MIN_MESSAGES:
        return f"{messages} messages; it is worth it from {MIN_MESSAGES} on"
    if last is not None and 0 <= now - last < COOLDOWN_SECONDS:
        return f"it was done {now - last:.0f} seconds ago; {COOLDOWN_SECONDS:.0f} have to pass"
    return ""
