"""Hooks: a host agent starts `run.py` at each of its moments, JSON on stdin, and reads JSON from
stdout.

One model of what happens (`hook_event.HookEvent`), one adapter for each host (`host_adapters`), and
two sides that meet in files under `<home>/hooks` (`spool`):

    the hook       `hook_main`: lives for some tens of milliseconds. It takes the block that waits
                   for its session, holds what a tool is about to do against the warnings, writes
                   down what happened, without secrets, and is gone. Only the standard library and
                   the lightest of our modules are imported. Where a prompt says something of its
                   own (`prompt_topic`), it looks into the store by words (`prompt_lookup`); what
                   was prepared goes with a prompt that goes on with it. `subagent_brief` is what a
                   subagent begins with.
    the consumer   `hook_consumer`: a thread of the detached worker. It takes in what hooks wrote,
                   has it learned from, prepares the next block and lays it, and the warnings, where
                   the next hook finds them.

Always true: a hook never fails its host. Whatever goes wrong, and after two seconds in any case, it
answers `{}`, leaves with 0, and writes a line into `trouble.log`. Nothing is written to disk before
secrets are taken out of it. What happened is written down before anything is looked for: a store in
trouble loses no prompt. Nothing waits for the consumer: without it, events wait in the spool and
prompts are answered by words.
"""
