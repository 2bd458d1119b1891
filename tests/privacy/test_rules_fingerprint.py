# mypy: no-check-untyped-defs
"""What hooks redacted by older tables is redacted again: the tables have a fingerprint."""

import hashlib
import re
from collections.abc import Mapping

from reverie.core import privacy_policy
from reverie.core.privacy_policy import DEFAULT_POLICY
from reverie.interfaces.hooks.hook_event import redaction_rules
from reverie.privacy import (
    named_secrets,
    personal_data,
    secret_lookalikes,
    secret_phrases,
    secret_rule,
    secret_shapes,
    sensitive_files,
    spoken_passwords,
)

MODULES = (
    named_secrets,
    personal_data,
    secret_lookalikes,
    secret_phrases,
    secret_rule,
    secret_shapes,
    sensitive_files,
    spoken_passwords,
)


def to_plain(value):
    """A table as text that is the same in every process and on every Python."""
    if isinstance(value, re.Pattern):
        return f"{value.pattern!r}, {int(value.flags)}"
    if callable(value):
        return value.__name__
    if isinstance(value, Mapping):
        return str([(to_plain(name), to_plain(inner)) for name, inner in value.items()])
    if isinstance(value, frozenset | set):
        return str(sorted(map(to_plain, value)))
    if isinstance(value, tuple | list):
        return str([to_plain(inner) for inner in value])
    assert value is None or isinstance(value, str | int | float), type(value)
    return ascii(value)


def compute_fingerprint():
    tables = [
        (module.__name__, name, to_plain(value))
        for module in MODULES
        for name, value in sorted(vars(module).items())
        if name.isupper() and name != "TYPE_CHECKING"
    ]
    return hashlib.sha256(str(tables).encode()).hexdigest()[:12]


def test_the_fingerprint_is_that_of_the_tables():
    """A new pattern without it would leave what waits in the spool as it is."""
    told = f'write RULES_FINGERPRINT = "{compute_fingerprint()}" into core/privacy_policy'
    assert compute_fingerprint() == privacy_policy.RULES_FINGERPRINT, told


def test_another_pattern_has_what_waits_redacted_again(monkeypatch):
    """The same version and the same policy, and yet other rules."""
    before, known = redaction_rules(DEFAULT_POLICY), compute_fingerprint()
    monkeypatch.setattr(secret_shapes, "SHAPES", secret_shapes.SHAPES[1:])
    assert compute_fingerprint() != known

    monkeypatch.setattr(
        "reverie.interfaces.hooks.hook_event.RULES_FINGERPRINT", compute_fingerprint()
    )
    assert redaction_rules(DEFAULT_POLICY) != before
