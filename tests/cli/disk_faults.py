#!/usr/bin/env python3
"""What a disk can do to a run: full, over quota, read-only, dying, without locks. Each write, open, sync, rename and
reservation of a small run fails in turn, on one rank and on two: the documented exit code, one message with path and
cause, no part of a file left, and everything that was complete before is intact."""

import errno
import os
import shutil

from _cli import *

CONFIG = SMALL_RUN + """[output]
series_every_steps = 2
snapshot_every_steps = 2
checkpoint_every_steps = 2
"""
CALLS = [("write", errno.EDQUOT), ("write", errno.ENOSPC), ("open", errno.EACCES), ("sync", errno.EIO),
         ("rename", errno.EROFS), ("reserve", errno.ENOSPC), ("reserve", errno.EDQUOT), ("truncate", errno.ESTALE)]  # fmt: skip


def compile_faults(scratch):
    """The library that lets calls fail; nothing where there is no C compiler or it cannot be preloaded."""
    compiler = next((c for c in ("cc", "gcc", "clang") if shutil.which(c)), None)
    if sanitized() or not compiler:
        return None
    library = scratch / "faults.so"
    source = Path(__file__).with_name("_faults.c")
    result = execute([compiler, "-shared", "-fPIC", "-O1", "-o", library, source, "-ldl"])
    check(result.code == 0, f"{source} does not compile:\n{result}")
    return library


class Faults:
    """Runs whose calls fail, each in a directory called "faulty" of its own."""

    def __init__(self, library, config, scratch):
        self.library, self.config, self.scratch, self.count = library, config, scratch, 0

    def run(self, call, error=0, at=0, ranks=None, rank=None, arguments=(), once=False, short=False, directory=None):
        self.count += 1
        directory = directory or self.scratch / f"faulty{self.count}"
        log = self.scratch / f"log{self.count}"
        env = {"LD_PRELOAD": str(self.library), "FAULT_PATH": f"{directory}/", "FAULT_CALL": call,
               "FAULT_ERRNO": str(error), "FAULT_AT": str(at), "FAULT_LOG": str(log)}  # fmt: skip
        env |= {name: "1" for name, wanted in (("FAULT_ONCE", once), ("FAULT_SHORT", short)) if wanted}
        if rank is not None:
            env["FAULT_RANK"] = str(rank)
        result = mhdsim("run", self.config, "--output", directory, *arguments, ranks=ranks, env=env)
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return directory, result, [line.split(" ", 2)[2] for line in calls]


def is_refused(result, directory, paths, at, error, what):
    """The message names the file of the failed call, or the name it was to get."""
    where = f"{what}, call {at}"
    check(result.code == 6, f"{where}: expected exit code 6:\n{result}")
    check(len(result.errors()) == 1, f"{where}: expected one message:\n{result}")
    check(os.strerror(error) in result.err, f"{where}: expected '{os.strerror(error)}':\n{result}")
    check("Traceback" not in result.err and "backtrace" not in result.err, f"{where}: a crash:\n{result}")
    path = paths[at - 1].removesuffix(".partial")
    check(path in result.err, f"{where}: expected {path}:\n{result}")
    check(not list(directory.glob("*.partial")), f"{where}: left {list(directory.glob('*.partial'))}")


def is_intact(directory, whole, what):
    """What is there is what an undisturbed run has written, as far as it got."""
    for file in directory.glob("*.h5"):
        check(same_bits(read_fields(file), read_fields(whole / file.name)), f"{what}: {file.name} has other values")
    if (directory / "series.csv").exists():
        rows = (whole / "series.csv").read_bytes()
        check(rows.startswith((directory / "series.csv").read_bytes()), f"{what}: series.csv has other rows")


def goes_on(faults, directory, whole, what):
    """Once the disk works again, the run continues from its newest checkpoint to the same end."""
    newest = max(directory.glob("checkpoint_*.h5"), default=None)
    if newest is None:
        return
    succeeds(mhdsim("run", faults.config, "--output", directory, "--restart", "latest"))
    for file in whole.glob("*.h5"):
        check(same_bits(read_fields(directory / file.name), read_fields(file)), f"{what}: {file.name} differs at the end")


def sweep(faults, whole):
    for call, error in CALLS:
        _, undisturbed, paths = faults.run(call)
        check(undisturbed.code == 0 and paths, f"no {call} was counted:\n{undisturbed}")
        # Every place of the first files, then a sample: the later ones are written as the first were.
        places = [at for at in range(1, len(paths) + 1) if at <= 9 or at % 6 == 2 or at > len(paths) - 3]
        for at in places:
            what = f"{call}, {errno.errorcode[error]}"
            directory, result, calls = faults.run(call, error, at)
            if call == "truncate" and at == 1:  # of .lock
                check(result.code == 6 and ".lock" in result.err, f"{what}: expected a message about .lock:\n{result}")
                continue
            is_refused(result, directory, calls, at, error, what)
            is_intact(directory, whole, what)
            if at in (places[-1], places[len(places) // 2]):
                goes_on(faults, directory, whole, what)
            shutil.rmtree(directory)
    print(f"{faults.count} runs on one rank", flush=True)


def short_writes(faults):
    """The disk takes half of a write, then no more; or the rest at once."""
    for at in (1, 7, 10):
        directory, result, paths = faults.run("write", errno.ENOSPC, at, short=True)
        is_refused(result, directory, paths, at, errno.ENOSPC, "a short write")
        if at > 1:
            _, result, _ = faults.run("write", errno.ENOSPC, at, short=True, once=True)
            check(result.code == 0, f"a write in two parts, call {at}:\n{result}")


def several_ranks(faults, whole):
    grid = ["--set", "grid.cells=[64,64,72]", "--set", "output.snapshot_fields=['uy']", "--set", "time.max_steps=1"]
    for rank, call, error, at in [(1, "write", errno.EDQUOT, 1), (1, "open", errno.EACCES, 1), (1, "sync", errno.EIO, 1),
                                  (0, "write", errno.ENOSPC, 8)]:  # fmt: skip
        directory, result, paths = faults.run(call, error, at, ranks=2, rank=rank, arguments=grid)
        what = f"{call} on rank {rank}"
        if check(len(paths) >= at, f"{what}: no such call:\n{result}"):
            is_refused(result, directory, paths, at, error, what)
            check(f"(rank {rank})" in result.err, f"{what}: expected the rank:\n{result}")
    compressed = ["--set", "output.snapshot_compression=1"]
    for at in (6, 8, 12):
        directory, result, paths = faults.run("write", errno.ENOSPC, at, ranks=2, rank=0, arguments=compressed)
        is_refused(result, directory, paths, at, errno.ENOSPC, "a compressed snapshot")
        is_intact(directory, whole, "a compressed snapshot")


def locks(faults, whole):
    # A file system without locks: the run says so and goes on, and files can be read with a variable of HDF5.
    for error in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP):
        directory, result, _ = faults.run("lock", error, 1)
        check(result.code == 0 and "has no file locks" in result.out, f"expected a warning and success:\n{result}")
        shutil.rmtree(directory)
    env = {"LD_PRELOAD": str(faults.library), "FAULT_PATH": f"{whole}/", "FAULT_CALL": "lock",
           "FAULT_ERRNO": str(errno.ENOLCK), "FAULT_AT": "1"}  # fmt: skip
    snapshot = snapshots(whole)[0]
    for words in (["info", snapshot], ["diff", snapshot, snapshot]):
        result = mhdsim(*words, env=env)
        check(result.code == 6 and len(result.errors()) == 1, f"expected exit code 6:\n{result}")
        for text in (snapshot, "no file locks", "HDF5_USE_FILE_LOCKING=FALSE"):
            check(str(text) in result.err, f"expected '{text}':\n{result}")
        succeeds(mhdsim(*words, env=env | {"HDF5_USE_FILE_LOCKING": "FALSE"}))


def main():
    with scratch_directory() as scratch:
        library = compile_faults(scratch)
        if library is None:
            print("skipped: faults of system calls (no C compiler, or sanitizers that must be loaded first)")
            finish("disk faults")
        config = write_config(scratch / "case.toml", CONFIG)
        whole = run(config, scratch / "whole")
        faults = Faults(library, config, scratch)
        sweep(faults, whole)
        short_writes(faults)
        several_ranks(faults, whole)
        locks(faults, whole)
    finish("disk faults")


if __name__ == "__main__":
    main()
