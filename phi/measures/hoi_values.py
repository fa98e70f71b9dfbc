#!/usr/bin/env python3
"""Prints testing_hoi.h: a series and what hoi says of all its subsets.

  python3 phi/measures/hoi_values.py > phi/measures/testing_hoi.h

Needs the wheels of tools/requirements-peers.txt, in an environment of their own. hoi reports bits in
single precision. Its method "gauss" takes rows about 0 for granted, and so they are centred here.
"""

import itertools
import logging
import math
import random

import hoi
import jax
import numpy

jax.config.update("jax_enable_x64", True)
logging.disable(logging.CRITICAL)
ROWS, VARIABLES = 60, 5
METRICS = (("o", hoi.metrics.Oinfo), ("s", hoi.metrics.Sinfo), ("tc", hoi.metrics.TC),
           ("dtc", hoi.metrics.DTC))


def series():
    """Returns copies of a common source, and a sum of independent ones."""
    draw = random.Random(20190301)
    rows = []
    for _ in range(ROWS):
        common, one, other = (draw.gauss(0, 1) for _ in range(3))
        rows.append([common + draw.gauss(0, .5), common + draw.gauss(0, .5), one,
                     one + other + draw.gauss(0, .3), math.exp(other) + .3 * common])
    rows = [[round(value, 5) for value in row] for row in rows]
    # hoi orders equal values by row, phi gives them one rank.
    assert all(len(set(column)) == ROWS for column in zip(*rows))
    return rows


def values(rows, method, **options):
    data = numpy.array(rows)
    data = data - data.mean(axis=0)
    found = {}
    for name, metric in METRICS:
        model = metric(data, verbose=False)
        result = model.fit(minsize=2, maxsize=VARIABLES, method=method, **options)[:, 0]
        subsets = [members for size in range(2, VARIABLES + 1)
                   for members in itertools.combinations(range(VARIABLES), size)]
        assert len(subsets) == len(result)
        for members, value in zip(subsets, result):
            mask = sum(1 << member for member in members)
            found.setdefault(mask, {})[name] = float(value) * math.log(2)
    return found


def table(name, comment, found):
    lines = [f"// {comment}",
             f"inline constexpr std::array<HoiValues, {len(found)}> {name} = {{{{"]
    for mask in sorted(found):
        numbers = ", ".join(f"{found[mask][metric]:.7f}" for metric, _ in METRICS)
        lines.append(f"    {{{mask}, {{{numbers}}}}},")
    return lines + ["}};", ""]


def main():
    rows = series()
    lines = [
        f"// Values of hoi {hoi.__version__} (https://github.com/brainets/hoi) in nats. Made by",
        "// hoi_values.py.", "#pragma once", "", "#include <array>", "#include <cstdint>", "",
        "namespace reveza::phi {", "",
        f"inline constexpr std::array<std::array<double, {VARIABLES}>, {ROWS}> kHoiSeries = {{{{"]
    lines += ["    {" + ", ".join(map(str, row)) + "}," for row in rows] + ["}};", ""]
    lines += ["// A subset, and its o, s, tc and dtc.", "struct HoiValues {",
              "  std::uint32_t subset = 0;", "  std::array<double, 4> values = {};", "};", ""]
    lines += table("kHoiGauss", 'Method "gauss".', values(rows, "gauss"))
    lines += table("kHoiCopula", 'Method "gc" without correction of bias.',
                   values(rows, "gc", biascorrect=False))
    lines += table("kHoiCopulaLessBias", 'Method "gc" as by default, corrected for bias.',
                   values(rows, "gc"))
    lines.append("}  // namespace reveza::phi")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
