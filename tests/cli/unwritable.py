#!/usr/bin/env python3
"""Real places that cannot be written, or not enough: read-only file systems, directories of others, small file systems,
limits on the size of files, files that another program holds. One message with path and cause, the documented exit code,
and earlier files as they were."""

import fcntl
import os
import resource
import shutil
import subprocess
from contextlib import contextmanager

from _cli import *

CONFIG = SMALL_RUN + """[output]
snapshot_every_steps = 2
checkpoint_every_steps = 2
"""


@contextmanager
def mounted(place, *arguments):
    """Whether `place` is now a mount; needs root and the right to mount."""
    place.mkdir(exist_ok=True)
    done = subprocess.run(["mount", *arguments, place], capture_output=True, check=False).returncode == 0
    try:
        yield done
    finally:
        if done:
            subprocess.run(["umount", place], check=True)


def contents(directory):
    return {file.name: file.read_bytes() for file in directory.iterdir()}


def read_only(config, scratch):
    """As root by a mount, as any other user by permissions; as root without mounts by giving up being root."""
    directory = scratch / "readonly"
    arguments = ["run", config, "--output", directory / "run"]
    with mounted(directory, "-t", "tmpfs", "-o", "size=4m", "none") as done:
        if done:
            run(config, directory / "run")
            before = contents(directory / "run")
            subprocess.run(["mount", "-o", "remount,ro", directory], check=True)
            for ranks in (None, 2):
                fails(mhdsim(*arguments, "--overwrite", ranks=ranks), 6, directory, "Read-only file system", "--output")
                fails(mhdsim(*arguments, "--restart", "latest", ranks=ranks), 6, directory, "Read-only file system")
            snapshot = snapshots(directory / "run")[0]
            succeeds(mhdsim("info", snapshot))  # reading needs no more than that
            fails(mhdsim("bench", "output", "--cells", "8", "--directory", directory), 6, directory, "Read-only")
            check(contents(directory / "run") == before, "a read-only run directory changed")
            print("read-only file system: mounted", flush=True)
            return
    if os.geteuid() == 0:
        print("skipped: a read-only file system (mounting one is not allowed here)")
        return
    directory.chmod(0o555)
    fails(mhdsim(*arguments), 6, directory, "Permission denied", "--output")
    directory.chmod(0o755)


def of_another_user(config, scratch):
    """Root may write everywhere: the run is that of a user without rights."""
    directory = scratch / "foreign"
    run(config, directory)
    before = contents(directory)
    words = [MHDSIM, "run", config, "--output", directory, "--restart", "latest"]
    if os.geteuid() == 0:
        drop = shutil.which("setpriv")
        if not drop:
            print("skipped: a directory of another user (no setpriv)")
            return
        words = [drop, "--reuid=65534", "--regid=65534", "--clear-groups", *words]
        scratch.chmod(0o755)
        probe = execute([*words[:4], MHDSIM, "--version"])
        if probe.code != 0:
            print("skipped: a directory of another user (who cannot run the executable)")
            return
    directory.chmod(0o555)
    for file in directory.iterdir():
        file.chmod(0o444)
    fails(execute(words), 6, directory / ".lock", "Permission denied", "--output")
    directory.chmod(0o755)
    check(contents(directory) == before, "a directory of another user changed")


def small_file_system(config, scratch):
    """Fills up in one file after the other; what was complete stays, and room lets the run go on."""
    whole = run(config, scratch / "whole")
    place = scratch / "small"
    # A snapshot has 183 kB, a checkpoint 1 kB more.
    for size in ("4k", "100k", "300k", "500k", "680k", "860k"):
        for ranks in (None, 2):
            with mounted(place, "-t", "tmpfs", "-o", f"size={size}", "none") as done:
                if not done:
                    print("skipped: small file systems (mounting one is not allowed here)")
                    return
                directory = place / "run"
                fails(mhdsim("run", config, "--output", directory, ranks=ranks), 6, directory, "No space left on device",
                      "free some space")  # fmt: skip
                check(not list(directory.glob("*.partial")), f"{size}: left {list(directory.glob('*.partial'))}")
                for file in directory.glob("*.h5"):
                    check(same_bits(read_fields(file), read_fields(whole / file.name)), f"{size}: {file.name} differs")
                if list(directory.glob("checkpoint_*.h5")):
                    subprocess.run(["mount", "-o", "remount,size=4m", place], check=True)
                    succeeds(mhdsim("run", config, "--output", directory, "--restart", "latest", ranks=ranks))
                    check(sorted(f.name for f in directory.iterdir()) == sorted(f.name for f in whole.iterdir()),
                          f"{size}: after the restart there are {sorted(directory.iterdir())}")  # fmt: skip
    print("small file systems: mounted", flush=True)


def limited_size(config, scratch):
    """MPI's shared memory counts as files, too, and needs 5 MB; the snapshot has 19 MB, compressed or not."""
    for level in (0, 1):
        directory = scratch / f"limited{level}"
        arguments = ["--set", "grid.cells=[64,64,72]", "--set", f"output.snapshot_compression={level}"]
        result = mhdsim("run", config, "--output", directory, *arguments, restore_signals=False,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16_000_000, 16_000_000)))  # fmt: skip
        fails(result, 6, directory / "snapshot_00000000.h5", "File too large", "ulimit -f")
        check(snapshots(directory) == [] and not list(directory.glob("*.partial")), "a part of a snapshot was left")


def held_by_another(config, scratch):
    """HDF5 locks what it writes: a snapshot that is open elsewhere for writing is not read."""
    directory = run(config, scratch / "held")
    snapshot, checkpoint = snapshots(directory)[-1], sorted(directory.glob("checkpoint_*.h5"))[-1]
    continued = ["run", config, "--output", scratch / "continued", "--restart", checkpoint]
    start_from = ["run", config, "--output", scratch / "started", "--set", 'initial.kind="snapshot"',
                  "--set", f'initial.file="{snapshot}"', "--set", "initial.high=1.0"]  # fmt: skip
    for file, commands in [(snapshot, (["info", snapshot], ["diff", snapshot, snapshot], start_from)),
                           (checkpoint, (["info", checkpoint], continued))]:  # fmt: skip
        with open(file, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for words in commands:
                for ranks in (None, 2) if words[0] == "run" else (None,):
                    fails(mhdsim(*words, ranks=ranks), 6, file, "another program has the file open",
                          "HDF5_USE_FILE_LOCKING=FALSE")  # fmt: skip
            succeeds(mhdsim("info", file, env={"HDF5_USE_FILE_LOCKING": "FALSE"}))
        succeeds(mhdsim("info", file))
    # latest does not go back behind a checkpoint that is whole and only held: it would be removed.
    before = contents(directory)
    with open(checkpoint, "rb") as held:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fails(mhdsim("run", config, "--output", directory, "--restart", "latest"), 6, checkpoint, "another program has")
    after = contents(directory)
    check(all(after[name] == text for name, text in before.items() if name != ".lock"), "a failed restart changed files")


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        if "HDF5_USE_FILE_LOCKING" in os.environ:
            print("skipped: locked files (HDF5_USE_FILE_LOCKING is set)")
        else:
            held_by_another(config, scratch)
        limited_size(config, scratch)
        read_only(config, scratch)
        of_another_user(config, scratch)
        small_file_system(config, scratch)
    finish("unwritable places")


if __name__ == "__main__":
    main()
