#!/usr/bin/env python3
"""The same bits on any number of ranks, with any decomposition and any instruction set, and as in the model solution:
series.csv byte for byte, snapshots byte for byte in their fields, and as `mhdsim diff` sees them."""

from itertools import product

from _cli import *

CONFIG = """
[time]
max_steps = 3
[physics]
viscosity = 0.02
bulk_viscosity = 0.01
[initial]
kind = "random"
low = -0.02
high = 0.03
[output]
snapshot_at_start = false
series_every_steps = 1
"""
FULL = {"physics.resistivity": 0.03, "physics.conduction": 0.04, "physics.external_field": [0.1, 0.2, 0.3]}
ISOTHERMAL = {"physics.equation_of_state": '"isothermal"', "physics.resistivity": 0.03}
ENTROPY = {"physics.magnetic": False, "physics.conduction": 0.04, "physics.conduction_kind": '"chi-const"'}
HYDRO = {"physics.magnetic": False, "physics.equation_of_state": '"isothermal"',
         "physics.viscosity_kind": '"rho-nu-const"'}  # fmt: skip
FIXED = {"time.dt": 0.001}
COURANT = {"time.courant_interval": 2}

# name, keys, rank counts whose decomposition is left to mhdsim, forced decompositions. Eight ranks on two cores take
# seconds per snapshot, so that they are few.
CASES = [
    ("uneven grid, full, order 6", {"grid.cells": [50, 46, 38], "grid.order": 6, **FULL, **COURANT},
     [1, 2, 3, 4, 8], [[3, 1, 1], [1, 4, 1], [1, 1, 3], [2, 2, 1], [2, 2, 2]]),
    ("uneven grid, isothermal MHD, order 8", {"grid.cells": [50, 46, 38], "grid.order": 8, **ISOTHERMAL, **FIXED},
     [2], [[2, 1, 2]]),
    ("small odd grid, full, order 8", {"grid.cells": [17, 13, 11], "grid.order": 8, **FULL, **FIXED},
     [2, 4], [[4, 1, 1], [1, 3, 1], [1, 1, 2], [2, 2, 2]]),
    ("small odd grid, isothermal MHD, order 4", {"grid.cells": [13, 11, 9], "grid.order": 4, **ISOTHERMAL, **COURANT},
     [3], [[1, 1, 4], [1, 2, 2]]),
    ("small odd grid, hydrodynamics with entropy, order 6", {"grid.cells": [7, 15, 13], **ENTROPY, **COURANT},
     [4], [[2, 1, 2], [1, 3, 1]]),
    ("small odd grid, isothermal hydrodynamics, order 2", {"grid.cells": [5, 7, 3], "grid.order": 2, **HYDRO, **FIXED},
     [2], [[1, 1, 3], [4, 1, 1]]),
    ("plane, full, order 6", {"grid.cells": [31, 26, 1], **FULL, **COURANT}, [3], [[2, 2, 1], [1, 4, 1]]),
    ("plane across x, isothermal MHD, order 8", {"grid.cells": [1, 18, 33], "grid.order": 8, **ISOTHERMAL, **FIXED},
     [2], [[1, 1, 3], [1, 2, 2]]),
    ("line, full, order 6", {"grid.cells": [29, 1, 1], **FULL, **COURANT}, [4], [[8, 1, 1], [3, 1, 1]]),
    ("line along z, isothermal hydrodynamics, order 4", {"grid.cells": [1, 1, 27], "grid.order": 4, **HYDRO, **FIXED},
     [2], [[1, 1, 3]]),
]  # fmt: skip


def compare(name, expected, found, whole_files):
    check((expected / "series.csv").read_bytes() == (found / "series.csv").read_bytes(), f"{name}: series.csv differs")
    pairs = list(zip(snapshots(expected), snapshots(found), strict=True))
    check([a.name for a, b in pairs] == ["snapshot_00000003.h5"], f"{name}: expected a snapshot of step 3")
    for a, b in pairs:
        if whole_files:
            check(a.read_bytes() == b.read_bytes(), f"{name}: {a.name} differs in a byte")
        check(same_bits(read_fields(a), read_fields(b)), f"{name}: {a.name} differs in a field")
    succeeds(mhdsim("diff", *pairs[-1]))


def ranks_and_decompositions(config, scratch):
    for number, (name, keys, rank_counts, decompositions) in enumerate(CASES):
        keys = assignments(keys)

        def run_in(folder, *arguments, **options):
            # Alike in everything that a snapshot records, the run directory included.
            work = scratch / f"{number}-{folder}"
            work.mkdir()
            return run(config, "out", *keys, *arguments, cwd=work, **options) and work / "out"

        alone = run_in("alone")
        for ranks in rank_counts:
            compare(f"{name}, {ranks} ranks", alone, run_in(f"{ranks} ranks", ranks=ranks), True)
        for parts in decompositions:
            found = run_in(f"parts {parts}", "--set", f"grid.decomposition={parts}", ranks=int(np.prod(parts)))
            compare(f"{name}, subdomains {parts}", alone, found, False)
        for isa in ("baseline", "avx2", "avx512"):
            compare(f"{name}, {isa}", alone, run_in(isa, env={"MHDSIM_ISA": isa}), True)
        # The comparison sees a small change of what went in.
        other = run_in("other", "--set", "physics.viscosity=0.0200001")
        check(not same_bits(read_fields(snapshots(alone)[-1]), read_fields(snapshots(other)[-1])), f"{name}: control")
        print(f"{name}: rank counts {rank_counts}, decompositions {decompositions}", flush=True)


def instruction_sets(config):
    """The variable chooses what it says, where the processor has it."""
    flags = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace") if Path("/proc/cpuinfo").exists() else ""
    for isa, flag in (("baseline", ""), ("avx2", " avx2 "), ("avx512", " avx512vl ")):
        if flag in flags:
            result = mhdsim("verify", config, "--set", "grid.cells=[8,1,1]", "--steps", "0", env={"MHDSIM_ISA": isa})
            check(f"CPU, {isa} instructions" in result.out, f"MHDSIM_ISA={isa}:\n{result}")


def model_solution(config):
    for order, (number, physics) in product((2, 4, 6, 8), enumerate([FULL, ISOTHERMAL, ENTROPY, HYDRO])):
        for ranks in (None, 3):
            step = FIXED if (order // 2 + number) % 2 else COURANT
            keys = {"grid.cells": [13, 10, 11], "grid.order": order, **physics, **step}
            result = succeeds(mhdsim("verify", config, *assignments(keys), "--steps", "3", ranks=ranks))
            fields = [line.split() for line in result.out.splitlines() if line.endswith(" ulps")]
            expected = 8 - 3 * (physics in (ENTROPY, HYDRO)) - (physics in (ISOTHERMAL, HYDRO)) + (step is COURANT)
            check(len(fields) == expected and all(f[1] == "0" for f in fields), f"expected {expected} times 0 ulps:\n{result}")
            check("passed: maximum error 0 ulps" in result.out, str(result))


def sixteen_ranks(config):
    """An uneven grid, axes held by one, two and more ranks, with and without the corners of the halo."""
    cells = [19, 14, 13]
    for parts, order, corners in [([2, 2, 4], 6, False), ([1, 2, 8], 2, True), ([8, 1, 2], 4, False), ([4, 4, 1], 6, True)]:
        keys = {"grid.cells": cells, "grid.order": order, "grid.decomposition": parts, "run.exchange_corners": corners}
        result = succeeds(mhdsim("verify", config, *assignments({**keys, **FULL, **COURANT}), "--steps", "2", ranks=16))
        check("16 ranks" in result.out and "passed: maximum error 0 ulps" in result.out, str(result))


def main():
    with scratch_directory() as scratch:
        config = write_config(scratch / "case.toml", CONFIG)
        instruction_sets(config)
        model_solution(config)
        sixteen_ranks(config)
        ranks_and_decompositions(config, scratch)
    finish("bits")


if __name__ == "__main__":
    main()
