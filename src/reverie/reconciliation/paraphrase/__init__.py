"""Whether two texts say the same, contradict each other, or have nothing to do with each other.

Without a language model, in four steps:

1. A text is read once into a `Statement` (`statement_parser`): its words in their common form
   (`concept_vocabulary`, by `wording_tables` and `fixed_phrases`), affirmed or denied, what comes
   first, what is given up (`clause_structure`).
2. Two statements are held side by side as numbers (`similarity_features`, `word_swaps`).
3. A scorer and plain rules make a verdict of these (`statement_comparison`); where a memory is
   known in several wordings, these vote (`wording_vote`).
4. `merge_guard` takes back what nobody should lose.

Measured by `python -m bench.reconcile`.
"""
