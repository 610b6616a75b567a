#!/usr/bin/env python3
"""A force-free Beltrami field decays as exp(-eta k^2 t), all of it alike. Every output must obey that law at the time that
it says it is of: rows of the series, snapshots, checkpoints, with fixed steps, steps of the Courant condition and steps
shortened for an output, on several ranks, and after a restart."""

from xml.etree import ElementTree

from _runs import *

RATE = 0.2  # eta k^2 with the wave number 1

# A step changes the field by several parts in a thousand: a state that is given the time of the step before or after is
# far outside. What the discretisation adds is below 1e-7: (k dx)^8 2/3150 = 4e-7 of the rate, (rate dt)^4/24 per step.
TOLERANCE = 1e-6

CONFIG = f"""
[grid]
cells = [16, 16, 16]
order = 8
[time]
end = 1.0
[physics]
equation_of_state = "isothermal"
viscosity = 0.1
resistivity = {RATE}
[initial]
kind = "beltrami"
amplitude = 0.05
[output]
checkpoint_every_steps = 3
checkpoints_kept = 99
"""

# Columns that are proportional to the field, and to its square.
LINEAR = ["brms", "bmax", "jrms", "jmax", "vArms", "vAmax"]
SQUARES = ["bx2m", "by2m", "bz2m", "abm", "jbm", "EEM", "epsM"]


def obeys(value, initial, t):
    return np.max(np.abs(value - initial * np.exp(-RATE * t))) <= TOLERANCE * np.max(np.abs(initial))


def obeyed(name, directory):
    """Checks all files of a run."""
    series = read_series(directory)
    check({*LINEAR, *SQUARES} <= set(series), f"{name}: columns {sorted(series)}")
    t = np.array(series["t"])
    check(t[0] == 0 and t[-1] == 1.0, f"{name}: from t = {t[0]} to {t[-1]}")
    check(min(series["dt"]) * RATE > 100 * TOLERANCE, f"{name}: steps of {min(series['dt'])} are too short to show anything")
    for column in [*LINEAR, *SQUARES]:
        power = 2 if column in SQUARES else 1
        check(obeys(np.array(series[column]), series[column][0], power * t), f"{name}: {column} is not of its time")
    check(max(series["urms"]) < 1e-13, f"{name}: a flow of {max(series['urms'])}")

    initial = read_fields(snapshots(directory)[0])
    files = [*snapshots(directory), *checkpoints(directory)]
    for path in files:
        with h5py.File(path) as file:
            time = float(file.attrs["time"])
        for field in ("ax", "ay", "az"):
            check(obeys(read_fields(path)[field], initial[field], time), f"{name}: {field} of {path.name} is not of t = {time}")
    index = ElementTree.parse(directory / "snapshots.xdmf").getroot()
    for grid in index.iter("Grid"):
        if grid.find("Time") is not None:
            file = next(item.text.strip().partition(":")[0] for item in grid.iter("DataItem") if item.get("Format") == "HDF")
            time = float(grid.find("Time").get("Value"))
            check(obeys(read_fields(directory / file)["ax"], initial["ax"], time), f"{name}: {file} in the index")
    return len(t), len(files)


def main():
    steps = {"output.series_every_steps": 1, "output.snapshot_every_steps": 2}
    times = {"output.series_every_time": 0.07, "output.snapshot_every_time": 0.13}
    cases = [
        ("fixed steps", {"time.dt": 0.05, **steps}),
        ("Courant condition", steps),
        ("Courant condition that holds for several steps", {"time.courant_interval": 3, **steps}),
        ("fixed steps, outputs by time", {"time.dt": 0.05, **times}),
        ("Courant condition, outputs by time", times),
    ]
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        for number, (name, keys) in enumerate(cases):
            directory = in_folder(scratch / f"{number}", config, keys, ranks=2 if number % 2 else None)
            rows, files = obeyed(name, directory)
            check(rows > 10 and files > 6, f"{name}: {rows} rows, {files} files")
            print(f"{name}: {rows} rows, {files} files", flush=True)
            middle = checkpoints(directory)[1]
            folder = directory.parent
            in_folder(folder, config, keys, "--restart", f"out/{middle.name}", ranks=None if number % 2 else 2)
            check(obeyed(f"{name}, continued", directory) == (rows, files), f"{name}: other outputs after a restart")
    finish("decay")


if __name__ == "__main__":
    main()
