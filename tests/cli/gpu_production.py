#!/usr/bin/env python3
"""Production runs on GPUs: all files have the bytes of a CPU run, whichever backend and number of ranks wrote which part of
them; checkpoints and snapshots written while steps go on hold the state of their step; a run that loses a rank ends."""

import shutil

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
snapshot_every_steps = 5
checkpoint_every_steps = 4
checkpoints_kept = 100
[run]
oversubscribe = true
"""


def on(backend, transport="auto"):
    return {"run.backend": f'"{backend}"', "run.transport": f'"{transport}"'}


def half(config, scratch, name, first, second, ranks):
    """Twelve steps on one backend, the others on the other."""
    folder = scratch / name
    in_folder(folder, config, {**on(first), "time.max_steps": 12}, ranks=ranks[0])
    out = in_folder(folder, config, on(second), "--restart", "latest", ranks=ranks[1])
    return out


def equal(name, expected, found):
    """config.toml names the backend, and snapshots and checkpoints hold it: fields and series are compared."""
    check((expected / "series.csv").read_bytes() == (found / "series.csv").read_bytes(), f"{name}: series.csv differs")
    for pattern in ("snapshot_*.h5", "checkpoint_*.h5"):
        a, b = ([f.name for f in sorted(d.glob(pattern))] for d in (expected, found))
        check(a == b and a, f"{name}: files {a} and {b}")
        for file in set(a) & set(b):
            result = mhdsim("diff", expected / file, found / file)
            check(result.code == 0, f"{name}: {result}")


def lose_a_rank(config, scratch, transport):
    keys = {**on("gpu", transport), "time.max_steps": 1000000000, "time.dt": 1e-7, "run.stall_timeout": 5.0,
            "run.report_seconds": 1e-9}  # fmt: skip
    for name in ("killed", "held up"):
        process = start_run(config, keys, folder=scratch / f"{name} {transport}", ranks=2)
        for line in process.stdout:
            if line.startswith("step"):
                break
        else:
            check(False, f"no step: {process.stderr.read()}")
        os.kill(ranks_of(process)[1], signal.SIGKILL if name == "killed" else signal.SIGSTOP)
        result = end_of(process)
        kill_all(process)
        check(result.code != 0, f"{name}, {transport}: expected a failure:\n{result}")
        if name == "held up":
            check(any("no progress for 5 s" in e for e in result.errors()), f"{transport}: no reason is given:\n{result}")


if shutil.which("nvidia-smi") is None or execute(["nvidia-smi", "-L"]).code != 0:
    print("skipped: no GPU here")
    sys.exit(77)
with scratch_directory() as scratch:
    config = write_config(scratch / "run.toml", CONFIG)
    whole = in_folder(scratch / "cpu", config, on("cpu"), ranks=2)
    equal("GPU", whole, in_folder(scratch / "gpu", config, on("gpu")))
    for transport in ("auto", "host_staged", "peer"):
        equal(f"2 GPU ranks, {transport}", whole, in_folder(scratch / f"gpu {transport}", config, on("gpu", transport), ranks=2))
    equal("CPU, then GPU", whole, half(config, scratch, "cpu gpu", "cpu", "gpu", (3, 2)))
    equal("GPU, then CPU", whole, half(config, scratch, "gpu cpu", "gpu", "cpu", (4, 1)))
    equal("GPU, then GPU", whole, half(config, scratch, "gpu gpu", "gpu", "gpu", (1, 4)))
    for transport in ("auto", "host_staged", "peer"):
        lose_a_rank(config, scratch, transport)
finish("production runs on GPUs")
