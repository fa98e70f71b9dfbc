"""Memory usage does not depend on the size of the data set.

  memory_test.py FRAUDGEN

The bound is generous; bench/ has the measurements and goals. The test finds memory that grows with the
size of the data set or from block to block. Sanitizers take several times as much.
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
    def test_size_estimate_is_bounded(self) -> None:
        form = "parquet" if fraudgen.writes_parquet() else "csv"
        with open(fraudgen.PROGRAM, "rb") as program:
            if b"__asan_init" in program.read():
                self.skipTest("AddressSanitizer keeps what is freed")
        # The estimate makes one block, then two threads make one each.
        used = peak("--format", form, "--size", "250MB", "--output", str(self.place / "data"))
        self.assertLess(used, MOST)
        self.assertGreater(used, 10 * MEGABYTE, "it was measured")


if __name__ == "__main__":
    unittest.main()
