"""Reverie as a server of the Model Context Protocol, over stdio and over HTTP on loopback.

`server` wires and runs, `tool_context` is what every tool works with, each tool set has a module
(`unified`, `jcode`, `files`, `tags`, `anthropic`), `mcp_resources` holds resources and prompts,
`tool_answers` what tools answer with. The SDK (`mcp`, an extra) is imported in this package only,
and only when it is run.

Always true: nothing but protocol is written to stdout; a tool sees what its space and the spaces
above hold, by id too; no tool waits for a model to be downloaded or loaded, search by words answers
meanwhile; what is kept is settled by the one detached worker, so that many copies of this server
load one model. Tested with real clients in `tests/interfaces/test_mcp_clients.py`.
"""
