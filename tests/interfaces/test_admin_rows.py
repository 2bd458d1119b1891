"""What an administrator of a team's server is shown at a terminal."""

from reverie.core import errors
from reverie.interfaces.cli.app import EXIT_CODES
from reverie.interfaces.cli.commands.server_admin_commands import describe_rows


def test_moments_are_dates():
    """Of the audit, of invitations and keys, nested ones too; other numbers stay."""
    row = {"verb": "invite", "at": 1795910050.9, "count": 2.0, "key": {"expires_at": 1796514850.5}}
    assert list(describe_rows([row])) == [
        "verb=invite  at=2026-11-28 23:54 UTC  count=2.0  key=(expires_at=2026-12-05 23:54 UTC)"
    ]


def test_a_server_that_refuses_or_is_away_has_exit_codes_of_its_own():
    """A script tells them from a missing extra."""

    def find_code(error):
        return next(code for kind, code, _ in EXIT_CODES if isinstance(error, kind))

    assert find_code(errors.ServerAway()) == 15
    refusals = (errors.Unauthenticated(), errors.LoginRefused(), errors.AccessDenied())
    assert {find_code(refusal) for refusal in refusals} == {16}
    assert find_code(errors.ExtraMissing()) == find_code(errors.ModelUnavailable()) == 11
