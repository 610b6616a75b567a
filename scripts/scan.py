#!/usr/bin/env python3
"""Runs a parameter scan: many runs that differ in a few keys of the configuration.

    scripts/scan.py SCAN.toml               check all runs, write their directories and the script for Slurm
    scripts/scan.py SCAN.toml --run [N]     the same, and run what is not complete here, N at a time (default 1)
    scripts/scan.py SCAN.toml --status      how far each run has come
    scripts/scan.py SCAN.toml --collect     one table and one picture of the series of all runs

What a scan file holds: docs/clusters.md, configs/scans/. Runs that are complete are left alone; those that stopped
early continue from their newest checkpoint.

Exit code: 0 as asked; 1 something is wrong or did not complete; 2 command line.
"""

import argparse
import os
import shlex
import shutil
import sys
from pathlib import Path

if sys.version_info < (3, 11):
    sys.exit(f"scan.py needs Python 3.11 or newer; this is {sys.version.split()[0]}, {sys.executable}")

from scanning.collection import choose_quantities, collect, draw, write_table  # noqa: E402
from scanning.execution import run_here, write_sbatch  # noqa: E402
from scanning.expansion import ScanError, expand, settings  # noqa: E402
from scanning.states import plan, progress, write_input  # noqa: E402


def find_mhdsim(given):
    """--mhdsim, $MHDSIM, the build of this repository, the PATH."""
    built = Path(__file__).resolve().parent.parent / "build" / "release" / "mhdsim"
    for candidate in [given, os.environ.get("MHDSIM")]:
        if candidate:
            found = shutil.which(candidate)
            if not found:
                raise ScanError(f"there is no executable {candidate}")
            return str(Path(found).resolve())
    found = str(built) if built.exists() else shutil.which("mhdsim")
    if not found:
        raise ScanError(f"no mhdsim: neither {built} nor one on the PATH; name it by --mhdsim")
    return found


def show_table(rows):
    """Columns as wide as their contents; the last one as it is."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())


def show_status(planned):
    rows = [("run", "state", "step", "t", "")]
    for run in planned:
        rows.append((run.name, run.state, *progress(run), run.detail))
    show_table(rows)
    counts = {}
    for run in planned:
        counts[run.state] = counts.get(run.state, 0) + 1
    print(f"{len(planned)} runs: " + ", ".join(f"{n} {state}" for state, n in counts.items()))


def show_strangers(scan, planned):
    """Directories of runs that the scan file no longer has: they keep their results, but nothing here looks at them."""
    known = {run.name for run in planned}
    strangers = sorted(p.parent.name for p in scan.directory.glob("*/run.toml") if p.parent.name not in known)
    if strangers:
        print(f"in {scan.directory}, but not in the scan: {', '.join(strangers)}")


def select(planned, extend, retry):
    """The runs that are to do. Reports those that need a decision; returns how many they are, too."""
    to_do, undecided = [], 0
    for run in planned:
        if run.state == "changed" and not (extend and run.checkpoint is not None):
            undecided += 1
            print(f"scan.py: {run.name}: {run.directory} was computed with another configuration: {run.detail}. "
                  "Remove the directory or choose another name; --extend continues from a checkpoint",
                  file=sys.stderr)  # fmt: skip
        elif run.state == "failed" and not retry:
            undecided += 1
            print(f"scan.py: {run.name}: {run.detail}. The same would happen again; --retry runs it all the same",
                  file=sys.stderr)  # fmt: skip
        elif run.state != "complete":
            to_do.append(run)
    return to_do, undecided


def prepare_and_run(arguments, scan, mhdsim, planned):
    to_do, undecided = select(planned, arguments.extend, arguments.retry)
    for run in to_do:
        write_input(scan, run)
    complete = sum(run.state == "complete" for run in planned)
    print(f"{len(planned)} runs in {scan.directory}: {complete} complete, {len(to_do)} to do")
    script = None
    if to_do:
        script, tasks = write_sbatch(scan, planned, to_do, mhdsim, arguments.extend)
    if arguments.run is None:
        for run in to_do:
            print(f"  {run.name}: " + (run.detail and f"{run.state}, {run.detail}" or run.state))
        if script:
            print(f"tasks {tasks} of the job array: sbatch {script}\nor here: scripts/scan.py {scan.path} --run")
        return undecided
    # Waiting for messages in a busy loop, as MPI does, is no way to share a core: the ranks in all should fit them.
    launcher = shlex.split(arguments.mpiexec) + ["-n", str(scan.ranks)]
    return undecided + run_here(to_do, launcher, mhdsim, arguments.run)


def collect_all(arguments, scan, planned):
    series, without = collect(planned)
    if not series:
        raise ScanError(f"no run in {scan.directory} has a series.csv yet")
    quantities = choose_quantities(arguments.quantities, series)
    table, picture = scan.directory / "series.csv", scan.directory / "scan.png"
    write_table(table, planned, series)
    print(f"{table}: {sum(len(rows) for _, rows in series.values())} rows of {len(series)} runs")
    if without:
        print(f"without a series: {', '.join(without)}")
    draw(picture, scan, planned, series, quantities, arguments.log)
    print(f"{picture}: {', '.join(quantities)}")
    return 0


def positive(text):
    value = int(text)
    if value < 1:
        raise ValueError
    return value


positive.__name__ = "number >= 1"


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scan", metavar="SCAN.toml", type=Path)
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--run", nargs="?", const=1, type=positive, metavar="N", help="run here, N at a time [1]")
    action.add_argument("--status", action="store_true", help="how far each run has come")
    action.add_argument("--list", action="store_true", help="the runs and the keys that they set; checks nothing")
    action.add_argument("--collect", action="store_true", help="series.csv and scan.png in the directory of the scan")
    parser.add_argument("--quantities", type=lambda text: text.split(","), metavar="A,B,...",
                        help="columns of series.csv to draw [urms,brms,ekin,EEM]")  # fmt: skip
    parser.add_argument("--log", action="store_true", help="logarithmic axes for quantities that are positive")
    parser.add_argument("--extend", action="store_true",
                        help="runs whose configuration has changed continue from their checkpoint")  # fmt: skip
    parser.add_argument("--retry", action="store_true", help="runs that failed run again")
    parser.add_argument("--mhdsim", metavar="FILE", help="executable [$MHDSIM, build/release/mhdsim, mhdsim]")
    parser.add_argument("--mpiexec", metavar="COMMAND", help="starts the ranks, with -n RANKS [$MPIEXEC, mpiexec]",
                        default=os.environ.get("MPIEXEC", "mpiexec"))  # fmt: skip
    return parser.parse_args()


def main():
    arguments = parse()
    try:
        scan = expand(arguments.scan)
        if arguments.list:
            show_table([("run", "keys")] + [(run.name, settings(run.keys)) for run in scan.runs])
            return 0
        mhdsim = find_mhdsim(arguments.mhdsim)
        planned = plan(scan, mhdsim)
        if arguments.status:
            show_status(planned)
            show_strangers(scan, planned)
            return 0
        if arguments.collect:
            return collect_all(arguments, scan, planned)
        return 1 if prepare_and_run(arguments, scan, mhdsim, planned) else 0
    except ScanError as error:
        for problem in error.problems:
            print(f"scan.py: error: {problem}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
