"""Texts of which some say the same, some contradict each other and some do neither; a night that is
quick.
"""

from reverie.consolidation.sleep_passes import PASSES

TEXTS = (
    "The staging server is called heron.",
    "Our staging server's name is heron.",
    "The staging server is called crane.",
    "The staging server is no longer called heron but stork.",
    "Deploys run on Tuesday.",
    "Deploys don't run on Tuesday.",
    "Use tabs for indentation.",
    "Use spaces instead of tabs for indentation.",
    "heron",
    "crane stork",
)

# Clusters are left out: scikit-learn takes longer than all the rest.
NIGHT = tuple(name for name in PASSES if name != "recluster")
