"""The commands, by what they are about; each module has its `CommandTable`, and `cli.app` lists
them.
"""
