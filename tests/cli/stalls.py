#!/usr/bin/env python3
"""A run that does not get on ends with a message instead of hanging: a rank that is held up, a rank that is killed, on one
rank and on several; a suspended run goes on."""

from _runs import *

CONFIG = """
[grid]
cells = [24, 20, 22]
[time]
max_steps = 1000000000
dt = 1e-6
[physics]
viscosity = 0.02
[initial]
kind = "random"
low = -0.02
high = 0.03
[output]
series_every_steps = 1
[run]
report_seconds = 1e-9
stall_timeout = 2.0
"""


def started(config, folder, ranks):
    process = start_run(config, {}, folder=folder, ranks=ranks)
    lines_until(process, "step")
    return process, ranks_of(process)


def held_up(config, scratch):
    process, ranks = started(config, scratch / "held", 3)
    os.kill(ranks[1], signal.SIGSTOP)
    result = end_of(process)
    kill_all(process)
    check(result.code != 0, f"expected a failure:\n{result}")
    errors = result.errors()
    check(errors and all("no progress for 2 s (run.stall_timeout) while" in e and "--restart latest" in e for e in errors),
          f"expected what stalled and what to do:\n{result}")  # fmt: skip
    check(not any("on rank 1:" in e for e in errors), f"the rank that is held up says nothing:\n{result}")


def killed(config, scratch):
    process, ranks = started(config, scratch / "killed", 3)
    os.kill(ranks[2], signal.SIGKILL)
    result = end_of(process)
    check(result.code != 0, f"a run that lost a rank did not fail:\n{result}")


def suspended(config, scratch):
    """All ranks suspended for longer than the patience: no reason to end."""
    folder = scratch / "suspended"
    process, ranks = started(config, folder, 2)
    for pid in ranks.values():
        os.kill(pid, signal.SIGSTOP)
    time.sleep(3)
    for pid in ranks.values():
        os.kill(pid, signal.SIGCONT)
    (folder / "out" / "STOP").touch()
    result = end_of(process)
    check(result.code == 9 and result.errors() == [], f"expected a run that goes on and stops in good order:\n{result}")


with scratch_directory() as scratch:
    config = write_config(scratch / "run.toml", CONFIG)
    held_up(config, scratch)
    killed(config, scratch)
    suspended(config, scratch)
finish("stalls")
