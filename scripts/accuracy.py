#!/usr/bin/env python3
"""docs/accuracy.md: what comm-probe predicts for the public curves of healthy machines, and what they measured.

    scripts/accuracy.py build/comm-probe ../shared/data/field/curves > docs/accuracy.md      (make accuracy)

The curves are not in this repository; bench/accuracy.tsv says which of them are asked, on which machine of the catalog.
Exit status 1 where a bar is missed or an outlier has no reason in that file.
"""
import json
import subprocess
import sys
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
BARS = {"plateau": 0.12, "small": 0.35}
TITLE = {"plateau": "plateau (busbw), NCCL's model", "small": "small end (latency), NCCL's model or launches"}
REST = {"plateau": "plateau, middle of the band: not out of sample", "small": "small end, ledger (all_to_all, send_recv)"}
EVERY = {"plateau": "plateau, every row", "small": "small end, every row"}
OUTLIER = 2  # times the bar
SMALL_BYTES = 16384  # src/diagnose/curve_level.cc
PLATEAU_BYTES = 16 << 20  # a smaller peak says nothing about links
LEDGER = "ledger"  # where NCCL has no model of its own
BAND = "middle of the band"  # what public runs reached, some of this page among them: not out of sample


def table_rows():
    for line in (ROOT / "bench/accuracy.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            fields = line.split("\t")
            yield dict(zip(("file", "machine", "nodes", "site", "use", "reason"), fields + [""] * (6 - len(fields))))


def result_of(program, *words):
    run = subprocess.run([program, *words, "--json"], capture_output=True, text=True)
    if not run.stdout:
        sys.exit(f"accuracy.py: comm-probe {' '.join(words)}: {run.stderr.strip()}")
    return json.loads(run.stdout)["result"]


def plateau_of(curve):
    """Predicted and measured busbw, and what predicted it."""
    if not curve["plateau"] or curve["plateau"]["peak_bytes"] < PLATEAU_BYTES:
        return None
    measured = curve["plateau"]["busbw_GBps"]
    if curve["nccl_model"]:
        return curve["nccl_model"]["plateau"]["busbw_GBps"], measured, "NCCL's model"
    band = curve["reference"]
    if not band:
        return None
    return (band["low_GBps"] + band["high_GBps"]) / 2, measured, BAND


def shows_latency(curve):
    """Each rank's message is no larger than a small one of `curve`."""
    left = curve["left_end"]
    share = curve["ranks"] or 1 if curve["op"] in ("all_gather", "reduce_scatter", "all_to_all") else 1
    return left and left["first_bytes"] / share <= SMALL_BYTES


def small_of(curve, row, program):
    """Predicted and measured time of the smallest size."""
    if not shows_latency(curve):
        return None
    left, model = curve["left_end"], curve["nccl_model"]
    if model and model["smallest"]:
        predicted, basis = model["smallest"]["time_us"], "NCCL's model"
    elif curve["op"] and curve["ranks"]:
        ledger = result_of(program, "calc", curve["op"], "-n", str(curve["ranks"]), "-s", str(left["first_bytes"]),
                           "--machine", row["machine"], "--nodes", row["nodes"])
        predicted, basis = ledger["time_us"], LEDGER
    else:
        return None
    if left["launches_us"] > predicted:
        predicted, basis = left["launches_us"], "launches"
    return predicted, left["latency_us"], basis


def point(row, curve, kind, found):
    predicted, measured, basis = found
    inside = "inside" if row["nodes"] == "1" else "between"
    return {"row": row, "curve": curve, "kind": kind, "predicted": predicted, "measured": measured, "basis": basis,
            "class": inside, "error": predicted / measured - 1}


def points_of(row, program, folder):
    curves = result_of(program, "curve", str(folder / row["file"]), "--machine", row["machine"], "--nodes",
                       row["nodes"])["curves"]
    for curve in curves:
        for kind, found in (("plateau", plateau_of(curve)), ("small", small_of(curve, row, program))):
            if found:
                yield point(row, curve, kind, found)


def factor(points):
    """Median over the sites of each site's median of measured / predicted: each site has one voice."""
    sites = {}
    for each in points:
        sites.setdefault(each["row"]["site"], []).append(each["measured"] / each["predicted"])
    return median(median(of_site) for of_site in sites.values()) if sites else 1


def fitted_error(points, left_out):
    """Median error after one factor for each class of links; left_out: that of the other sites only."""
    errors = []
    for each in points:
        alike = [other for other in points if other["class"] == each["class"]
                 and not (left_out and other["row"]["site"] == each["row"]["site"])]
        errors.append(abs(each["predicted"] * factor(alike) / each["measured"] - 1))
    return median(errors)


def percent(share):
    return f"{100 * share:.1f} %"


def of_kind(points, kind):
    return [each for each in points if each["kind"] == kind]


def judged(points, kind):
    """Of this kind, and predicted by a model that saw no row of this page: the bar is about these."""
    return [each for each in of_kind(points, kind) if each["basis"] not in (LEDGER, BAND)]


def median_error(points):
    return median(abs(each["error"]) for each in points)


def verdict(points, bar):
    if points[0]["basis"] == BAND:
        return "not judged"
    return f"holds {percent(bar)}" if median_error(points) <= bar else f"**misses {percent(bar)}**"


def summary_row(title, points, bar):
    return (f"| {title} | {len(points)} | **{percent(median_error(points))}** | {verdict(points, bar)} "
            f"| {percent(fitted_error(points, False))} | {percent(fitted_error(points, True))} |")


def summary_of(points, kind, bar):
    models = judged(points, kind)
    yield summary_row(TITLE[kind], models, bar)
    for place, words in (("inside", "inside a node"), ("between", "between nodes")):
        yield summary_row(f"{TITLE[kind]}, {words}", [each for each in models if each["class"] == place], bar)
    rest = [each for each in of_kind(points, kind) if each not in models]
    yield summary_row(REST[kind], rest, bar)
    yield summary_row(EVERY[kind], models + rest, bar)


def summary(points):
    lines = ["| | curves | median error | bar | one factor fitted on all sites | the same, judged on the site left out |",
             "|---|---:|---:|---|---:|---:|"]
    return lines + [line for kind, bar in BARS.items() for line in summary_of(points, kind, bar)]


def name_of(each):
    curve, row = each["curve"], each["row"]
    label = f" {curve['label']}" if curve["label"] else ""
    return f"{row['file'].split('_')[0]} {curve['op']}{label}, {row['nodes']} x {row['machine']}"


def table(points, kind):
    unit = "GB/s" if kind == "plateau" else "us"
    lines = [f"| curve | site | predicted {unit} | measured {unit} | error | predicted by |", "|---|---|---:|---:|---:|---|"]
    for each in points:
        if each["kind"] == kind:
            lines.append(f"| {name_of(each)} | {each['row']['site']} | {each['predicted']:.4g} | {each['measured']:.4g} "
                         f"| {100 * each['error']:+.1f} % | {each['basis']} |")
    return lines


def outliers(points):
    lines = ["| curve | | error | why |", "|---|---|---:|---|"]
    for each in points:
        if abs(each["error"]) > OUTLIER * BARS[each["kind"]]:
            lines.append(f"| {name_of(each)} | {each['kind']} | {100 * each['error']:+.0f} % | {each['row']['reason']} |")
    return lines


def left_out(rows):
    lines = ["| curve | why it is not judged |", "|---|---|"]
    return lines + [f"| {row['file'].removesuffix('.txt')} | {row['reason']} |" for row in rows if row["use"] == "left-out"]


def complaints(points):
    for kind, bar in BARS.items():
        error = median_error(judged(points, kind))
        if error > bar:
            yield f"{TITLE[kind]}: median error {percent(error)}, the bar is {percent(bar)}"
    for each in points:
        if abs(each["error"]) > OUTLIER * BARS[each["kind"]] and not each["row"]["reason"]:
            yield f"{name_of(each)} ({each['kind']}): {100 * each['error']:+.0f} %, no reason in bench/accuracy.tsv"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: scripts/accuracy.py COMM_PROBE FOLDER_OF_CURVES")
    program, folder = sys.argv[1], Path(sys.argv[2])
    rows = list(table_rows())
    points = [each for row in rows if row["use"] == "judged" for each in points_of(row, program, folder)]
    page = (ROOT / "bench/accuracy_intro.md").read_text()
    for mark, lines in (("SUMMARY", summary(points)), ("PLATEAU", table(points, "plateau")),
                        ("SMALL", table(points, "small")), ("OUTLIERS", outliers(points)), ("LEFT_OUT", left_out(rows))):
        page = page.replace(f"@{mark}@", "\n".join(lines))
    print(page, end="")
    found = list(complaints(points))
    for complaint in found:
        print(f"accuracy.py: {complaint}", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
