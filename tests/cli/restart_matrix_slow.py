#!/usr/bin/env python3
"""From every number of ranks to every other, directly, on an uneven grid and with all other outputs off."""

import shutil

from _runs import *

CONFIG = """
[grid]
cells = [50, 46, 38]
[time]
max_steps = 4
[physics]
viscosity = 0.02
resistivity = 0.03
conduction = 0.04
[initial]
kind = "random"
low = -0.02
high = 0.03
[output]
snapshot_at_start = false
snapshot_at_end = false
series_every_steps = 1000
checkpoint_every_steps = 2
"""
COUNTS = (1, 2, 3, 4, 6, 8)


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        expected = {}
        for first in COUNTS:
            whole = in_folder(scratch / f"from {first}", config, {}, ranks=first)
            expected.setdefault("end", (whole / "checkpoint_00000004.h5").read_bytes())
            check((whole / "checkpoint_00000004.h5").read_bytes() == expected["end"], f"the unbroken run of {first} ranks")
            for second in COUNTS:
                folder = copied(whole / "checkpoint_00000002.h5", scratch / f"from {first} to {second}")
                found = in_folder(folder, config, {}, "--restart", "latest", ranks=second)
                check((found / "checkpoint_00000004.h5").read_bytes() == expected["end"], f"from {first} to {second} ranks")
                shutil.rmtree(folder)
            print(f"from {first} ranks to {COUNTS}", flush=True)
    finish("restart matrix")


if __name__ == "__main__":
    main()
