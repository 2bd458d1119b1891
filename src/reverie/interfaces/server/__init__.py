"""The team's server: one ASGI application over a database with many tenants.

`server_app` puts the application together; `server_run` starts it, with workers beside it. A
request goes through these modules, in this order:

    request_gate     size, deadline and place in the thread pool; the log line and the metrics
    sign_in          who asks: a key or an access token becomes a `Caller`
    verb_routes      the table of verbs, from which routes, checks and the OpenAPI page follow
    verb_arguments   the arguments by name, checked against the verb's own signature
    caller_mind      a `Mind` for this one request, seen from the caller's spaces
    caller_store     what is written is stamped, what colleagues wrote counts as others' words
    space_names      `me` outside is `~ann` inside

`mcp_mount` serves the tool sets of `interfaces/mcp` in the same way, `member_routes` manage who may
what, `health_routes` tell a load balancer and Prometheus how it goes, `server_worker` does what
verbs leave to be done.

Always true: no session lives in this process, so any number of them may serve one database; the
event loop waits for nothing but sockets; a request does nothing that its caller has no right to,
and the database says so once more (row security); no log line, metric or span holds what somebody
remembered, asked, or signs in with. Starlette, uvicorn and the database's driver are imported in
this package only, and only when it is run.
"""
