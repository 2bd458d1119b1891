"""Starts a hook that has as long as a busy machine takes: `python -I -S patient_hook.py run.py
claude-code`. By itself it answers nothing after two seconds, which is what it owes its host.
"""

import runpy
import sys
import threading

SLOWEST = 60  # so many times slower is a machine at most


class PatientTimer(threading.Timer):
    """Fires that much later."""

    def __init__(self, interval, *words, **more):
        super().__init__(interval * SLOWEST, *words, **more)


threading.Timer = PatientTimer  # type: ignore[misc]
runpy.run_path(sys.argv.pop(1), run_name="__main__")
