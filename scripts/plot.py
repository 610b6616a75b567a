#!/usr/bin/python3
"""Draws the last snapshot and the time series of a run.

    scripts/plot.py RUN_DIRECTORY [--output DIRECTORY] [--snapshot FILE]

writes snapshot.png (mid-plane slices: density, speed and, with magnetism, field strength and current density) and
series.png (energies, root-mean-square values) into the run directory or the one given. Quantities are in the units of
the run's configuration.
"""

import argparse
import csv
import sys
from pathlib import Path

try:
    import h5py
    import matplotlib
    import numpy as np
except ImportError as error:
    sys.exit(f"plot.py: {error}: it needs python3-numpy, python3-h5py and python3-matplotlib of /usr/bin/python3")

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend must be chosen first)

SERIES_PANELS = [
    ("energy density", [("ekin", "kinetic"), ("EEM", "magnetic"), ("ethm", "thermal, change")]),
    ("root mean square", [("urms", r"$u$"), ("brms", r"$B$"), ("orms", r"$\omega$"), ("jrms", r"$j$")]),
    ("maximum", [("umax", r"$u$"), ("bmax", r"$B$"), ("omax", r"$\omega$"), ("jmax", r"$j$")]),
]
COLOURS = ["#1f5fa8", "#c4452d", "#3a8c4d", "#7d4fa0"]


class PlotError(Exception):
    """Something that the user can put right; shown without a traceback."""


def set_style():
    plt.rcParams.update({
        "figure.dpi": 150,
        "font.size": 9,
        "axes.titlesize": 10,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "0.9",
        "legend.frameon": False,
        "lines.linewidth": 1.5,
    })


def derivative(field, axis, spacing):
    """Central difference of fourth order on a periodic axis; zero where the axis has one cell."""
    if field.shape[axis] == 1:
        return np.zeros_like(field)
    near = np.roll(field, -1, axis) - np.roll(field, 1, axis)
    far = np.roll(field, -2, axis) - np.roll(field, 2, axis)
    return (2 / 3 * near - 1 / 12 * far) / spacing


def curl(vector, spacing):
    """Components x, y, z of the curl; arrays are [z][y][x], spacing is (dx, dy, dz)."""
    def d(component, direction):
        return derivative(vector[component], 2 - direction, spacing[direction])

    return [d(2, 1) - d(1, 2), d(0, 2) - d(2, 0), d(1, 0) - d(0, 1)]


def magnitude(vector):
    return np.sqrt(sum(component**2 for component in vector))


class Snapshot:
    """A few planes around the middle of the box: enough for the derivatives across the plane that is shown."""

    def __init__(self, path):
        self.path = path
        try:
            with h5py.File(path, "r") as file:
                self._read(file)
        except OSError as error:
            raise PlotError(f"cannot read {path}: {error}") from error
        except KeyError as error:
            raise PlotError(f"{path} is not a snapshot of mhdsim: {error}") from error

    def _read(self, file):
        self.time, self.step = float(file.attrs["time"]), int(file.attrs["step"])
        cells, size = np.array(file.attrs["cells"]), np.array(file.attrs["size"], float)
        self.origin, self.size, self.spacing = np.array(file.attrs["origin"], float), size, size / cells
        # The plane is normal to the direction with the fewest cells; z wins a tie.
        self.normal = max(range(3), key=lambda axis: (-cells[axis], axis))
        count = int(cells[self.normal])
        middle = count // 2
        # Two differences of fourth order reach four cells to each side; a thinner box is read, and wraps, as a whole.
        first, last = max(middle - 4, 0), min(middle + 4, count - 1)
        self.middle = middle - first
        section = [slice(None)] * 3
        section[2 - self.normal] = slice(first, last + 1)
        section = tuple(section)
        self.position = self.origin[self.normal] + (middle + 0.5) * self.spacing[self.normal]
        self.fields = {name: file[name][section].astype(float)
                       for name in ("lnrho", "ux", "uy", "uz", "ax", "ay", "az", "ss") if name in file}
        if not self.fields:
            raise PlotError(f"{self.path} holds none of the fields of mhdsim")

    def has(self, *names):
        return all(name in self.fields for name in names)

    def plane(self, values):
        """The middle plane, first index upwards in the picture."""
        return np.take(values, self.middle, axis=2 - self.normal)

    def panels(self):
        """(title, plane, colour map) of what the fields allow."""
        panels = []
        if self.has("lnrho"):
            panels.append((r"density $\rho$", self.plane(np.exp(self.fields["lnrho"])), "viridis"))
        if self.has("ux", "uy", "uz"):
            panels.append((r"speed $|\mathbf{u}|$",
                           self.plane(magnitude([self.fields[c] for c in ("ux", "uy", "uz")])), "magma"))
        if self.has("ax", "ay", "az"):
            field = curl([self.fields[c] for c in ("ax", "ay", "az")], self.spacing)
            current = curl(field, self.spacing)
            panels.append((r"magnetic field $|\nabla\times\mathbf{A}|$", self.plane(magnitude(field)), "cividis"))
            panels.append((r"current $|\nabla\times\nabla\times\mathbf{A}|$", self.plane(magnitude(current)), "inferno"))
        elif self.has("ss"):
            panels.append((r"specific entropy $s$", self.plane(self.fields["ss"]), "RdBu_r"))
        if not panels:
            name, values = next(iter(self.fields.items()))
            panels.append((name, self.plane(values), "viridis"))
        return panels


def colour_limits(values):
    """The whole range, widened where the values are the same but for rounding."""
    finite = values[np.isfinite(values)]
    if finite.size == 0:
        return 0, 1
    low, high = float(finite.min()), float(finite.max())
    room = 1e-9 * max(abs(low), abs(high), 1e-300)
    return (low, high) if high - low > room else (low - room, high + room)


def draw_snapshot(path, output):
    snapshot = Snapshot(path)
    across, up = [axis for axis in range(3) if axis != snapshot.normal]
    panels = snapshot.panels()
    columns = min(len(panels), 2)
    rows = -(-len(panels) // columns)
    aspect = snapshot.size[up] / snapshot.size[across]
    height = min(max(4.0 * aspect, 1.8), 6.0)
    figure, axes = plt.subplots(rows, columns, figsize=(4.9 * columns, height * rows + 0.6), squeeze=False,
                                layout="constrained", sharex=True, sharey=True)
    extent = [snapshot.origin[across], snapshot.origin[across] + snapshot.size[across],
              snapshot.origin[up], snapshot.origin[up] + snapshot.size[up]]
    for axis, (title, values, colours) in zip(axes.flat, panels):
        low, high = colour_limits(values)
        image = axis.imshow(values, origin="lower", extent=extent, cmap=colours, vmin=low, vmax=high,
                            interpolation="nearest", aspect="equal" if 0.2 < aspect < 5 else "auto")
        axis.set_title(title)
        axis.grid(False)
        figure.colorbar(image, ax=axis, shrink=0.92, pad=0.02)
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis in axes[-1]:
        axis.set_xlabel(f"${'xyz'[across]}$")
    for axis in axes[:, 0]:
        axis.set_ylabel(f"${'xyz'[up]}$")
    figure.suptitle(f"$t = {snapshot.time:.6g}$, step {snapshot.step}, "
                    f"${'xyz'[snapshot.normal]} = {snapshot.position:.3g}$")
    figure.savefig(output)
    plt.close(figure)


def read_series(path):
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise PlotError(f"cannot read {path}: {error.strerror}") from error
    if len(rows) < 2 or "t" not in rows[0]:
        raise PlotError(f"{path}: expected a line of column names with 't' and at least one line of numbers")
    names = rows[0]
    try:
        numbers = np.array([[float(text) for text in row] for row in rows[1:]])
    except ValueError as error:
        raise PlotError(f"{path}: {error}") from error
    if numbers.ndim != 2 or numbers.shape[1] != len(names):
        raise PlotError(f"{path}: expected {len(names)} numbers in every line")
    return dict(zip(names, numbers.T))


def draw_series(path, output):
    series = read_series(path)
    time = series["t"]
    panels = []
    for title, columns in SERIES_PANELS:
        curves = [(series[name], label) for name, label in columns
                  if name in series and np.any(np.isfinite(series[name]) & (series[name] != 0))]
        if curves:
            panels.append((title, curves))
    if not panels:
        raise PlotError(f"{path} has none of the columns to draw (ekin, EEM, ethm, urms, brms, ...)")
    figure, axes = plt.subplots(1, len(panels), figsize=(4.2 * len(panels), 3.4), squeeze=False, layout="constrained")
    for axis, (title, curves) in zip(axes.flat, panels):
        lowest, highest = np.inf, 0.0
        for (values, label), colour in zip(curves, COLOURS):
            if label.endswith("change"):
                values = values - values[0]  # the thermal energy itself would dwarf the others
            axis.plot(time, values, label=label, color=colour, marker="o" if len(time) < 3 else None)
            finite = values[np.isfinite(values)]
            lowest, highest = min(lowest, finite.min(initial=np.inf)), max(highest, finite.max(initial=0.0))
        if lowest > 0 and highest > 100 * lowest:
            axis.set_yscale("log")
        elif lowest >= 0:
            axis.set_ylim(bottom=0)
        axis.set_title(title)
        axis.set_xlabel("time $t$")
        axis.legend()
    figure.savefig(output)
    plt.close(figure)


def last_snapshot(run):
    snapshots = sorted(run.glob("snapshot_*.h5"))
    if not snapshots:
        raise PlotError(f"{run} holds no snapshot (snapshot_*.h5)")
    return snapshots[-1]


def main():
    parser = argparse.ArgumentParser(description="Draws the last snapshot and the time series of a run.")
    parser.add_argument("run", type=Path, help="run directory")
    parser.add_argument("--output", type=Path, help="directory for the pictures (default: the run directory)")
    parser.add_argument("--snapshot", type=Path, help="draw this snapshot instead of the last one")
    arguments = parser.parse_args()
    try:
        if not arguments.run.is_dir():
            raise PlotError(f"{arguments.run} is not a directory")
        target = arguments.output or arguments.run
        target.mkdir(parents=True, exist_ok=True)
        set_style()
        draw_snapshot(arguments.snapshot or last_snapshot(arguments.run), target / "snapshot.png")
        print(target / "snapshot.png")
        if (arguments.run / "series.csv").exists():
            draw_series(arguments.run / "series.csv", target / "series.png")
            print(target / "series.png")
    except PlotError as error:
        sys.exit(f"plot.py: {error}")
    except OSError as error:
        sys.exit(f"plot.py: {error}")


if __name__ == "__main__":
    main()
