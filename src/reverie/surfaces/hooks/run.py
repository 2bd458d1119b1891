"""What a host starts: `python -I -S run.py claude-code`. Finds the package it lies in and never fails.

`-I -S` leaves out the site packages, which a hook does not need and which would cost it a third of its time. If the
package cannot be imported, in the middle of an upgrade for instance, the answer is that there is nothing to say. With
`--check`, for `reverie doctor`, it fails instead.
"""

import os
import sys

try:
    sys.path.append(os.sep.join(__file__.split(os.sep)[:-4]))  # at the end: nothing there is to shadow the library
    from reverie.surfaces.hooks.once import main

    main(sys.argv[1:])
except BaseException:
    if "--check" in sys.argv:
        raise
    os.write(1, b"{}\n")
os._exit(0)
