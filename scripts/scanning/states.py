"""The directories of a scan: the resolved configuration of each run, and how far it has come."""

import os
import subprocess
import tomllib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from .expansion import ScanError, flatten, toml_value

INPUT = "run.toml"  # of a run directory; config.toml is mhdsim's own
# Keys that change no result of a run.
IRRELEVANT = {"output.directory", "output.checkpoint_every_seconds", "output.checkpoint_every_steps",
              "output.checkpoint_at_end", "output.checkpoints_kept", "run.report_seconds"}  # fmt: skip


@dataclass
class Planned:
    """A run with its resolved configuration and what its directory holds of it."""

    name: str
    scanned: dict
    named: bool
    directory: Path
    resolved: str  # TOML
    state: str = ""  # new, complete, failed, unfinished or changed
    detail: str = ""
    checkpoint: int | None = None  # step of the newest one

    @property
    def input(self):
        return self.directory / INPUT

    @property
    def log(self):
        return self.directory / "run.log"

    def arguments(self):
        """Arguments of mhdsim run that start the run, or continue it."""
        if self.checkpoint is not None:
            how = ["--restart", "latest"]
        else:
            how = [] if self.state == "new" else ["--overwrite"]
        return ["run", str(self.input), "--output", str(self.directory), *how]


def plan(scan, mhdsim):
    """Resolves and checks all runs by `mhdsim check`. Throws ScanError with the mistakes of all of them."""
    def check(run):
        sets = [word for key, value in run.keys.items() for word in ("--set", f"{key}={toml_value(value)}")]
        command = [str(mhdsim), "check", str(scan.config), *sets, "--ranks", str(scan.ranks),
                   "--output", str((scan.directory / run.name).absolute())]  # fmt: skip
        # The scan may run inside a Slurm job, whose variables would make mhdsim one of several ranks.
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM_", "PMI_", "PMIX_", "OMPI_COMM_"))}
        return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=clean)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        try:
            results = list(pool.map(check, scan.runs))
        except OSError as error:
            raise ScanError(f"cannot start {mhdsim}: {error.strerror}") from error
    mistakes = {}  # message -> runs that have it
    planned = []
    for run, result in zip(scan.runs, results):
        if result.returncode != 0:
            mistakes.setdefault(result.stderr.strip(), []).append(run.name)
            continue
        text = result.stdout.partition("\n[")[2].partition("\n\ndecomposition\n")[0]
        planned.append(Planned(run.name, run.scanned, run.named, scan.directory / run.name, f"[{text}\n"))
    if mistakes:
        raise ScanError(*(f"{', '.join(names)}:\n  " + text.replace("\n", "\n  ") for text, names in mistakes.items()))
    for run in planned:
        assess(run)
    return planned


def read_toml(path):
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ScanError(f"{path}: {error}") from error


def differences(before, now):
    """What a run was computed with against what it should be: "physics.viscosity was 0.1, is 0.2"."""
    before, now = flatten(before), flatten(now)
    keys = sorted(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))
    text = {key: [toml_value(v[key]) if key in v else "not set" for v in (before, now)] for key in keys}
    return ", ".join(f"{key} was {old}, is {new}" for key, (old, new) in text.items() if key not in IRRELEVANT)


def assess(run):
    """Fills in state, detail and checkpoint."""
    steps = [file.stem.removeprefix("checkpoint_") for file in run.directory.glob("checkpoint_*.h5")]
    run.checkpoint = max((int(step) for step in steps if step.isdigit()), default=None)
    before, summary = read_toml(run.directory / "config.toml"), read_toml(run.directory / "summary.toml") or {}
    status = summary.get("status", "")
    if before is None:
        run.state = "new"
    elif changed := differences(before, tomllib.loads(run.resolved)):
        run.state, run.detail = "changed", changed
    elif status == "complete":
        run.state = "complete"
    elif status.startswith("failed"):
        run.state, run.detail = "failed", status
    else:
        run.state = "unfinished"
        run.detail = f"checkpoint of step {run.checkpoint}" if run.checkpoint is not None else "no checkpoint"


def write_input(scan, run):
    """Creates the directory of a run with its configuration."""
    head = f"# Run {run.name} of the scan {scan.path.name}, written by scripts/scan.py"
    write_file(run.input, f"{head}\n\n{run.resolved}")


def write_file(path, text, executable=False):
    """Not touched where it is the same: a job that is waiting may be about to read it."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            partial = path.with_name(path.name + ".partial")
            partial.write_text(text, encoding="utf-8")
            partial.chmod(0o755 if executable else 0o644)
            partial.replace(path)
    except OSError as error:
        raise ScanError(f"cannot write {path}: {error.strerror}") from error


def progress(run):
    """(step, time) of the last row of series.csv, as text; dashes without one."""
    try:
        with open(run.directory / "series.csv", "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 8192))
            row = file.read().decode("ascii", "replace").splitlines()[-1].split(",")
        return row[0] if row[0].isdigit() else "-", f"{float(row[1]):g}"
    except (OSError, IndexError, ValueError):
        return "-", "-"
