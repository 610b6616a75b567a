#!/usr/bin/env python3
"""scripts/scan.py: what a scan file expands to, which runs start, continue or are left alone, what it says of mistakes,
and the table and picture of all runs."""

import re
import shutil
import tomllib

from _cli import *

SCAN_PY = Path(os.environ.get("MHD_SOURCE_DIR") or Path(__file__).resolve().parents[2]) / "scripts" / "scan.py"
CONFIG = """
[grid]
cells = [12, 10, 1]
[time]
dt = 0.01
max_steps = 20
[physics]
viscosity = 0.01
[initial]
kind = "random"
low = -0.1
high = 0.1
[output]
series_every_steps = 5
"""
SCAN = """
config = "base.toml"
directory = "scan"
name = "nu{physics.viscosity}-s{initial.seed:02}"
[set]
physics.resistivity = 0.02
[product]
physics.viscosity = [0.01, 1e-3]
initial.seed = [1, 2]
"""


SCAN_COMMAND = [sys.executable, SCAN_PY, "--mhdsim", MHDSIM, "--mpiexec", " ".join(MPIEXEC)]


def scan(folder, *arguments, file="scan.toml"):
    return execute([*SCAN_COMMAND, file, *arguments], cwd=folder)


def folder_with(scratch, name, text, config=CONFIG):
    folder = scratch / name
    folder.mkdir()
    write_config(folder / "base.toml", config)
    write_config(folder / "scan.toml", text)
    return folder


def listed(folder):
    """{name: "key = value, ..."} as --list shows it."""
    result = succeeds(scan(folder, "--list"))
    rows = [line.split(None, 1) for line in result.out.splitlines()[1:]]
    return {row[0]: row[1] for row in rows}


def resolved(folder, run):
    return tomllib.loads((folder / "scan" / run / "run.toml").read_text(encoding="utf-8"))


def expansion(scratch):
    names = list(listed(folder_with(scratch, "product", SCAN)))
    check(names == ["nu0.01-s01", "nu0.01-s02", "nu0.001-s01", "nu0.001-s02"], f"product: {names}")

    folder = folder_with(scratch, "all kinds", """
config = "base.toml"
directory = "scan"
name = "{flow}-n{grid.cells}-{index}"
[product]
initial.seed = [1, 2]
[[zip]]
grid.cells = [[8, 8, 1], [16, 8, 1]]
time.dt = [0.02, 0.01]
[[list]]
label = "flow"
points = [{ name = "noise" }, { name = "vortex", initial.kind = "orszag_tang", initial.amplitude = 0.3 }]
[[run]]
name = "reference"
grid.order = 8
""")  # fmt: skip
    runs = listed(folder)
    check(len(runs) == 9 and "reference" in runs, f"2 x 2 x 2 runs and one of its own: {list(runs)}")
    succeeds(scan(folder))
    for name, cells, dt, kind, seed in [("noise-n8x8x1-0", [8, 8, 1], 0.02, "random", 1),
                                        ("vortex-n16x8x1-7", [16, 8, 1], 0.01, "orszag_tang", 2)]:  # fmt: skip
        found = resolved(folder, name)
        values = (found["grid"]["cells"], found["time"]["dt"], found["initial"]["kind"], found["initial"]["seed"])
        check(values == (cells, dt, kind, seed), f"{name}: {values}")
    check(resolved(folder, "reference")["grid"]["order"] == 8, "the run of its own has its own key")
    check(resolved(folder, "reference")["grid"]["cells"] == [12, 10, 1], "a run of its own is not multiplied")

    default = listed(folder_with(scratch, "default name", SCAN.replace("name =", "#")))
    check("viscosity0.001-seed2" in default, f"names where none is given: {list(default)}")
    fields = SCAN.replace("initial.seed = [1, 2]", 'output.snapshot_fields = [["ux", "uy"]]')
    strings = folder_with(scratch, "strings", fields.replace("-s{initial.seed:02}", ""))
    succeeds(scan(strings))
    check(resolved(strings, "nu0.01")["output"]["snapshot_fields"] == ["ux", "uy"], "a list of strings as a value")


def examples(scratch):
    """The scans in configs/scans are right, and so is every run of them."""
    found = sorted((SCAN_PY.parent.parent / "configs" / "scans").glob("*.toml"))
    check(found, "there are examples")
    folder = scratch / "examples"
    folder.mkdir()
    for file in found:
        result = succeeds(scan(folder, file=file))
        check(" to do" in result.out and "sbatch" in result.out, f"{file.name}:\n{result}")


def mistakes(scratch):
    base = SCAN
    cases = [
        ("not TOML", base + "[", ["not TOML"]),
        ("unknown key", base.replace("directory", "directroy"),
         ["directroy: unknown key, the nearest known name is directory", "directory is missing"]),
        ("no base", base.replace("base.toml", "none.toml"), ["there is no file none.toml"]),
        ("type", "ranks = 1.5\n" + base, ["ranks: expected an integer, found a float"]),
        ("ranks", "ranks = 0\n" + base, ["ranks: expected an integer >= 1, found 0"]),
        ("no list", base.replace("[0.01, 1e-3]", "0.01"), ["product.physics.viscosity: expected a list"]),
        ("lengths", base + "[[zip]]\ngrid.order = [2, 4]\ntime.dt = [0.1]\n", ["grid.order has 2, time.dt has 1"]),
        ("twice", base + "[[zip]]\ninitial.seed = [2, 4]\n", ["initial.seed is scanned twice"]),
        ("same name", base.replace("-s{initial.seed:02}", ""), ["two runs are called nu0.01", "initial.seed = 1"]),
        ("template", base.replace("{physics.viscosity}", "{physics.visosity}"),
         ["name: the runs do not set physics.visosity, the nearest known name is physics.viscosity"]),
        ("format", base.replace(":02", ":s"), ["{initial.seed:s} does not fit the value 1"]),
        ("characters", base.replace("nu{", "a b/{"), ["'a b/0.01-s01' cannot be the name of a run"]),
        ("nothing", base[:base.index("[product]")], ["there is nothing to run"]),
        ("slurm", base + "[slurm]\narray = 3\n", ["slurm.array follows from the number of runs"]),
        # mhdsim's own judgement, of all runs at once; what several runs have in common is said once.
        ("value", base.replace("1e-3]", "-1.0]").replace("[1, 2]", '[1, "x"]'),
         ["nu-1-sx", "nu-1-s01", "physics.viscosity", "initial.seed"]),
        ("key of mhdsim", base.replace("physics.resistivity", "physics.resistivty"),
         ["the nearest known name is physics.resistivity"]),
        ("too many ranks", "ranks = 1000\n" + base, ["1000"]),
    ]  # fmt: skip
    for name, text, fragments in cases:
        if name == "value":
            text = text.replace("-s{initial.seed:02}", "-s{initial.seed}").replace("-s01", "-s1")
            fragments = [f.replace("s01", "s1") for f in fragments]
        folder = folder_with(scratch, "wrong " + name, text)
        result = scan(folder, "--run")
        check(result.code == 1 and "Traceback" not in result.err, f"{name}: expected exit code 1:\n{result}")
        for fragment in fragments:
            check(fragment in result.err, f"{name}: expected a message with '{fragment}':\n{result}")
        check(not (folder / "scan").exists(), f"{name}: something was written before all runs were checked")
    many = folder_with(scratch, "two mistakes", "rank = 1\nsett = 2\n" + base)
    check(scan(many).err.count("unknown key") == 2, "both mistakes are told at once")
    check("scan.py: error: none.toml: cannot read the scan" in scan(many, file="none.toml").err, "no such file")
    check(scan(many, "--run", "0").code == 2, "--run 0 is a mistake of the command line")


def running_and_skipping(scratch):
    folder = folder_with(scratch, "runs", SCAN)
    result = succeeds(scan(folder, "--run", "2"))
    check(result.out.count(": complete, ") == 4, f"expected four complete runs:\n{result}")
    before = {p: p.stat().st_mtime_ns for p in (folder / "scan").rglob("summary.toml")}
    check(len(before) == 4, f"expected four run directories, found {len(before)}")
    alone = run(folder / "base.toml", folder / "alone", *assignments({"physics.resistivity": 0.02, "initial.seed": 2}))
    check((alone / "series.csv").read_bytes() == (folder / "scan" / "nu0.01-s02" / "series.csv").read_bytes(),
          "a run of a scan is the run with these keys")  # fmt: skip

    result = succeeds(scan(folder, "--run"))
    check("4 complete, 0 to do" in result.out and "starts" not in result.out, f"complete runs start again:\n{result}")
    check(all(p.stat().st_mtime_ns == t for p, t in before.items()), "a complete run was touched")

    # Another run in the scan: only that one runs.
    write_config(folder / "scan.toml", SCAN.replace("[1, 2]", "[1, 2, 3]"))
    result = succeeds(scan(folder))
    check("tasks 2,5 of the job array" in result.out, f"the tasks of the new runs:\n{result}")
    result = succeeds(scan(folder, "--run"))
    check(result.out.count(": starts") == 2, f"only new runs run:\n{result}")

    # A finished run whose configuration has changed is reported, and not touched; the others are not held up.
    write_config(folder / "scan.toml", SCAN.replace("[1, 2]", "[1, 2, 3, 4]").replace("0.02", "0.03"))
    result = scan(folder, "--run")
    check(result.code == 1 and result.err.count("resistivity was 0.02, is 0.03") == 6, f"changed runs:\n{result}")
    check(result.out.count(": complete, ") == 2, f"the new runs ran:\n{result}")
    check(all(p.stat().st_mtime_ns == t for p, t in before.items()), "a changed run was touched")
    check(resolved(folder, "nu0.01-s01")["physics"]["resistivity"] == 0.02, "the input of a changed run was replaced")
    status = succeeds(scan(folder, "--status")).out
    check("8 runs: 6 changed, 2 complete" in status, f"status:\n{status}")

    # A run that was lost before its first checkpoint starts anew.
    write_config(folder / "scan.toml", SCAN)
    (folder / "scan" / "nu0.01-s01" / "summary.toml").unlink()
    for checkpoint in (folder / "scan" / "nu0.01-s01").glob("checkpoint_*"):
        checkpoint.unlink()
    status = succeeds(scan(folder, "--status")).out
    check("unfinished" in status and "no checkpoint" in status, f"status:\n{status}")
    check("not in the scan: nu0.001-s03" in status, f"directories that the scan no longer has:\n{status}")
    result = succeeds(scan(folder, "--run"))
    check(result.out.count("starts") == 1, f"a run without checkpoint starts anew:\n{result}")


def failing(scratch):
    """One run of three fails: the others complete, and the exit code tells."""
    text = SCAN[:SCAN.index("[product]")].replace("nu{physics.viscosity}-s{initial.seed:02}", "dt{time.dt}")
    folder = folder_with(scratch, "failing", text + "[product]\ntime.dt = [0.01, 50.0, 0.02]\n")
    result = scan(folder, "--run")
    check(result.code == 1 and result.out.count(": complete, ") == 2, f"one of three fails:\n{result}")
    check("dt50: FAILED with exit code 7: mhdsim: error: non-finite" in result.out, f"why it failed:\n{result}")
    result = scan(folder, "--run")
    check(result.code == 1 and "--retry" in result.err, f"a failed run is told of:\n{result}")
    check("starts" not in result.out, f"a failed run is not repeated:\n{result}")
    check(scan(folder, "--run", "--retry").out.count("starts") == 1, "--retry runs it again")


def continuing(scratch):
    """Interrupted twice, continued until done: the files are those of runs that were never interrupted."""
    if "--restart" not in mhdsim("run", "--help").out:
        print("skipped: continuing (this mhdsim has no --restart)")
        return
    # Long enough for two interrupts to come well before the end: mhdsim looks for a STOP file twice a second.
    text = SCAN.replace("[set]", "[set]\ntime.max_steps = 60000").replace("[0.01, 1e-3]", "[0.01]")
    config = CONFIG.replace("series_every_steps = 5", "series_every_steps = 100").replace("[12, 10, 1]", "[24, 20, 1]")
    config += "checkpoint_at_end = true\n"
    broken, whole = folder_with(scratch, "broken", text, config), folder_with(scratch, "whole", text, config)
    succeeds(scan(whole, "--run", "2"))
    rows = {}
    for interruption in range(2):
        process = start([*SCAN_COMMAND, "scan.toml", "--run", "2"], cwd=broken, stdout=subprocess.PIPE,
                        stderr=subprocess.STDOUT)  # fmt: skip
        while process.poll() is None and not grown(broken, rows):
            pass
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=HANG_SECONDS)
        check(process.returncode == 1 and "stopped early at step" in out, f"interruption {interruption}: {out}")
        check(list(broken.rglob("STOP")) == [], "a STOP file was left behind")
        rows = {f: f.read_bytes().count(b"\n") for f in broken.rglob("series.csv")}  # they went on until they stopped
    status = succeeds(scan(broken, "--status")).out
    check("unfinished" in status and "checkpoint of step" in status, f"status:\n{status}")
    result = succeeds(scan(broken, "--run"))
    check("continues from step" in result.out, f"unfinished runs continue:\n{result}")
    for name in ("nu0.01-s01", "nu0.01-s02"):
        a, b = whole / "scan" / name, broken / "scan" / name
        check((a / "series.csv").read_bytes() == (b / "series.csv").read_bytes(), f"{name}: series.csv differs")
        succeeds(mhdsim("diff", snapshots(a)[-1], snapshots(b)[-1]))

    # A later end: reported, and with --extend continued from the checkpoint at the end.
    later = text.replace("60000", "60010")
    write_config(broken / "scan.toml", later)
    check("time.max_steps was 60000, is 60010" in scan(broken, "--run").err, "a later end is a change")
    result = succeeds(scan(broken, "--run", "--extend"))
    check(result.out.count(": complete, ") == 2, f"--extend goes on:\n{result}")
    check(read_series(broken / "scan" / "nu0.01-s01")["it"][-1] == 60010, "the series goes on to the later end")


def grown(folder, rows):
    """Whether a series has become longer by 20 rows than when it last was."""
    for file in folder.rglob("series.csv"):
        count = file.read_bytes().count(b"\n")
        if count > rows.get(file, 0) + 20:
            return True
    return False


def collecting(scratch):
    folder = folder_with(scratch, "collect", SCAN)
    check("no run in scan has a series.csv yet" in scan(folder, "--collect").err, "nothing to collect yet")
    succeeds(scan(folder, "--run", "2"))
    shutil.rmtree(folder / "scan" / "nu0.01-s02")
    result = succeeds(scan(folder, "--collect", "--quantities", "urms,brms"))
    check("without a series: nu0.01-s02" in result.out, f"a run without a series is named:\n{result}")
    with open(folder / "scan" / "series.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    columns = list(rows[0])
    check(columns[:6] == ["run", "state", "physics.viscosity", "initial.seed", "it", "t"], f"columns: {columns}")
    check(len(rows) == 3 * 5, f"expected the 5 rows of 3 runs, found {len(rows)}")
    for name in ("nu0.01-s01", "nu0.001-s02"):
        own, series = [row for row in rows if row["run"] == name], read_series(folder / "scan" / name)
        check([float(row["urms"]) for row in own] == series["urms"], f"{name}: the values of its own series")
        check({row["physics.viscosity"] for row in own} == {name[2:-4]}, f"{name}: its own viscosity")
    picture = (folder / "scan" / "scan.png").read_bytes()
    check(picture.startswith(b"\x89PNG") and len(picture) > 10000, "scan.png is a picture")
    result = scan(folder, "--collect", "--quantities", "brsm")
    check("no run has a column brsm, the nearest is brms" in result.err, f"a misspelt column:\n{result}")


def job_array(scratch):
    folder = folder_with(scratch, "array with 'quotes'", 'ranks = 2\n' + SCAN + """
[slurm]
time = "00:30:00"
gpus-per-node = 2
exclusive = true
concurrent = 3
""")  # fmt: skip
    succeeds(scan(folder))
    script = (folder / "scan" / "scan.sbatch").read_text(encoding="utf-8")
    for line in ("--array=0-3%3", "--ntasks=2", "--time=00:30:00", "--gpus-per-node=2", "--exclusive", "--requeue"):
        check(script.count(f"\n#SBATCH {line}\n") == 1, f"expected one line {line} in\n{script}")
    shipped = [(SCAN_PY.parent / "slurm" / name).read_text(encoding="utf-8") for name in ("run.sbatch", "array.sbatch")]
    check(not re.search(r"^#SBATCH --(gpus-per-task|gpu-bind)", "\n".join([script, *shipped]), re.M),
          "a batch script that hides the GPUs of the other ranks from each rank")  # fmt: skip
    check(script.count("--time=") == 1, "the template's time limit is replaced")
    check(execute(["bash", "-n", folder / "scan" / "scan.sbatch"]).code == 0, "scan.sbatch is a shell script")
    listed_runs = (folder / "scan" / "runs.txt").read_text(encoding="utf-8").splitlines()
    words = [shlex.split(line) for line in listed_runs]
    check([[Path(word) for word in line] for line in words]
          == [[file, file.parent] for name in listed(folder) for file in [folder / "scan" / name / "run.toml"]],
          f"runs.txt: {words}")  # fmt: skip


def main():
    with scratch_directory() as scratch:
        expansion(scratch)
        examples(scratch)
        mistakes(scratch)
        running_and_skipping(scratch)
        failing(scratch)
        collecting(scratch)
        job_array(scratch)
        continuing(scratch)
    finish("scan")


if __name__ == "__main__":
    main()
