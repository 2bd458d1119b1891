"""What people and programs touch: command line, hooks, MCP, frameworks, hosts, the worker.

Only here may anything be printed.
"""
