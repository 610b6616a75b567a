#!/usr/bin/env python3
"""Files that are written while steps go on (output.overlap) have the bytes of those that are written between steps: on one
rank and on several, where a thread communicates beside the main loop, and after a restart."""

from _runs import *

CONFIG = """
[grid]
cells = [40, 37, 50]
[time]
max_steps = 24
courant_interval = 3
[physics]
viscosity = 5e-3
resistivity = 5e-3
[initial]
kind = "random"
low = -0.05
high = 0.05
[output]
series_every_steps = 1
snapshot_every_steps = 2
checkpoint_every_steps = 3
checkpoints_kept = 100
"""


with scratch_directory() as scratch:
    config = write_config(scratch / "run.toml", CONFIG)
    between = in_folder(scratch / "between", config, {"output.overlap": False})
    overlapped = {"output.overlap": True}
    for attempt in range(2):
        for ranks in (None, 2, 3):
            out = in_folder(scratch / f"{ranks} {attempt}", config, overlapped, ranks=ranks)
            same_state(f"overlapped on {ranks or 1} ranks", between, out)
    folder = scratch / "restarted"
    in_folder(folder, config, {**overlapped, "time.max_steps": 9}, ranks=3)
    same_state("overlapped and restarted", between, in_folder(folder, config, overlapped, "--restart", "latest", ranks=2))
finish("overlap")
