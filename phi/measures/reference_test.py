#!/usr/bin/env python3
"""Compares `phi theory` with an independent implementation, and `phi measure` with NumPy.

  reference_test.py PHI
"""

import csv
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

import gaussian_reference

TABLE = [
    ([[.4, .4], [.4, .4]], 0.0), ([[.4, .4], [.4, .4]], 0.5), ([[.4, .4], [.4, .4]], 0.9),
    ([[.2, .5], [.5, .2]], 0.0), ([[.5, 0], [.5, .5]], 0.0), ([[.5, 0], [0, .5]], 0.5),
]
BLOCKS = [[.2, .5, 0, 0], [.5, .2, 0, 0], [0, 0, .2, .5], [0, 0, .5, .2]]


def text_of(matrix):
    return ";".join(",".join(repr(x) for x in row) for row in matrix)


def compare(phi, coupling, noise, parts):
    answer = json.loads(subprocess.check_output(
        [phi, "theory", "--coupling", text_of(coupling), "--noise", text_of(noise), "--partition",
         "|".join(",".join(map(str, part)) for part in parts), "--json"]))
    found = {row["measure"]: row["nats"] for row in answer["measures"]}
    for name, expected in gaussian_reference.measures(coupling, noise, parts).items():
        assert abs(found[name] - expected) < 1e-8, (name, found[name], expected, coupling, noise)


def random_system(seed):
    draw = random.Random(seed)
    n = draw.choice([2, 3, 4])
    coupling = [[draw.gauss(0, 1) for _ in range(n)] for _ in range(n)]
    largest = max(sum(abs(x) for x in row) for row in coupling)
    coupling = [[0.8 * x / largest for x in row] for row in coupling]
    factor = [[draw.gauss(0, 0.3) + (i == j) for j in range(n)] for i in range(n)]
    noise = gaussian_reference.multiply(factor, gaussian_reference.transpose(factor))
    noise = [[(noise[i][j] + noise[j][i]) / 2 + 0.1 * (i == j) for j in range(n)]
             for i in range(n)]
    cut = draw.randrange(1, n)
    order = draw.sample(range(n), n)
    return coupling, noise, [sorted(order[:cut]), sorted(order[cut:])]


def compare_files(phi, folder):
    """Compares si and i of one series, in each file format, with NumPy."""
    try:
        import numpy
        import pandas
    except ImportError:
        print("no NumPy or pandas in build/python (tools/setup.sh installs them): files not read")
        return 0
    draw = numpy.random.default_rng(1)
    coupling = numpy.array([[.4, .4, 0], [.4, .4, 0], [0, .3, .5]])
    rows = numpy.zeros((600, 3))
    for t in range(1, 600):
        rows[t] = coupling @ rows[t - 1] + draw.normal(size=3)
    frame = pandas.DataFrame(rows, columns=["a", "b", "c"])
    frame.to_csv(folder / "data.csv", index=False)
    numpy.save(folder / "data.npy", numpy.asfortranarray(rows))
    files = ["data.csv", "data.npy"]
    try:
        frame.to_parquet(folder / "data.parquet", row_group_size=100)
        files.append("data.parquet")
    except ImportError:
        pass
    past, present = rows[:-1], rows[1:]
    joint = numpy.cov(numpy.hstack([past, present]).T, bias=True)
    half = lambda index: 0.5 * numpy.linalg.slogdet(joint[numpy.ix_(index, index)])[1]
    information = half([0, 1, 2]) + half([3, 4, 5]) - half(range(6))
    interaction = (half([0, 1, 3, 4]) - half([0, 1]) + half([2, 5]) - half([2])
                   - half(range(6)) + half([0, 1, 2]))
    for name in files:
        answer = subprocess.run([phi, "measure", folder / name, "-p", "0,1|2", "-m", "i,si",
                                 "--json"], check=False, capture_output=True, text=True)
        if name.endswith("parquet") and "without Arrow" in answer.stderr:
            continue
        found = [row["nats"] for row in json.loads(answer.stdout)["measures"]]
        assert abs(found[0] - information) < 1e-10, (name, found, information)
        assert abs(found[1] - interaction) < 1e-10, (name, found, interaction)
    return len(files)


def compare_csv(phi, folder):
    """Reads the names in CSV output with Python's reader, from a file of its writer."""
    names = ['x"y', "a,b", " blank ", '"', "caf\u00e9"]
    draw = random.Random(1)
    with open(folder / "names.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows([draw.random() for _ in names] for _ in range(60))
    # The reader strips blanks around names.
    names = [name.strip() for name in names]
    text = subprocess.check_output([phi, "te", folder / "names.csv", "--csv"], encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    assert [(row["from"], row["to"]) for row in rows] == list(itertools.permutations(names, 2))


def main():
    phi = sys.argv[1]
    for coupling, correlation in TABLE:
        compare(phi, coupling, [[1.0, correlation], [correlation, 1.0]], [[0], [1]])
    for parts in ([[0, 1], [2, 3]], [[0, 2], [1, 3]]):
        compare(phi, BLOCKS, gaussian_reference.identity(4), parts)
    for seed in range(20):
        compare(phi, *random_system(seed))
    with tempfile.TemporaryDirectory() as folder:
        compare_csv(phi, pathlib.Path(folder))
        files = compare_files(phi, pathlib.Path(folder))
    print(f"28 systems and {files} files give what they should")


if __name__ == "__main__":
    main()
