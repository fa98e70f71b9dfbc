"""Keys of the calls of reveza.Executor: another key for each change that a result can depend on, and only then."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent

PRINT = """
import sys
import warnings

import work
from reveza._key import Keys

warnings.showwarning = lambda message, *_: print(f"{message}", file=sys.stderr)
for call in (CALLS,):
    print(Keys().of(*call))
"""

MODULE = """
import enum
import functools
import helpers
from dataclasses import dataclass
from helpers import table

FACTOR = 2
UNUSED = 1


def scale(x, factor=2, *, offset=1):
    return x * factor + offset + FACTOR


scale.unit = "s"

def guarded(x):
    try:
        x = 1 / x
    except ZeroDivisionError:
        x = 0
    return x


def nested(x):
    return [one * FACTOR for one in x]


def even(x):
    return x == 0 or odd(x - 1)


def odd(x):
    return x != 0 and even(x - 1)


def indirect(x):
    return even(x) + helpers.add(x) + table["a"]


def timed(function):
    @functools.wraps(function)
    def wrapper(*arguments):
        return function(*arguments)
    return wrapper


@timed
def wrapped(x):
    return x + 10


@functools.lru_cache
def cached(x):
    return x + 20


def times(n):
    def inner(x):
        return x * n
    return inner


two, three = times(2), times(3)


def difference(x):
    return two(x) - three(x)


class Model:
    bias = 3

    def __init__(self, weight):
        self.weight = weight

    def __call__(self, x):
        return x * self.weight + self.bias

    @property
    def half(self):
        return self.weight / 2

    @staticmethod
    def zero():
        return 0


class Larger(Model):
    pass


@dataclass
class Point:
    x: int = 0


class Colour(enum.Enum):
    RED = 1


def painted(x):
    return Colour.RED.value + x


MODEL = Model(5)


def predict(x):
    return MODEL(x)
"""

HELPERS = """
table = {"a": 1, "b": 2}


def add(x):
    return x + 30


def other(x):
    return x
"""


class KeysOfCalls(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.errors = ""

    def keys(self, calls, module=MODULE, helpers=HELPERS, seed="1", script=PRINT, name="script.py"):
        """Returns the keys that a new process prints for calls."""
        (self.folder / "work.py").write_text(module)
        (self.folder / "helpers.py").write_text(helpers)
        (self.folder / name).write_text(script.replace("CALLS", ", ".join(f"({call})" for call in calls)))
        done = subprocess.run(
            [sys.executable, "-B", self.folder / name], capture_output=True, text=True, check=False,
            env={**os.environ, "PYTHONPATH": f"{PACKAGE}:{self.folder}", "PYTHONHASHSEED": seed})
        self.errors = done.stderr
        return done.stdout.split()

    def key(self, call, **others):
        return "".join(self.keys([call], **others))

    def change(self, call, old, new, module=MODULE, **others):
        """Returns whether a changed module gives the call another key."""
        self.assertIn(old, module)
        before = self.key(call, module=module, **others)
        self.assertRegex(before, r"^[0-9a-f]{32}$", self.errors)
        return before != self.key(call, module=module.replace(old, new), **others)

    def test_depends_on_what_the_function_is(self):
        changes = (
            ("work.scale, (1,), {}", "factor=2", "factor=10"),
            ("work.scale, (1,), {}", "offset=1", "offset=10"),
            ("work.scale, (1,), {}", "FACTOR = 2", "FACTOR = 3"),
            ("work.scale, (1,), {}", 'unit = "s"', 'unit = "ms"'),
            ("work.scale, (1,), {}", "x * factor", "x / factor"),
            ("work.guarded, (1,), {}", "except ZeroDivisionError", "except ValueError"),
            ("work.nested, (1,), {}", "FACTOR = 2", "FACTOR = 3"),
            ("work.indirect, (1,), {}", "x != 0 and", "x == 0 and"),
            ("work.wrapped, (1,), {}", "x + 10", "x + 11"),
            ("work.wrapped, (1,), {}", "function(*arguments)", "-function(*arguments)"),
            ("work.cached, (1,), {}", "x + 20", "x + 21"),
            ("work.difference, (1,), {}", "times(2), times(3)", "times(3), times(2)"),
            ("work.functools.partial(work.scale, factor=3), (1,), {}", "x * factor", "x / factor"),
            ("work.functools.partial(work.scale, factor=3), (1,), {}", "FACTOR = 2", "FACTOR = 3"),
            ("work.Model(2), (1,), {}", "self.weight + self.bias", "self.weight - self.bias"),
            ("work.Model(2), (1,), {}", "bias = 3", "bias = 4"),
            ("work.Larger(2), (1,), {}", "bias = 3", "bias = 4"),
            ("work.Model(2).__call__, (1,), {}", "bias = 3", "bias = 4"),
            ("work.predict, (1,), {}", "Model(5)", "Model(6)"),
            ("work.predict, (1,), {}", "bias = 3", "bias = 4"),
            ("work.painted, (1,), {}", "RED = 1", "RED = 2"),
            ("len, (work.Model(2),), {}", "self.weight / 2", "self.weight / 3"),
            ("len, (work.Model(2),), {}", "return 0", "return 1"),
        )
        calls = sorted({call for call, _, _ in changes})
        before = dict(zip(calls, self.keys(calls)))
        for old, new in sorted({change[1:] for change in changes}):
            self.assertIn(old, MODULE)
            changed = [call for call, *change in changes if change == [old, new]]
            for call, key in zip(changed, self.keys(changed, MODULE.replace(old, new))):
                with self.subTest(call=call, new=new):
                    self.assertRegex(key, r"^[0-9a-f]{32}$")
                    self.assertNotEqual(key, before[call])
            self.assertEqual(self.errors, "")
        for call, old, new in (
            ("work.indirect, (1,), {}", "x + 30", "x + 31"),
            ("work.indirect, (1,), {}", '"a": 1', '"a": 9'),
        ):
            with self.subTest(call=call, new=new):
                self.assertNotEqual(self.key(call), self.key(call, helpers=HELPERS.replace(old, new)))

    @unittest.skipIf(sys.version_info < (3, 11), "the code says what is guarded")
    def test_depends_on_what_is_guarded(self):
        without = MODULE + "\nguarded.__code__ = guarded.__code__.replace(co_exceptiontable=b'')\n"
        call = "work.guarded, (1,), {}"
        self.assertNotEqual(self.key(call), self.key(call, module=without))

    def test_does_not_depend_on_the_rest(self):
        call = "work.indirect, (1,), {}"
        for old, new in (("UNUSED = 1", "UNUSED = 2"), ("x + 10", "x + 11"), ("FACTOR = 2", "\n\nFACTOR = 3")):
            with self.subTest(new=new):
                self.assertFalse(self.change(call, old, new))
        self.assertEqual(self.key(call), self.key(call, helpers=HELPERS.replace("return x\n", "return -x\n")))

    def test_depends_on_arguments(self):
        keys = self.keys([f"work.scale, {arguments}" for arguments in (
            "(1,), {}", "(1.0,), {}", "(True,), {}", "('1',), {}", "(b'1',), {}", "([1],), {}", "({1},), {}",
            "(1,), {'factor': 2}", "(1,), {'factor': 3}", "(work.Model(1),), {}", "(work.Model(2),), {}",
            "(work.Point(1),), {}", "(work.Point(2),), {}", "(work.odd,), {}", "(work.even,), {}")])
        self.assertEqual(len({*keys}), 15)

    def test_is_the_same_in_each_process(self):
        calls = [
            "work.scale, ({'one', 'two', 'three', 'four'},), {}",
            "work.scale, ({'s': frozenset(['one', 'two', 'three', 'four'])},), {}",
            "work.predict, (1,), {}",
            "work.indirect, (work.Model({'one', 'two', 'three'}),), {}",
            "work.scale, ((one := [1], one.append(one)),), {}",
        ]
        keys = self.keys(calls)
        self.assertEqual(len(set(keys)), 5)
        for seed in "023":
            self.assertEqual(self.keys(calls, seed=seed), keys)
        one, two, three, four = self.keys([
            "work.scale, ({'a': 1, 'b': 2},), {}", "work.scale, ({'b': 2, 'a': 1},), {}",
            # Equal objects count the same, be they one or two.
            "work.scale, ([(one := [1]), one],), {}", "work.scale, ([[1], [1]],), {}"])
        self.assertEqual((one, three), (two, four))

    def test_scripts_differ_by_their_paths(self):
        script = PRINT.replace("import work\n", "import work\n\ndef train(x):\n    return x\n")
        one = self.key("train, (1,), {}", script=script)
        self.assertEqual(one, self.key("train, (1,), {}", script=script))
        self.assertNotEqual(one, self.key("train, (1,), {}", script=script, name="other.py"))

    def test_says_what_it_cannot_cover(self):
        module = MODULE.replace("FACTOR = 2", "FACTOR = open(__file__)\nimport threading\nLOCK = threading.Lock()")
        self.assertRegex(self.key("work.scale, (1,), {}", module=module), "^[0-9a-f]{32}$")
        self.assertRegex(self.errors, r"global FACTOR, which work:scale names, .*TextIOWrapper.*__reveza_key__")
        key = self.key("work.guarded, (1,), {}", module=module.replace("1 / x", "LOCK"))
        self.assertEqual((len(key), self.errors), (32, ""))
        module = MODULE.replace("factor=2", "factor=open(__file__)")
        self.key("work.scale, (1,), {}", module=module)
        self.assertRegex(self.errors, r"default values of work:scale, .*TextIOWrapper")
        self.assertEqual(self.key("work.scale, (open(work.__file__),), {}"), "")
        self.assertRegex(self.errors, r"TypeError: cannot make a key of this call of scale: .*TextIOWrapper")

    def test_takes_the_key_that_is_given(self):
        method = '    def __reveza_key__(self):\n        return "v1"\n\n    @property'
        module = MODULE.replace("    @property", method)
        call = "work.predict, (1,), {}"
        self.assertFalse(self.change(call, "Model(5)", "Model(6)", module))
        self.assertTrue(self.change(call, '"v1"', '"v2"', module))
        module = MODULE + '\nscale.__reveza_key__ = "v1"\n'
        self.assertFalse(self.change("work.scale, (1,), {}", "factor=2", "factor=10", module))
        self.assertTrue(self.change("work.scale, (1,), {}", '"v1"', '"v2"', module))


if __name__ == "__main__":
    unittest.main()
