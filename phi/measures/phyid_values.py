#!/usr/bin/env python3
"""Prints testing_phyid.h: a series of two variables and what phyid says of it.

  PYTHONPATH=CHECKOUT python3 phi/measures/phyid_values.py > phi/measures/testing_phyid.h

CHECKOUT has phyid/calculate.py, measures.py and utils.py of
https://github.com/Imperial-MIND-lab/integrated-info-decomp at COMMIT; no registry has the package. Needs
NumPy and SciPy: the functions for Gaussian variables, of the text of these files, gave the same twelve
decimals with NumPy 2.4.6 and SciPy 1.17.1, apart from signs of zeros.
"""

import random

import numpy
from phyid.calculate import calc_PhiID

COMMIT = "8defe07dd8036c8b79b92dd5f77b3bf7a3b26232"
ROWS, LOCAL = 80, 4
ATOMS = [past + "t" + future for past in "rxys" for future in "rxys"]


def series():
    draw = random.Random(20190902)
    one, other, rows = 0.0, 0.0, []
    for _ in range(ROWS):
        common = draw.gauss(0, .6)
        one, other = (.5 * one + .4 * other + common + draw.gauss(0, .8),
                      .2 * one - .3 * other + common + draw.gauss(0, .8))
        rows.append([round(one, 5), round(other, 5)])
    return rows


def braced(values):
    return "{" + ", ".join(f"{value:.12f}" for value in values) + "}"


def main():
    rows = series()
    lines = ["// Values of phyid (https://github.com/Imperial-MIND-lab/integrated-info-decomp), commit",
             f"// {COMMIT}, in nats. Made by phyid_values.py.", "#pragma once", "",
             "#include <array>", "#include <string_view>", "", "namespace reveza::phi {", "",
             f"inline constexpr std::array<std::array<double, 2>, {ROWS}> kPhyidSeries = {{{{"]
    lines += [f"    {{{one}, {other}}}," for one, other in rows] + ["}};", ""]
    lines += ["struct PhyidValues {", "  std::string_view redundancy;", "  int tau = 1;",
              "  std::array<double, 16> mean = {};",
              f"  // Of the first {LOCAL} pairs of past and present.",
              f"  std::array<std::array<double, 16>, {LOCAL}> local = {{}};", "};", ""]
    data = numpy.array(rows)
    cases = [(redundancy, tau) for redundancy in ("MMI", "CCS") for tau in (1, 2)]
    lines.append(f"inline constexpr std::array<PhyidValues, {len(cases)}> kPhyidValues = {{{{")
    for redundancy, tau in cases:
        atoms, _ = calc_PhiID(data[:, 0], data[:, 1], tau, kind="gaussian", redundancy=redundancy)
        mean = braced(float(numpy.mean(atoms[name])) for name in ATOMS)
        local = ", ".join(braced(float(atoms[name][row]) for name in ATOMS) for row in range(LOCAL))
        lines.append(f'    {{"{redundancy.lower()}", {tau}, {mean}, {{{{{local}}}}}}},')
    lines += ["}};", "", "}  // namespace reveza::phi"]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
