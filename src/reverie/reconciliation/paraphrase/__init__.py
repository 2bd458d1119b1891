"""Whether two texts say the same, contradict each other, or have nothing to do with each other.

Without a language model. A text is read once into a `Statement` (`statement_parser`): its words in
the order they stand, affirmed or denied (`negation`), with what the tables know of them
(`concept_vocabulary`, `wording_tables`, `fixed_phrases`). `similarity_features` holds two
statements side by side as numbers, `statement_comparison` weighs these into a verdict,
`merge_guard` takes back what nobody should lose, `wording_vote` lets several wordings of one memory
vote, `ordering_relations` knows which of two things comes first. Measured by `python -m
bench.reconcile`.
"""
