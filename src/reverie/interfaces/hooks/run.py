"""What a host starts: `python -I -S run.py claude-code`. Finds the package it lies in and never
fails.

`-I -S` leaves out the site packages, which a hook does not need and which would cost it a third of
its time. If the package cannot be imported, in the middle of an upgrade or by a Python that is too
old, the answer is that there is nothing to say, and the log says why: with the standard library
alone, for nothing else is there. With `--check`, for `reverie doctor`, it fails instead.
"""

import gc
import os
import sys


def log_import_failure(err: BaseException) -> None:
    """Write a line into the log, as `spool.HookFiles.log_trouble` does."""
    import time

    home = os.path.expanduser(os.environ.get("REVERIE_HOME") or "~/.reverie")
    if home.startswith("~"):
        return
    try:
        os.umask(0o077)  # nothing else is done in this process, and nobody else reads its log
        os.makedirs(os.path.join(home, "hooks"), exist_ok=True)
        with open(os.path.join(home, "hooks", "trouble.log"), "a") as log:
            python = sys.version.split()[0]
            what = f"{type(err).__name__}: {err}"
            log.write(f"{time.time():.0f} Python {python} cannot import the hook: {what}\n")
    except OSError:
        pass


gc.disable()  # a process of some milliseconds has no garbage to look for
try:
    # at the end: nothing there is to shadow the library
    sys.path.append(os.sep.join(__file__.split(os.sep)[:-4]))
    from reverie.interfaces.hooks.hook_main import main
except BaseException as err:
    if "--check" in sys.argv:
        raise
    os.write(1, b"{}\n")
    log_import_failure(err)
else:
    main(sys.argv[1:])
os._exit(0)
