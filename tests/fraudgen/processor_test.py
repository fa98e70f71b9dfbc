"""Bytes do not depend on CPU features.

  processor_test.py FRAUDGEN

With FMA, exp, log and sin of the C library give other bits. GLIBC_TUNABLES hides FMA and wide vectors
from the C library and our loops, ARROW_USER_SIMD_LEVEL from Arrow. Skipped where nothing can be hidden.
"""

import os
import platform
import re
import subprocess
import sys
import unittest

import fraudgen

FIVE_HUNDRED_AND_TWELVE = ("AVX512F", "AVX512VL", "AVX512DQ", "AVX512BW", "AVX512CD")
# Names with a suffix are those of glibc before 2.33.
NARROW = (*FIVE_HUNDRED_AND_TWELVE, "AVX", "AVX2", "AVX_Usable", "AVX2_Usable", "AVX512F_Usable",
          "FMA", "FMA4", "FMA_Usable", "FMA4_Usable", "BMI1", "BMI2", "LZCNT", "MOVBE", "SSE4_1",
          "SSE4_2", "SSSE3", "ERMS")
PROCESSORS = {
    "as it is": {},
    "without AVX-512": {"hidden": FIVE_HUNDRED_AND_TWELVE, "arrow": "AVX2"},
    "without AVX and FMA": {"hidden": NARROW, "arrow": "NONE"},
}
# Covers several time slices of the coherent model, and ride distances.
DATA_SETS = (("--model", "classic", "--rows", 3000, "--type", "all"),
             ("--model", "coherent", "--rows", 6000, "--start-date", "2024-01-15",
              "--end-date", "2024-04-10"))
CURVES = ("import math; "
          "print([f(i / 997) for i in range(1, 20000) for f in (math.exp, math.log, math.sin)])")


def environment(hidden: tuple[str, ...] = (), arrow: str = "") -> dict[str, str]:
    changed = dict(os.environ)
    if hidden:
        changed["GLIBC_TUNABLES"] = "glibc.cpu.hwcaps=" + ",".join(f"-{name}" for name in hidden)
    if arrow:
        changed["ARROW_USER_SIMD_LEVEL"] = arrow
    return changed


def vectors(processor: dict) -> int:
    text = subprocess.run([fraudgen.PROGRAM, "version"], env=environment(**processor), check=True,
                          capture_output=True, text=True).stdout
    found = re.search(r"^SIMD: (\d) x 64 bits", text, re.MULTILINE)
    return int(found[1])


def curves(processor: dict) -> str:
    """Results of the C library in another process."""
    return subprocess.run([sys.executable, "-c", CURVES], env=environment(**processor), check=True,
                          capture_output=True, text=True).stdout


class Processor(fraudgen.Case):
    def test_tunables_have_an_effect(self) -> None:
        if vectors(PROCESSORS["as it is"]) == 1:
            self.skipTest(f"nothing to hide on this {platform.machine()}")
        self.assertEqual(vectors(PROCESSORS["without AVX and FMA"]), 1)
        self.assertLessEqual(vectors(PROCESSORS["without AVX-512"]), 4)
        # Verifies that the test is meaningful: libm results do change.
        self.assertNotEqual(curves(PROCESSORS["as it is"]),
                            curves(PROCESSORS["without AVX and FMA"]))

    def test_bytes_are_equal(self) -> None:
        formats = ("jsonl", "csv", *(("parquet", "arrow") if fraudgen.writes_parquet() else ()))
        for data_set in DATA_SETS:
            for form in formats:
                seen = {}
                for name, processor in PROCESSORS.items():
                    folder = self.place / f"{data_set[1]} {form} {name}"
                    subprocess.run([fraudgen.PROGRAM, "--quiet", "--output", folder, "--format",
                                    form, *map(str, data_set)], check=True,
                                   env={**fraudgen.ENVIRONMENT, **environment(**processor)})
                    seen[name] = fraudgen.hashes(folder)
                for name, hashes in seen.items():
                    with self.subTest(data_set=data_set[1], form=form, processor=name):
                        self.assertEqual(hashes, seen["as it is"])


if __name__ == "__main__":
    unittest.main()
