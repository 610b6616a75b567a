#!/usr/bin/env python3
"""What works without MPI: --help, --version, check and the errors of a configuration. And that check tells the truth:
its numbers against a run's files, memory and decomposition."""

import re
from itertools import product

from _cli import *

CONFIG = """
[grid]
cells = [16, 12, 14]
[time]
max_steps = 7
dt = 0.01
[physics]
viscosity = 0.01
[initial]
kind = "random"
high = 0.1
[output]
snapshot_every_steps = 3
series_every_steps = 2
"""

# What a launcher leaves behind that this MPI cannot use: MPI_Init ends the process with an error of its own.
BROKEN = {"PMI_FD": "9999", "PMI_RANK": "0", "PMI_SIZE": "1", "PMI_PORT": "nowhere:1"}
# And a library (no_mpi.cpp) that ends the process with these codes where it starts MPI or CUDA nevertheless.
STARTED = (97, 98)
if not sanitized():
    BROKEN["LD_PRELOAD"] = os.environ.get("MHD_NO_MPI") or sys.exit("set MHD_NO_MPI to the library of no_mpi.cpp")


def helps():
    commands = {
        (): ["run", "check", "verify", "bench", "diff", "info", "--version"],
        ("run",): ["CONFIG", "--set KEY=VALUE", "--backend", "--output DIR", "--overwrite"],
        ("check",): ["CONFIG", "--set KEY=VALUE", "--backend", "--output DIR", "--ranks N", "--verbose"],
        ("verify",): ["CONFIG", "--set KEY=VALUE", "--backend", "--steps N", "--ulps N"],
        ("bench",): ["step"],
        ("bench", "step"): ["--cells", "--order", "--physics", "--steps", "--warmup", "--courant", "--backend",
                            "--decomposition", "--json"],
        ("diff",): ["A.h5", "B.h5", "--ulps N", "--rel X"],
        ("info",): ["FILE"],
    }  # fmt: skip
    for (command, words), flag in product(commands.items(), ("--help", "-h")):
        result = succeeds(mhdsim(*command, flag, env=BROKEN))
        for word in [" ".join(["Usage: mhdsim", *command]), *words]:
            check(word in result.out, f"no '{word}' in {result}")
    # One page, however many processes there are.
    check(succeeds(mhdsim("run", "--help", ranks=3)).out.count("Usage:") == 1, "expected one page of help on 3 ranks")


def version():
    lines = succeeds(mhdsim("--version", env=BROKEN)).out.splitlines()
    for line, pattern in zip(lines, [r"mhdsim \d+\.\d+\.\d+.*", r"revision +\S+", r"compiler +\S.*", r"MPI +\S.*\d.*",
                                     r"HDF5 +\d+\.\d+\.\d+", r"CUDA +\S.*", r"backends +cpu(, gpu)?"], strict=True):  # fmt: skip
        check(re.fullmatch(pattern, line), f"--version: '{line}' is not like '{pattern}'")


def without_mpi(config, scratch):
    succeeds(mhdsim("check", config, env=BROKEN))
    for command in ("run", "verify", "check"):
        result = mhdsim(command, config, "--set", "grid.order=5", env=BROKEN)
        check(result.code == 3 and "2, 4, 6 or 8, found 5" in result.err and len(result.err.splitlines()) == 2, str(result))
    fails(mhdsim("run", env=BROKEN), 2, "CONFIG is required")
    fails(mhdsim("bench", "step", "--order", "7", env=BROKEN), 2, "--order: 7 not in")
    snapshot = snapshots(run(config, scratch / "whole"))[-1]
    succeeds(mhdsim("info", snapshot, env=BROKEN))
    succeeds(mhdsim("diff", snapshot, snapshot, env=BROKEN))
    # The environment is one in which MPI cannot start, or this test would show nothing.
    if not sanitized():
        for command in (["run", config, "--output", scratch / "broken"], ["verify", config], ["bench", "step", "--cells", "8"]):
            result = mhdsim(*command, env=BROKEN)
            check(result.code in STARTED, f"expected exit code 97 or 98:\n{result}")
        check(not (scratch / "broken").exists(), "a run without MPI made its directory")
    if "MPICH" in mhdsim("--version").out:
        # Of several processes the first reports before MPI starts.
        result = mhdsim("run", config, "--set", "grid.order=5", env={**BROKEN, "PMI_SIZE": "3"})
        check(result.code != 0 and "2, 4, 6 or 8, found 5" in result.err, str(result))
        result = mhdsim("check", config, "--set", "grid.order=5", env={**BROKEN, "PMI_RANK": "2", "PMI_SIZE": "3"})
        check(result.code == 3 and result.err == "", f"expected the first of three processes to speak:\n{result}")


def resolved(config, *arguments):
    return succeeds(mhdsim("check", config, *arguments)).out


def sets(config):
    def value(out, key):
        return re.search(rf"^{key} = (.*)$", out, re.M)[1]

    check(value(resolved("--set", "grid.order=4", config), "order") == "4", "--set before CONFIG")
    check(value(resolved(config, "--set", "grid.order=4"), "order") == "4", "--set after CONFIG")
    out = resolved("--set", "grid.order=4", config, "--set", "time.dt=0.5", "--set", "grid.order=8")
    check((value(out, "order"), value(out, "dt")) == ("8", "0.5"), "of two --set of one key the last counts")
    out = resolved(config, "--set", "grid.cells=[8, 9, 10]", "--set", 'initial.kind="abc_flow"', "--set=initial.high=1.0")
    check(value(out, "cells") == "[8, 9, 10]" and value(out, "kind") == '"abc_flow"', "--set of a list and a string")
    result = mhdsim("check", config, "--set", "initial.kind=abc_flow", "--set", "grid.cells=8", "--set", "grid.oder=4")
    for fragment in ("strings need quotes: --set 'initial.kind=\"abc_flow\"'", "--set grid.cells=8: expected",
                     "the nearest known name is grid.order", "3 errors in the configuration"):  # fmt: skip
        check(result.code == 3 and fragment in result.err, f"no '{fragment}' in {result}")
    # The resolved configuration is one: it resolves to itself.
    text = resolved(config).split("\ndecomposition\n")[0]
    again = write_config(config.parent / "again.toml", text)
    check(resolved(again, "--output", "runs/case").split("\ndecomposition\n")[0] == text, "the resolved configuration")
    check("output into runs/case\n" in resolved(config) and "output into elsewhere\n" in resolved(config, "--output", "elsewhere"),
          "the run directory that check names")  # fmt: skip


def bytes_of(text):
    number, unit = text.split()
    return float(number) * 1024 ** ["B", "KiB", "MiB", "GiB", "TiB"].index(unit)


def about(text, expected):
    """Whether a printed size is this number of bytes, to its two decimals."""
    return abs(bytes_of(text) - expected) <= 0.006 * bytes_of("1 " + text.split()[1])


def parts(cells, count):
    return [cells // count + (index < cells % count) for index in range(count)]


def decomposition(config):
    """Counts what a rank needs from others: all cells within the stencil's reach along axes and in planes."""
    for cells, order, subdomains in [([16, 12, 14], 6, [1, 1, 1]), ([16, 12, 14], 6, [2, 2, 2]), ([50, 46, 38], 8, [3, 1, 2]),
                                     ([13, 11, 1], 4, [3, 2, 1]), ([29, 1, 1], 6, [4, 1, 1])]:  # fmt: skip
        ranks = int(np.prod(subdomains))
        out = resolved(config, "--ranks", ranks, *assignments({"grid.cells": cells, "grid.order": order,
                                                              "grid.decomposition": subdomains}))  # fmt: skip
        values = dict(re.findall(r"^  (ranks|subdomains|cells per rank|halo per substep|memory per rank) +(.*)$", out, re.M))
        check(values["ranks"] == str(ranks) and values["subdomains"] == " x ".join(map(str, subdomains)), str(values))
        radius = order // 2
        volumes, halos = [], []
        for size in product(*(parts(n, p) for n, p in zip(cells, subdomains))):
            near = np.zeros([n + 2 * radius * (p > 1) for n, p in zip(size, subdomains)], dtype=bool)
            inner = [slice(radius, radius + n) if p > 1 else slice(0, n) for n, p in zip(size, subdomains)]
            for across in range(3):  # a plane: everything within reach along the two other axes
                near[tuple(inner[a] if a == across else slice(None) for a in range(3))] = True
            volumes.append(int(np.prod(size)))
            halos.append(int(near.sum()) - volumes[-1])
        check(values["cells per rank"] == f"{min(volumes)} to {max(volumes)}", f"{values} against {volumes}")
        busiest, total = re.fullmatch(r"(.*) received by the busiest rank, (.*) by all", values["halo per substep"]).groups()
        check(about(busiest, 64 * max(halos)), f"halo of the busiest rank: {busiest}, expected {64 * max(halos)} bytes")
        check(about(total, 64 * sum(halos)), f"halo of all ranks: {total}, expected {64 * sum(halos)} bytes")
    free = resolved(config, "--ranks", "6")
    check("ranks                  6" in free, "check --ranks 6")


def exchange(config):
    """The tables of --verbose hold each cell once, all halo cells of rank 0 once, and agree with each other."""
    for cells, order, subdomains in [([16, 12, 14], 6, [1, 1, 1]), ([16, 12, 14], 6, [2, 2, 2]), ([50, 46, 38], 8, [3, 1, 2]),
                                     ([13, 11, 1], 4, [3, 2, 1]), ([7, 30, 30], 6, [2, 2, 3])]:  # fmt: skip
        changes = {"grid.cells": cells, "grid.order": order, "grid.decomposition": subdomains}
        arguments = ["--ranks", int(np.prod(subdomains)), *assignments(changes)]
        out, plain = resolved(config, "--verbose", *arguments), resolved(config, *arguments)
        where = f"--verbose of {changes}:\n{out.split('decomposition')[-1]}"
        tables = out.split("messages of rank 0")[1].split("output into")[0].strip().split("\n\n")
        check(out.replace(f"messages of rank 0{out.split('messages of rank 0')[1].split('output into')[0]}", "") == plain,
              f"something other than tables is added {where}")  # fmt: skip
        radius, size = order // 2, [parts(n, p)[0] for n, p in zip(cells, subdomains)]
        row = r"^  (inner|outer \d+) +(?:\d+, \d+, \d+)? +(none|\d+ x \d+ x \d+) +(\d+) +(\S+ \S+)   (.*)$"
        computed = re.findall(row, tables[-1], re.M)
        check(sum(int(n) for _, _, n, _, _ in computed) == np.prod(size), f"not each cell once {where}")
        for name, box, count, size_text, _ in computed:
            check(about(size_text, 64 * int(count)), f"bytes of {name} {where}")
            check(int(count) == (0 if box == "none" else np.prod([int(n) for n in box.split(" x ")])), f"size of {name} {where}")
        check(int(computed[0][2]) == np.prod([max(0, n - 2 * radius * (p > 1)) for n, p in zip(size, subdomains)]),
              f"inner box {where}")  # fmt: skip
        if np.prod(subdomains) == 1:
            check("none: this rank holds all axes alone" in tables[0] and len(computed) == 1, where)
            continue
        messages = re.findall(r"^  (\d+) +(\d+) +(\d+) +\S+ \S+ +(.*)$", tables[0], re.M)
        halo = re.findall(r"^  ([-+][-+xyz]*) +\d+ x \d+ x \d+ +(\d+) +\S+ \S+ +(\d+)   (\d[\d ]*?)  +(\d[\d ]*)$", tables[1], re.M)
        near = [radius if d else n for d, n in zip([p > 1 for p in subdomains], size)]
        split = [axis for axis in range(3) if subdomains[axis] > 1]
        faces = sum(2 * near[a] * np.prod(size) // size[a] for a in split)
        edges = sum(4 * near[a] * near[b] * np.prod(size) // (size[a] * size[b]) for a in split for b in split if a < b)
        check(sum(int(m[2]) for m in messages) == sum(int(h[1]) for h in halo) == faces + edges, f"halo cells {where}")
        for number, _, count, directions in messages:
            inside = [h for h in halo if h[2] == number]
            check(directions.split() == [h[0] for h in inside] and int(count) == sum(int(h[1]) for h in inside),
                  f"message {number} {where}")  # fmt: skip
        for name, _, _, _, awaited in computed[1:]:
            number = name.split()[1]
            needed = {h[2] for h in halo if number in h[3].split()}
            check(needed and needed == set(awaited.split()), f"messages of {name} {where}")


def memory(config, scratch):
    """The largest resident size of a run grows with the grid by what check says, and little more (buffers of output)."""
    if sanitized():
        print("skipped: memory of a run (sanitizers add their own)")
        return

    def predicted(cells):
        return bytes_of(re.search(r"memory per rank +(\S+ \S+) of fields", resolved(config, "--set", f"grid.cells={cells}"))[1])

    def resident(cells, name):
        process = start([MHDSIM, "run", config, "--output", scratch / name, "--set", f"grid.cells={cells}", "--set",
                         "time.max_steps=1"], stdout=subprocess.DEVNULL)  # fmt: skip
        return os.wait4(process.pid, 0)[2].ru_maxrss * 1024

    # Both larger than this script, whose size a child starts from.
    small, large = [72, 72, 72], [104, 104, 104]
    expected = predicted(large) - predicted(small)
    found = resident(large, "large") - resident(small, "small")
    check(expected < found * 1.02 and found < 1.25 * expected, f"memory: {found} bytes more, check says {expected}")


def files(config, scratch):
    """The number and size of snapshots and the rows of series.csv and timing.csv, where steps and times are known."""
    fixed, end_only = {}, {"time.max_steps": "1000000"}
    cases = [
        fixed,
        {"output.snapshot_at_start": False, "output.snapshot_at_end": False},
        {"output.snapshot_every_steps": 7, "output.series_every_steps": 7},
        {"output.snapshot_every_steps": 7, "output.snapshot_at_end": False},
        {"output.snapshot_every_steps": 100, "output.series_every_steps": 100, "output.snapshot_at_start": False},
        {"output.snapshot_precision": '"float32"', "output.snapshot_fields": '["ux", "lnrho"]'},
        {"time.max_steps": 0},
        {"time.max_steps": 0, "output.snapshot_at_start": False, "output.snapshot_at_end": False},
        # Steps are shortened to meet the outputs, so that there are more of them than end/dt.
        {"time.end": 0.1, "time.dt": 0.03, **end_only},
        {"time.end": 0.05, "time.max_steps": 3},
    ]  # fmt: skip
    timed = CONFIG.replace("snapshot_every_steps = 3\nseries_every_steps = 2\n", "")
    by_time = [
        {"output.snapshot_every_time": 0.025, "output.series_every_time": 0.04, "time.end": 0.1, "time.dt": 0.03, **end_only},
        {"output.snapshot_every_time": 0.01, "time.end": 0.07, "time.dt": 0.004, **end_only},
        {"output.snapshot_every_time": 0.03, "output.series_every_time": 0.01, "time.end": 0.05, "output.snapshot_at_end": False},
        {},
    ]  # fmt: skip
    courant = timed.replace("max_steps = 7\ndt = 0.01", "end = 0.2")
    by_courant = [
        {"output.snapshot_every_time": 0.05, "output.series_every_time": 0.03},
        {"output.snapshot_every_time": 0.07, "output.series_every_time": 0.1, "output.snapshot_at_end": False},
        {"output.snapshot_every_time": 0.1, "output.snapshot_at_start": False, "output.series_every_time": 0.3},
    ]
    courant_steps = CONFIG.replace("dt = 0.01", "")
    number = 0
    for text, changes in [(CONFIG, cases), (timed, by_time), (courant, by_courant), (courant_steps, cases[:6])]:
        path = write_config(scratch / "planned.toml", text)
        for change in changes:
            number += 1
            arguments = assignments(change)
            out = resolved(path, *arguments)
            directory = run(path, scratch / f"planned-{number}", *arguments)
            where = f"case {number} {change}"
            count, each, total = re.search(r"snapshot files +(\d+) of ([^,]*), (\S+ \S+) in all", out).groups()
            found = snapshots(directory)
            check(int(count) == len(found), f"{where}: {len(found)} snapshots, check says {count}")
            payload = 0
            for snapshot in found:
                with h5py.File(snapshot) as file:
                    payload = sum(file[name].id.get_storage_size() for name in FIELDS if name in file)
                    axes = sum(file[name].id.get_storage_size() for name in "xyz")
                check(about(each, payload), f"{where}: {payload} bytes of fields, check says {each}")
                rest = snapshot.stat().st_size - payload
                check(axes < rest < axes + 32768, f"{where}: {rest} bytes beside the fields, check says a few KiB")
            check(about(total, payload * len(found)), f"{where}: check says {total} in all")
            rows = re.search(r"series.csv +.*, (\d+) rows", out)
            if rows or text != courant:
                check(rows and int(rows[1]) == len(read_series(directory)["it"]), f"{where}: rows of series.csv\n{out}")
            steps = re.search(r"timing.csv +.*, (\d+) rows", out)
            if text != courant:
                timing = (directory / "timing.csv").read_text(encoding="ascii").splitlines()
                check(steps and int(steps[1]) == len(timing) - 1, f"{where}: rows of timing.csv\n{out}")
            named = set(re.findall(r"(\S+\.(?:csv|toml|xdmf))", out.split("output into")[1]))
            written = {file.name for file in directory.iterdir()} - {file.name for file in found} - {".lock"}
            check(written | {"snapshots.xdmf"} == named, f"{where}: wrote {written}, check names {named}")
            check(("snapshots.xdmf" in written) == bool(found), f"{where}: an index without snapshots")


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        helps()
        version()
        without_mpi(config, scratch)
        sets(config)
        decomposition(config)
        exchange(config)
        memory(config, scratch)
        files(config, scratch)
        check(resolved(config) == succeeds(mhdsim("check", config, ranks=3)).out, "check under a launcher prints once")
    finish("help and check")


if __name__ == "__main__":
    main()
