"""tests/mutation: that its list fits the tree as it is now, and that a mutant is judged fairly."""

import sys
import unittest
from contextlib import redirect_stderr
from io import StringIO

from tree import ROOT, TreeTest

sys.path.insert(0, str(ROOT / "tests/mutation"))
import mutants  # noqa: E402 (found by the line above)
import run  # noqa: E402


class TheList(unittest.TestCase):
    def test_every_mutant_can_be_made(self):
        problems = [f"{one.name}: {problem}" for one in mutants.all_mutants(ROOT)
                    if (problem := one.problem(ROOT))]
        self.assertEqual(problems, [], "the code has changed: bring tests/mutation/*.toml up to it")

    def test_has_every_hook_and_hundreds_of_mutants(self):
        names = [one.name for one in mutants.all_mutants(ROOT)]
        self.assertIn("hook: cuLaunchKernel", names)
        self.assertIn("hook: cuMemAlloc", names)
        self.assertIn("hook: cuMemAllocAsync", names)
        self.assertNotIn("hook: cuInit", names)
        self.assertGreater(len(names), 200)

    def test_every_mutant_names_tests(self):
        self.assertEqual([one.name for one in mutants.all_mutants(ROOT) if not one.tests], [])

    def test_results_speak_of_mutants_that_exist(self):
        names = {one.name for one in mutants.all_mutants(ROOT)}
        self.assertEqual(sorted(set(run.known_results()) - names), [])

    def test_the_mutant_of_a_hook_changes_its_wrapper_alone(self):
        text = (ROOT / mutants.GENERATOR).read_text()
        one = mutants.hook("cuMemcpy", ["some_test"])
        scope = {"__name__": "generator"}
        exec(compile(text.replace(one.find, one.replace), mutants.GENERATOR, "exec"), scope)
        rows = {name: scope["Row"](name, policy, "", 1, "") for name, policy in
                (("cuMemcpy", "gate"), ("cuMemcpy2D", "gate"), ("cuMemAlloc", "own"))}
        entries = {}
        for name, row in rows.items():
            entries[name] = scope["Entry"](name, [("int", "n")], row, row.policy)
        bodies = scope["driver_exports"](entries).split("REVEZA_EXPORT")
        body = {name: next(text for text in bodies if f" {name}(int" in text) for name in rows}
        self.assertNotIn("GateScope gate", body["cuMemcpy"])
        self.assertIn("return real.cuMemcpy(n);\n}", body["cuMemcpy"])
        self.assertIn("GateScope gate", body["cuMemcpy2D"])
        self.assertIn("hooks::cuMemAlloc(", body["cuMemAlloc"])


class FakeTree:
    """Builds what has no `error` in it; a test fails if the file says so."""

    def __init__(self, root):
        self.root = root

    def build(self, tests):
        if "error" in (self.root / "code.cc").read_text():
            raise run.Failure("building failed\nerror: here")

    def first_failure(self, tests):
        return f"{tests[0]}/Some.Case" if "wrong" in (self.root / "code.cc").read_text() else ""


class Judging(TreeTest):
    def judge(self, find: str, replace: str, survives: str = ""):
        self.write("code.cc", "one two two")
        mutant = mutants.Mutant("m", "code.cc", find, replace, ("code_test",), survives)
        with redirect_stderr(StringIO()):
            verdict = run.judge(FakeTree(self.tree), mutant)
        self.assertEqual((self.tree / "code.cc").read_text(), "one two two", "put back")
        return verdict

    def test_a_test_that_fails_catches_it(self):
        self.assertEqual(self.judge("one", "wrong"), (True, "code_test/Some.Case"))

    def test_without_one_it_survives(self):
        well, said = self.judge("one", "other")
        self.assertFalse(well)
        self.assertIn("SURVIVED", said)

    def test_with_a_reason_it_may_survive_but_not_be_caught(self):
        self.assertEqual(self.judge("one", "other", "it is so"), (True, "SURVIVED: it is so"))
        self.assertFalse(self.judge("one", "wrong", "it is so")[0])

    def test_what_cannot_be_made_or_built_is_not_caught(self):
        for find, replace, text in (("three", "wrong", "text not found"),
                                    ("two", "wrong", "text found 2 times"),
                                    ("one", "error wrong", "building failed"),
                                    ("one", "one", "changes nothing")):
            well, said = self.judge(find, replace)
            self.assertFalse(well)
            self.assertIn("ERROR: ", said)
            self.assertIn(text, said)


if __name__ == "__main__":
    unittest.main()
