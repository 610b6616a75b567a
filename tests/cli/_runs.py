"""What the tests of checkpoints share: runs that can be compared byte for byte, and processes that can be disturbed."""

import time

from _cli import *


def in_folder(folder, config, keys, *arguments, ranks=None, code=0):
    """A run in folder/out, named alike everywhere: snapshots and checkpoints record the name."""
    folder.mkdir(exist_ok=True)
    result = mhdsim("run", config, "--output", "out", *assignments(keys), *arguments, cwd=folder, ranks=ranks)
    check(result.code == code and (code or result.err == ""), f"expected exit code {code}:\n{result}")
    return folder / "out"


def files_of(directory):
    """Names and bytes of everything that an unbroken run would leave alike."""
    varying = (".lock", "timing.csv", "summary.toml")
    return {f.name: f.read_bytes() for f in sorted(directory.iterdir()) if f.name not in varying}


def same_files(name, expected, found):
    a, b = files_of(expected), files_of(found)
    check(a.keys() == b.keys(), f"{name}: files {sorted(a.keys() ^ b.keys())} are in one directory only")
    for file in a.keys() & b.keys():
        check(a[file] == b[file], f"{name}: {file} differs")
    for column in ("status", "steps", "t", "dt", "snapshots", "bytes_output"):
        values = [read_summary(d)[column] for d in (expected, found)]
        if column == "bytes_output":  # without timing.csv, whose digits vary
            values = [v - (d / "timing.csv").stat().st_size for v, d in zip(values, (expected, found))]
        check(values[0] == values[1], f"{name}: {column} in summary.toml: {values}")
    steps = [int(line.split(",")[0]) for line in (found / "timing.csv").read_text(encoding="ascii").splitlines()[1:]]
    check(steps == list(range(1, len(steps) + 1)), f"{name}: steps in timing.csv: {steps}")


def same_state(name, expected, found):
    """The bits of rows and fields: for runs whose files differ in the configuration that they hold."""
    check((expected / "series.csv").read_bytes() == (found / "series.csv").read_bytes(), f"{name}: series.csv differs")
    for pattern in ("snapshot_*.h5", "checkpoint_*.h5"):
        a, b = ([f.name for f in sorted(d.glob(pattern))] for d in (expected, found))
        check(a == b and a, f"{name}: files {a} and {b}")
        for file in set(a) & set(b):
            fields = read_fields(expected / file)
            check(fields and same_bits(fields, read_fields(found / file)), f"{name}: {file} differs")


def copied(checkpoint, folder):
    """A folder whose run directory holds a checkpoint and nothing else."""
    (folder / "out").mkdir(parents=True)
    (folder / "out" / checkpoint.name).write_bytes(checkpoint.read_bytes())
    return folder


def processes_below(pid):
    """A process and all that descend from it, as far as /proc shows them."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    found, added = {pid}, True
    while added:
        new = {child for child, parent in parents.items() if parent in found} - found
        found, added = found | new, bool(new)
    return found


def ranks_of(process):
    """Process ids of the ranks of a run, by rank."""
    found = {}
    for pid in processes_below(process.pid):
        try:
            if Path(f"/proc/{pid}/exe").resolve() != Path(MHDSIM).resolve():
                continue
            variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
        except OSError:
            continue
        rank = [int(v.partition(b"=")[2]) for v in variables if v.startswith((b"PMI_RANK=", b"OMPI_COMM_WORLD_RANK="))]
        found[rank[0] if rank else 0] = pid
    return found


def start_run(config, keys, *arguments, folder, ranks=None):
    """A run in folder/out that does not have to end."""
    launcher = [] if ranks is None else [*MPIEXEC, "-n", ranks]
    folder.mkdir(exist_ok=True)
    command = [*launcher, MHDSIM, "run", config, "--output", "out", *assignments(keys), *arguments]
    return start(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end_of(process):
    """Exit code and output; a hang is a failure."""
    try:
        out, err = process.communicate(timeout=HANG_SECONDS)
    except subprocess.TimeoutExpired:
        kill_all(process)
        out, err = process.communicate()
        check(False, "a run did not end")
    return Result(" ".join(str(w) for w in process.args), process.returncode, out, err)


def kill_all(process):
    """SIGKILL to the launcher and all ranks at once, as when a node is lost; returns when they are gone."""
    doomed = processes_below(process.pid)
    for pid in doomed:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    process.wait()
    while any(Path(f"/proc/{pid}").exists() and "Z" not in state_of(pid) for pid in doomed):
        time.sleep(0.001)


def lines_until(process, beginning):
    """Reads what the run says up to a line that begins so."""
    began = time.monotonic()
    for line in process.stdout:
        if line.startswith(beginning):
            return line
        if time.monotonic() - began > HANG_SECONDS:
            kill_all(process)
    return check(False, f"the run ended before it said '{beginning}': {process.stderr.read()}") and ""


def state_of(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "Z"


__all__ = [name for name in dir() if not name.startswith("_")]
