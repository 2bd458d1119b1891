"""The columns that the ranker's coefficients are learned for, written out.

The package folds a pool's contexts into the weights (`LinearRanker.scores`); a test compares both.
"""

import numpy as np

from reverie.retrieval.ranker import ALONE_FEATURES, compute_contexts, compute_features
from reverie.storage.candidates import CandidatePool

CONTEXT_FEATURES = {
    # what is trusted more or less where texts are long
    "length": (
        "meaning",
        "meaning place",
        "words",
        "words log",
        "words place",
        "meaning before",
        "meaning after",
        "words before",
        "session meaning",
        "session words",
        "session best words",
        "length",
    ),
    # what is trusted more or less where few memories stand out by their words
    "focus": ("meaning", "words"),
}


def build_feature_matrix(question: str, pool: CandidatePool) -> tuple[np.ndarray, tuple[str, ...]]:
    """(n, F) and the names of its columns: features, and some times what the memories are like."""
    features = compute_features(question, pool)
    columns = dict(features)
    for context, size in compute_contexts(pool):
        for name in CONTEXT_FEATURES[context]:
            columns[f"{name} × {context}"] = features[name] * size
    for name in ALONE_FEATURES:
        columns[f"{name} × alone"] = features[name] * features["stands alone"]
    return np.stack(list(columns.values()), axis=1), tuple(columns)
