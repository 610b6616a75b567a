#!/usr/bin/env python3
"""Production runs on GPUs: all files have the bytes of a CPU run, whichever backend and number of ranks wrote which part of
them; checkpoints and snapshots written while steps go on hold the state of their step; a run that loses a rank ends, and
what is wrong with GPUs or MPI is said."""

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


def lose_a_rank(config, scratch, transport):
    keys = {**on("gpu", transport), "time.max_steps": 1000000000, "time.dt": 1e-7, "run.stall_timeout": 5.0,
            "run.report_seconds": 1e-9}  # fmt: skip
    for name in ("killed", "held up"):
        process = start_run(config, keys, folder=scratch / f"{name} {transport}", ranks=2)
        lines_until(process, "step")
        os.kill(ranks_of(process)[1], signal.SIGKILL if name == "killed" else signal.SIGSTOP)
        result = end_of(process)
        kill_all(process)
        check(result.code != 0, f"{name}, {transport}: expected a failure:\n{result}")
        if name == "held up":
            check(any("no progress for 5 s" in e for e in result.errors()), f"{transport}: no reason is given:\n{result}")


def shared_device(config, scratch):
    """Two ranks on one GPU are an error that names both, also where each numbers the GPUs in another order."""
    gpus = sum(line.startswith("GPU ") for line in execute(["nvidia-smi", "-L"]).out.splitlines())
    orders = [("0", "0")] + ([("0,1", "1,0")] if gpus > 1 else [])
    for one, other in orders:
        words = [MHDSIM, "run", config, "--output", "out", "--set", "run.oversubscribe=false", "--set", 'run.backend="gpu"']
        result = execute([*MPIEXEC, "-n", 1, "-env", "CUDA_VISIBLE_DEVICES", one, *words, ":",
                          "-n", 1, "-env", "CUDA_VISIBLE_DEVICES", other, *words], cwd=scratch)  # fmt: skip
        check(result.code == 5 and any("ranks 0 and 1 share the GPU" in e for e in result.errors()),
              f"CUDA_VISIBLE_DEVICES {one} and {other}: expected an error that names both ranks:\n{result}")  # fmt: skip


def blind_mpi(config, scratch):
    """An MPI that crashes when it is given device memory: here MPICH, told to know nothing of GPUs."""
    keys = assignments(on("gpu", "cuda_aware"))
    result = mhdsim("run", config, "--output", "out", *keys, ranks=2, cwd=scratch, env={"MPIR_CVAR_ENABLE_GPU": "0"})
    check(result.code == 5 and any("is not CUDA-aware" in e for e in result.errors()),
          f"expected exit code 5 and a message instead of a crash:\n{result}")  # fmt: skip
    result = mhdsim("run", config, "--output", "staged", *assignments(on("gpu", "host_staged")), ranks=2, cwd=scratch,
                    env={"MPIR_CVAR_ENABLE_GPU": "0"})  # fmt: skip
    succeeds(result)


def splits():
    """Seconds per step of a rank that exchanges with itself along one axis: packing hides the strides of all of them."""
    seconds = {}
    for axis in "xyz":
        result = mhdsim("bench", "halo", "--cells", 128, "--transport", "peer", "--axes", axis, ranks=1)
        rows = [line.split() for line in result.out.splitlines() if line.startswith("  peer")]
        check(result.code == 0 and rows, f"bench halo --axes {axis}: {result}")
        seconds[axis] = float(rows[0][4]) if rows else 0
    check(max(seconds.values()) <= 1.5 * min(seconds.values()), f"ms per step with a split along one axis: {seconds}")


if shutil.which("nvidia-smi") is None or execute(["nvidia-smi", "-L"]).code != 0:
    print("skipped: no GPU here")
    sys.exit(77)
with scratch_directory() as scratch:
    config = write_config(scratch / "run.toml", CONFIG)
    whole = in_folder(scratch / "cpu", config, on("cpu"), ranks=2)
    same_state("GPU", whole, in_folder(scratch / "gpu", config, on("gpu")))
    for transport in ("auto", "host_staged", "peer"):
        same_state(f"2 GPU ranks, {transport}", whole, in_folder(scratch / f"gpu {transport}", config, on("gpu", transport), ranks=2))
    same_state("CPU, then GPU", whole, half(config, scratch, "cpu gpu", "cpu", "gpu", (3, 2)))
    same_state("GPU, then CPU", whole, half(config, scratch, "gpu cpu", "gpu", "cpu", (4, 1)))
    same_state("GPU, then GPU", whole, half(config, scratch, "gpu gpu", "gpu", "gpu", (1, 4)))
    for transport in ("auto", "host_staged", "peer"):
        lose_a_rank(config, scratch, transport)
    shared_device(config, scratch)
    if os.environ.get("MHDSIM_CUDA_AWARE_MPI") == "1":
        blind_mpi(config, scratch)
    splits()
finish("production runs on GPUs")
