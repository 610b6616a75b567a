#!/usr/bin/env python3
"""A run that goes on from a checkpoint ends with the files of one that was never interrupted, byte for byte: on another
number of ranks, with other cadences, with a fixed and with a Courant time step; and what must not change does not."""

from _runs import *

# Two subdomains per direction need 6 cells at order 6; nothing divides evenly.
CONFIG = """
[grid]
cells = [19, 14, 13]
order = 4
[time]
max_steps = 6
courant_interval = 2
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
series_every_steps = 1
"""
CHECKPOINT = {"output.checkpoint_every_steps": 3, "output.checkpoints_kept": 1}
FIXED = {"time.dt": 0.01}


def matrix(config, scratch):
    """Every number of ranks writes a checkpoint of the same bytes, and goes on from it to the same bytes: so from any of
    them to any other. All other outputs are off: nothing else can have refreshed what a checkpoint holds."""
    counts = (1, 2, 3, 4, 6, 8)
    quiet = {**CHECKPOINT, "output.checkpoints_kept": 2, "output.series_every_steps": 1000}
    whole = in_folder(scratch / "matrix whole", config, quiet)
    middle, end = checkpoints(whole)
    check([middle.name, end.name] == ["checkpoint_00000003.h5", "checkpoint_00000006.h5"], "checkpoints of steps 3 and 6")
    for ranks in counts:
        other = in_folder(scratch / f"matrix from {ranks}", config, {**quiet, "time.max_steps": 4}, ranks=ranks)
        fields, expected = (read_fields(f) for f in (other / middle.name, middle))
        check(same_bits(fields, expected), f"the checkpoint of {ranks} ranks differs")
        with h5py.File(other / middle.name) as a, h5py.File(middle) as b:
            for name in ("time", "dt", "courant_dt", "checksums"):
                check(np.array_equal(a.attrs[name], b.attrs[name]), f"{ranks} ranks: attribute {name}")
        found = in_folder(copied(middle, scratch / f"matrix to {ranks}"), config, quiet, "--restart", "latest", ranks=ranks)
        check((found / end.name).read_bytes() == end.read_bytes(), f"on {ranks} ranks the end differs")


def unbroken(config, scratch):
    """In the same directory, all files; the next output follows from time and cadence."""
    cases = {
        "fixed step": {**FIXED, "output.snapshot_every_steps": 2, "output.snapshot_at_start": True},
        "Courant step": {"output.snapshot_every_steps": 2, "output.snapshot_at_end": True},
        "Courant step that holds": {"time.courant_interval": 4, "output.snapshot_at_end": True},
        "outputs by time": {"time.max_steps": 100, "time.end": 1.32, "output.snapshot_every_time": 0.25,
                            "output.snapshot_at_start": True},
        "outputs and fixed step by time": {"time.max_steps": 100, "time.end": 0.5, "time.dt": 0.083,
                                           "output.snapshot_every_time": 0.2, "output.snapshot_at_end": True},
    }  # fmt: skip
    for number, (name, keys) in enumerate(cases.items()):
        if "by time" in name:
            config_here = write_config(scratch / "by time.toml", CONFIG.replace("series_every_steps = 1",
                                                                                "series_every_time = 0.1"))  # fmt: skip
        else:
            config_here = config
        keys = {**CHECKPOINT, **keys}
        whole = in_folder(scratch / f"whole {number}", config_here, keys)
        # STOP waits in the directory: each attempt takes one step and leaves.
        folder, attempts = scratch / f"broken {number}", 0
        (folder / "out").mkdir(parents=True)
        while attempts < 50:
            (folder / "out" / "STOP").touch()
            how = ["--restart", "latest"] if attempts else []
            result = mhdsim("run", config_here, "--output", "out", *assignments(keys), *how, cwd=folder,
                            ranks=[None, 3, 2][attempts % 3])  # fmt: skip
            attempts += 1
            if result.code == 0:
                break
            check(result.code == 9 and read_summary(folder / "out")["status"] == "stopped: STOP file", f"{name}: {result}")
            check(not (folder / "out" / "STOP").exists(), f"{name}: the STOP file was not removed")
        steps = read_series(whole)["it"][-1]
        check(attempts == steps, f"{name}: {steps} steps took {attempts} attempts")
        # Checkpoints are of other steps.
        for directory in (whole, folder / "out"):
            for checkpoint in checkpoints(directory):
                checkpoint.unlink()
        same_files(name, whole, folder / "out")
        print(f"{name}: {attempts} attempts", flush=True)


def long_run(config, scratch):
    """A hundred steps against fifty and fifty, with the Courant condition."""
    keys = {"time.max_steps": 100, "time.courant_interval": 7, "output.snapshot_at_end": True,
            "output.checkpoint_every_steps": 50, "output.checkpoints_kept": 1, "grid.cells": [13, 11, 9]}  # fmt: skip
    whole = in_folder(scratch / "hundred", config, {**keys, "output.checkpoints_kept": 2})
    middle = whole / "checkpoint_00000050.h5"
    halves = in_folder(copied(middle, scratch / "fifty"), config, keys, "--restart", "latest")
    check(same_bits(*(read_fields(snapshots(d)[-1]) for d in (whole, halves))), "50 + 50 steps differ from 100")
    rows = (whole / "series.csv").read_text(encoding="ascii").splitlines()
    check((halves / "series.csv").read_text(encoding="ascii").splitlines()[1:] == rows[51:], "rows of 50 + 50 steps")


def new_cadence(config, scratch):
    """Outputs change on restart: in both directions the next one follows from the step and the new cadence, none fires
    because of the restart, and files of before stay as they are."""
    before = {**FIXED, **CHECKPOINT, "output.snapshot_every_steps": 2, "time.max_steps": 6}
    for name, every, expected in [("finer", 1, [2, 4, 6, 7, 8, 9]), ("coarser", 4, [2, 4, 8]), ("off", None, [2, 4])]:
        directory = in_folder(scratch / name, config, before)
        old = files_of(directory)
        more = {**FIXED, **CHECKPOINT, "time.max_steps": 9, **({"output.snapshot_every_steps": every} if every else {}),
                "output.snapshot_at_start": True}  # fmt: skip
        in_folder(scratch / name, config, more, "--restart", "latest")
        # The checkpoint is of step 6, where the run ended; its row and snapshot are written as the new cadence says.
        found = [int(path.stem[-8:]) for path in snapshots(directory)]
        check(found == [s for s in expected], f"{name}: snapshots {found}, expected {expected}")
        for path in snapshots(directory):
            if int(path.stem[-8:]) < 3:
                check(path.read_bytes() == old[path.name], f"{name}: {path.name} was rewritten")
        check(read_series(directory)["it"] == list(range(10)), f"{name}: rows {read_series(directory)['it']}")


def what_may_change(config, scratch):
    folder = scratch / "change"
    directory = in_folder(folder, config, {**FIXED, **CHECKPOINT})
    before = files_of(directory)

    def refused(code, keys, *arguments, says=()):
        result = mhdsim("run", config, "--output", "out", *assignments({**FIXED, **CHECKPOINT, **keys}), *arguments, cwd=folder)
        check(result.code == code and len(result.errors()) == 1, f"expected exit code {code}:\n{result}")
        for text in says:
            check(text in result.err, f"expected '{text}':\n{result}")
        check(files_of(directory) == before, "a refused restart changed files")

    latest = ["--restart", "latest"]
    refused(3, {"grid.order": 6, "physics.viscosity": 0.01, "time.max_steps": 9}, *latest, says=(
        "grid.order: the checkpoint has 4, the configuration 6",
        "physics.viscosity: the checkpoint has 0.02, the configuration 0.01", "--allow-change KEY"))  # fmt: skip
    refused(3, {"grid.order": 6, "physics.viscosity": 0.01}, *latest, "--allow-change", "physics",
            says=("grid.order: the checkpoint has 4",))  # fmt: skip
    refused(3, {"physics.viscositi": 0.01}, *latest, says=("the nearest known name is physics.viscosity",))
    refused(6, {"grid.cells": [19, 14, 12]}, *latest, "--allow-change", "grid.cells",
            says=("expected a grid of 19 x 14 x 12 cells, found 19 x 14 x 13",))  # fmt: skip
    refused(2, {}, *latest, "--allow-change", "physics.viscositi", says=("the nearest known name is physics.viscosity",))
    refused(2, {}, *latest, "--overwrite", says=("give one of both",))
    refused(2, {}, "--time-limit", "90", says=("expected hours:minutes:seconds",))
    refused(6, {}, says=("file(s) of an earlier run", "--restart latest", "--overwrite"))
    for checkpoint in ("none.h5", snapshots(directory)[0] if snapshots(directory) else "out/series.csv"):
        refused(6, {}, "--restart", checkpoint, says=(str(checkpoint),))
    result = mhdsim("run", config, "--output", "nowhere", *latest, cwd=folder)
    check(result.code == 6 and "there is no checkpoint in nowhere" in result.err, f"{result}")
    check(not (folder / "nowhere").exists(), "a refused restart made its directory")

    # Ends, outputs and what does not reach the bits may change; with --allow-change everything that fits.
    in_folder(folder, config, {**FIXED, **CHECKPOINT, "time.max_steps": 7, "grid.decomposition": [1, 2, 1]}, *latest, ranks=2)
    in_folder(folder, config, {**CHECKPOINT, "time.dt": 0.005, "physics.viscosity": 0.01, "time.max_steps": 9}, *latest,
              "--allow-change", "time.dt", "--allow-change", "physics.viscosity")  # fmt: skip
    check(read_series(directory)["dt"][5:8] == [0.01, 0.005, 0.005], f"{read_series(directory)['dt']}")


def elsewhere(config, scratch):
    """From a file into another directory; from an older checkpoint in place, which ends the history after it."""
    keys = {**FIXED, "output.checkpoint_every_steps": 2, "output.checkpoints_kept": 3, "output.snapshot_every_steps": 1}
    folder = scratch / "elsewhere"
    directory = in_folder(folder, config, keys)
    old = files_of(directory)
    other = folder / "other"
    succeeds(mhdsim("run", config, "--output", other, *assignments(keys), "--restart", directory / "checkpoint_00000002.h5"))
    check(read_series(other)["it"] == [2, 3, 4, 5, 6], f"rows {read_series(other)['it']}")
    check([f.name for f in snapshots(other)] == [f"snapshot_0000000{i}.h5" for i in (2, 3, 4, 5, 6)], "snapshots elsewhere")
    check(same_bits(*(read_fields(snapshots(d)[-1]) for d in (directory, other))), "the end differs elsewhere")
    check(files_of(directory) == old, "a run elsewhere changed where it came from")
    again = mhdsim("run", config, "--output", other, *assignments(keys), "--restart", directory / "checkpoint_00000002.h5")
    check(again.code == 6 and "earlier run" in again.err, f"another run's directory: {again}")

    (folder / "out" / "STOP").touch()
    in_folder(folder, config, keys, "--restart", "out/checkpoint_00000002.h5", code=9)
    check([f.name for f in checkpoints(directory)] == ["checkpoint_00000002.h5", "checkpoint_00000003.h5"],
          "later checkpoints of another history must not be the latest")  # fmt: skip
    check(not (directory / "snapshot_00000006.h5").exists() and read_series(directory)["it"][-1] == 3, "later outputs stay")
    in_folder(folder, config, keys, "--restart", "latest")
    now = files_of(directory)
    for name in old.keys() - {f.name for f in checkpoints(directory)} - {"checkpoint_00000002.h5"}:
        check(old[name] == now.get(name), f"{name} differs after going back")


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        for part in (matrix, unbroken, long_run, new_cadence, what_may_change, elsewhere):
            part(config, scratch)
            print(part.__name__, flush=True)
    finish("restart")


if __name__ == "__main__":
    main()
