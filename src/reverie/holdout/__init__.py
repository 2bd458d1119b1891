"""What memory is worth, measured: in a share of conversations, drawn by their names
(`Settings.holdout`), it says nothing by itself, and what happens there is compared with the others.

The event `trial` says on which side a conversation is; `turn` and `prepared` name what a silent one
was not given (`withheld`). Warnings and reminders come on either side, and so does what an agent
asks for. All figures are read from the log; nothing is kept beside it.
"""
