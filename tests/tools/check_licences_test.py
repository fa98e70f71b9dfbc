"""tools/check_licences.py on trees whose table is wrong."""

import unittest

from tree import TreeTest

TOOL = "check_licences.py"
HEAD = "| Dependency | Licence | Used | Names |\n|---|---|---|---|\n"
FMT = "| {fmt} | MIT | programs, header-only | `fmt` `fmt/` |\n"


class CheckLicences(TreeTest):
    def table(self, *rows: str):
        self.write("docs/dependencies.md", HEAD + "".join(rows))

    def test_accepts_a_complete_table(self):
        self.table(FMT, "| nvcc | LicenseRef-X | tool | `nvidia-cuda-nvcc` `g++` |\n")
        self.write("cmake/Find.cmake", "find_package(fmt REQUIRED)  # find_package(not_this)\n")
        self.write("common/base/units.cc", "#include <vector>\n#include <sys/stat.h>\n"
                                        "#include <fmt/format.h>\n#include <unistd.h>\n")
        self.write("tools/requirements.txt", "# wheels\nnvidia-cuda-nvcc==13.0.88\n")
        self.write("tools/setup.sh", "build_packages=(g++)\n")
        self.assert_clean(TOOL)

    def test_reports_every_kind_of_use_that_is_not_listed(self):
        self.table()
        self.write("CMakeLists.txt", "find_package(ZLIB)\npkg_check_modules(hwloc REQUIRED hwloc)\n")
        self.write("common/base/a.cc", "#include <zlib.h>\n")
        self.write("tools/requirements.txt", "pyarrow==26.0.1\n")
        self.write("tools/setup.sh", "fuzz_packages=(clang-19\n  afl)\n")
        self.assert_found(TOOL, "CMakeLists.txt:1: ZLIB is not in", "CMakeLists.txt:2: hwloc is",
                          "common/base/a.cc:1: zlib.h is", "requirements.txt:1: pyarrow is",
                          "setup.sh:1: clang-19 is", "setup.sh:1: afl is")

    def test_go_modules_need_a_row_if_they_are_required_directly(self):
        self.table("| Listed | MIT | tests | `example.com/` |\n")
        self.write("integrations/go.mod", "module own.dev/x\n\ngo 1.26.0\n\nrequire (\n\texample.com/a v1.0.0\n"
                                          "\tother.org/b/v2 v2.1.0\n\tthird.org/c v0.1.0 // indirect\n)\n\n"
                                          "replace (\n\tfourth.org/d => fourth.org/d v1.0.0\n)\n")
        self.assert_found(TOOL, "integrations/go.mod:7: other.org/b/v2 is not in")

    def test_reports_licences_that_are_not_allowed(self):
        self.table("| Strong | GPL-3.0-or-later | programs, static | `fmt` |\n",
                   "| Odd | do what you like | tests | `gtest/` |\n")
        self.write("CMakeLists.txt", "find_package(fmt)\n")
        self.write("common/base/a_test.cc", "#include <gtest/gtest.h>\n")
        self.assert_found(TOOL, "Strong: GPL-3.0-or-later", "SPDX licence")

    def test_reports_unused_rows(self):
        self.table(FMT)
        self.assert_found(TOOL, "{fmt} is not used")

    def test_reports_duplicate_and_empty_rows(self):
        self.table(FMT, "| again | MIT | sometimes | `fmt` |\n", "| none | MIT | tests | |\n")
        self.write("CMakeLists.txt", "find_package(fmt)\n")
        self.assert_found(TOOL, "again: unknown use", "listed for {fmt}", "none: lists no names")

    def test_reports_a_missing_table(self):
        self.assert_found(TOOL, "docs/dependencies.md is missing")


if __name__ == "__main__":
    unittest.main()
