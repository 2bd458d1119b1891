"""What its owner wants kept of a person: one frozen value that goes from the settings to whatever
writes a text down.

`personal` is payment cards, IBANs and US social security numbers; `contact` e-mail addresses and
phone numbers:

    off       they are kept like any other text
    mask      a mark takes their place: `[REDACTED:email]`
    refuse    what holds one is not kept: whoever asked for it is told so (`BadInput`), and of what is written down by
              itself (turns, tools, transcripts) the whole text becomes the mark; of a file's text, the line

Secrets and `<private>` passages go whatever is chosen here.
"""

from typing import Literal, NamedTuple

Choice = Literal["off", "mask", "refuse"]
CHOICES: tuple[Choice, ...] = ("off", "mask", "refuse")


class Policy(NamedTuple):
    """What is taken out of a text before it is kept, beside secrets, and which files are not looked
    into.
    """

    personal: Choice = "mask"
    contact: Choice = "off"
    # patterns of files as of .gitignore, beside those that are always sensitive
    sensitive: tuple[str, ...] = ()

    @property
    def masking(self) -> "Policy":
        """The same with a mark for whatever it refuses: for what is only asked or sent, and not
        kept.
        """
        return Policy(
            "off" if self.personal == "off" else "mask",
            "off" if self.contact == "off" else "mask",
            self.sensitive,
        )


DEFAULT_POLICY = Policy()
