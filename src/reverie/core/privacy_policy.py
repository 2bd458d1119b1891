"""What its owner wants kept of a person.

One frozen value goes from the settings to whatever writes a text down.

`personal` is payment cards, IBANs, and national, tax and passport numbers; `contact` e-mail and
postal addresses and phone numbers; `intimate` birth dates and health:

    off       they are kept like any other text
    mask      a mark takes their place: `[REDACTED:email]`
    refuse    what holds one is not kept: whoever asked for it is told so (`BadInput`). Of what is
              written down by itself (turns, tools, transcripts) the whole text becomes the mark;
              of a file's text, the line

Secrets and `<private>` passages go whatever is chosen here. A space may have choices of its own:
where a text is written down, `Policy.within` says which hold.
"""

from typing import Any, Literal, NamedTuple

Choice = Literal["off", "mask", "refuse"]
CHOICES: tuple[Choice, ...] = ("off", "mask", "refuse")
# Of the tables of `privacy/`: what was redacted by others is redacted again. Kept by hand, for a
# hook has no time to compute it; the test that compares it with the tables says the new one.
RULES_FINGERPRINT = "45c4c3b4ede1"


class Policy(NamedTuple):
    """What is taken out of a text besides secrets, and which files stay unread."""

    personal: Choice = "mask"
    contact: Choice = "off"
    # Patterns as in .gitignore of files that are sensitive, besides those that always are.
    sensitive: tuple[str, ...] = ()
    # Where an agent works: what is ignored there is not kept. Empty: not known.
    folder: str = ""
    intimate: Choice = "off"
    # What holds in some spaces instead, such as "me/shop contact=refuse intimate=mask".
    spaces: tuple[str, ...] = ()

    def within(self, space: str) -> "Policy":
        """What holds in a space: what was chosen for it or above, the nearest choice first."""
        if not self.spaces:
            return self
        chosen = self
        for rule in sorted(self.spaces, key=lambda rule: rule.partition(" ")[0].count("/")):
            place, _, choices = rule.partition(" ")
            if space == place or space.startswith(place + "/"):
                values: dict[str, Any] = dict(one.split("=") for one in choices.split())
                chosen = chosen._replace(**values)
        return chosen._replace(spaces=())

    @property
    def masking(self) -> "Policy":
        """This policy with masks for what it refuses: for texts that are not kept."""
        return self._replace(
            personal="off" if self.personal == "off" else "mask",
            contact="off" if self.contact == "off" else "mask",
            intimate="off" if self.intimate == "off" else "mask",
            spaces=tuple(rule.replace("=refuse", "=mask") for rule in self.spaces),
        )


DEFAULT_POLICY = Policy()
FAMILIES = {
    "personal": "card, tax and passport numbers",
    "contact": "mail addresses, phone numbers and postal addresses",
    "intimate": "birth dates and health",
}
DONE_WITH: dict[Choice, str] = {"off": "kept", "mask": "masked", "refuse": "refused"}


def describe_policy(policy: Policy) -> str:
    """What becomes of personal data, in a line for people."""
    return "; ".join(
        f"{about} are {DONE_WITH[getattr(policy, name)]}" for name, about in FAMILIES.items()
    )
