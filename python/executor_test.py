"""reveza.Executor and reveza.map, with the program `reveza` of the folder that is given."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

PACKAGE = pathlib.Path(__file__).resolve().parent
PROGRAMS = pathlib.Path(sys.argv.pop(1)).resolve()
FAKE_KUBERNETES = PACKAGE.parent / "reveza/jobs/cluster/testing_kubernetes/kubectl.py"
FAKE_RAY = PACKAGE.parent / "reveza/jobs/cluster/testing_ray/server.py"
FAKE_SLURM = PACKAGE.parent / "reveza/jobs/cluster/testing_slurm/slurm.py"

MODULE = '''
import os
import pathlib
import signal
import time

FOLDER = pathlib.Path(os.environ["TEST_FOLDER"])


class Broken(Exception):
    """Cannot be pickled."""

    def __init__(self, one, two):
        super().__init__(one)


def square(x):
    with open(FOLDER / "ran", "a") as file:
        file.write(f"{x}\\n")
    return x * x


def fail(x):
    raise ValueError(f"{x} is wrong")


def break_(x):
    raise Broken(x, x)


def die(x):
    os.kill(os.getpid(), signal.SIGKILL)


def wait(x):
    (FOLDER / f"waits-{x}").touch()
    while not (FOLDER / "go").exists():
        time.sleep(0.01)
    return x


def unpicklable(x):
    return lambda: x


def again(x):
    """Fails the first time."""
    mark = FOLDER / f"again-{x}"
    if not mark.exists():
        mark.touch()
        raise OSError("not yet")
    return x
'''


class Calls(unittest.TestCase):
    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        (self.folder / "work.py").write_text(MODULE)
        self.environment = {
            **os.environ,
            "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
            "PYTHONPATH": f"{PACKAGE}:{self.folder}",
            "TEST_FOLDER": str(self.folder),
            "XDG_STATE_HOME": str(self.folder / "state"),
            "XDG_RUNTIME_DIR": str(self.folder),
        }
        self.environment.pop("LD_PRELOAD", None)

    def tearDown(self):
        self.temporary.cleanup()

    def start(self, text):
        script = self.folder / "script.py"
        script.write_text("import reveza, work\n" + text)
        return subprocess.Popen(
            [sys.executable, "-B", script], env=self.environment, cwd=self.folder, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def run_script(self, text):
        output, errors = self.start(text).communicate(timeout=60)
        return output + errors

    def ran(self):
        file = self.folder / "ran"
        return sorted(map(int, file.read_text().split())) if file.exists() else []

    def test_results_come_in_order_and_are_not_computed_again(self):
        call = "print(reveza.map(work.square, range({})))"
        self.assertEqual(self.run_script(call.format(4)), "[0, 1, 4, 9]\n")
        self.assertEqual(self.run_script(call.format(6)), "[0, 1, 4, 9, 16, 25]\n")
        self.assertEqual(self.ran(), [0, 1, 2, 3, 4, 5])

    def test_a_changed_function_runs_again(self):
        call = "print(reveza.map(work.square, [3]))"
        self.assertEqual(self.run_script(call), "[9]\n")
        changed = MODULE.replace("return x * x", "return x * x * x")
        (self.folder / "work.py").write_text(changed)
        self.assertEqual(self.run_script(call), "[27]\n")

    def test_scripts_in_two_folders_do_not_share_results(self):
        text = ("FACTOR = {}\ndef train(x):\n    return x * FACTOR\n"
                "if __name__ == '__main__':\n    print(reveza.map(train, [1, 2]))\n")
        state, folder = self.environment["XDG_STATE_HOME"], self.folder
        for factor, expected in ((2, "[2, 4]\n"), (3, "[3, 6]\n")):
            self.folder = folder / str(factor)
            self.folder.mkdir()
            self.assertEqual(self.run_script(text.format(factor)), expected)
        self.folder = folder
        self.assertEqual(len(list(pathlib.Path(state, "reveza/calls/train/results").iterdir())), 4)

    def test_functions_of_the_script_itself(self):
        text = ("def half(x):\n    return x / 2\n"
                "if __name__ == '__main__':\n    print(reveza.map(half, [3, 5]))\n")
        self.assertEqual(self.run_script(text), "[1.5, 2.5]\n")

    def test_a_script_that_would_call_itself_is_told(self):
        output = self.run_script("def half(x):\n    return x / 2\nprint(reveza.map(half, [3]))\n")
        self.assertIn("write `if __name__ == '__main__':`", output)

    def test_exceptions_reach_the_caller_and_are_tried_again_by_the_next_run(self):
        text = ("with reveza.Executor('t') as executor:\n"
                "    futures = [executor.submit(f, 7) for f in\n"
                "               (work.fail, work.square, work.break_, work.unpicklable)]\n"
                "for future in futures:\n"
                "    print(repr(future.exception())[:60])\n")
        lines = self.run_script(text).splitlines()
        self.assertEqual(lines[:2], ["ValueError('7 is wrong')", "None"])
        self.assertTrue(lines[2].startswith("RuntimeError('Traceback"), lines[2])
        self.assertIn("pickle", lines[3])
        again = "print(reveza.map(work.again, [1], name='a'))"
        self.assertIn("OSError: not yet", self.run_script(again))
        self.assertEqual(self.run_script(again), "[1]\n")

    def test_retries(self):
        text = ("with reveza.Executor('t', retries=1) as executor:\n"
                "    print(executor.submit(work.again, 1).result())\n")
        self.assertEqual(self.run_script(text), "1\n")

    def test_a_killed_call_is_an_error_with_its_reason(self):
        text = ("with reveza.Executor('t') as executor:\n"
                "    print(type(executor.submit(work.die, 1).exception()).__name__)\n"
                "    print(executor.submit(work.die, 1).exception())\n")
        output = self.run_script(text)
        self.assertTrue(output.startswith("CallError\n"), output)
        self.assertIn(": killed, code 9\n", output)

    def test_the_job_is_named_after_the_script(self):
        text = ("with reveza.Executor(memory='64MiB') as executor:\n"
                "    print(executor.submit(work.square, 3).result())\n")
        self.assertEqual(self.run_script(text), "9\n")
        self.assertEqual([path.name for path in (self.folder / "state/reveza/calls").iterdir()], ["script"])
        for run, expected in (("_my sweep.py", "my-sweep"), ("-m pack", "pack"), ("-m pack.tool", "tool"),
                              ("-c", "calls")):
            (self.folder / "pack").mkdir(exist_ok=True)
            text = "from reveza._executor import default_name\nprint(default_name())\n"
            for file in ("pack/__main__.py", "pack/tool.py", "_my sweep.py"):
                (self.folder / file).write_text(text)
            words = [run] if run.endswith(".py") else [*run.split(), *([text] if run == "-c" else [])]
            done = subprocess.run([sys.executable, "-B", *words], env=self.environment, cwd=self.folder,
                                  capture_output=True, text=True, check=False)
            self.assertEqual(done.stdout, f"{expected}\n", done.stderr)

    def test_calls_may_come_while_others_run(self):
        text = ("import pathlib, time\n"
                "with reveza.Executor('t', workers=2) as executor:\n"
                "    first = executor.submit(work.wait, 1)\n"
                "    while not pathlib.Path('waits-1').exists():\n"
                "        time.sleep(0.01)\n"
                "    second = executor.submit(work.square, 5)\n"
                "    pathlib.Path('go').touch()\n"
                "    print(first.result(), second.result(), executor.submit(work.square, 5).result())\n")
        self.assertEqual(self.run_script(text), "1 25 25\n")
        self.assertEqual(self.ran(), [5])

    CANCEL = ("import pathlib, time\n"
              "executor = reveza.Executor('t', workers=1)\n"
              "futures = [executor.submit(work.wait, n) for n in (1, 2, 3)]\n"
              "while not futures[0].running():\n"
              "    time.sleep(0.01)\n"
              "while not pathlib.Path('waits-1').exists():\n"
              "    time.sleep(0.01)\n")

    def test_a_running_call_is_not_cancelled(self):
        text = self.CANCEL + ("print([future.cancel() for future in futures[:2]])\n"
                              "pathlib.Path('go').touch()\n"
                              "executor.shutdown()\n"
                              "print([future.cancelled() or future.result() for future in futures])\n")
        self.assertEqual(self.run_script(text), "[False, True]\n[1, True, 3]\n")

    def test_shutdown_with_cancelling_lets_running_calls_end(self):
        text = self.CANCEL + ("import concurrent.futures\n"
                              "executor.shutdown(wait=False, cancel_futures=True)\n"
                              "time.sleep(0.5)  # two signals at once would count as one\n"
                              "executor.shutdown(wait=False, cancel_futures=True)\n"
                              "print([future.cancelled() for future in futures])\n"
                              "print(len(concurrent.futures.wait(futures[1:]).done))\n"
                              "pathlib.Path('go').touch()\n"
                              "executor.shutdown()\n"
                              "print(futures[0].result())\n")
        self.assertEqual(self.run_script(text), "[False, True, True]\n2\n1\n")
        self.assertFalse((self.folder / "waits-2").exists())
        calls = self.folder / "state/reveza/calls/t"
        self.assertEqual(len(list((calls / "results").iterdir())), 1)
        self.assertEqual(self.run_script("print(reveza.map(work.wait, [1, 2], name='t'))"), "[1, 2]\n")

    def test_cancelling_before_the_job_begins_runs_nothing(self):
        text = ("executor = reveza.Executor('t')\n"
                "future = executor.submit(work.square, 1)\n"
                "executor.shutdown(cancel_futures=True)\n"
                "print(future.cancelled())\n")
        self.assertEqual(self.run_script(text), "True\n")
        self.assertEqual(self.ran(), [])

    def test_killing_the_caller_loses_nothing(self):
        text = "print(reveza.map(work.wait, range(2), workers=2))"
        first = self.start(text)
        deadline = time.monotonic() + 60
        while not (self.folder / "waits-1").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        (self.folder / "go").touch()
        self.assertEqual(self.run_script(text), "[0, 1]\n")

    def use_slurm(self):
        for name in ("sbatch", "squeue", "sacct", "scancel", "scontrol"):
            (self.folder / "bin").mkdir(exist_ok=True)
            (self.folder / "bin" / name).symlink_to(FAKE_SLURM)
        (self.folder / "slurm/tasks").mkdir(parents=True)
        self.environment["PATH"] = f"{self.folder}/bin:{self.environment['PATH']}"
        self.environment["FAKE_SLURM"] = str(self.folder / "slurm")

    def test_shutdown_with_cancelling_lets_running_calls_end_on_slurm(self):
        self.use_slurm()
        text = (self.CANCEL.replace("workers=1", "workers=1, on='slurm', shared='shared'")
                .replace("not futures[0].running()", "not pathlib.Path('waits-1').exists()") +
                "executor.shutdown(wait=False, cancel_futures=True)\n"
                "pathlib.Path('go').touch()\n"
                "executor.shutdown()\n"
                "print(futures[0].result(), [future.cancelled() for future in futures[1:]])\n")
        self.assertEqual(self.run_script(text), "1 [True, True]\n")

    def test_calls_run_on_slurm(self):
        self.use_slurm()
        call = "print(reveza.map(work.square, range({}), on='slurm', shared='shared'))"
        self.assertEqual(self.run_script(call.format(3)), "[0, 1, 4]\n")
        self.assertEqual(self.run_script(call.format(4)), "[0, 1, 4, 9]\n")
        self.assertEqual(self.ran(), [0, 1, 2, 3])
        self.assertEqual((self.folder / "slurm/calls").read_text().count("sbatch"), 2)

    def test_calls_run_on_ray(self):
        (self.folder / "ray").mkdir()
        self.environment["FAKE_RAY"] = str(self.folder / "ray")
        server = subprocess.Popen([sys.executable, "-B", FAKE_RAY], env=self.environment)
        self.addCleanup(server.wait)  # it ends with the folder
        deadline = time.monotonic() + 30
        while not (self.folder / "ray/port").exists():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.environment["RAY_API_SERVER_ADDRESS"] = f"http://127.0.0.1:{(self.folder / 'ray/port').read_text()}"
        call = "print(reveza.map(work.square, range({}), on='ray', shared='shared'))"
        self.assertEqual(self.run_script(call.format(3)), "[0, 1, 4]\n")
        self.assertEqual(self.run_script(call.format(4)), "[0, 1, 4, 9]\n")
        self.assertEqual(self.ran(), [0, 1, 2, 3])
        self.assertEqual((self.folder / "ray/calls").read_text().count("submit"), 2)

    def test_calls_run_on_kubernetes(self):
        (self.folder / "bin").mkdir()
        (self.folder / "bin/kubectl").symlink_to(FAKE_KUBERNETES)
        (self.folder / "kubernetes").mkdir()
        (self.folder / "pod.json").write_text(json.dumps({"kind": "Pod", "spec": {"containers": [
            {"name": "c", "image": "x", "volumeMounts": [{"name": "v", "mountPath": str(self.folder)}]}]}}))
        self.environment["PATH"] = f"{self.folder}/bin:{self.environment['PATH']}"
        self.environment["FAKE_KUBERNETES"] = str(self.folder / "kubernetes")
        self.environment["REVEZA_POD_TEMPLATE"] = str(self.folder / "pod.json")
        call = "print(reveza.map(work.square, range(3), on='kubernetes', shared='shared'))"
        self.assertEqual(self.run_script(call), "[0, 1, 4]\n")
        self.assertEqual(self.ran(), [0, 1, 2])
        self.assertEqual((self.folder / "kubernetes/calls").read_text().count("create"), 1)

    def test_wrong_uses_are_refused(self):
        for call, expected in (
            ("reveza.Executor('a/b')", "invalid name 'a/b'"),
            ("reveza.Executor('a', workers=0)", "workers must be at least 1: 0"),
            ("reveza.Executor('a', on='slurm')", "go together"),
            ("reveza.map(lambda x: x, [1])", "use a function at the top level of a module"),
            ("reveza.map(work.square, [1], memory='much')", "--memory"),
            ("import os\nos.environ['PATH'] = ''\nreveza.map(work.square, [1])", "neither beside"),
            ("e = reveza.Executor('a')\ne.shutdown()\ne.submit(work.square, 1)", "after shutdown"),
        ):
            with self.subTest(call=call):
                self.assertIn(expected, self.run_script(call))
        self.assertEqual(self.ran(), [])

    def test_reporting_steps_imports_no_executor(self):
        text = "import sys\nreveza.step(1)\nprint('reveza._executor' in sys.modules)\n"
        self.assertEqual(self.run_script(text), "reveza step 1\nFalse\n")


if __name__ == "__main__":
    unittest.main()
