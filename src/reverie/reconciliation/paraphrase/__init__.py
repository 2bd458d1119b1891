"""Whether two texts say the same, contradict each other, or have nothing to do with each other;
without a model.

A text is read once into a `statement`: its words in the order they stand, affirmed or denied
(`denial`), with what the tables know of them (`vocabulary`, `wording`, `phrases`). `likeness` holds
two statements side by side as numbers, `compare` weighs these into a verdict, `caution` takes back
what nobody should lose, `agreement` lets several wordings of one memory vote, `order` knows which
of two things comes first. Measured by `python -m bench.reconcile`.
"""
