#!/usr/bin/env python3
"""What stops a run early: signals to any rank, a STOP file, the time limit. The step is finished, a checkpoint written,
the exit code is 9, and the run goes on from there to what it would have been. And RELOAD, and which checkpoints remain."""

import re
import tomllib

from _runs import *

CONFIG = """
[grid]
cells = [13, 10, 9]
order = 4
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
snapshot_at_end = false
[run]
report_seconds = 1e-9
"""


def stopped(result, directory, reason):
    """The step of the checkpoint."""
    check(result.code == 9 and result.errors() == [], f"expected exit code 9 without a message:\n{result}")
    summary = read_summary(directory)
    check(summary["status"].startswith("stopped: " + reason), f"status {summary['status']}, expected {reason}")
    check((directory / f"checkpoint_{summary['steps']:08}.h5").exists(), f"no checkpoint of step {summary['steps']}")
    check(read_series(directory)["it"] == list(range(summary["steps"] + 1)), "rows up to the step of the checkpoint")
    check(list(directory.glob("*.partial")) == [], "an unfinished file")
    return summary["steps"]


def signals(config, scratch):
    for number, (ranks, rank, name) in enumerate([(None, 0, "SIGTERM"), (None, 0, "SIGINT"), (None, 0, "SIGUSR1"),
                                                  (3, 0, "SIGUSR1"), (3, 1, "SIGTERM"), (3, 2, "SIGUSR1")]):  # fmt: skip
        folder = scratch / f"signal {number}"
        process = start_run(config, {}, folder=folder, ranks=ranks)
        lines_until(process, "step")
        os.kill(ranks_of(process)[rank], getattr(signal, name))
        step = stopped(end_of(process), folder / "out", name)
        whole = in_folder(scratch / f"whole {number}", config, {"time.max_steps": step + 2})
        in_folder(folder, config, {"time.max_steps": step + 2}, "--restart", "latest", ranks=ranks)
        check((whole / "series.csv").read_bytes() == (folder / "out" / "series.csv").read_bytes(), f"{name}: series.csv differs")

    # To all ranks, several times within a moment, as launchers and terminals do: one request.
    folder = scratch / "many"
    process = start_run(config, {}, folder=folder, ranks=2)
    lines_until(process, "step")
    for pid in list(ranks_of(process).values()) * 3:
        os.kill(pid, signal.SIGTERM)
    stopped(end_of(process), folder / "out", "SIGTERM")


def second_signal(config, scratch):
    """A run that cannot finish its step, because another rank is held up, ends at once all the same."""
    process = start_run(config, {}, folder=scratch / "second", ranks=2)
    lines_until(process, "step")
    ranks = ranks_of(process)
    os.kill(ranks[1], signal.SIGSTOP)
    began = time.monotonic()
    while Path(f"/proc/{ranks[0]}").exists() and state_of(ranks[0]) != "Z" and time.monotonic() - began < HANG_SECONDS:
        os.kill(ranks[0], signal.SIGTERM)
        time.sleep(0.01)
    check(not Path(f"/proc/{ranks[0]}").exists() or state_of(ranks[0]) == "Z", "signals for ever, and the rank lives on")
    kill_all(process)
    process.communicate()


def stop_file(config, scratch):
    for ranks in (None, 2):
        folder = scratch / f"STOP {ranks}"
        process = start_run(config, {}, folder=folder, ranks=ranks)
        lines_until(process, "step")
        (folder / "out" / "STOP").touch()
        stopped(end_of(process), folder / "out", "STOP file")
        check(not (folder / "out" / "STOP").exists(), "the STOP file is still there")
    # One that comes too late does not stop what goes on from here.
    folder = scratch / "late"
    in_folder(folder, config, {"time.max_steps": 0})
    (folder / "out" / "STOP").touch()
    in_folder(folder, config, {"time.max_steps": 0}, "--overwrite")
    check(not (folder / "out" / "STOP").exists(), "a complete run leaves a STOP file for the next one")


def time_limit(config, scratch):
    """The rule itself has a unit test; here all ranks obey, and say by which numbers."""
    for ranks in (None, 3):
        folder = scratch / f"limit {ranks}"
        result = end_of(start_run(config, {"output.snapshot_at_end": True}, "--time-limit", "00:00:04", folder=folder, ranks=ranks))
        stopped(result, folder / "out", "time limit 0:04 (after ")
        numbers = (r"time limit 0:04 \(after [\d.]+ s: the slowest step took \S+ s, a checkpoint up to \S+ s, "
                   r"of which 1.5 times is kept, a snapshot up to \S+ s\)")  # fmt: skip
        check(re.search(numbers, result.out), f"{result}")


def while_writing(config, scratch):
    """A signal while a snapshot or a checkpoint is being written: that file and the last checkpoint are complete."""
    keys = {"grid.cells": [50, 46, 38], "output.snapshot_every_steps": 1, "output.checkpoint_every_steps": 1}
    for ranks in (None, 2):
        for kind in ("snapshot", "checkpoint"):
            folder = scratch / f"writing {kind} {ranks}"
            process = start_run(config, keys, folder=folder, ranks=ranks)
            lines_until(process, "step")
            while not list((folder / "out").glob(f"{kind}_*.partial")) and process.poll() is None:
                pass
            os.kill(ranks_of(process)[0], signal.SIGTERM)
            step = stopped(end_of(process), folder / "out", "SIGTERM")
            check([p.name for p in snapshots(folder / "out")] == [f"snapshot_{i:08}.h5" for i in range(step + 1)], "snapshots")
            for path in [*snapshots(folder / "out")[-2:], *checkpoints(folder / "out")]:
                check(np.isfinite(read_fields(path)["uz"]).all(), f"{path.name} cannot be read")
            in_folder(folder, config, {**keys, "time.max_steps": step + 1}, "--restart", "latest", ranks=ranks)


def reloading(config, scratch):
    for ranks in (None, 2):
        folder = scratch / f"reload {ranks}"
        own = folder / "case.toml"
        folder.mkdir()
        text = config.read_text(encoding="utf-8")
        write_config(own, text)
        process = start_run(own, {}, folder=folder, ranks=ranks)
        lines_until(process, "step")

        def ask(new, answer):
            write_config(own, new)
            (folder / "out" / "RELOAD").touch()
            return lines_until(process, answer)

        ask(text.replace("max_steps", "max_stepss"), "reload: the run goes on as it was")
        check("max_stepss" in lines_until(process, str(own)), "the mistake is not named")
        ask(text.replace("viscosity = 0.02", "viscosity = 0.5"), "reload: physics.viscosity stays 0.02, 0.5 takes effect")
        lines_until(process, "reload: nothing changes")
        ask(text + "check_interval = 7\n", "reload: run.check_interval was 10, is 7")
        lines_until(process, "step")
        ask(text.replace("max_steps = 1000000000", "max_steps = 1") + "check_interval = 7\n",
            "reload: time.max_steps was 1000000000, is 1")  # fmt: skip
        result = end_of(process)
        check(result.code == 0, f"a run whose end has passed is complete:\n{result}")
        check(not (folder / "out" / "RELOAD").exists(), "the RELOAD file is still there")
        resolved = tomllib.loads((folder / "out" / "config.toml").read_text(encoding="utf-8"))
        check(resolved["run"]["check_interval"] == 7 and resolved["physics"]["viscosity"] == 0.02, f"config.toml: {resolved}")


def which_remain(config, scratch):
    names = lambda directory: [int(p.stem[-8:]) for p in checkpoints(directory)]
    some = {"time.max_steps": 10}
    for name, keys, expected in [
        ("none", {}, []),
        ("two", {"output.checkpoint_every_steps": 3}, [6, 9]),
        ("one", {"output.checkpoint_every_steps": 4, "output.checkpoints_kept": 1}, [8]),
        ("end", {"output.checkpoint_at_end": True}, [10]),
        ("all", {"output.checkpoint_every_steps": 2, "output.checkpoints_kept": 99, "output.checkpoint_at_end": True}, [2, 4, 6, 8, 10]),
    ]:
        found = names(in_folder(scratch / name, config, {**some, **keys}))
        check(found == expected, f"{name}: checkpoints of steps {found}, expected {expected}")
    # By wall-clock time: many times within a run, until it is complete.
    folder = scratch / "clock"
    process = start_run(config, {"output.checkpoint_every_seconds": 1e-3}, folder=folder, ranks=2)
    seen = set()
    while len(seen) < 4 and process.poll() is None:
        seen.update(names(folder / "out") if (folder / "out").exists() else [])
    os.kill(ranks_of(process)[1], signal.SIGTERM)
    stopped(end_of(process), folder / "out", "SIGTERM")
    check(len(seen) >= 4 and len(names(folder / "out")) == 2, f"checkpoints by time: {seen}, left {names(folder / 'out')}")

    # A run that fails leaves its last checkpoint, of a state that was finite.
    for ranks in (None, 3):
        folder = scratch / f"nan {ranks}"
        directory = in_folder(folder, config, {"time.dt": 2.0, "time.max_steps": 1000, "output.checkpoint_every_steps": 1,
                                               "initial.high": 0.5}, code=7, ranks=ranks)  # fmt: skip
        left = checkpoints(directory)
        check(left and all(np.isfinite(v).all() for v in read_fields(left[-1]).values()), f"checkpoints {left} after a failure")


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        for part in (signals, second_signal, stop_file, time_limit, while_writing, reloading, which_remain):
            part(config, scratch)
            print(part.__name__, flush=True)
    finish("stopping")


if __name__ == "__main__":
    main()
