"""Kernels of Jupyter that the provisioner `reveza` starts, on a card of fakecuda.

  jupyter_test.py BUILD
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(sys.argv.pop(1)).resolve()
NOTEBOOKS = pathlib.Path(__file__).resolve().parents[1] / "examples/notebooks"
sys.path.insert(0, str(NOTEBOOKS))

import notebooks  # noqa: E402

OPEN = "from card import Array\narray = Array(8, value=7)"


def run(*words, **environment):
    return subprocess.run([sys.executable, "-B", *words], env={**os.environ, **environment},
                          capture_output=True, text=True, timeout=60, check=False)


def installer(*words, **environment):
    return run("-m", "reveza.jupyter", *words, **environment)


class Installer(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        self.kernels = self.prefix / "share/jupyter/kernels"
        self.path = {"JUPYTER_PATH": str(self.prefix / "share/jupyter")}

    def install(self, *words):
        return installer("install", "--prefix", str(self.prefix), *words, **self.path)

    def test_copies_a_kernel(self):
        done = self.install("--", "--memory", ":24MiB", "--weight", "2")
        self.assertEqual((done.returncode, done.stderr.count("Error")), (0, 0), done.stderr)
        folder = self.kernels / "reveza-python3"
        self.assertEqual(done.stdout.strip(), str(folder))
        spec = json.loads((folder / "kernel.json").read_text())
        self.assertIn("ipykernel_launcher", spec["argv"])
        self.assertEqual(spec["display_name"], "Python 3 (ipykernel) (Reveza)")
        self.assertEqual(spec["metadata"]["kernel_provisioner"], {
            "provisioner_name": "reveza", "config": {"options": ["--memory", ":24MiB", "--weight", "2"]}})
        self.assertTrue((folder / "logo-64x64.png").exists())
        self.assertEqual(installer("list", **self.path).stdout,
                         f"reveza-python3\t{folder}\t--memory :24MiB --weight 2\n")
        self.assertEqual(self.install().returncode, 0)
        self.assertEqual(installer("list", **self.path).stdout, f"reveza-python3\t{folder}\t--interactive\n")
        self.assertEqual(installer("uninstall", **self.path).returncode, 0)
        self.assertEqual(list(self.kernels.iterdir()), [])

    def test_refuses_what_cannot_work(self):
        self.assertEqual(self.install().returncode, 0)
        for words, named in (
                (("--kernel", "no-such-kernel"), "'no-such-kernel'"),
                (("--kernel", "reveza-python3"), "'reveza-python3'"),
                (("--name", "python3"), "'python3'"),
                (("--", "--memory", "lots"), "--memory"),
                (("--", "--no-such-option"), "--no-such-option")):
            with self.subTest(words=words):
                done = self.install(*words)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertRegex(done.stderr, rf"\Areveza: [^\n]*{named}[^\n]*\n\Z")
        for words in (("uninstall", "python3"), ("uninstall", "no-such-kernel"), ("list", "--", "--quiet"), ()):
            with self.subTest(words=words):
                self.assertEqual(installer(*words, **self.path).returncode, 2)
        self.assertEqual([folder.name for folder in self.kernels.iterdir()], ["reveza-python3"])

    def test_prefix_that_cannot_be_written(self):
        file = self.prefix / "file"
        file.touch()
        done = installer("install", "--prefix", str(file), **self.path)
        self.assertEqual(done.returncode, 12, done.stderr)

    def test_needs_jupyter(self):
        done = run("-c", "import sys; sys.modules['jupyter_client'] = None\n"
                         "from reveza import jupyter; sys.exit(jupyter.main(['list']))")
        self.assertEqual(done.returncode, 1)
        self.assertIn("pip install jupyter_client", done.stderr)


class Kernels(unittest.TestCase):
    def setUp(self):
        self.assertEqual(installer("install").returncode, 0)
        self.addCleanup(subprocess.run, ["reveza", "stop", "--force"], check=False, capture_output=True)

    def start(self, number):
        notebook = notebooks.Notebook(number)
        self.addCleanup(notebook.close)
        notebook.client.wait_for_ready(timeout=60)
        return notebook

    def compute(self, notebook, value):
        notebook.send("array.add(1)", {"wrong": "array.wrong_words()", "value": "array.value"})
        self.assertEqual(notebook.receive(), {"wrong": 0, "value": value})

    def programs(self):
        return {client["name"]: client for client in notebooks.reveza_status()["clients"]}

    def test_each_is_an_interactive_job_of_its_own(self):
        for number in (1, 2):
            notebook = self.start(number)
            notebook.send(OPEN)
            notebook.receive()
            self.compute(notebook, 8)
        programs = self.programs()
        self.assertEqual(sorted(programs), ["notebook-01", "notebook-02"])
        self.assertEqual(len({one["job"] for one in programs.values()}), 2)
        self.assertTrue(all(one["policy"]["interactive"] for one in programs.values()))

    def test_restart_interrupt_and_shutdown(self):
        notebook = self.start(3)
        notebook.send(OPEN)
        notebook.receive()
        first = self.programs()["notebook-03"]["pid"]
        self.assertEqual(first, notebook.manager.provisioner.pid)

        notebook.send("print('begun', flush=True)\nimport time\ntime.sleep(600)")
        while notebook.client.get_iopub_msg(timeout=60)["content"].get("text") != "begun\n":
            pass
        notebook.manager.interrupt_kernel()
        with self.assertRaisesRegex(RuntimeError, "KeyboardInterrupt"):
            notebook.receive()
        self.compute(notebook, 8)

        notebook.manager.restart_kernel(now=True)
        notebook.client.wait_for_ready(timeout=60)
        notebook.send("array")
        with self.assertRaisesRegex(RuntimeError, "NameError"):
            notebook.receive()
        notebook.send(OPEN)
        notebook.receive()
        self.compute(notebook, 8)
        self.assertNotEqual(self.programs()["notebook-03"]["pid"], first)

        notebook.manager.shutdown_kernel()
        self.assertFalse(notebook.manager.is_alive())
        self.assertEqual(self.programs(), {})

    def wait(self, condition):
        for _ in range(600):
            if condition():
                return
            time.sleep(0.1)
        self.fail("not within a minute")

    def begin_to_wait(self, notebook, code):
        """Runs a cell of a paused notebook, and returns when it waits for the card."""
        self.assertEqual(subprocess.run(["reveza", "pause", notebook.name], check=False).returncode, 0)
        before = self.programs()[notebook.name]["waited_s"]
        notebook.send(code)
        self.wait(lambda: self.programs()[notebook.name]["waited_s"] > before)

    def test_interrupts_while_a_cell_waits_for_the_card(self):
        notebook = self.start(5)
        notebook.send(OPEN)
        notebook.receive()
        self.begin_to_wait(notebook, "array.add(1)\nimport time\ntime.sleep(600)")
        notebook.manager.interrupt_kernel()
        subprocess.run(["reveza", "resume", notebook.name], check=True)
        with self.assertRaisesRegex(RuntimeError, "KeyboardInterrupt"):
            notebook.receive()

        self.begin_to_wait(notebook, "array.add(1)")

        def ended():
            notebook.manager.interrupt_kernel()
            return not notebook.manager.is_alive()

        self.wait(ended)

    def failure(self, **environment):
        """Returns the message with which a kernel does not start."""
        from jupyter_client import KernelManager

        manager = KernelManager(kernel_name="reveza-python3")
        with self.assertRaises(RuntimeError) as caught:
            manager.start_kernel(env={**os.environ, **environment})
        self.assertFalse(manager.has_kernel and manager.is_alive())
        return str(caught.exception)

    def test_says_why_a_kernel_does_not_start(self):
        text = self.failure(REVEZA_SOCKET="/proc/no-such-folder/daemon.sock")
        self.assertRegex(text, r"reveza: .*/proc/no-such-folder.*\(exit status \d+\)")
        done = installer("install", "--", "--memory", "96GiB")
        self.assertEqual(done.returncode, 0, done.stderr)
        notebook = self.start(4)  # no GPU is known yet, so the first context decides
        notebook.send(OPEN)
        with self.assertRaisesRegex(RuntimeError, "cuDevicePrimaryCtxRetain: 2|cuMemAlloc_v2: 2"):
            notebook.receive()


class Names(unittest.TestCase):
    def test_job_name(self):
        from reveza._provisioner import job_name

        for notebook, name in (("", "python3-0123abcd"), ("work/My thesis, part 1.ipynb", "My-thesis-part-1"),
                               ("a" * 99 + ".ipynb", "a" * 48), ("...", "..."), ("é.ipynb", "python3-0123abcd")):
            with self.subTest(notebook=notebook):
                self.assertEqual(job_name(notebook, "python3", "0123abcd-4567"), name)


if __name__ == "__main__":
    if importlib.util.find_spec("ipykernel") is None:
        print("skipped: no ipykernel")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as name:
        # Jupyter reads its environment when it is imported.
        os.environ.update(notebooks.environment(BUILD, pathlib.Path(name)))
        sys.path.insert(0, os.path.join(name, "packages"))
        unittest.main()
