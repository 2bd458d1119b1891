"""How well the offline appraisal tells what a user feels from what they write."""
