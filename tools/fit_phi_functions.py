#!/usr/bin/env python3
"""Prints the coefficients of phi/arithmetic/phi_math.h.

  tools/fit_phi_functions.py

Each polynomial interpolates its function at the Chebyshev nodes of the interval, which is nearly
optimal for its degree. Coefficients are computed with 50 digits, then rounded to float.
"""

import math
import struct
from decimal import Decimal, getcontext
from fractions import Fraction

getcontext().prec = 50


def solve(matrix, right):
    """Solves a linear system by Gauss-Jordan elimination, in exact fractions."""
    rows = [[*map(Fraction, row), Fraction(value)] for row, value in zip(matrix, right)]
    for i in range(len(rows)):
        pivot = max(range(i, len(rows)), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for k in range(len(rows)):
            if k != i:
                factor = rows[k][i] / rows[i][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[-1] / row[i] for i, row in enumerate(rows)]


def fit(function, low, high, degree):
    count = degree + 1
    points = [(low + high) / 2 + (high - low) / 2 * math.cos(math.pi * (2 * i + 1) / (2 * count))
              for i in range(count)]
    powers = [[Fraction(x) ** j for j in range(count)] for x in points]
    return [float(c) for c in solve(powers, [Fraction(function(x)) for x in points])]


def log_rest(f):
    """(log(1 + f) - f) / f^2"""
    f = Decimal(f)
    return ((1 + f).ln() - f) / f**2 if f else Decimal(-1) / 2


def exp_rest(r):
    """(exp(r) - 1 - r) / r^2"""
    r = Decimal(r)
    return (r.exp() - 1 - r) / r**2 if r else Decimal(1) / 2


def circle_rest(z, first):
    """Sum of (-z)^k / (first + 2 k)!"""
    return sum((-Decimal(z)) ** k / Decimal(math.factorial(first + 2 * k)) for k in range(20))


def rounded(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def main():
    eighth = (math.pi / 4) ** 2
    root = math.sqrt(2)
    half = math.log(2) / 2
    for name, coefficients in (
            ("log", fit(log_rest, root / 2 - 1, root - 1, 8)),
            ("exp", fit(exp_rest, -half, half, 5)),
            ("sin", fit(lambda z: -circle_rest(z, 3), 0, eighth, 2)),
            ("cos", fit(lambda z: circle_rest(z, 4), 0, eighth, 2))):
        print(name, *(rounded(c).hex() for c in coefficients))


if __name__ == "__main__":
    main()
