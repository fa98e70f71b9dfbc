"""Bytes do not depend on threads, shards, concurrent processes or kills.

  kill_test.py FRAUDGEN
"""

import random
import signal
import time
import unittest

import fraudgen

KILLS = 50


class SameBytes(fraudgen.Case):
    # Several files, so that kills find some of them complete.
    ASKED = ("--model", "classic", "--rows", 60_000, "--format", "jsonl", "--file-rows", 2_000,
             "--seed", 11)

    def setUp(self) -> None:
        super().setUp()
        begin = time.monotonic()
        self.whole = fraudgen.hashes(self.make("whole", *self.ASKED, "--threads", 1))
        self.took = time.monotonic() - begin

    def test_threads(self) -> None:
        for threads in (2, 3):
            made = self.make(f"threads{threads}", *self.ASKED, "--threads", threads)
            self.assertEqual(fraudgen.hashes(made), self.whole)

    def test_concurrent_shards(self) -> None:
        folder = self.place / "shards"
        processes = [fraudgen.start(folder, *self.ASKED, "--shard", f"{index}/7")
                     for index in range(1, 8)]
        for process in processes:
            errors = process.communicate()[1]
            self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(fraudgen.hashes(folder), self.whole)

    def test_repeated_kills(self) -> None:
        folder = self.place / "killed"
        whens = random.Random(50)
        ended = 0
        for _ in range(KILLS):
            process = fraudgen.start(folder, *self.ASKED)
            time.sleep(whens.uniform(0, self.took / 2))
            process.send_signal(signal.SIGKILL)
            errors = process.communicate()[1]
            self.assertIn(process.returncode, (0, -signal.SIGKILL), errors)
            if process.returncode != 0:
                continue
            self.assertEqual(fraudgen.hashes(folder), self.whole)
            ended += 1
            folder = self.place / f"killed{ended}"
        process = fraudgen.start(folder, *self.ASKED)
        errors = process.communicate()[1]
        self.assertEqual(process.returncode, 0, errors)
        self.assertEqual(fraudgen.hashes(folder), self.whole)


class SameCompressedText(SameBytes):
    ASKED = (*SameBytes.ASKED, "--compression", "zstd")

    def setUp(self) -> None:
        if not fraudgen.writes_parquet():
            self.skipTest("this build has no codecs")
        super().setUp()


class SameColumns(SameBytes):
    # The coherent model in several blocks of a thousand customers, with one file per table.
    ASKED = ("--model", "coherent", "--customers", 7_000, "--start-date", "2025-01-01",
             "--end-date", "2025-01-05", "--format", "parquet", "--row-group-rows", 3_000, "--seed", 11)

    def setUp(self) -> None:
        if not fraudgen.writes_parquet():
            self.skipTest("this build does not write Parquet")
        super().setUp()
        blocks = [name for name in self.whole if name.startswith("transactions/")]
        self.assertEqual(len(blocks), 7)


if __name__ == "__main__":
    unittest.main()
