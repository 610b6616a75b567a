#!/usr/bin/env python3
"""output.snapshot_compression: the same values in fewer bytes, the same bytes from any ranks, a file that everything reads;
and what bench output says about it."""

import json
import xml.etree.ElementTree

from _cli import *

CONFIG = """
[grid]
cells = [40, 37, 45]
[time]
max_steps = 2
dt = 0.01
[physics]
viscosity = 0.01
[initial]
kind = "sound_wave"
[output]
directory = "out"
checkpoint_every_steps = 2
"""


def in_folder(folder, config, level, ranks, *arguments):
    """A run in folder/out: snapshots hold the name of their directory."""
    folder.mkdir()
    level = ["--set", f"output.snapshot_compression={level}"]
    succeeds(mhdsim("run", config, *level, *arguments, ranks=ranks, cwd=folder))
    return folder / "out"


def runs(config, scratch):
    plain = in_folder(scratch / "plain", config, 0, None)
    once = in_folder(scratch / "once", config, 4, None)
    for number, (ranks, cut) in enumerate([(2, "[1,1,2]"), (3, "[3,1,1]"), (4, "[2,2,1]")]):
        several = in_folder(scratch / f"several{number}", config, 4, ranks, "--set", f"grid.decomposition={cut}")
        for a, b in zip(snapshots(once), snapshots(several)):
            with h5py.File(a) as one, h5py.File(b) as many:
                for name in FIELDS:
                    parts = [[f[name].id.read_direct_chunk((z, 0, 0)) for z in range(0, 45, f[name].chunks[0])] for f in (one, many)]  # fmt: skip
                    check(parts[0] == parts[1], f"{ranks} ranks, {cut}: other chunks of {name}")
    for a, b in zip(snapshots(plain), snapshots(once)):
        check(b.stat().st_size < 0.9 * a.stat().st_size, f"{a.stat().st_size} bytes became {b.stat().st_size}")
        check(same_bits(read_fields(a), read_fields(b)), "compression is not lossless")
        check("The files agree." in succeeds(mhdsim("diff", a, b)).out, "diff sees a difference")
        with h5py.File(b) as file:
            ux = file["ux"]
            check((ux.compression, ux.compression_opts, ux.shuffle) == ("gzip", 4, True), f"filters of ux: {ux}")
            check(8 * np.prod(ux.chunks) <= 1 << 20, f"chunks {ux.chunks}")
        check("compressed shuffle and deflate 4: the fields take" in mhdsim("info", b).out, str(mhdsim("info", b)))
        check("compressed" not in mhdsim("info", a).out.split("configuration")[0], "info calls a plain file compressed")
    for name in ("snapshots.xdmf", "series.csv"):
        check((plain / name).read_bytes() == (once / name).read_bytes(), f"{name} differs")
    xml.etree.ElementTree.parse(once / "snapshots.xdmf")
    with h5py.File(once / "checkpoint_00000002.h5") as file:
        check(file["ux"].compression is None and file["ux"].chunks is None, "a checkpoint is compressed")

    # A run can start from such a file, on any ranks.
    last = snapshots(once)[-1]
    for ranks in (None, 3):
        fresh = scratch / f"fresh{ranks}"
        run(config, fresh, *assignments({"initial.kind": '"snapshot"', "initial.file": f'"{last}"'}), ranks=ranks)
        check(same_bits(read_fields(snapshots(fresh)[0]), read_fields(last)), f"started from a compressed file on {ranks}")
    check("deflate 9: sizes are upper bounds" in mhdsim("check", config, "--set", "output.snapshot_compression=9").out,
          "check says nothing about compression")  # fmt: skip


def bench(scratch):
    result = scratch / "bench.json"
    for ranks, words, kinds in [(None, [], 4), (2, ["--decomposition", "2", "1", "1", "--precision", "float32"], 4),
                                (2, ["--compression", "0"], 3)]:  # fmt: skip
        told = succeeds(mhdsim("bench", "output", "--cells", "24", "--rounds", "2", "--directory", scratch, "--json", result,
                               *words, ranks=ranks)).out  # fmt: skip
        rows = [line for line in told.splitlines() if line.endswith(" %")]
        check(len(rows) == kinds and "plain parallel write" in rows[0], told)
        values = json.loads(result.read_text(encoding="utf-8"))
        names = ["plain", "snapshot", "checkpoint", "compressed"][:kinds]
        check(all(values[f"{name}_bytes_per_second"] > 0 for name in names) and values["plain_of_plain"] == 1, str(values))
        size = 24**3 * 8 * (4 if "float32" in words else 8)
        check(values["plain_file_bytes"] == size, f"the plain write has {values['plain_file_bytes']} bytes of {size}")
        check(values["snapshot_file_bytes"] >= size, str(values))
        check(not list(scratch.glob("bench_output*")), "bench output left a file")
    wrong = mhdsim("bench", "output", "--compression", "10")
    check(wrong.code == 2 and "--compression" in wrong.err, str(wrong))
    missing = mhdsim("bench", "output", "--cells", "8", "--directory", scratch / "none")
    check(missing.code == 6 and str(scratch / "none") in missing.err, str(missing))


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        runs(config, scratch)
        bench(scratch)
    finish("compression")


if __name__ == "__main__":
    main()
