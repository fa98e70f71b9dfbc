"""What fraudgen.bench measures: features, splits, leaks and behaviour.

  fraudgen_bench_test.py BUILD
"""

import dataclasses
import unittest

from testing_bench import MINIMAL, RANDOM, Case

# pylint: disable=wrong-import-order
import numpy

from fraudgen.bench import behaviour, bench, features, leaks, utility


class FeaturesOfTheGraph(Case):
    def naive(self, rows, number):
        """The same features by loops over earlier rows."""
        at, who, whom, device, amount, _ = rows[number]
        before = [row for row in rows if row[0] < at]
        day = [row for row in before if at - row[0] <= 86400]
        pairs = list(dict.fromkeys((row[1], row[2]) for row in sorted(before)))
        got = [row for row in before if row[2] == who]
        got_day = [row[4] for row in day if row[2] == who]
        mine = [row[4] for row in before if row[1] == who]
        return {
            "customer_rows_1h": sum(row[1] == who and at - row[0] <= 3600 for row in before),
            "customer_rows_24h": sum(row[1] == who for row in day),
            "customer_amount_24h": sum(row[4] for row in day if row[1] == who) if any(
                row[1] == who for row in day) else None,
            "amount_to_mean": amount / (sum(mine) / len(mine)) if mine else None,
            "customer_gap": at - max(row[0] for row in before if row[1] == who) if mine else None,
            "receiver_rows": sum(row[2] == whom for row in before),
            "receiver_customers": sum(pair[1] == whom for pair in pairs) or None,
            "receiver_rows_by_customer": sum((row[1], row[2]) == (who, whom) for row in before),
            "device_customers": len({row[1] for row in before if row[3] == device}) or None,
            "customer_receivers": sum(pair[0] == who for pair in pairs) or None,
            "received": len(got),
            "received_gap": at - max(row[0] for row in got) if got else None,
            "amount_of_received_24h": amount / sum(got_day) if got_day else None,
            "paid_back": sum(who != whom and (row[1], row[2]) == (whom, who) for row in before),
        }

    def test_they_are_those_of_loops_over_earlier_rows(self):
        random = numpy.random.default_rng(3)
        moments = sorted(set(random.integers(0, 20 * 86400, 1500).tolist()))
        rows = [[at, f"p{random.integers(25)}", f"p{random.integers(25)}", f"d{random.integers(30)}",
                 float(random.integers(1, 100)), int(random.random() < 0.2)] for at in moments]
        self.write_log(rows)
        (self.place / "mine.toml").write_text(MINIMAL.replace("moment::TIMESTAMP", "make_timestamp(moment * 1000000)"))
        made = features.make_features(self.opened())
        self.assertEqual(made.values.shape[0], len(rows))
        for number in [*range(40), *range(40, len(rows), 37)]:
            for name, expected in self.naive(rows, number).items():
                found = made.values[number, made.names.index(name)]
                if expected is None:
                    self.assertTrue(numpy.isnan(found), (number, name, found))
                else:
                    self.assertAlmostEqual(float(found), expected, delta=1e-3 + abs(expected) * 1e-5,
                                           msg=f"{number} {name}")

    def test_rows_of_one_moment_do_not_see_each_other(self):
        self.write_log([[f"2025-01-{1 + n // 100:02} 00:00:00", "c", f"r{n}", "d", 1, n % 7 == 0] for n in range(1400)],
                       head=("moment", "who", "whom", "device", "amount", "fraud"))
        (self.place / "mine.toml").write_text(MINIMAL.replace("fraud = 1", "fraud"))
        made = features.make_features(self.opened())
        self.assertTrue((made.values[:, made.names.index("customer_rows_1h")] == 0).all())
        self.assertEqual(set(made.values[:, made.names.index("customer_rows_24h")]), {0, 100})


class Usefulness(Case):
    def test_what_only_the_graph_shows_is_found_by_it_only(self):
        random = numpy.random.default_rng(2)
        rows = list(self.random_rows(6000, 0.05, random))
        for row in rows:
            if row[5]:
                # A few receivers, whose names say nothing: each is new after a while.
                row[2] = f"mule{row[0][8:10]}-{random.integers(3)}"
            else:
                row[2] = f"r{random.integers(3000)}"
        self.write_log(rows)
        found = bench(self.place / "data", self.mine)
        scores = {(each.split, each.features): each for each in found.utility.scores}
        self.assertLess(abs(scores["time", "columns"].auc - 0.5), 0.1)
        self.assertGreater(scores["time", "columns and graph"].auc, 0.8)
        self.assertGreater(scores["time", "columns and graph"].precision, 3 * scores["time", "columns"].precision)

    def test_no_customer_and_no_ring_is_on_both_sides(self):
        rows = [[*row, ""] for row in self.random_rows(4000, 0.0)]
        for number in range(0, 4000, 10):
            ring = number // 10 % 50
            # One terminal of everybody ties nobody together.
            rows[number][1:4] = [f"victim{ring}-{number // 10 % 3}", f"mule{ring}" if ring % 2 else "", "terminal"]
            rows[number][5:] = [1, "" if ring % 2 else f"case{ring}"]
        self.write_log(rows, head=("moment", "who", "whom", "device", "amount", "fraud", "case_no"))
        (self.place / "mine.toml").write_text(MINIMAL.replace("[shared]", 'ring = "case_no"\n[shared]'))
        opened = self.opened()
        notes = []
        train, test = utility.ring_split(opened, notes)
        found = opened.fetch("SELECT who, whom, case_no, fraud FROM wide")
        fraud = found["fraud"] == 1
        self.assertFalse((train & test).any())
        self.assertTrue(0.2 < test[fraud].mean() < 0.4, test[fraud].mean())
        self.assertTrue((train | test)[~fraud].all())
        for known in (found["case_no"], found["whom"]):
            self.assertGreater((train & fraud & numpy.array([each is not None for each in known])).sum(), 20,
                               "rings of which no customer is in the test")
        self.assertIn(f"{(fraud & ~train & ~test).sum()} of 400 frauds are left out", notes[0])
        for column, mask in (("who", numpy.ones(4000, dtype=bool)), ("whom", fraud), ("case_no", fraud)):
            both = set(found[column][mask & train]) & set(found[column][mask & test])
            self.assertEqual(both - {None}, set(), column)

    def test_kinds_roles_and_late_labels(self):
        rows = [[*row, ("EASY" if int(row[3][1:]) % 2 else "HARD") if row[5] else "", "MULE" if row[5] else "",
                 row[0] if row[5] else ""] for row in self.random_rows(5000)]
        for row in rows:
            if row[6] == "EASY":
                row[4] = 500
        self.write_log(rows, head=("moment", "who", "whom", "device", "amount", "fraud", "sort", "part", "told"))
        (self.place / "mine.toml").write_text(MINIMAL.replace(
            "[shared]", 'kind = "sort"\nrole = "part"\nreported = "told::TIMESTAMP"\n[shared]'))
        found = bench(self.place / "data", self.mine)
        groups = {each.name: each for each in found.utility.groups}
        self.assertEqual(set(groups), {"EASY", "HARD", "MULE"})
        self.assertGreater(groups["EASY"].auc, 0.99)
        self.assertLess(groups["HARD"].auc, 0.8)
        self.assertEqual(groups["EASY"].frauds + groups["HARD"].frauds, groups["MULE"].frauds)
        self.assertIn("columns, labels reported by then", [each.features for each in found.utility.scores])
        self.assertTrue({"sort", "part", "told"}.isdisjoint(found.features))

    def test_a_sample_stands_for_all_rows(self):
        self.write_log(self.random_rows(20_000, 0.02))
        opened = self.opened(rows=2000)
        rows = opened.fetch("SELECT label, weight FROM sample")
        self.assertTrue(1800 < len(rows["label"]) < 2200)
        self.assertEqual(rows["label"].sum(), opened.frauds, "all frauds, since they are fewer than half")
        self.assertAlmostEqual(rows["weight"].sum() / 20_000, 1, delta=0.1)
        scores = utility.measure(opened, features.make_features(opened)).scores
        self.assertLess(abs(scores[0].prevalence - 0.02), 0.005)

    def test_too_few_frauds_are_said(self):
        self.write_log(self.random_rows(1500, 0.01))
        found = bench(self.place / "data", self.mine)
        self.assertEqual(found.utility.scores, [])
        self.assertIn("20 of each are needed", " ".join(found.utility.notes))


class Leaking(Case):
    def test_planted_leaks_are_found(self):
        rows = list(self.random_rows(4000))
        for row in rows:
            # A pure interval, a pair that is fraud only, a category that never is, and a column that tells.
            row += ["x" if row[5] and row[4] < 50 else "yz"[len(row[1]) % 2], "p" if row[5] else "pq"[int(row[4]) % 2],
                    (5 if row[5] else 0) + RANDOM.random() * 5.05]
            if row[5]:
                row[4] += 1000
        self.write_log(rows, head=("moment", "who", "whom", "device", "amount", "fraud", "letter", "other", "telling"))
        found = bench(self.place / "data", self.mine).leaks
        rules = {(each.kind, each.rule.split(" in ")[0]) for each in found.rules}
        self.assertLessEqual({("pure", "letter = x"), ("blind", "other = q"), ("pure", "amount"),
                              ("pure", "telling")}, rules)
        self.assertEqual([each.rule for each in found.rules if each.rule.startswith("letter = x and ")], [])
        best = {each.column: each.auc for each in found.singles}
        self.assertGreater(best["telling"], 0.97)
        self.assertEqual(best["amount"], 1)
        self.assertLess(best["hour"], 0.6)

    def test_noise_has_no_rules(self):
        self.write_log(self.random_rows(5000, 0.05))
        found = bench(self.place / "data", self.mine).leaks
        self.assertEqual(found.rules, [])
        self.assertLess(found.singles[0].auc, 0.62)

    def test_a_sample_of_honest_rows_proves_little(self):
        label = numpy.arange(2000) < 1000
        values = numpy.where(label, numpy.arange(2000) % 20, 20 + numpy.arange(2000) % 5).astype(float)[:, None]
        for weight, found in ((1.0, True), (5.0, True), (20.0, False)):
            rows = features.Features(["value"], values, {}, 1)
            rules = leaks.rules(rows, label, numpy.where(label, 1.0, weight), 1)
            self.assertEqual(any(each.kind == "pure" for each in rules), found, weight)

    def test_identifiers_are_judged_by_their_past(self):
        rows = list(self.random_rows(6000, 0))
        for row in rows:
            row[2] = f"r{RANDOM.integers(200)}"
            row[5] = int(row[2] in ("r3", "r4", "r5", "r6", "r7") and RANDOM.random() < 0.9)
        self.write_log(rows)
        opened = self.opened()
        self.assertEqual(features.identifiers(opened), ["whom"])
        best = {each.column: each.auc for each in leaks.measure(opened, features.make_features(opened)).singles}
        self.assertGreater(best["whom"], 0.95)


class Behaviour(Case):
    def lives(self, seed, count=250):
        """Customers with hours of activity, own devices and favourite receivers."""
        random = numpy.random.default_rng(seed)
        rows = []
        for who in range(count):
            at = 0
            for _ in range(random.integers(2, 12)):
                at += int(random.exponential(3 * 86400))
                for _ in range(random.integers(1, 8)):
                    at += int(random.exponential(300)) + 1
                    rows.append([at, f"c{seed}-{who}", f"r{seed}-{who}-{random.integers(4)}", f"d{seed}-{who // 2}",
                                 round(float(random.lognormal(3, 1)), 2), int(random.random() < 0.1)])
        return rows

    def multiples(self, where, against=None):
        return {each.name: each.multiple for each in bench(
            self.place / where, self.mine, against and self.place / against, self.mine).behaviour}

    def setUp(self):
        super().setUp()
        (self.place / "mine.toml").write_text(MINIMAL.replace("moment::TIMESTAMP", "make_timestamp(moment * 1000000)"))
        self.write_log(self.lives(1), "one")

    def test_rows_made_one_by_one_lose_it(self):
        found = self.multiples("one")
        for name in ("time between rows", "rows in bursts, pauses up to an hour", "customers of each device",
                     "customers of each receiver", "3 rows in 10 minutes", "another device within an hour"):
            if found[name] is not None:
                self.assertGreater(found[name], 5, name)

    def test_independent_rows_have_none_to_lose(self):
        self.write_log([[int(RANDOM.integers(90 * 86400)), f"c{RANDOM.integers(300)}", f"r{RANDOM.integers(300)}",
                         f"d{RANDOM.integers(200)}", 5, RANDOM.random() < 0.1] for _ in range(9000)], "noise",
                       head=("moment", "who", "whom", "device", "amount", "fraud"))
        (self.place / "mine.toml").write_text((self.place / "mine.toml").read_text().replace("fraud = 1", "fraud"))
        for name, value in self.multiples("noise").items():
            self.assertLess(value or 0, 3, name)

    def test_other_data_of_the_same_kind_are_near(self):
        self.write_log(self.lives(2), "two")
        near = self.multiples("one", "two")
        for name, value in near.items():
            self.assertLess(value or 0, 4, name)
        shuffled = self.lives(3)
        moments = RANDOM.permutation([row[0] for row in shuffled]).tolist()
        self.write_log([[at, *row[1:]] for at, row in zip(moments, shuffled, strict=True)], "three")
        self.assertGreater(self.multiples("three", "one")["time between rows"], 10)

    def test_windows_do_not_reach_into_other_customers(self):
        count = 40
        zeros = numpy.zeros(count, dtype=numpy.int64)
        rows = behaviour.Rows(numpy.arange(count), zeros, zeros > 0, numpy.ones(count, dtype=numpy.uint64),
                              numpy.ones(count), {}, True, True)
        fired = behaviour._rules(rows)  # pylint: disable=protected-access
        self.assertEqual([int(values.sum()) for values in fired.values()], [0] * len(fired))
        together = dataclasses.replace(rows, customer=numpy.zeros(count, dtype=numpy.int64))
        fired = behaviour._rules(together)  # pylint: disable=protected-access
        self.assertEqual(int(fired["3 rows in 10 minutes"].sum()), count - 2)
        self.assertEqual(int(fired["10 rows in a day"].sum()), count - 9)


if __name__ == "__main__":
    unittest.main()
