"""tests/mutation: the list, how code is found, and how a mutant is judged."""

import sys
import unittest
from contextlib import redirect_stderr
from io import StringIO

from tree import ROOT, TreeTest

sys.path[:0] = [str(ROOT / "tests/mutation"), str(ROOT / "tools")]
import driver_call_table  # noqa: E402 (found by the line above)
import mutants  # noqa: E402 (found by the line above)
import run  # noqa: E402


class TheList(unittest.TestCase):
    def test_has_every_hook_and_hundreds_of_mutants(self):
        names = [one.name for one in mutants.all_mutants(ROOT)]
        self.assertIn("hook: cuLaunchKernel", names)
        self.assertIn("hook: cuMemAlloc", names)
        self.assertIn("hook: cuMemAllocAsync", names)
        self.assertNotIn("hook: cuInit", names)
        self.assertGreater(len(names), 200)

    def test_every_mutant_names_tests(self):
        self.assertEqual([one.name for one in mutants.all_mutants(ROOT) if not one.tests], [])

    def test_mutant_of_a_hook_changes_only_its_wrapper(self):
        text = (ROOT / mutants.GENERATOR).read_text()
        one = mutants.hook("cuMemcpy", ["some_test"])
        scope = {"__name__": "generator"}
        exec(compile(text.replace(one.find, one.replace), mutants.GENERATOR, "exec"), scope)
        rows = {name: driver_call_table.Row(name, policy, "", 1, "") for name, policy in
                (("cuMemcpy", "gate"), ("cuMemcpy2D", "gate"), ("cuMemAlloc", "own"))}
        entries = {}
        for name, row in rows.items():
            entries[name] = driver_call_table.Entry(name, [("int", "n")], row, row.policy)
        bodies = scope["driver_exports"](entries).split("REVEZA_EXPORT")
        body = {name: next(text for text in bodies if f" {name}(int" in text) for name in rows}
        self.assertNotIn("GateScope gate", body["cuMemcpy"])
        self.assertIn("return real.cuMemcpy(n);\n}", body["cuMemcpy"])
        self.assertIn("GateScope gate", body["cuMemcpy2D"])
        self.assertIn("hooks::cuMemAlloc(", body["cuMemAlloc"])


class FakeTree:
    """Builds unless the code contains `error`; a test fails if it contains `wrong`."""

    def __init__(self, root):
        self.root = root

    def build(self, tests):
        if "error" in (self.root / "room/code.cc").read_text():
            raise run.Failure("building failed\nerror: here")

    def first_failure(self, tests):
        return f"{tests[0]}/Some.Case" if "wrong" in (self.root / "room/code.cc").read_text() else ""


CODE = """
// Stop(one);
int Gate::Close(int one) {
  return one +
         two /* two */ + two;
}
struct Door {
  Door(int one) : a_(one), b_{one} { Open(one); }
  ~Door() { Close(one); }
  int Close(int one) const { return one; }
};
"""


class Judging(TreeTest):
    def judge(self, find: str, replace: str, survives: str = "", function: str = "Gate::Close"):
        self.write("room/code.cc", CODE)
        mutant = mutants.Mutant("m", "room", function, find, replace, ("code_test",), survives)
        with redirect_stderr(StringIO()):
            verdict = run.judge(FakeTree(self.tree), mutant)
        self.assertEqual((self.tree / "room/code.cc").read_text(), CODE, "put back")
        return verdict

    def test_failing_test_kills_the_mutant(self):
        self.assertEqual(self.judge("one + two", "wrong"), (True, "code_test/Some.Case"))

    def test_mutant_survives_passing_tests(self):
        well, said = self.judge("one + two", "other")
        self.assertFalse(well)
        self.assertIn("SURVIVED", said)

    def test_expected_survivor_must_survive(self):
        self.assertEqual(self.judge("one + two", "other", "it is so"), (True, "SURVIVED: it is so"))
        self.assertFalse(self.judge("one + two", "wrong", "it is so")[0])

    def test_ignores_layout_comments_and_other_functions(self):
        for function, find in (("Gate::Close", "one+two  +two"), ("Door::Close", "return one;"),
                               ("Door::~Door", "Close(one)"), ("Door::Door", "Open( one )"),
                               ("", "b_{one}")):
            self.assertTrue(self.judge(find, "wrong", function=function)[0], function)

    def test_mutants_that_cannot_be_applied_or_built_are_not_killed(self):
        for find, replace, text in (("three", "wrong", "code not found"),
                                    ("two", "wrong", "code found 2 times"),
                                    ("one + two", "error wrong", "building failed"),
                                    ("return", "return", "changes nothing")):
            well, said = self.judge(find, replace)
            self.assertFalse(well)
            self.assertIn("ERROR: ", said)
            self.assertIn(text, said)


class Results(TreeTest):
    def test_replaces_results_only_of_complete_lists(self):
        run.RESULTS = self.tree / "results.md"
        made = [mutants.Mutant(name, "", "", "a", "b", ()) for name in ("x: 1", "x: 2", "y: 1")]
        run.write_results(made, {"x: 1": (True, "T"), "x: 2": (True, "SURVIVED: luck"),
                                 "y: 1": (True, "T")})
        run.write_results(made, {"x: 1": (False, "SURVIVED: no test noticed")})
        text = run.RESULTS.read_text()
        self.assertIn("| x | 2 | 1 | 1 |\n| y | 1 | 1 | 0 |\n", text)
        self.assertIn("- `x: 2`: luck\n", text)
        self.assertNotIn("no test noticed", text)


if __name__ == "__main__":
    unittest.main()
