"""The time series of all runs of a scan: one table and one picture."""

import csv
import difflib
import math

from .expansion import ScanError, name_text

# The project's colours for curves, in the order in which they are told apart best.
COLOURS = ["#1f5fa8", "#c4452d", "#3a8c4d", "#7d4fa0", "#d08a1d", "#3b9db3", "#8c5a3c", "#b04a84", "#6b6b6b", "#8fae3a"]
STYLES = ["-", (0, (5, 1.5)), (0, (1.2, 1.2)), (0, (6, 1.5, 1.2, 1.5))]
MOST_LISTED = 12  # entries of a legend
TITLES = {"urms": r"$u_\mathrm{rms}$", "brms": r"$B_\mathrm{rms}$", "umax": r"max $|\mathbf{u}|$",
          "bmax": r"max $|\mathbf{B}|$", "ekin": "kinetic energy density", "EEM": "magnetic energy density",
          "orms": r"$\omega_\mathrm{rms}$", "jrms": r"$j_\mathrm{rms}$", "abm": "magnetic helicity",
          "ethm": "thermal energy density", "epsM": "Ohmic heating", "epsK": "viscous heating"}  # fmt: skip
DEFAULT_QUANTITIES = ["urms", "brms", "ekin", "EEM"]


def read_series(path):
    """(column names, rows of text)."""
    try:
        with open(path, newline="", encoding="utf-8") as file:
            rows = list(csv.reader(file))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise ScanError(f"cannot read {path}: {error}") from error
    if not rows or "t" not in rows[0]:
        raise ScanError(f"{path}: expected a line of column names with t")
    if rows[1:] and len(rows[-1]) != len(rows[0]):
        rows.pop()  # the row that is being written
    if any(len(row) != len(rows[0]) for row in rows):
        raise ScanError(f"{path}: expected {len(rows[0])} columns in every line")
    return (rows[0], rows[1:]) if rows[1:] else None


def collect(planned):
    """{run: (columns, rows)} of the runs that have a series, and the runs that have none."""
    series = {run.name: read_series(run.directory / "series.csv") for run in planned}
    return {name: s for name, s in series.items() if s}, [name for name, s in series.items() if not s]


def scanned_keys(planned):
    """All keys that the scan varies, in the order of the scan file."""
    return list(dict.fromkeys(key for run in planned for key in run.scanned))


def write_table(path, planned, series):
    """One row per row of a series, with the name of the run, its state and the scanned values before it."""
    keys = scanned_keys(planned)
    columns = list(dict.fromkeys(name for names, _ in series.values() for name in names))
    partial = path.with_name(path.name + ".partial")
    try:
        with open(partial, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file, lineterminator="\n")
            table.writerow(["run", "state", *keys, *columns])
            for run in planned:
                names, rows = series.get(run.name, ([], []))
                values = (name_text(run.scanned[key]) if key in run.scanned else "" for key in keys)
                first = [run.name, run.state, *values]
                place = {name: index for index, name in enumerate(names)}
                for row in rows:
                    table.writerow(first + [row[place[name]] if name in place else "" for name in columns])
        partial.replace(path)
    except OSError as error:
        raise ScanError(f"cannot write {path}: {error.strerror}") from error


def choose_quantities(wanted, series):
    """Throws ScanError where no run has one of those that were asked for."""
    known = list(dict.fromkeys(name for names, _ in series.values() for name in names if name not in ("it", "t")))
    if not wanted:
        return [name for name in DEFAULT_QUANTITIES if name in known] or known[:4]
    problems = []
    for name in wanted:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            problems.append(f"no run has a column {name}" + (f", the nearest is {close[0]}" if close else ""))
    if problems:
        raise ScanError(*problems)
    return wanted


class Appearance:
    """Colour by the first scanned key, line style by the second where that tells all runs apart; else colour by run.
    Runs with a name of their own are black, and dotted so that a curve beneath them is seen."""

    def __init__(self, planned, plt):
        self.entries = []  # (label, colour, style) of the legend, None for a gap
        self.bar = None  # (colour map, norm, label) instead of many entries
        self.look = {}  # run -> (colour, style)
        runs, named = [run for run in planned if not run.named], [run for run in planned if run.named]
        varied = [key for key in scanned_keys(runs) if len({name_text(run.scanned[key]) for run in runs}) > 1]
        first, second = (varied + [None, None])[:2]
        styles = self.values(runs, second)
        if first and len({(self.value(r, first), self.value(r, second)) for r in runs}) == len(runs) and len(
                styles) <= len(STYLES):  # fmt: skip
            self.by_key(runs, first, second, styles, plt)
        elif runs:
            self.by_run(runs, plt)
        if self.entries and named:
            self.entries.append(None)
        for index, run in enumerate(named):
            self.look[run.name] = ("black", STYLES[(index + 2) % len(STYLES)])
            self.entries.append((run.name, *self.look[run.name]))

    def by_key(self, runs, first, second, styles, plt):
        colours = self.colours(runs, first, plt)
        style = dict(zip(styles, STYLES))
        self.look = {run.name: (colours[self.value(run, first)], style[self.value(run, second)]) for run in runs}
        if second:
            self.entries += [None] * bool(self.entries)
            self.entries += [(f"{short(second)} = {value}", "0.25", style[value]) for value in styles]

    @staticmethod
    def value(run, key):
        return name_text(run.scanned[key]) if key else ""

    def values(self, runs, key):
        return list(dict.fromkeys(self.value(run, key) for run in runs))

    def colours(self, runs, key, plt):
        numbers = {self.value(run, key): run.scanned.get(key) for run in runs}
        ordered = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in numbers.values())
        if not ordered:
            colours = self.palette(list(numbers), plt)
        else:
            low, high = min(numbers.values()), max(numbers.values())
            kind = plt.matplotlib.colors.LogNorm if low > 0 and high >= 8 * low else plt.Normalize
            norm = kind(low, high)
            # Without the palest end of the map, which is not seen on white.
            map_ = plt.matplotlib.colors.LinearSegmentedColormap.from_list(
                "scan", [plt.get_cmap("viridis")(0.85 * i / 255) for i in range(256)])  # fmt: skip
            colours = {text: map_(norm(number)) for text, number in numbers.items()}
            if len(numbers) > MOST_LISTED:
                self.bar = (map_, norm, key)
                return colours
        self.entries = [(f"{short(key)} = {text}", colour, "-") for text, colour in colours.items()]
        return colours

    @staticmethod
    def palette(names, plt):
        if len(names) <= len(COLOURS):
            return dict(zip(names, COLOURS))
        return {name: plt.get_cmap("turbo")(0.05 + 0.9 * i / (len(names) - 1)) for i, name in enumerate(names)}

    def by_run(self, runs, plt):
        colours = self.palette([run.name for run in runs], plt)
        self.look = {name: (colour, "-") for name, colour in colours.items()}
        self.entries = [(name, colour, "-") for name, colour in list(colours.items())[:3 * MOST_LISTED]]
        if len(colours) > len(self.entries):
            self.entries.append((f"and {len(colours) - len(self.entries)} more", "1", "-"))


def short(key):
    return key.rsplit(".", 1)[-1].replace("_", " ")


def curve(series, quantity):
    """(times, values), both finite; None where the run has no such column."""
    names, rows = series
    if quantity not in names:
        return None
    t, q = names.index("t"), names.index(quantity)
    try:
        points = [(float(row[t]), float(row[q])) for row in rows]
    except ValueError as error:
        raise ScanError(f"{quantity}: {error}") from error
    return list(zip(*(p for p in points if math.isfinite(p[1])))) or None


def draw(path, scan, planned, series, quantities, logarithmic):
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ScanError(f"the plot needs matplotlib: {error} (the table was written)") from error
    plt.rcParams.update({"figure.dpi": 150, "font.size": 9, "axes.titlesize": 10, "axes.spines.top": False,
                         "axes.spines.right": False, "axes.grid": True, "grid.color": "0.92", "axes.axisbelow": True,
                         "lines.linewidth": 1.4, "legend.frameon": False})  # fmt: skip
    runs = [run for run in planned if run.name in series]
    appearance = Appearance(runs, plt)
    columns = min(len(quantities), 2 if len(quantities) in (2, 4) else 3)
    rows = -(-len(quantities) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(3.9 * columns + 1.7, 2.9 * rows + 0.4), squeeze=False,
                                layout="constrained", sharex=True)  # fmt: skip
    for axis, quantity in zip(axes.flat, quantities):
        draw_quantity(axis, quantity, runs, series, appearance, logarithmic)
    for axis in axes.flat[len(quantities):]:
        axis.set_visible(False)
    for index, axis in enumerate(axes.flat[:len(quantities)]):
        if index + columns >= len(quantities):
            axis.set_xlabel("time $t$")
            axis.tick_params(labelbottom=True)
    finish_legend(figure, axes, appearance, plt)
    figure.suptitle(f"{scan.name}: {len(runs)} run{'s' * (len(runs) != 1)}", fontsize=11)
    try:
        figure.savefig(path)
    except OSError as error:
        raise ScanError(f"cannot write {path}: {error.strerror}") from error
    plt.close(figure)


def draw_quantity(axis, quantity, runs, series, appearance, logarithmic):
    lowest, highest = math.inf, 0.0
    for run in runs:
        points = curve(series[run.name], quantity)
        if points is None:
            continue
        colour, style = appearance.look[run.name]
        axis.plot(*points, color=colour, linestyle=style, marker="o" if len(points[0]) == 1 else None, markersize=3)
        if run.state != "complete":  # an open end where the run has not come to its end
            axis.plot(points[0][-1], points[1][-1], "o", color=colour, markerfacecolor="white", markersize=4)
        lowest, highest = min(lowest, *points[1]), max(highest, *points[1])
    if lowest > 0 and (logarithmic or highest > 50 * lowest):
        axis.set_yscale("log")
    elif 0 <= lowest < 0.5 * highest:
        axis.set_ylim(bottom=0)
    axis.set_title(TITLES.get(quantity, quantity))


def finish_legend(figure, axes, appearance, plt):
    if appearance.bar:
        map_, norm, key = appearance.bar
        figure.colorbar(plt.cm.ScalarMappable(norm, map_), ax=axes, label=short(key), shrink=0.8, pad=0.02)
    if appearance.entries:
        handles = [plt.Line2D([], [], color=e[1], linestyle=e[2], label=e[0]) if e
                   else plt.Line2D([], [], color="none", label="") for e in appearance.entries]  # fmt: skip
        axes[0, -1].legend(handles=handles, loc="upper left", bbox_to_anchor=(1.02, 1.0), borderaxespad=0,
                           ncols=1 + (len(handles) > 24), handlelength=2.6)  # fmt: skip
