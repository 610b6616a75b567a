"""What the tests of the executable share: starting it, reading what it wrote, counting failures."""

import csv
import math
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import tomllib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

MHDSIM = os.environ.get("MHDSIM") or sys.exit("set MHDSIM to the executable (ctest does so)")
MPIEXEC = [os.environ.get("MPIEXEC", "mpiexec"), *shlex.split(os.environ.get("MPIEXEC_FLAGS", ""))]
FIELDS = ["lnrho", "ux", "uy", "uz", "ax", "ay", "az", "ss"]

# A run of few cells and steps, to which tests add tables or --set.
SMALL_RUN = """
[grid]
cells = [16, 12, 14]
[time]
max_steps = 4
dt = 0.01
[physics]
viscosity = 0.01
[initial]
kind = "random"
high = 0.1
"""

# Far above what any command here needs, far below the time limit of ctest: only a hang comes near it.
HANG_SECONDS = 120

failures = 0
codes_of_several_ranks = set()


def check(condition, text):
    """Counts and prints what does not hold."""
    global failures
    if not condition:
        failures += 1
        print("FAILED:", text, flush=True)
    return bool(condition)


def finish(what):
    """The end of a script: its last line and its exit code."""
    print(f"{what}: {failures} failures" if failures else f"{what}: passed", flush=True)
    sys.exit(1 if failures else 0)


@dataclass
class Result:
    command: str
    code: int
    out: str
    err: str

    def __str__(self):
        return f"{self.command}\n  exit code {self.code}\n  stdout: {self.out[-500:]}\n  stderr: {self.err[-1000:]}"

    def errors(self):
        """The error messages of mhdsim, one per message; launchers add words of their own."""
        return [line for line in self.err.splitlines() if line.startswith("mhdsim:")]


def start(command, env=None, cwd=None, **options):
    """The environment holds what `env` adds and nothing of a launcher that may have started the test."""
    own = ("PMI_", "PMIX_", "OMPI_", "SLURM_", "PALS_", "MHDSIM_")
    clean = {k: v for k, v in os.environ.items() if not k.startswith(own) or k.startswith("OMPI_ALLOW")}
    clean.update(env or {})
    return subprocess.Popen([str(word) for word in command], env=clean, cwd=cwd, stdin=subprocess.DEVNULL, text=True,
                            start_new_session=True, **options)  # fmt: skip


def execute(command, env=None, cwd=None, stdout=subprocess.PIPE, **options):
    process = start(command, env, cwd, stdout=stdout, stderr=subprocess.PIPE, **options)
    words = " ".join(str(w) for w in command)
    try:
        out, err = process.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        check(False, f"{words} did not end within {HANG_SECONDS} s")
    return Result(words, process.returncode, out or "", err or "")


def mhdsim(*arguments, ranks=None, **options):
    """Without a launcher, or on `ranks` ranks."""
    launcher = [] if ranks is None else [*MPIEXEC, "-n", ranks]
    result = execute([*launcher, MHDSIM, *arguments], **options)
    if ranks and ranks > 1:
        codes_of_several_ranks.add(result.code)
    return result


def succeeds(result):
    """Exit code 0 and not a word on standard error."""
    check(result.code == 0 and result.err == "", f"expected success without a word on stderr:\n{result}")
    return result


def fails(result, code, *fragments):
    """One message, which says all of `fragments`."""
    errors = result.errors()
    check(result.code == code, f"expected exit code {code}:\n{result}")
    check(len(errors) == 1, f"expected one message, found {len(errors)}:\n{result}")
    for fragment in fragments:
        check(str(fragment) in result.err, f"expected a message with '{fragment}':\n{result}")
    return result


def run(config, directory, *arguments, **options):
    """A run that must succeed; its directory."""
    succeeds(mhdsim("run", config, "--output", directory, *arguments, **options))
    return Path(directory)


def assignments(values):
    """--set arguments from a dictionary of dotted keys; values are Python or, as text, TOML."""
    words = []
    for key, value in values.items():
        text = str(value).lower() if isinstance(value, bool) else str(value)
        words += ["--set", f"{key}={text}"]
    return words


@contextmanager
def scratch_directory():
    with tempfile.TemporaryDirectory(prefix="mhdsim-cli-") as name:
        yield Path(name)


def write_config(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def read_series(directory):
    """Columns of series.csv by name."""
    with open(Path(directory) / "series.csv", newline="", encoding="ascii") as file:
        rows = list(csv.reader(file))
    return {name: [float(row[i]) for row in rows[1:]] for i, name in enumerate(rows[0])}


def snapshots(directory):
    return sorted(Path(directory).glob("snapshot_*.h5"))


def checkpoints(directory):
    return sorted(Path(directory).glob("checkpoint_*.h5"))


def read_summary(directory):
    return tomllib.loads((Path(directory) / "summary.toml").read_text(encoding="utf-8"))


def read_fields(snapshot):
    """All fields of a snapshot by name."""
    with h5py.File(snapshot) as file:
        return {name: file[name][...] for name in FIELDS if name in file}


def same_bits(a, b):
    return a.keys() == b.keys() and all(x.tobytes() == b[name].tobytes() for name, x in a.items())


def sanitized():
    """Whether the executable carries sanitizers, which need far more memory than they are given under a limit."""
    return b"__asan_init" in Path(MHDSIM).read_bytes()


__all__ = [name for name in dir() if not name.startswith("_")]
