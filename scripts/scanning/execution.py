"""Running a scan: here, so many runs at a time, or by a Slurm job array."""

import shlex
import signal
import subprocess
import time
from pathlib import Path

from .expansion import ScanError
from .states import assess, write_file

STOPPED = 9  # exit code of mhdsim: stopped early with a checkpoint
SLURM_TEMPLATES = Path(__file__).resolve().parent.parent / "slurm"


def run_here(planned, launcher, mhdsim, at_a_time):
    """Runs those that are not done, `at_a_time` at once. The first interrupt lets the running ones write a checkpoint
    and end; the second kills them. Returns the number that did not complete."""
    waiting, running, incomplete = list(planned), {}, 0
    interrupts = []
    handlers = {s: signal.signal(s, lambda number, _: interrupts.append(number))
                for s in (signal.SIGINT, signal.SIGTERM)}  # fmt: skip
    told = 0
    try:
        while running or (waiting and not interrupts):
            while waiting and len(running) < at_a_time and not interrupts:
                run = waiting.pop(0)
                running[start(run, launcher, mhdsim)] = (run, time.monotonic())
            for process in [p for p in running if p.poll() is not None]:
                run, began = running.pop(process)
                if told:
                    (run.directory / "STOP").unlink(missing_ok=True)
                incomplete += not report(run, process.returncode, time.monotonic() - began)
            if len(interrupts) > told:
                told = len(interrupts)
                interrupt(running, told)
            time.sleep(0.05)
    finally:
        for process in running:
            process.kill()
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return incomplete + len(waiting)


def start(run, launcher, mhdsim):
    command = [*launcher, str(mhdsim), *run.arguments()]
    how = "continues from step " + str(run.checkpoint) if "--restart" in command else "starts"
    print(f"{run.name}: {how}", flush=True)
    try:
        with open(run.log, "a", encoding="utf-8") as log:
            log.write(f"$ {shlex.join(command)}\n")
            log.flush()
            # A session of its own: the terminal's Ctrl-C is for scan.py, which stops the runs in good order.
            return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                    start_new_session=True)  # fmt: skip
    except OSError as error:
        raise ScanError(f"cannot start {shlex.join(command[:3])} ...: {error.strerror}") from error


def interrupt(running, times):
    if times == 1:
        print("stopping: the runs write a checkpoint and end; interrupt again to kill them", flush=True)
    for process, (run, _) in running.items():
        if times == 1:
            (run.directory / "STOP").touch()
        else:
            process.terminate()


def report(run, code, seconds):
    assess(run)
    done = code == 0 and run.state == "complete"
    if done:
        text = "complete"
    elif code == STOPPED:
        text = f"stopped early at step {run.checkpoint}; the next --run continues it"
    else:
        text = f"FAILED with exit code {code}: {last_words(run.log)} ({run.log})"
    print(f"{run.name}: {text}, {seconds:.1f} s", flush=True)
    return done


def last_words(log):
    lines = [line for line in log.read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("mhdsim:")]
    return (errors or lines or ["it said nothing"])[-1]


# --- Slurm ---


def task_ranges(tasks):
    """[0, 1, 2, 5] is 0-2,5."""
    ranges = []
    for task in tasks:
        if ranges and ranges[-1][1] == task - 1:
            ranges[-1][1] = task
        else:
            ranges.append([task, task])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in ranges)


def write_sbatch(scan, planned, to_do, mhdsim, extend):
    """Writes runs.txt, with a line for every run, and scan.sbatch, with a task for every one that is to do."""
    directory = scan.directory.absolute()
    lines = [shlex.join([str(run.input.absolute()), str(run.directory.absolute())]) for run in planned]
    write_file(directory / "runs.txt", "\n".join(lines) + "\n")
    tasks = task_ranges([index for index, run in enumerate(planned) if run in to_do])
    options = {"job-name": scan.name, "array": tasks + (f"%{scan.concurrent}" if scan.concurrent else ""),
               "ntasks": scan.ranks, "output": f"{directory}/%A_%a.log", "chdir": str(Path.cwd()),
               **scan.slurm}  # fmt: skip
    template = (SLURM_TEMPLATES / "array.sbatch").read_text(encoding="utf-8").splitlines()
    body = template[template.index("set -euo pipefail"):]
    kept = [line for line in template if line.startswith("#SBATCH --")
            and line.removeprefix("#SBATCH --").partition("=")[0] not in options]  # fmt: skip
    given = [f"#SBATCH --{key}" + ("" if value is True else f"={shlex.quote(str(value))}")
             for key, value in options.items() if value is not False]  # fmt: skip
    text = [
        "#!/usr/bin/env bash",
        f"# The runs of {scan.path} that are not complete, written by scripts/scan.py from scripts/slurm/array.sbatch.",
        "",
        *given,
        *kept,
        "",
        f"export MHDSIM_ROOT={shlex.quote(str(SLURM_TEMPLATES.parent.parent))}",
        f"export MHDSIM={shlex.quote(str(Path(mhdsim).resolve()))}",
        "export MHDSIM_OVERWRITE=1  # a run that was lost before its first checkpoint starts anew",
        *(["export MHDSIM_EXTEND=1  # complete runs whose configuration has changed since go on"] if extend else []),
        f"set -- {shlex.quote(str(directory / 'runs.txt'))}",
        "",
        *body,
    ]
    script = directory / "scan.sbatch"
    write_file(script, "\n".join(text) + "\n", executable=True)
    return script, tasks
