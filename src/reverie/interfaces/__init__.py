"""The interfaces for people and programs: command line, hooks, MCP, frameworks, hosts, the worker.

Only here may anything be printed.
"""
