# SPDX-License-Identifier: Apache-2.0
"""Runs the rows of rows.py and writes bench/RESULTS.md and build/bench/results.json.

Every number of a row comes from one run in which ours and the others take turns, each after its
file was read into the page cache, each pinned to the same cores; medians are compared. A peer that
is not installed is skipped (--peers installs them all into .venv-peers). With --check the exit
status is 1 when a goal is missed by more than a fifth in two of three repeats. --only P1 --again
measures a row again and puts it into the last results and onto the page.
"""

import argparse
import glob
import itertools
import json
import os
import shutil
import statistics
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chart
import data
import measure
from row import Series

from rows import ROWS

PROGRAMS = (
    "baseline", "ours", "parse", "fused", "queues", "orders", "media", "tables", "unzstd",
    "ondemand", "segments", "gathers", "receipts",
)  # fmt: skip
COLUMNS = ("#", "workload", "ours/it", "verdict", "against", "ours", "its value", "unit", "goal")
SLACK = 0.8  # how far below its goal a repeat may fall before --check counts it


def reading(row, one, result, cpu):
    """The value of one run in the unit of the row, or None.

    With `cpu` the time of a run is its processor time, divided among its cores.
    """
    if result is None:
        return None
    if cpu and not isinstance(one, Series) and "n" in result and result.get("cpu"):
        result = {**result, "seconds": result["cpu"] / one.cores}
    if row.value == "each":
        return result["seconds"] / result["n"] * row.scale
    if row.less_is_better:
        return result[row.value] * row.scale
    return result[row.value] / result["seconds"] * row.scale


def contenders(row):
    return {"ours": row.ours, **row.peers, **row.limits}


def in_series(one, first, second, cpu):
    """A byte, and its records, of two works that each thread does one after the other."""
    if first is None or second is None:
        return None
    each = [
        (a["cpu"] / work.cores if cpu else a["seconds"]) / a["bytes"]
        for a, work in ((first, one.first), (second, one.second))
    ]
    return {"bytes": 1.0, "n": second["n"] / second["bytes"], "seconds": sum(each)}


def files_of(rows):
    """The files that the rows read, and those that they are made of."""
    found = set()
    for row in rows:
        for one in contenders(row).values():
            for part in (one.first, one.second) if isinstance(one, Series) else (one,):
                found.update({part.file, part.file.split(".")[0]} - {""})
    return found


def take_turns(runner, rows, repeats, cpu=False):
    """Runs what the rows (all with the same `ours`) need, in turns; {measure: [result, ...]}."""
    results, series = {}, []
    for row in rows:
        for one in contenders(row).values():
            series += [one] if isinstance(one, Series) else []
            for part in (one.first, one.second) if isinstance(one, Series) else (one,):
                results.setdefault(part, [])
    for one in results:
        runner.run(one)  # imports, traces, touches memory: not counted
    for _ in range(repeats):
        for one, found in results.items():
            found.append(runner.run(one))
    for one in series:
        pairs = zip(results[one.first], results[one.second], strict=True)
        results[one] = [in_series(one, *pair, cpu) for pair in pairs]
    return results


def ratio(row, ours, other):
    return other / ours if row.less_is_better else ours / other


def summary(row, results, cpu=False):
    """A row's readings, ratios and marks, ready for JSON."""
    out = {"number": row.number, "title": row.title, "unit": row.unit, "values": {}, "goals": []}
    out["peers"], out["limits"] = list(row.peers), list(row.limits)
    for name, one in contenders(row).items():
        values = [reading(row, one, result, cpu) for result in results[one]]
        if values and None not in values:
            out["values"][name] = {
                "median": statistics.median(values),
                "least": min(values),
                "most": max(values),
                "all": values,
            }
    ours = out["values"].get("ours")
    for name, value in out["values"].items():
        if ours and name != "ours":
            value["ratio"] = ratio(row, ours["median"], value["median"])
            value["ratios"] = [
                ratio(row, a, b) for a, b in zip(ours["all"], value["all"], strict=True)
            ]
    for name, goal in row.goals.items():
        out["goals"].append(judged(out["values"], name, goal))
        if out["goals"][-1]["mark"] == "below":
            out["goals"][-1]["reach"] = reach(row, out["values"], name, goal)
    return out


def reach(row, values, name, goal):
    """What the goal would be at a limit of the row: the least of those that do not allow it.

    None where all do. Works of ours are not counted.
    """
    found = [
        ratio(row, values[limit]["median"], values[name]["median"])
        for limit in row.limits
        if limit != name and limit in values and not limit.startswith("ours") and name in values
    ]
    return min((share for share in found if share < goal), default=None)


def judged(values, name, goal):
    """A goal with its mark; `missed` where it fails clearly in two of three repeats."""
    mark = {"against": name, "goal": goal, "mark": None, "missed": False}
    found = values.get(name)
    if found is None or (name != "ours" and "ratio" not in found):
        return mark
    if name == "ours":  # the largest value that is allowed
        shares = [goal / value if value else float("inf") for value in found["all"]]
        good = found["median"] <= goal
    else:
        shares = [value / goal for value in found["ratios"]]
        good = found["ratio"] >= goal
    mark["mark"] = "pass" if good else "below"
    mark["missed"] = 3 * sum(share < SLACK for share in shares) >= 2 * len(shares)
    return mark


# -- the page --------------------------------------------------------------------------------------


def number(value):
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def spread(value):
    if value is None:
        return "-"
    return f"{number(value['median'])} ({number(value['least'])}..{number(value['most'])})"


def goal_cells(row, name):
    """The ratio, its goal and its mark for one peer or limit."""
    value = row["values"].get(name, {})
    for goal in row["goals"]:
        if goal["against"] == name:
            mark = goal["mark"] or "-"
            if goal.get("reach") is not None:
                mark += f" (limit: {number(goal['reach'])})"
            return number(value.get("ratio")), f"≥ {goal['goal']:g}", mark
    return number(value.get("ratio")), "", ""


def page_lines(row):
    """The table lines of a row: the first has ours, then a line for each further peer or limit."""
    kinds = [(name, "peer") for name in row["peers"]] + [(name, "limit") for name in row["limits"]]
    own = [goal for goal in row["goals"] if goal["against"] == "ours"]
    ours = spread(row["values"].get("ours"))
    lines = [("", own[0]["mark"] or "-", "", "", f"≤ {own[0]['goal']:,g}")] if own else []
    for name, kind in kinds:
        value = row["values"].get(name)
        if value is None and lines:
            continue
        ratio, goal, mark = goal_cells(row, name)
        shown = f"{name} ({kind})" if kind == "limit" else name
        lines.append((ratio, mark, shown, spread(value), goal))
    return [
        table_line(
            *((row["number"], row["title"]) if i == 0 else ("", "")), *line[:3],
            ours if i == 0 else "", line[3], row["unit"] if i == 0 else "", line[4],
        )
        for i, line in enumerate(lines)
    ]  # fmt: skip


def table_line(*cells):
    return f"|{'|'.join(f' {cell} ' if cell else ' ' for cell in cells)}|"


def page(report):
    about = report["machine"]
    kinds = ", ".join(f"{name} {version}" for name, version in report["versions"].items())
    lines = [
        "# Results of the benches",
        "",
        "`make bench` writes this page. Each row comes from one run, in which levada and the other "
        f"libraries take turns ({report['repeats']} repeats) on the same cores, after their file "
        "was read into the page cache. Values are medians (least..most). A ratio above 1 means "
        "that levada is better, for speed and for size alike. Compare ratios instead of values, "
        "because another machine has other values. If levada misses a goal, `limit` shows the "
        "ratio that the limit of the hardware in that row would reach.",
        "",
        f"Machine: {about['processor']} (CPU level {about['cpu_level']}; {about['caches']}), "
        f"{about['cores']} cores, {about['memory_gib']} GiB, "
        f"Linux {about['kernel']}, {about['compiler']}. Versions: {kinds}.",
        "",
        table_line(*COLUMNS),
        "|" + "---|" * len(COLUMNS),
    ]
    for row in report["rows"]:
        lines += page_lines(row)
    marks = [goal["mark"] for row in report["rows"] for goal in row["goals"]]
    lines += ["", f"Goals: {marks.count('pass')} pass, {marks.count('below')} below"]
    lines[-1] += f", {marks.count(None)} not measured here." if None in marks else "."
    if report["missing"]:
        lines += ["", "Not measured:", ""]
        lines += [f"- {what}: {why}" for what, why in report["missing"].items()]
    return "\n".join(lines) + "\n"


def show(row):
    """One line for each peer and limit, as it is measured."""
    ours = row["values"].get("ours")
    print(f"{row['number']:4} {row['title']} [{row['unit']}]  ours {spread(ours)}", flush=True)
    for name in row["peers"] + row["limits"]:
        share, goal, mark = goal_cells(row, name)
        kind = "peer" if name in row["peers"] else "limit"
        text = f"       {kind:5} {name:24} {spread(row['values'].get(name)):30}"
        print(f"{text} ours/{kind} {share:8} {goal:8} {mark}".rstrip(), flush=True)
    for goal in row["goals"]:
        if goal["against"] == "ours":
            print(f"       goal  ≤ {goal['goal']:,g}  {goal['mark'] or '-'}", flush=True)


# -- the run ---------------------------------------------------------------------------------------


def build(folder):
    """Builds the bench programs with Meson in a folder of their own; their folder."""
    tools = os.path.join(measure.ROOT, ".venv", "bin")
    path = tools + os.pathsep + os.environ["PATH"]
    env = {**os.environ, "PATH": path}
    # What an earlier run looked for may have been installed since.
    subprocess.run(
        ["meson", "setup", "--reconfigure", "--clearcache", folder, measure.ROOT,
         "-Dpython=disabled", "-Dtests=disabled"],
        env=env, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    for program in PROGRAMS:
        done = subprocess.run(
            ["ninja", "-C", folder, f"bench/{program}"], env=env, capture_output=True, text=True
        )
        if done.returncode:
            print(f"bench: {program} was not built: {done.stdout.strip()[-300:]}", file=sys.stderr)
    return os.path.join(folder, "bench")


def install_levada():
    """Puts this levada beside the peers, so that all run in one Python."""
    wheels = os.path.join(measure.ROOT, "build", "bench", "wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    shutil.rmtree(wheels, ignore_errors=True)
    done = subprocess.run(
        [*pip, "wheel", "-qq", "--no-deps", "--no-build-isolation", "-w", wheels,
         "-Cbuild-dir=" + os.path.join(measure.ROOT, "build", "wheel"), measure.ROOT],
        capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        print(f"bench: no wheel of levada: {done.stderr.strip()[-300:]}", file=sys.stderr)
        return
    peers = [measure.PEERS, *pip[1:], "install", "-qq", "--no-deps", "--force-reinstall"]
    subprocess.run(peers + glob.glob(os.path.join(wheels, "*.whl")), check=True)


def install_peers():
    """The environment of the peers (large: TensorFlow and PyTorch), with levada in it."""
    if not os.path.exists(measure.PEERS):
        folder = os.path.dirname(os.path.dirname(measure.PEERS))
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    wanted = os.path.join(measure.ROOT, "bench", "peers.txt")
    subprocess.run([measure.PEERS, "-m", "pip", "install", "-q", "-r", wanted], check=True)
    install_levada()


def report_of(rows, runner, repeats, cpu=False):
    report = {"machine": measure.machine(), "versions": measure.versions(), "repeats": repeats}
    report["rows"] = []
    for _, group in itertools.groupby(rows, key=lambda row: (row.number, row.ours)):
        group = list(group)
        results = take_turns(runner, group, repeats, cpu)
        for row in group:
            report["rows"].append(summary(row, results, cpu))
            show(report["rows"][-1])
    report["missing"] = {
        one.what: why.replace(measure.ROOT + os.sep, "") for one, why in runner.missing.items()
    }
    return report


def into_last(report, rows, path):
    """The last results, with these rows, which were measured again, in place of theirs."""
    with open(path) as file:
        last = json.load(file)
    if any(last[what] != report[what] for what in ("machine", "versions", "repeats")):
        sys.exit(f"bench: {path} is of another machine, other versions or other repeats")
    measured = {(row["number"], row["title"]): row for row in report["rows"]}
    last["rows"] = [measured.get((row["number"], row["title"]), row) for row in last["rows"]]
    tried = {one.what for row in rows for one in contenders(row).values() if hasattr(one, "what")}
    kept = {what: why for what, why in last["missing"].items() if what not in tried}
    last["missing"] = {**kept, **report["missing"]}
    return last


def main():
    root = measure.ROOT
    args = argparse.ArgumentParser(description="run the benches")
    args.add_argument("--only", default="", help="numbers of rows, with commas between")
    args.add_argument("--again", action="store_true", help="put the rows into the last results")
    args.add_argument("--repeats", type=int, default=5)
    args.add_argument(
        "--cpu", action="store_true", help="processor time in place of time; for a busy machine"
    )
    args.add_argument("--dir", default=data.DEFAULT_DIR)
    args.add_argument("--programs", help="a folder with baseline and ours; default: build them")
    args.add_argument("--page", default=os.path.join(root, "bench", "RESULTS.md"))
    args.add_argument("--json", default=os.path.join(root, "build", "bench", "results.json"))
    args.add_argument("--check", action="store_true")
    args.add_argument("--peers", action="store_true", help="install the peers, run nothing")
    args = args.parse_args()
    if args.peers:
        return install_peers()
    if args.again and args.cpu:
        sys.exit("bench: --again puts rows on the page, which has no processor time (--cpu)")
    only = set(filter(None, args.only.split(",")))
    rows = [row for row in ROWS if not only or row.number in only]
    if not rows:
        sys.exit(
            f"no row {args.only}; there are {', '.join(dict.fromkeys(r.number for r in ROWS))}"
        )
    data.ensure(files_of(rows) if only else None, args.dir, print)
    if args.programs is None and os.path.exists(measure.PEERS):
        install_levada()
    programs = args.programs or build(os.path.join(root, "build", "bench", "c"))
    runner = measure.Runner(args.dir, programs)
    try:
        report = report_of(rows, runner, args.repeats, args.cpu)
    finally:
        runner.close()
    if args.again:
        report = into_last(report, rows, args.json)
    os.makedirs(os.path.dirname(args.json), exist_ok=True)
    with open(args.json, "w") as out:
        json.dump(report, out, indent=1)
    if args.again or (not only and not args.cpu):  # a page has all rows
        with open(args.page, "w") as out:
            out.write(page(report))
        chart.main()
        subprocess.run([sys.executable, os.path.join(root, "ci", "lint_numbers.py"), "--update"])
    missed = [row["title"] for row in report["rows"] for goal in row["goals"] if goal["missed"]]
    if args.check and missed:
        sys.exit("goals missed: " + "; ".join(missed))


if __name__ == "__main__":
    main()
