"""The one room that decides about duplicates and contradictions.

`reconcile_reader` meets new memories with their neighbours, `reconciliation_plan` works out what
follows, `merge_rules` are the rules for two. `pair_passes` applies them to pairs that consolidation
finds; `model_weighing` asks a language model where rules were not sure, `review_questions` a
person. `paraphrase` tells what two texts are to each other.
"""
