"""The one room that decides about duplicates and contradictions: find, compare, decide, ask.

1. **Find relatives.** `reconcile_reader` reads what is new in the log, `neighbour_lookup` finds
   what lies near it; `pass_view` shows a consolidation pass the pairs that lie close.
2. **Compare.** `paraphrase` tells what two texts are to each other.
3. **Decide.** `merge_rules` are the rules for two memories. `reconciliation_plan` applies them to
   new ones, `pair_passes` to the pairs of a consolidation. `memory_restore` is the way back.
4. **Ask.** Where rules are not sure, `model_weighing` asks a language model (`model_requests`) and
   `review_questions` a person.
"""
