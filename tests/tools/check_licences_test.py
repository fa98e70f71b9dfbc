"""tools/check_licences.py on trees whose table is wrong."""

import unittest

from tree import TreeTest

TOOL = "check_licences.py"
HEAD = "| Dependency | Licence | Used | Names |\n|---|---|---|---|\n"
FMT = "| {fmt} | MIT | programs, header-only | `fmt` `fmt/` |\n"


class CheckLicences(TreeTest):
    def table(self, *rows: str):
        self.write("docs/dependencies.md", HEAD + "".join(rows))

    def test_all_named(self):
        self.table(FMT, "| nvcc | LicenseRef-X | tool | `nvidia-cuda-nvcc` `g++` |\n")
        self.write("cmake/Find.cmake", "find_package(fmt REQUIRED)  # find_package(not_this)\n")
        self.write("src/base/units.cc", "#include <vector>\n#include <sys/stat.h>\n"
                                        "#include <fmt/format.h>\n#include <unistd.h>\n")
        self.write("tools/requirements.txt", "# wheels\nnvidia-cuda-nvcc==13.0.88\n")
        self.write("tools/setup.sh", "build_packages=(g++)\n")
        self.assert_clean(TOOL)

    def test_each_way_to_use_something(self):
        self.table()
        self.write("CMakeLists.txt", "find_package(ZLIB)\npkg_check_modules(hwloc REQUIRED hwloc)\n")
        self.write("src/base/a.cc", "#include <zlib.h>\n")
        self.write("tools/requirements.txt", "pyarrow==26.0.1\n")
        self.write("tools/setup.sh", "fuzz_packages=(clang-19\n  afl)\n")
        self.assert_found(TOOL, "CMakeLists.txt:1: ZLIB is not in", "CMakeLists.txt:2: hwloc is",
                          "src/base/a.cc:1: zlib.h is", "requirements.txt:1: pyarrow is",
                          "setup.sh:1: clang-19 is", "setup.sh:1: afl is")

    def test_licence_that_does_not_fit(self):
        self.table("| Strong | GPL-3.0-or-later | programs, static | `fmt` |\n",
                   "| Odd | do what you like | tests | `gtest/` |\n")
        self.write("CMakeLists.txt", "find_package(fmt)\n")
        self.write("src/base/a_test.cc", "#include <gtest/gtest.h>\n")
        self.assert_found(TOOL, "GPL-3.0-or-later does not allow", "is no SPDX licence")

    def test_row_without_use(self):
        self.table(FMT)
        self.assert_found(TOOL, "{fmt} is not used by anything")

    def test_row_twice_and_row_without_names(self):
        self.table(FMT, "| again | MIT | sometimes | `fmt` |\n", "| none | MIT | tests | |\n")
        self.write("CMakeLists.txt", "find_package(fmt)\n")
        self.assert_found(TOOL, "used how?", "fmt belongs to {fmt}", "none: has no names")

    def test_missing_table(self):
        self.assert_found(TOOL, "docs/dependencies.md is missing")


if __name__ == "__main__":
    unittest.main()
