"""tools/check_tests_named.py on documents that name tests."""

import unittest

from tree import TreeTest

TOOL = "check_tests_named.py"


class CheckTestsNamed(TreeTest):
    def setUp(self):
        super().setUp()
        self.write("src/a_test.cc", "TEST(Plain, Works) {\n}\nTEST_F(WithFixture,\n"
                                    "       IsLongEnoughForTwoLines) {}\n"
                                    "TEST_P(Many, Work) {}\nTYPED_TEST(Typed, Works) {}\n"
                                    "// TEST(Commented, Out)\nTEST(Plain, DISABLED_Waits) {}\n")

    def test_accepts_every_kind_of_test_name(self):
        self.write("docs/a.md", "`Plain.Works` `WithFixture.IsLongEnoughForTwoLines` `Many.*`\n"
                                "`Many.Work` `Typed.Works` but not tests: `README.md` `a.B` Plain.No\n")
        self.assert_clean(TOOL)

    def test_missing_test(self):
        self.write("docs/a.md", "\n`Plain.Works`, `Plain.Fails`\n")
        self.assert_found(TOOL, "docs/a.md:2: test Plain.Fails does not exist")

    def test_disabled_test(self):
        self.write("a.md", "`Plain.Waits`\n")
        self.assert_found(TOOL, "a.md:1: test Plain.Waits is disabled")

    def test_missing_suite(self):
        self.write("a.md", "`Gone.Works`\n`Gone.*`\n`Commented.Out`\n")
        self.assert_found(TOOL, "a.md:1: test suite Gone does not exist",
                          "a.md:2: test suite Gone does not exist",
                          "a.md:3: test suite Commented does not exist")


if __name__ == "__main__":
    unittest.main()
