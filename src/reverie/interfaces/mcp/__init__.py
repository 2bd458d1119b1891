"""Reverie as a server of the Model Context Protocol, over stdio and over HTTP on loopback.

`serve` wires and runs, `room` is what every tool works with, one file for each tool set (`unified`,
`jcode`, `files`, `tags`, `anthropic`), `shelf` holds resources and prompts, `told` says what tools
answer with. The SDK (`mcp`, an extra) is imported in this package only, and only when it is run.

Always true: nothing but protocol is written to stdout; a tool sees what its space and the spaces
above hold, by id too; no tool waits for a model to be fetched or loaded, words answer meanwhile;
what is kept is settled by the one detached worker, so that many copies of this server cost one
model. Tested by real clients in `tests/flow/test_mcp_clients.py`.
"""
