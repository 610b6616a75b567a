#!/usr/bin/env python3
"""Checkpoints that are damaged, cut short or missing: every rank ends within seconds with a message that names the file,
or an older one is taken, and what was skipped is said. Never a fresh start, never wrong values."""

import random
import shutil
import time

from _cli import *

CONFIG = """
[grid]
cells = [12, 10, 8]
[time]
max_steps = 6
dt = 0.01
[physics]
viscosity = 0.02
[initial]
kind = "random"
low = -0.02
high = 0.03
[output]
checkpoint_every_steps = 2
checkpoint_at_end = false
checkpoints_kept = 3
"""

# A crash of HDF5, or a rank that waits for ever, would show; a busy machine would not.
SECONDS = 60


def damage_everywhere(whole):
    """(what, bytes) of damaged copies: bits at every structural place, and truncations there."""
    text = whole.read_bytes()
    places = {"first byte": 0, "superblock": 20, "last byte of the superblock": 47, "last byte": len(text) - 1,
              "padding of the seal": len(text) - 30, "first byte of the seal": len(text) - 1024,
              "number in the seal": len(text) - 1024 + 35}  # fmt: skip
    with h5py.File(whole) as file:
        for name, dataset in file.items():
            offset, size = dataset.id.get_offset(), dataset.id.get_storage_size()
            places |= {f"first byte of {name}": offset, f"middle of {name}": offset + size // 2,
                       f"last byte of {name}": offset + size - 1}  # fmt: skip
    for word in (b"OHDR", b"FRHP", b"FHDB", b"BTHD", b"BTLF", b"FADB", b"OCHK", b"mhdsim checkpoint\0", b"checksums",
                 b"courant_dt", b"viscosity = 0.02", b"lnrho", b"step", b"field "):  # fmt: skip
        at = text.find(word)
        while at >= 0:
            places[f"{word.decode()} at {at}"] = at + len(word) // 2
            at = text.find(word, at + 1)
    chance = random.Random(7)
    places |= {f"byte {at}": at for at in (chance.randrange(len(text)) for _ in range(20))}
    for what, at in places.items():
        bits = bytearray(text)
        bits[at] ^= 1 << chance.randrange(8)
        yield f"bit of {what}", bytes(bits)
    for what, at in list(places.items())[::4]:
        yield f"cut at {what}", text[:at]
    yield "empty", b""
    yield "longer", text + b"\0"
    yield "zeros at the end", text[: len(text) // 2] + bytes(len(text) - len(text) // 2)
    yield "another file", CONFIG.encode()


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        directory = run(config, scratch / "whole")
        old, middle, new = checkpoints(directory)
        expected = read_fields(snapshots(directory)[-1])

        damaged, count = scratch / "damaged.h5", 0
        for what, content in damage_everywhere(new):
            damaged.write_bytes(content)
            before = time.monotonic()
            # On one rank quickly; some on several, where a rank that fails alone would leave the others waiting.
            ranks = 3 if count % 12 == 0 else None
            result = mhdsim("run", config, "--output", scratch / "none", "--restart", damaged, ranks=ranks)
            fails(result, 6, damaged)
            check(time.monotonic() - before < SECONDS, f"{what}: took {time.monotonic() - before:.0f} s")
            if failures:
                print(what, flush=True)
                break
            count += 1
        check(count > 80 or failures, f"only {count} kinds of damage")
        check(not (scratch / "none" / "series.csv").exists(), "a failed restart started a run")
        print(f"{count} kinds of damage", flush=True)

        # A field is covered by its checksum, which all ranks compute together.
        with h5py.File(new, "r") as file:
            offset = file["uy"].id.get_offset() + 8 * (12 * 10 * 7 + 5)
        bits = bytearray(new.read_bytes())
        bits[offset] ^= 1
        damaged.write_bytes(bits)
        for ranks in (None, 2, 4):
            result = mhdsim("run", config, "--output", scratch / "none", "--restart", damaged, ranks=ranks)
            fails(result, 6, f"{damaged} is damaged: the checksum of field uy does not match")

        # latest takes the next older one, and says which it skipped and why.
        for ranks in (None, 3):
            broken = scratch / f"latest {ranks}"
            shutil.copytree(directory, broken)
            (broken / new.name).write_bytes(bits)
            (broken / middle.name).write_bytes(middle.read_bytes()[:5000])
            arguments = ["run", config, "--output", broken, "--restart", "latest"]
            result = succeeds(mhdsim(*arguments, ranks=ranks))
            for text in (f"skipped a checkpoint: {broken / new.name} is damaged: the checksum of field uy",
                         f"skipped a checkpoint: {broken / middle.name} is truncated",
                         f"continues from {broken / old.name}: step 2"):  # fmt: skip
                check(text in result.out, f"expected '{text}':\n{result}")
            check(same_bits(read_fields(snapshots(broken)[-1]), expected), "the end differs after a skipped checkpoint")
            check(read_series(broken)["it"] == read_series(directory)["it"], f"rows {read_series(broken)['it']}")

            # None that can be used: an error that lists them, and the files of the run stay.
            for name in checkpoints(broken):
                name.write_bytes(name.read_bytes()[:-1])
            series = (broken / "series.csv").read_bytes()
            result = mhdsim(*arguments, ranks=ranks)
            fails(result, 6, f"no checkpoint in {broken} can be used", *checkpoints(broken))
            check((broken / "series.csv").read_bytes() == series, "a failed restart changed files")
            for name in checkpoints(broken):
                name.unlink()
            fails(mhdsim(*arguments, ranks=ranks), 6, f"there is no checkpoint in {broken}")

        # What is not the file's fault is not skipped over.
        (directory / new.name).rename(directory / "checkpoint_00000007.h5")
        succeeds(mhdsim("info", directory / "checkpoint_00000007.h5"))
        check("kind       checkpoint" in mhdsim("info", middle).out, "info knows checkpoints")
        result = mhdsim("run", config, "--output", directory, "--restart", "latest", "--set", "physics.viscosity=0.03")
        check(result.code == 3 and "0.03" in result.err, f"a changed key is no reason to take an older one:\n{result}")
    finish("damaged checkpoints")


if __name__ == "__main__":
    main()
