"""What its owner wants kept of a person.

One frozen value goes from the settings to whatever writes a text down.

`personal` is payment cards, IBANs and US social security numbers; `contact` e-mail addresses and
phone numbers:

    off       they are kept like any other text
    mask      a mark takes their place: `[REDACTED:email]`
    refuse    what holds one is not kept: whoever asked for it is told so (`BadInput`). Of what is
              written down by itself (turns, tools, transcripts) the whole text becomes the mark;
              of a file's text, the line

Secrets and `<private>` passages go whatever is chosen here.
"""

from typing import Literal, NamedTuple

Choice = Literal["off", "mask", "refuse"]
CHOICES: tuple[Choice, ...] = ("off", "mask", "refuse")
# Of the tables of `privacy/`: what was redacted by others is redacted again. Kept by hand, for a
# hook has no time to compute it; the test that compares it with the tables says the new one.
RULES_FINGERPRINT = "e616115a9923"


class Policy(NamedTuple):
    """What is taken out of a text besides secrets, and which files stay unread."""

    personal: Choice = "mask"
    contact: Choice = "off"
    # Patterns as in .gitignore of files that are sensitive, besides those that always are.
    sensitive: tuple[str, ...] = ()

    @property
    def masking(self) -> "Policy":
        """This policy with masks for what it refuses: for texts that are not kept."""
        return Policy(
            "off" if self.personal == "off" else "mask",
            "off" if self.contact == "off" else "mask",
            self.sensitive,
        )


DEFAULT_POLICY = Policy()
