"""How much memory a large data set takes, which should not depend on how large it is.

  memory_test.py FRAUDGEN

The bound is generous: what is measured, and its goal, is in bench/. What it finds is memory that grows
with what is asked for, or from block to block. A sanitizer takes several times as much.
"""

import os
import subprocess
import unittest

import fraudgen

MEGABYTE = 1_000_000
MOST = 400 * MEGABYTE


def peak(*arguments: str) -> int:
    child = subprocess.Popen([fraudgen.PROGRAM, "--quiet", "--threads", "2", *arguments],
                             env=fraudgen.ENVIRONMENT)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    assert child.returncode == 0, arguments
    return usage.ru_maxrss * 1024


class Memory(fraudgen.Case):
    def test_a_size_is_found_out_in_little_memory(self) -> None:
        form = "parquet" if fraudgen.writes_parquet() else "csv"
        with open(fraudgen.PROGRAM, "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("AddressSanitizer keeps what is freed")
        # The pilot makes a whole block, and then two threads one each.
        used = peak("--format", form, "--size", "250MB", "--output", str(self.place / "data"))
        self.assertLess(used, MOST)
        self.assertGreater(used, 10 * MEGABYTE, "it was measured")


if __name__ == "__main__":
    unittest.main()
