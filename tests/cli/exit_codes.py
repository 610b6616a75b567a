#!/usr/bin/env python3
"""Every exit code of docs/usage.md, provoked on one rank and on three: the code, what the message says, one message
whatever the number of ranks, and an end of the whole job."""

import fcntl
import re
import resource
import subprocess

from _runs import *

CONFIG = SMALL_RUN


def usage(ranks):
    for words, fragment in [
        ([], "expected a command: run, check, verify, bench, diff, info"),
        (["runn"], "unknown command runn; the nearest known name is run"),
        (["run"], "CONFIG is required"),
        (["run", "case.toml", "--ovewrite"], "unknown option --ovewrite; the nearest known name is --overwrite"),
        (["run", "case.toml", "other.toml"], "unexpected argument other.toml"),
        (["run", "case.toml", "--backend", "tpu"], "--backend: tpu not in {auto,cpu,gpu}"),
        (["check", "case.toml", "--ranks", "0"], "--ranks: expected a number >= 1, found 0"),
        (["bench"], "expected a command: halo, output, step"),
        (["bench", "step", "--cells", "16", "16"], "--cells: expected one number or three, found two"),
        (["bench", "step", "--cells", "16", "--order", "7"], "--order: 7 not in {2,4,6,8}"),
    ]:
        fails(mhdsim(*words, ranks=ranks), 2, fragment)


def configuration(ranks, config, scratch):
    fails(mhdsim("run", scratch / "missing.toml", ranks=ranks), 3, "missing.toml: cannot read", "No such file")
    fails(mhdsim("run", scratch, ranks=ranks), 3, "cannot read the configuration file: Is a directory")
    wrong = write_config(scratch / "wrong.toml", "[grid]\ncell = [8, 8, 8]\n[time]\nend = '1'\n")
    fails(mhdsim("run", wrong, ranks=ranks), 3, "wrong.toml:2", "grid.cells", "wrong.toml:4", "2 errors")
    fails(mhdsim("verify", config, "--set", "grid.order=7", ranks=ranks), 3, "grid.order", "2, 4, 6 or 8, found 7")
    fails(mhdsim("run", config, "--set", "grid.decomposition=[1,2,2]", ranks=ranks), 3, "1 x 2 x 2 makes 4 subdomains",
          f"the number of ranks is {ranks or 1}")  # fmt: skip


def launch(ranks, config, scratch):
    # 4 cells hold one subdomain of order 6 only, 6 cells two.
    thin = ["--set", "grid.cells=[4,4,4]"]
    if ranks == 3:
        fails(mhdsim("run", config, *thin, ranks=3), 4, "cannot be divided over 3 ranks", "at least 3 cells",
              "The largest rank count that fits is 1")  # fmt: skip
        fails(mhdsim("run", config, "--set", "grid.cells=[6,1,6]", ranks=3), 4,
              "The nearest rank counts that fit are 2 and 4")  # fmt: skip
        other = [":", "-n", "2", MHDSIM, "run", config, "--output", scratch / "x", "--set", "time.dt=0.02"]
        fails(mhdsim("run", config, "--output", scratch / "x", *other, ranks=1), 4, "different configurations")
    else:
        fails(mhdsim("check", config, "--ranks", "3", *thin), 4, "The largest rank count that fits is 1")
        fails(mhdsim("run", config, "--set", "grid.cells=[16777216,16384,16]"), 4, "out of memory", "bytes on this rank")
        # Processes whose launcher says that they are several, and whose MPI does not know: one message of all.
        variables = [("SLURM_STEP_NUM_TASKS", "SLURM_PROCID"), ("PALS_NRANKS", "PALS_RANKID")]
        if "Open MPI" not in mhdsim("--version").out:
            variables.append(("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"))
        for size, rank in variables:
            directory = scratch / "singletons"
            results = [mhdsim("run", config, "--output", directory, env={size: "3", rank: str(r)}) for r in range(3)]
            fails(results[0], 4, f"started 3 processes ({size}=3)", "MPI connects none of them")
            check([r.code for r in results] == [4, 4, 4], f"expected exit code 4 of all: {results}")
            check([len(r.errors()) for r in results] == [1, 0, 0], f"expected one message: {results}")
            check(not directory.exists(), "a refused run made its directory")


def device(ranks, config, scratch):
    if "gpu" in mhdsim("--version").out.split("backends")[1]:
        no_device = {"CUDA_VISIBLE_DEVICES": ""}
        fails(mhdsim("run", config, "--backend", "gpu", "--output", scratch / "g", ranks=ranks, env=no_device), 5)
    else:
        fails(mhdsim("run", config, "--backend", "gpu", "--output", scratch / "g", ranks=ranks), 5,
              'run.backend = "gpu"', "built without CUDA")  # fmt: skip
    check(not (scratch / "g").exists(), "a run without its device made its directory")


def run_directory(ranks, config, scratch):
    fails(mhdsim("run", config, "--output", "/proc/mhdsim", ranks=ranks), 6, "cannot create directory /proc/mhdsim")
    fails(mhdsim("run", config, "--output", config, ranks=ranks), 6, "Not a directory")
    done = run(config, scratch / f"done-{ranks}", ranks=ranks)
    before = {file: file.read_bytes() for file in done.iterdir()}
    fails(mhdsim("run", config, "--output", done, ranks=ranks), 6, "file(s) of an earlier run", "--overwrite")
    check({file: file.read_bytes() for file in done.iterdir() if file.name != ".lock"}
          == {file: text for file, text in before.items() if file.name != ".lock"},
          "a refused run changed files")  # fmt: skip
    run(config, done, "--overwrite", ranks=ranks)

    own = ["--overwrite", *assignments({"initial.kind": '"snapshot"', "initial.file": f'"{snapshots(done)[-1]}"',
                                        "initial.high": 1.0})]  # fmt: skip
    fails(mhdsim("run", config, "--output", done, *own, ranks=ranks), 6, "lies in the run directory", "--overwrite")
    check(len(snapshots(done)) == 2, "a run removed the snapshot that it was to start from")

    with open(done / ".lock", "r+", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        fails(mhdsim("run", config, "--output", done, "--overwrite", ranks=ranks), 6, "is in use by process", ".lock")


def second_process(config, scratch):
    """A run that takes for ever keeps a second one out, and releases the directory when it is killed."""
    directory = scratch / "shared"
    first = start([MHDSIM, "run", config, "--output", directory, "--set", "time.max_steps=1000000000", "--set",
                   "time.dt=1e-9", "--set", "run.report_seconds=1e-9"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    lines_until(first, "step")
    fails(mhdsim("run", config, "--output", directory, "--overwrite"), 6, f"is in use by process {first.pid}")
    check(first.poll() is None, "the first run ended")
    first.kill()
    first.communicate()
    run(config, directory, "--overwrite")


def snapshots_that_are_none(ranks, config, scratch):
    start_from = lambda file: assignments({"initial.kind": '"snapshot"', "initial.high": 1.0, "initial.file": f'"{file}"'})
    arguments = ["--output", scratch / "from", "--overwrite"]
    fails(mhdsim("run", config, *arguments, *start_from("none.h5"), ranks=ranks), 6, "cannot open none.h5")
    fails(mhdsim("run", config, *arguments, *start_from(config), ranks=ranks), 6, "is not an HDF5 file")
    whole = snapshots(scratch / f"done-{ranks}")[-1]
    fails(mhdsim("run", config, *arguments, *start_from(whole), "--set", "grid.cells=[16,12,16]", ranks=ranks), 6,
          "expected a grid of 16 x 12 x 16 cells, found 16 x 12 x 14")  # fmt: skip
    cut = scratch / "cut.h5"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
    fails(mhdsim("run", config, *arguments, *start_from(cut), ranks=ranks), 6, "cut.h5")
    if ranks is None:
        for command in (["info", cut], ["diff", whole, cut]):
            fails(mhdsim(*command), 6, "cut.h5")
        fails(mhdsim("info", scratch / "none.h5"), 6, "cannot open", "none.h5", "No such file")
        fails(mhdsim("bench", "step", "--cells", "8", "--steps", "1", "--json", scratch / "no" / "b.json"), 6, "b.json")


def full_disk(ranks, config, scratch):
    for name in ("series.csv", "timing.csv"):
        directory = scratch / f"full-{name}-{ranks}"
        directory.mkdir()
        (directory / name).symlink_to("/dev/full")
        fails(mhdsim("run", config, "--output", directory, ranks=ranks), 6, f"cannot write {directory / name}",
              "No space left on device")  # fmt: skip
    if ranks is None:
        # A limit on the file size, without the signal, is what a full disk is to a program.
        directory = scratch / "limit"
        # MPI's shared memory counts as files, too, and needs 5 MB; the snapshot has 19 MB.
        result = mhdsim("run", config, "--output", directory, "--set", "grid.cells=[64,64,72]", restore_signals=False,
                        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (16_000_000, 16_000_000)))  # fmt: skip
        fails(result, 6, str(directory / "snapshot_00000000.h5"), "File too large")
        check(snapshots(directory) == [] and list(directory.glob("*.partial")) == [], "a part of a snapshot was left")
        with open("/dev/full", "w", encoding="ascii") as full:
            for command in (["check", config], ["info", snapshots(scratch / "done-None")[0]]):
                fails(mhdsim(*command, stdout=full), 6, "cannot write to standard output")
            check(mhdsim("run", config, "--output", scratch / "untold", stdout=full).code == 0,
                  "a run needs its standard output")  # fmt: skip
            check((scratch / "untold" / "summary.toml").exists(), "a run without standard output did not end")
    mount = scratch / "small"
    mount.mkdir(exist_ok=True)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=120k", "none", mount], capture_output=True).returncode != 0:
        print("skipped: a full file system (mounting one needs root)")
        return
    try:
        fails(mhdsim("run", config, "--output", mount / "run", ranks=ranks), 6, "snapshot_00000000.h5",
              "No space left on device")  # fmt: skip
        check(list((mount / "run").glob("*snapshot*")) == [], "a part of a snapshot was left")
    finally:
        subprocess.run(["umount", mount], check=True)


def numerics(ranks, config, scratch):
    arguments = ["--output", scratch / "nan", "--overwrite"]
    result = fails(mhdsim("run", config, *arguments, "--set", "time.dt=50.0", "--set", "time.max_steps=100",
                          "--set", "run.check_interval=3", ranks=ranks), 7, "non-finite value found after step 3")  # fmt: skip
    found = re.search(r"(\w+) = -?(nan|inf) at cell \((\d+), (\d+), (\d+)\), x = (\S+), y = (\S+), z = (\S+), on rank (\d+)",
                      result.err)  # fmt: skip
    if check(found, f"expected field, cell, coordinates and rank:\n{result}"):
        check(found[1] in FIELDS, f"no field {found[1]}")
    summary = read_summary(scratch / "nan")
    check(summary["status"].startswith("failed: non-finite value") and summary["steps"] == 3, f"summary.toml says {summary}")

    # One value of one cell, in the part of the last rank.
    damaged = scratch / "damaged.h5"
    damaged.write_bytes(snapshots(scratch / f"done-{ranks}")[-1].read_bytes())
    with h5py.File(damaged, "r+") as file:
        file["uz"][12, 10, 14] = np.nan
        x, y, z = file["x"][14], file["y"][10], file["z"][12]
    from_damaged = assignments({"initial.kind": '"snapshot"', "initial.high": 1.0, "initial.file": f'"{damaged}"'})
    fails(mhdsim("run", config, *arguments, *from_damaged, ranks=ranks), 7, "in the initial condition",
          f"uz = nan at cell (14, 10, 12), x = {x:.6g}, y = {y:.6g}, z = {z:.6g}, on rank {0 if ranks is None else ranks - 1}")  # fmt: skip

    courant = write_config(scratch / "courant.toml", CONFIG.replace("dt = 0.01", "min_dt = 1.0"))
    fails(mhdsim("run", courant, *arguments, ranks=ranks), 7, "time step collapsed", "after step 0 (t = 0)",
          "below time.min_dt = 1")  # fmt: skip
    check("time step collapsed" in read_summary(scratch / "nan")["status"], "summary of a collapse")
    fails(mhdsim("verify", config, "--set", "time.dt=50.0", ranks=ranks), 7, "not finite after 10 steps")


def difference(ranks, scratch):
    first, last = snapshots(scratch / f"done-{ranks}")
    result = mhdsim("diff", first, last, ranks=ranks)
    check(result.code == 8 and result.errors() == [] and result.out.count("The files differ.") == 1,
          f"expected exit code 8, told once:\n{result}")  # fmt: skip
    if ranks:
        return
    check(mhdsim("diff", first, last, "--rel", "1e-30").code == 8, "--rel 1e-30 lets a difference pass")
    same = succeeds(mhdsim("diff", first, first))
    check("The files agree." in same.out, str(same))
    near = scratch / "near.h5"
    near.write_bytes(first.read_bytes())
    with h5py.File(near, "r+") as file:
        file["ux"][3, 2, 1] = np.nextafter(np.nextafter(file["ux"][3, 2, 1], 1), 1)
    result = mhdsim("diff", first, near, "--ulps", "1")
    check(result.code == 8 and "(1, 2, 3)" in result.out, f"expected a difference of 2 ulps at (1, 2, 3):\n{result}")
    succeeds(mhdsim("diff", first, near, "--ulps", "2"))


def complete_and_stopped(ranks, config, scratch):
    """What is no failure, without a message."""
    directory = run(config, scratch / f"goes-on-{ranks}", "--set", "output.checkpoint_at_end=true", ranks=ranks)
    (directory / "STOP").touch()
    further = ["--output", directory, "--restart", "latest", "--set", "time.max_steps=1000000"]
    result = mhdsim("run", config, *further, ranks=ranks)
    check(result.code == 9 and result.errors() == [], f"expected exit code 9 without a message:\n{result}")
    check(read_summary(directory)["status"] == "stopped: STOP file", f"summary.toml: {read_summary(directory)}")


def all_are_provoked():
    """The table of exit codes in docs/usage.md and the codes that launchers passed on from several ranks."""
    text = Path(os.environ["MHD_SOURCE_DIR"], "docs", "usage.md").read_text(encoding="utf-8")
    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", text.split("## Exit codes")[1], re.M)}
    check(len(documented) == 10, f"exit codes in docs/usage.md: {sorted(documented)}")
    missing = documented - codes_of_several_ranks
    check(missing <= ({1} if sanitized() else set()), f"not provoked on several ranks: exit codes {sorted(missing)}")


def one_rank_alone(config, scratch):
    """Rank 1 fails, the others know nothing of it: the job ends, with the message of that rank."""
    whole = [MHDSIM, "run", config, "--output", scratch / "alone"]
    lacking = [MHDSIM, "run", scratch / "missing.toml", "--output", scratch / "alone"]
    fails(execute([*MPIEXEC, "-n", "1", *whole, ":", "-n", "1", *lacking, ":", "-n", "1", *whole]), 3,
          "missing.toml: cannot read the configuration file", "(rank 1)")  # fmt: skip
    fails(execute([*MPIEXEC, "-n", "1", *lacking, ":", "-n", "2", *whole]), 3, "missing.toml: cannot read")
    if sanitized():
        print("skipped: one rank out of memory (sanitizers need all they can get)")
        return
    # The fields of a rank take about 55 MB, the model solution of verify 113 MB; MPI has the rest of the 100 MB.
    verify = [MHDSIM, "verify", config, "--steps", "0", "--set", "grid.cells=[96,96,96]"]
    limited = ["sh", "-c", 'ulimit -d 100000 && exec "$@"', "sh", *verify]
    result = execute([*MPIEXEC, "-n", "1", *verify, ":", "-n", "1", *limited, ":", "-n", "1", *verify])
    codes_of_several_ranks.add(fails(result, 1, "mhdsim: error on rank 1: out of memory").code)


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        for ranks in (None, 3):
            usage(ranks)
            configuration(ranks, config, scratch)
            launch(ranks, config, scratch)
            device(ranks, config, scratch)
            run_directory(ranks, config, scratch)
            snapshots_that_are_none(ranks, config, scratch)
            full_disk(ranks, config, scratch)
            numerics(ranks, config, scratch)
            difference(ranks, scratch)
            complete_and_stopped(ranks, config, scratch)
        second_process(config, scratch)
        one_rank_alone(config, scratch)
        all_are_provoked()
    finish("exit codes")


if __name__ == "__main__":
    main()
