"""The verbs of a mind: a few on the mind itself, the rest in groups; an old name says what replaced
it.
"""

from operator import attrgetter

import pytest

from reverie.runtime.mind import Mind
from reverie.runtime.mind.moved_verbs import CALLED_GROUPS, MOVED_VERBS


def test_a_mind_has_few_verbs_of_its_own():
    """The mind itself has only the daily verbs; a new verb goes into a group."""
    verbs = [name for name in vars(Mind) if not name.startswith("_") and callable(vars(Mind)[name])]
    assert len(verbs) <= 35


@pytest.mark.parametrize("name", sorted(MOVED_VERBS))
def test_a_verb_that_moved_says_where_it_is(mind, name):
    """The old name is no attribute any more, and its error names the new one, which exists."""
    assert not hasattr(Mind, name)
    with pytest.raises(AttributeError, match=f"is now mind.{MOVED_VERBS[name]}"):
        getattr(mind, name)
    attrgetter(MOVED_VERBS[name])(mind)


def test_an_unknown_attribute_is_an_attribute_error(mind):
    """A name that no version had is refused as Python does."""
    with pytest.raises(AttributeError, match="no attribute 'levitate'"):
        mind.levitate()


def test_misspelt_arguments_are_refused(mind):
    """Further keyword arguments are checked, wherever they are gathered."""
    for call in (
        lambda: mind.remember("Tea.", kinds="fact"),
        lambda: mind.recall("tea", kind="fact"),
        lambda: mind.browse(kind="fact"),
        lambda: mind.activity.events(tools="bash"),
        lambda: mind.activity.record_file("a.py", line=[1, 2]),
        lambda: mind.sessions.window([], limit=10, counter=len),
        lambda: mind.sessions.window([], limit=10, kept=False),
        lambda: mind.record_tool("Bash", okay=True),
        lambda: mind.remember("Tea.", now=1.0),
    ):
        with pytest.raises(TypeError, match="unexpected keyword argument"):
            call()


@pytest.mark.parametrize("new", sorted(CALLED_GROUPS.values()))
def test_a_group_that_was_a_verb_says_what_does_the_same(mind, new):
    """`mind.reminders()` is no verb any more, and its error names the one that is."""
    group = getattr(mind, new.partition(".")[0])
    with pytest.raises(TypeError, match=f"is now mind.{new}"):
        group()
    attrgetter(new)(mind)
    with pytest.raises(TypeError, match="not callable"):
        mind.data()
