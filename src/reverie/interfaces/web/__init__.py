"""The pages on which people look at memory, decide about it and take back: `reverie web`.

One ASGI application (`web_app`) over the verbs of `Mind`. A page is one module of `pages/`; what it
shows is a view (`page.View`), what it changes an action (`page.Action`). Always true: a page has no
logic of a feature and no SQL, everything it shows is the value of a verb, and the same values are
there as JSON; every change is a form that works without JavaScript and can be taken back; memory
text is hostile text, and templates escape it.
"""
