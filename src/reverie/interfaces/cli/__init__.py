"""The command `reverie`: its commands, how it reads input and how it shows answers."""
