"""From scan.toml to the runs of a scan: names and the configuration keys that each run sets."""

import difflib
import itertools
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

KEYS = {"config": str, "directory": str, "name": str, "ranks": int, "set": dict, "product": dict, "zip": list,
        "list": list, "run": list, "slurm": dict}  # fmt: skip
NAME_CHARACTERS = "letters, digits and . _ + = -"
# Names that array.sbatch and scan.py use for themselves in the directory of a scan.
RESERVED = re.compile(r"runs\.txt|scan\.sbatch|series\.csv|scan\.png|.*\.log")
# Options of sbatch that follow from the scan itself.
SLURM_RESERVED = {"array": "the number of runs", "ntasks": "ranks", "n": "ranks", "chdir": "the current directory",
                  "output": "directory", "job-name": "the name of the file", "parsable": "scan.py"}  # fmt: skip


class ScanError(Exception):
    """Mistakes that the user can put right, one per line; shown without a traceback."""

    def __init__(self, *problems):
        super().__init__("\n".join(problems))
        self.problems = list(problems)


@dataclass
class Run:
    name: str
    keys: dict  # dotted key of the configuration -> value
    scanned: dict  # those of the keys in which the runs differ, and labels of lists
    named: bool = False  # by [[run]], outside the product


@dataclass
class Scan:
    path: Path
    config: Path
    directory: Path
    ranks: int
    slurm: dict
    concurrent: int | None
    runs: list[Run] = field(default_factory=list)

    @property
    def name(self):
        return self.path.stem


def toml_value(value):
    """The text of a value in TOML, as mhdsim --set takes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        escaped = "".join(c if c.isprintable() and c not in '"\\' else f"\\u{ord(c):04x}" for c in value)
        return f'"{escaped}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_value(k)} = {toml_value(v)}" for k, v in value.items()) + " }"
    raise ScanError(f"a date or time is no value of a configuration: {value}")


def name_text(value):
    """A value as a part of a name: 0.003, ideal_gas, 32x32x1."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, list):
        return "x".join(map(name_text, value))
    return str(value)


def flatten(table, prefix=""):
    """{"physics": {"viscosity": 1}} and {"physics.viscosity": 1} alike give {"physics.viscosity": 1}."""
    flat = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def settings(keys):
    return ", ".join(f"{key} = {name_text(value)}" for key, value in keys.items())


def nearest(word, known):
    close = difflib.get_close_matches(word, list(known), n=1)
    return f", the nearest known name is {close[0]}" if close else f"; known: {', '.join(known)}" if known else ""


def kind(value):
    names = {bool: "a boolean", int: "an integer", float: "a float", str: "a string", list: "a list", dict: "a table"}
    return names.get(type(value), f"a {type(value).__name__}")


class Expander:
    """Collects all mistakes of a scan file before it gives up."""

    def __init__(self, path):
        self.path = path
        self.problems = []
        try:
            self.table = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise ScanError(f"{path}: cannot read the scan: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ScanError(f"{path}: not TOML: {error}") from error

    def wrong(self, text):
        self.problems.append(f"{self.path}: {text}")

    def give_up_if_wrong(self):
        if self.problems:
            raise ScanError(*self.problems)

    def scan(self):
        for key, value in self.table.items():
            if key not in KEYS:
                self.wrong(f"{key}: unknown key{nearest(key, KEYS)}")
            elif type(value) is not KEYS[key]:
                self.wrong(f"{key}: expected {kind(KEYS[key]())}, found {kind(value)}")
        for key in ("config", "directory"):
            if key not in self.table:
                self.wrong(f"{key} is missing")
        self.give_up_if_wrong()
        if self.table.get("ranks", 1) < 1:
            self.wrong(f"ranks: expected an integer >= 1, found {self.table['ranks']}")
        slurm, concurrent = self.slurm()
        scan = Scan(Path(self.path), Path(self.path).parent / self.table["config"], Path(self.table["directory"]),
                    self.table.get("ranks", 1), slurm, concurrent)  # fmt: skip
        if not scan.config.is_file():
            self.wrong(f"config: there is no file {scan.config}")
        scan.runs = self.runs()
        self.give_up_if_wrong()
        return scan

    def slurm(self):
        options = dict(self.table.get("slurm", {}))
        concurrent = options.pop("concurrent", None)
        if concurrent is not None and (type(concurrent) is not int or concurrent < 1):
            self.wrong(f"slurm.concurrent: expected an integer >= 1, found {concurrent!r}")
        for key, value in options.items():
            if key in SLURM_RESERVED:
                self.wrong(f"slurm.{key} follows from {SLURM_RESERVED[key]} and cannot be set")
            elif not re.fullmatch(r"[a-z][a-z-]*", key):
                self.wrong(f"slurm.{key}: expected the name of a long option of sbatch, such as time or gpus-per-node")
            elif not isinstance(value, (str, int)) or "\n" in str(value):
                self.wrong(f"slurm.{key}: expected a string, an integer or true, found {kind(value)}")
        return options, concurrent

    # --- axes: each a list of points, each point the keys that it sets ---

    def lists_of(self, where, table):
        columns = flatten(table)
        for key, values in columns.items():
            if not isinstance(values, list) or not values:
                self.wrong(f"{where}.{key}: expected a list of at least one value, found {values!r}")
        return {key: values for key, values in columns.items() if isinstance(values, list) and values}

    def tables_of(self, where, values):
        for index, value in enumerate(values):
            if isinstance(value, dict):
                yield f"{where}[{index}]", value
            else:
                self.wrong(f"{where}[{index}]: expected a table, found {kind(value)}")

    def product_axes(self):
        return [[{key: value} for value in values]
                for key, values in self.lists_of("product", self.table.get("product", {})).items()]  # fmt: skip

    def zip_axes(self):
        for where, table in self.tables_of("zip", self.table.get("zip", [])):
            columns = self.lists_of(where, table)
            lengths = {key: len(values) for key, values in columns.items()}
            if len(set(lengths.values())) > 1:
                found = ", ".join(f"{key} has {length}" for key, length in lengths.items())
                self.wrong(f"{where}: expected lists of the same length: {found}")
            elif columns:
                yield [dict(zip(columns, row)) for row in zip(*columns.values())]

    def list_axes(self):
        for where, table in self.tables_of("list", self.table.get("list", [])):
            label, points = table.get("label"), table.get("points")
            unknown = set(table) - {"label", "points"}
            if unknown or not isinstance(label, str) or not isinstance(points, list) or not points:
                self.wrong(f"{where}: expected label = \"...\" and points = [{{ name = \"...\", key = value }}, ...]")
                continue
            axis = []
            for place, point in self.tables_of(f"{where}.points", points):
                name, keys = point.get("name"), {k: v for k, v in point.items() if k != "name"}
                if not isinstance(name, str):
                    self.wrong(f"{place}: expected a name")
                axis.append({label: str(name)} | flatten(keys))
            yield axis

    def named_runs(self, constant):
        for where, table in self.tables_of("run", self.table.get("run", [])):
            name, keys = table.get("name"), {k: v for k, v in table.items() if k != "name"}
            if not isinstance(name, str):
                self.wrong(f"{where}: expected a name")
                continue
            yield Run(self.checked_name(name, where), constant | flatten(keys), flatten(keys), True)

    def runs(self):
        constant = flatten(self.table.get("set", {}))
        lists = list(self.list_axes())
        axes = self.product_axes() + list(self.zip_axes()) + lists
        labels = {table.get("label") for table in self.table.get("list", []) if isinstance(table, dict)}
        # Of a point of a list, its name says enough.
        hidden = {key for axis in lists for point in axis for key in point} - labels
        owners = {}
        for number, axis in enumerate(axes):
            for key in {key for point in axis for key in point}:
                if owners.setdefault(key, number) != number:
                    self.wrong(f"{key} is scanned twice: by more than one of product, zip and list")
        self.give_up_if_wrong()
        runs = []
        for points in itertools.product(*axes) if axes else []:
            values = {key: value for point in points for key, value in point.items()}
            keys = constant | {key: value for key, value in values.items() if key not in labels}
            scanned = {key: value for key, value in values.items() if key not in hidden}
            runs.append(Run(self.name_of(scanned, keys, len(runs)), keys, scanned))
        runs += self.named_runs(constant)
        if not runs:
            self.wrong("there is nothing to run: give product, zip, list or run")
        seen = {}
        for run in runs:
            if run.name in seen:
                self.wrong(f"two runs are called {run.name}: {seen[run.name]}, and {settings(run.scanned)}; name must "
                           "tell them apart")  # fmt: skip
            seen.setdefault(run.name, settings(run.scanned))
        return runs

    # --- names ---

    def name_of(self, scanned, keys, index):
        template = self.table.get("name") or self.default_template(scanned)
        known = keys | scanned | {"index": index}

        def replace(match):
            key, form = match.groups()
            if key not in known:
                self.wrong(f"name: the runs do not set {key}{nearest(key, known)}")
                return "-"
            try:
                return format(known[key], form) if form else name_text(known[key])
            except (ValueError, TypeError) as error:
                self.wrong(f"name: {{{key}:{form}}} does not fit the value {known[key]!r}: {error}")
                return "-"

        name = re.sub(r"\{([^{}:]*)(?::([^{}]*))?\}", replace, template)
        self.give_up_if_wrong()
        return self.checked_name(name, "name")

    def default_template(self, scanned):
        """viscosity{physics.viscosity}-seed{initial.seed}; whole keys where their last parts are the same."""
        short = [key.rsplit(".", 1)[-1] for key in scanned]
        return "-".join(f"{s if short.count(s) == 1 else key}{{{key}}}" for s, key in zip(short, scanned))

    def checked_name(self, name, where):
        if not re.fullmatch(r"[A-Za-z0-9_+=-][A-Za-z0-9._+=-]*", name) or RESERVED.fullmatch(name):
            self.wrong(f"{where}: {name!r} cannot be the name of a run: expected {NAME_CHARACTERS}, no dot in front, "
                       "and no name of a file of the scan")  # fmt: skip
        return name


def expand(path):
    """The scan that the file describes. Throws ScanError with all mistakes at once."""
    return Expander(path).scan()
