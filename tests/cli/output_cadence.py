#!/usr/bin/env python3
"""What a run writes, when: cadences by steps and by time, exact hits, precision and choice of fields, the index for
ParaView, timing and summary, progress; and that config.toml and a snapshot start what they should."""

import re
from xml.etree import ElementTree

from _cli import *

CONFIG = """
[grid]
cells = [12, 10, 8]
size = [1.0, 2.0, 3.0]
origin = [-0.5, 0.25, 7.0]
[time]
end = 0.05
[physics]
viscosity = 0.01
resistivity = 0.02
conduction = 0.01
[initial]
kind = "random"
low = -0.01
high = 0.01
seed = 5
"""


def times_of(directory):
    """(step, time, dt) of each snapshot."""
    found = []
    for path in snapshots(directory):
        with h5py.File(path) as file:
            found.append((int(file.attrs["step"]), float(file.attrs["time"]), float(file.attrs["dt"])))
        check(path.name == f"snapshot_{found[-1][0]:08}.h5", f"{path.name} is of step {found[-1][0]}")
    return found


def series_is_one(directory, end):
    """Strictly increasing steps and times; dt is the step from each row to the next state."""
    series = read_series(directory)
    it, t, dt = series["it"], series["t"], series["dt"]
    check(it[0] == 0 and t[0] == 0 and t[-1] == end, f"{directory}: first and last row at {t[0]}, {t[-1]}")
    check(all(a < b for a, b in zip(it, it[1:])) and all(a < b for a, b in zip(t, t[1:])), f"{directory}: order of rows")
    for i in range(len(it) - 1):
        if it[i + 1] == it[i] + 1:
            check(abs(t[i] + dt[i] - t[i + 1]) <= 2e-16, f"{directory}: t + dt is not the next t at row {i}")
    check(all(len(column) == len(it) for column in series.values()), f"{directory}: columns")
    return series


def by_steps(config, scratch):
    directory = run(config, scratch / "steps", "--set", "output.snapshot_every_steps=4", "--set",
                    "output.series_every_steps=3", "--set", "time.dt=0.005")  # fmt: skip
    check([step for step, _, _ in times_of(directory)] == [0, 4, 8, 10], f"{times_of(directory)}")
    series = series_is_one(directory, 0.05)
    check(series["it"] == [0, 3, 6, 9, 10], f"rows of steps {series['it']}")
    check([dt for _, _, dt in times_of(directory)][0] == 0, "the initial state has no step before it")
    default = run(config, scratch / "default", "--set", "time.dt=0.002")
    check(read_series(default)["it"] == [0, 10, 20, 25], "without keys there is a row every ten steps and one at the end")
    check([step for step, _, _ in times_of(default)] == [0, 25], "without keys there are the first and the last state")


def by_time(config, scratch):
    """Whatever the step, the states are those of k times the interval, to the last bit of t."""
    for name, keys in [("courant", []), ("fixed", ["--set", "time.dt=0.0017"]), ("long", ["--set", "time.dt=0.5"])]:
        directory = run(config, scratch / name, "--set", "output.snapshot_every_time=0.015", "--set",
                        "output.series_every_time=0.004", *keys)  # fmt: skip
        times = [t for _, t, _ in times_of(directory)]
        check(times == [0, 0.015, 2 * 0.015, 3 * 0.015, 0.05], f"{name}: snapshots at {times}")
        series = series_is_one(directory, 0.05)
        check(series["t"] == [k * 0.004 for k in range(13)] + [0.05], f"{name}: rows at {series['t']}")
    # A step that outputs do not shorten keeps its length; the same state comes from the same steps.
    directory = run(config, scratch / "whole", "--set", "output.series_every_time=0.01", "--set", "time.dt=0.005")
    check(set(read_series(directory)["dt"]) == {0.005}, f"steps of {set(read_series(directory)['dt'])}, expected 0.005")
    other = run(config, scratch / "whole-steps", "--set", "output.series_every_steps=2", "--set", "time.dt=0.005")
    check(same_bits(read_fields(snapshots(directory)[-1]), read_fields(snapshots(other)[-1])), "cadence changed the state")


def ends(config, scratch):
    for name, keys, expected in [
        ("neither", {"output.snapshot_at_start": False, "output.snapshot_at_end": False}, []),
        ("start", {"output.snapshot_at_end": False}, [0]),
        ("end", {"output.snapshot_at_start": False}, [5]),
        ("both ends", {"time.max_steps": 3}, [0, 3]),
        ("end of time first", {"time.max_steps": 30}, [0, 5]),
        ("no step", {"time.end": 0.0}, [0]),
        ("no steps", {"time.max_steps": 0, "output.snapshot_at_start": False}, [0]),
    ]:
        directory = run(config, scratch / name, *assignments({"time.dt": 0.01, **keys}))
        check([step for step, _, _ in times_of(directory)] == expected, f"{name}: {times_of(directory)}")
        check((directory / "snapshots.xdmf").exists() == bool(expected), f"{name}: index of snapshots")


def values(config, scratch):
    """float32 is the rounded float64; fewer fields are these fields; datasets are [z][y][x] with their coordinates."""
    keys = ["--set", "time.dt=0.01"]
    full = read_fields(snapshots(run(config, scratch / "float64", *keys))[-1])
    check(list(full) == FIELDS, f"fields {list(full)}")
    some = run(config, scratch / "float32", *keys, "--set", 'output.snapshot_precision="float32"', "--set",
               'output.snapshot_fields=["ay", "ux", "lnrho"]')  # fmt: skip
    for snapshot in snapshots(some):
        with h5py.File(snapshot) as file:
            check(sorted(file) == ["ay", "lnrho", "ux", "x", "y", "z"], f"datasets {sorted(file)}")
            check(file["ux"].shape == (8, 10, 12) and file["ux"].dtype == np.float32, str(file["ux"]))
            check(file.attrs["precision"] in ("float32", b"float32"), "attribute precision")
            check(np.allclose(file["y"][...], 0.25 + (np.arange(10) + 0.5) * 0.2, rtol=1e-15), "coordinates y")
    single = read_fields(snapshots(some)[-1])
    for name, value in single.items():
        check(np.array_equal(value, full[name].astype(np.float32)), f"{name} in float32 is not the rounded value")
    index_is_right(some, ["lnrho", "ux", "ay"], 4)


def index_is_right(directory, fields, precision, vectors=()):
    collection = ElementTree.parse(directory / "snapshots.xdmf").getroot().find("Domain/Grid")
    check(collection.get("CollectionType") == "Temporal", "a temporal collection")
    grids = collection.findall("Grid")
    check([float(g.find("Time").get("Value")) for g in grids] == [t for _, t, _ in times_of(directory)], "times of the index")
    for grid, snapshot in zip(grids, snapshots(directory), strict=True):
        nodes = [int(n) for n in grid.find("Topology").get("Dimensions").split()]
        check(nodes == [9, 11, 13], f"{nodes} nodes")
        origin, spacing = ([float(v) for v in item.text.split()] for item in grid.findall("Geometry/DataItem"))
        check(origin == [7.0, 0.25, -0.5] and np.allclose(spacing, [3 / 8, 0.2, 1 / 12], rtol=1e-15), f"{origin} {spacing}")
        scalars = [a for a in grid.findall("Attribute") if a.get("AttributeType") == "Scalar"]
        check([a.get("Name") for a in scalars] == fields, f"scalars {[a.get('Name') for a in scalars]}")
        check([a.get("Name") for a in grid.findall("Attribute") if a not in scalars] == list(vectors), "vectors")
        items = [item for item in grid.iter("DataItem") if item.get("Format") == "HDF"]
        check(len(items) == len(fields) + 3 * len(vectors), f"{len(items)} arrays")
        for item in items:
            name, dataset = item.text.strip().split(":/")
            check((directory / name) == snapshot, f"the index names {name} for {snapshot.name}")
            with h5py.File(directory / name) as file:
                check([int(n) for n in item.get("Dimensions").split()] == list(file[dataset].shape), f"shape of {dataset}")
                check(int(item.get("Precision")) == file[dataset].dtype.itemsize == precision, f"precision of {dataset}")


def records(config, scratch):
    """summary.toml and timing.csv against each other and against the files."""
    for ranks in (None, 2):
        directory = run(config, scratch / f"records-{ranks}", "--set", "output.snapshot_every_steps=5", "--set",
                        "time.dt=0.0025", ranks=ranks)  # fmt: skip
        summary = read_summary(directory)
        timing = np.genfromtxt(directory / "timing.csv", delimiter=",", names=True)
        check(list(timing["step"]) == list(range(1, 21)), f"steps {timing['step']}")
        check(np.all(timing["seconds"] > 0) and np.all(timing["compute"] > 0), "seconds of steps")
        check(np.all(timing["compute"] <= timing["seconds"] + 1e-9), "a part of a step is longer than the step")
        check(np.all((timing["output"] > 0)[[0, 5, 10, 15]]), "output before steps 1, 6, 11 and 16")
        expected = {"status": "complete", "steps": 20, "t": 0.05, "dt": read_series(directory)["dt"][0], "cells": [12, 10, 8],
                    "order": 6, "fields": 8, "ranks": ranks or 1, "backend": "cpu", "snapshots": 5}  # fmt: skip
        if "gpu" in mhdsim("--version").out:
            del expected["backend"]
        for key, value in expected.items():
            check(summary[key] == value, f"summary: {key} = {summary[key]}, expected {value}")
        check(int(np.prod(summary["decomposition"])) == (ranks or 1), f"decomposition {summary['decomposition']}")
        ns = 1e9 / (12 * 10 * 8)
        for key, value in [("ns_per_cell_step_median", ns * np.median(timing["seconds"])),
                           ("seconds_stepping", np.sum(timing["seconds"]))]:  # fmt: skip
            # timing.csv has nanoseconds, the sums behind the summary single precision
            check(abs(summary[key] - value) <= 1e-5 * value, f"{key} = {summary[key]}, timing.csv gives {value}")
        check(summary["ns_per_cell_step_p90"] >= summary["ns_per_cell_step_median"], "percentiles")
        check(summary["seconds_total"] >= summary["seconds_stepping"], "seconds")
        check(summary["seconds_output"] >= np.sum(timing["output"]) * (1 if ranks is None else 0.5), "seconds of output")
        bytes_written = sum(f.stat().st_size for f in [*snapshots(directory), directory / "series.csv", directory / "timing.csv"])
        check(summary["bytes_output"] == bytes_written, f"bytes_output = {summary['bytes_output']}, files have {bytes_written}")
        version = mhdsim("--version").out
        check(f"mhdsim {summary['version']}\n" in version and summary["revision"] in version, "version and revision")
        index_is_right(directory, FIELDS, 8, ["u", "a"])


def described(config, scratch):
    directory = run(config, scratch / "described", "--set", "time.dt=0.01")
    out = succeeds(mhdsim("info", snapshots(directory)[-1])).out
    for text in ("time       0.05", "step       5 (dt 0.01", "12 x 10 x 8 cells", "origin     (-0.5, 0.25, 7)", "float64",
                 "viscosity = 0.01", "mhdsim "):  # fmt: skip
        check(text in out, f"info: no '{text}' in\n{out}")
    for name, value in read_fields(snapshots(directory)[-1]).items():
        found = re.search(rf"^{name} +(\S+) +(\S+)$", out, re.M)
        check(found and (float(found[1]), float(found[2])) == (value.min(), value.max()), f"info: range of {name}")


def again(config, scratch):
    """config.toml runs again to the same bits; a snapshot is an initial condition."""
    keys = ["--set", "time.courant_advective=0.7", "--set", "output.snapshot_every_steps=2", "--set",
            "output.series_every_steps=1", "--set", "time.max_steps=6", "--set", "time.end=100.0"]  # fmt: skip
    first = run(config, scratch / "first", *keys)
    second = run(first / "config.toml", scratch / "second")
    check((first / "series.csv").read_bytes() == (second / "series.csv").read_bytes(), "config.toml: series.csv differs")
    for a, b in zip(snapshots(first), snapshots(second), strict=True):
        check(same_bits(read_fields(a), read_fields(b)), f"config.toml: {a.name} differs")
    pair = [(d / "config.toml").read_text(encoding="utf-8").replace(str(d), "") for d in (first, second)]
    check(pair[0] == pair[1], "config.toml does not resolve to itself")

    middle = snapshots(first)[1]
    start_from = assignments({"initial.kind": '"snapshot"', "initial.file": f'"{middle}"', "initial.low": 0.0,
                              "initial.high": 1.0, "initial.seed": 1, "time.max_steps": 4})  # fmt: skip
    for ranks in (None, 3):
        rest = run(config, scratch / f"rest-{ranks}", *keys, *start_from, ranks=ranks)
        check(same_bits(read_fields(snapshots(rest)[0]), read_fields(middle)), "the snapshot is not the initial state")
        a, b = read_series(first), read_series(rest)
        for column in set(a) - {"it", "t"}:
            check(a[column][2:] == b[column], f"{column} differs after starting from a snapshot")
        check(same_bits(read_fields(snapshots(rest)[-1]), read_fields(snapshots(first)[-1])), "the states differ in the end")
    # Modes and noise come on top of a snapshot, as of every kind.
    moved = run(config, scratch / "moved", *start_from, "--set", 'initial.modes=[{field="ux", amplitude=0.5}]')
    check(np.array_equal(read_fields(snapshots(moved)[0])["ux"], read_fields(middle)["ux"] + 0.5), "a mode on a snapshot")


def progress(config, scratch):
    line = re.compile(r"step +(\d+)  t (\S+) +dt (\S+) +(\S+) ns/cell/step +(\S+) %  left (?:\d+:)?\d+:\d\d")
    for ranks in (None, 2):
        result = succeeds(mhdsim("run", config, "--output", scratch / f"progress-{ranks}", "--set", "time.dt=0.005", "--set",
                                 "run.report_seconds=1e-9", ranks=ranks))  # fmt: skip
        found = [line.fullmatch(text) for text in result.out.splitlines() if text.startswith("step")]
        if not check(len(found) == 10 and all(found), f"expected ten lines of progress:\n{result}"):
            continue
        for step, match in enumerate(found, 1):
            number, t, dt, ns, percent = (float(v) for v in match.groups())
            check(number == step and abs(t - 0.005 * step) < 1e-6 and dt == 0.005 and ns > 0, match[0])
            check(abs(percent - 10 * step) < 0.06, match[0])
        lines = result.out.splitlines()
        check(lines[0].startswith("mhdsim "), "the banner comes first")
        for fact in ("12 x 10 x 8 cells", "ideal gas, magnetic", "dt = 0.005", f"ranks          {ranks or 1},",
                     str(scratch / f"progress-{ranks}")):  # fmt: skip
            check(any(fact in text for text in lines[:8]), f"the banner does not say '{fact}':\n{result}")
        check(lines[-2].startswith("complete: 10 steps to t = 0.05 in 0:"), lines[-2])
        check(lines[-1] == f"files in {scratch / f'progress-{ranks}'}", lines[-1])
    quiet = succeeds(mhdsim("run", config, "--output", scratch / "quiet", "--set", "time.dt=0.005", "--set",
                            "run.report_seconds=1000"))  # fmt: skip
    check(quiet.out.count("\nstep") == 1, f"expected the last line of progress only:\n{quiet}")


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        for part in (by_steps, by_time, ends, values, records, described, again, progress):
            part(config, scratch)
    finish("output and its cadence")


if __name__ == "__main__":
    main()
