#!/usr/bin/env python3
"""kill -9 at more than fifty moments, random ones and those at which a file is being written: what goes on from the
newest checkpoint ends with the files of a run that was never disturbed, byte for byte; with files written between steps
and while steps go on."""

import random

from _runs import *

CONFIG = """
[grid]
cells = [20, 17, 13]
order = 4
[time]
max_steps = 240
courant_interval = 3
[physics]
viscosity = 0.02
resistivity = 0.03
[initial]
kind = "random"
low = -0.02
high = 0.03
[output]
snapshot_every_steps = 4
series_every_steps = 1
checkpoint_every_steps = 6
"""
KILLS = 54
PHASES = ["snapshot_*.h5.partial", "checkpoint_*.h5.partial", "snapshots.xdmf.partial", "config.toml.partial",
          "summary.toml.partial", "any"]  # fmt: skip


def wait_for(phase, process, directory, chance, longest):
    """Until a file of that kind is being written, or until some moment."""
    until = time.monotonic() + chance.uniform(0, longest)
    skip = chance.randrange(4)  # not always the first one
    last = None
    while process.poll() is None:
        if phase == "any":
            if time.monotonic() >= until:
                return
            time.sleep(0.0005)
            continue
        now = next((p.name for p in directory.glob(phase)), None)
        if now and now != last:
            if skip == 0 or time.monotonic() >= until:
                return
            skip -= 1
        last = now


def main():
    chance = random.Random(2026)
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        began = time.monotonic()
        whole = {o: in_folder(scratch / f"whole {o}", config, {"output.overlap": o}) for o in (False, True)}
        longest = (time.monotonic() - began) / 2
        kills, runs, written = dict.fromkeys(PHASES, 0), 0, 0
        while sum(kills.values()) < KILLS and not failures:
            runs += 1
            folder = scratch / f"run {runs}"
            directory = folder / "out"
            keys = {"output.overlap": runs % 2 == 0}
            process = start_run(config, keys, folder=folder)
            while True:
                phase = chance.choice(PHASES)
                if sum(kills.values()) < KILLS:
                    wait_for(phase, process, directory, chance, longest / 2)
                if process.poll() is None and sum(kills.values()) < KILLS:
                    written += bool(list(directory.glob("*.partial")))
                    kill_all(process)
                    process.communicate()
                    kills[phase] += 1
                else:
                    result = end_of(process)
                    check(result.code == 0, f"a run that went on failed:\n{result}")
                    break
                if checkpoints(directory):
                    how = ["--restart", "latest"]
                else:
                    how = ["--overwrite"]
                process = start_run(config, keys, *how, folder=folder, ranks=chance.choice([None, None, None, 2]))
            same_files(f"run {runs}", whole[keys["output.overlap"]], directory)
        check(sum(kills.values()) >= KILLS or failures, f"kills: {kills}")
        print(f"{sum(kills.values())} kills in {runs} runs: {kills}; {written} with a file being written", flush=True)
        check(written >= 5 or failures, f"only {written} kills met a file being written")
    finish("kills")


if __name__ == "__main__":
    main()
