"""What people and programs touch: the command line, the worker, replay. Only here may anything be
printed.
"""
