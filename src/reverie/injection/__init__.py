"""What comes up by itself at a turn, and when: preparing a block, judging candidates, reminders,
the first turn.
"""
