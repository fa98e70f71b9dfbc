#!/usr/bin/env python3
"""Prints the medians of Google Benchmark's JSON files and the ratios between them."""

import json
import sys

# (label, numerator, denominator): names of benchmarks.
RATIOS = [("gated call / bare call", "GatedCall", "DirectCall")]


def medians(paths):
    """Returns {name: (nanoseconds, counters)} of all files."""
    result = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            runs = json.load(file)["benchmarks"]
        for run in runs:
            if run.get("aggregate_name") != "median":
                continue
            rates = {k: v for k, v in run.items() if k == "decisions"}
            result[run["run_name"].removesuffix("_median")] = (run["cpu_time"], rates)
    return result


def main(paths):
    found = medians(paths)
    if not found:
        sys.exit("summary: the files contain no benchmark results")
    width = max(map(len, found))
    for name, (nanoseconds, rates) in found.items():
        more = "".join(f"  {rate:,.0f} {key}/s" for key, rate in rates.items())
        print(f"{name.ljust(width)}  {nanoseconds:12.2f} ns{more}")
    for what, above, below in RATIOS:
        if above in found and below in found:
            added = found[above][0] - found[below][0]
            print(f"{what}: {found[above][0] / found[below][0]:.2f} (adds {added:.2f} ns)")


if __name__ == "__main__":
    main(sys.argv[1:])
