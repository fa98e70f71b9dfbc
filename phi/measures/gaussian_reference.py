"""Reference implementation of the measures of Gaussian systems in plain Python, from the papers.

The independent implementation that reference_test.py compares `phi theory` with: other algorithms
(Gauss-Jordan, a fixed point for phi_g, golden sections for phi_star), and no library.
"""

import math


def multiply(a, b):
    return [[sum(x * y for x, y in zip(row, column)) for column in zip(*b)] for row in a]


def transpose(a):
    return [list(row) for row in zip(*a)]


def add(a, b, factor=1.0):
    return [[x + factor * y for x, y in zip(row, other)] for row, other in zip(a, b)]


def identity(n):
    return [[float(i == j) for j in range(n)] for i in range(n)]


def solve(a, b):
    n = len(a)
    rows = [row[:] + other[:] for row, other in zip(a, b)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for k in range(n):
            if k != i:
                factor = rows[k][i]
                rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return [row[n:] for row in rows]


def inverse(a):
    return solve(a, identity(len(a)))


def log_determinant(a):
    n = len(a)
    rows = [row[:] for row in a]
    total = 0.0
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(rows[k][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        total += math.log(abs(rows[i][i]))
        for k in range(i + 1, n):
            factor = rows[k][i] / rows[i][i]
            rows[k] = [x - factor * y for x, y in zip(rows[k], rows[i])]
    return total


def part_of(a, rows, columns):
    return [[a[i][j] for j in columns] for i in rows]


def stationary(coupling, noise):
    covariance, power = [row[:] for row in noise], coupling
    for _ in range(60):
        covariance = add(covariance, multiply(multiply(power, covariance), transpose(power)))
        power = multiply(power, power)
    return covariance


def entropy(covariance):
    n = len(covariance)
    return 0.5 * log_determinant(covariance) + 0.5 * n * math.log(2 * math.pi * math.e)


def conditional(present, cross, past):
    return add(present, multiply(multiply(cross, inverse(past)), transpose(cross)), -1)


def phi_g(coupling, noise, past, parts):
    n = len(coupling)
    free = [(i, j) for part in parts for i in part for j in part]
    residual = [row[:] for row in noise]
    for _ in range(20000):
        weight = inverse(residual)
        right = multiply(multiply(weight, coupling), past)
        system = [[weight[i][k] * past[l][j] for (k, l) in free] for (i, j) in free]
        values = solve(system, [[right[i][j]] for (i, j) in free])
        cut = [[0.0] * n for _ in range(n)]
        for (k, l), value in zip(free, values):
            cut[k][l] = value[0]
        lost = add(coupling, cut, -1)
        following = add(noise, multiply(multiply(lost, past), transpose(lost)))
        change = abs(log_determinant(following) - log_determinant(residual))
        residual = following
        if change < 1e-15:
            break
    return 0.5 * (log_determinant(residual) - log_determinant(noise))


def phi_star(past, cross, parts, information):
    n = len(past)
    own_past = [[0.0] * n for _ in range(n)]
    own_cross = [[0.0] * n for _ in range(n)]
    own_noise = [[0.0] * n for _ in range(n)]
    for part in parts:
        block = part_of(past, part, part)
        rest = conditional(block, part_of(cross, part, part), block)
        for a, i in enumerate(part):
            for b, j in enumerate(part):
                own_past[i][j] = block[a][b]
                own_cross[i][j] = cross[i][j]
                own_noise[i][j] = rest[a][b]
    decoder = multiply(own_cross, inverse(own_past))
    precision = inverse(own_noise)
    past_inverse = inverse(past)
    curvature = multiply(multiply(transpose(decoder), precision), decoder)
    effect = multiply(precision, decoder)

    def decoded(beta):
        q = add(past_inverse, [[beta * x for x in row] for row in curvature])
        inner = multiply(multiply(effect, inverse(q)), transpose(effect))
        r = add([[beta * x for x in row] for row in precision],
                [[beta * beta * x for x in row] for row in inner], -1)
        trace = sum(multiply(past, r)[i][i] for i in range(n))
        return (0.5 * log_determinant(q) + 0.5 * log_determinant(past) + 0.5 * trace
                - beta * n / 2)

    low, high, golden = 0.0, 20.0, (5**0.5 - 1) / 2
    for _ in range(300):
        left, right = high - golden * (high - low), low + golden * (high - low)
        if decoded(left) > decoded(right):
            high = right
        else:
            low = left
    return information - decoded((low + high) / 2)


def measures(coupling, noise, parts):
    n = len(coupling)
    past = stationary(coupling, noise)
    cross = multiply(coupling, past)
    left = conditional(past, cross, past)
    information = entropy(past) - entropy(left)
    joint = ([past[i] + [cross[j][i] for j in range(n)] for i in range(n)]
             + [cross[i] + past[i] for i in range(n)])
    multi_information, interaction, of_parts = -entropy(joint), -entropy(left), 0.0
    for part in parts:
        own = part_of(past, part, part)
        rest = conditional(own, part_of(cross, part, part), own)
        of_parts += entropy(own) - entropy(rest)
        interaction += entropy(rest)
        both = part + [n + i for i in part]
        multi_information += entropy(part_of(joint, both, both))

    def between(a, b):
        to = part_of(past, b, b)
        return entropy(to) - entropy(conditional(to, part_of(cross, b, a), part_of(past, a, a)))

    wms = information - of_parts
    return {
        "i": information,
        "mi": multi_information,
        "si": interaction,
        "wms": wms,
        "phi_r": wms + min(between(a, b) for a in parts for b in parts),
        "phi_g": phi_g(coupling, noise, past, parts),
        "phi_star": phi_star(past, cross, parts, information),
    }
