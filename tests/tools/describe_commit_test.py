"""Tests of tools/describe_commit.py on a tree of its own."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "describe_commit.py"


class DescribeCommitTest(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.tree = pathlib.Path(self._folder.name) / "tree"
        self.header = pathlib.Path(self._folder.name) / "generated" / "commit.h"
        (self.tree / "part").mkdir(parents=True)
        self.write("part/file.cc", "one")
        self.write(".gitignore", "/build/\n")

    def tearDown(self):
        self._folder.cleanup()

    def write(self, path, text):
        (self.tree / path).parent.mkdir(parents=True, exist_ok=True)
        (self.tree / path).write_text(text, encoding="utf-8")

    def git(self, *arguments):
        done = subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", self.tree, *arguments],
            capture_output=True, text=True, check=True,
            env={"PATH": os.environ["PATH"], "HOME": self._folder.name})
        return done.stdout.strip()

    def commit(self):
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("commit", "--quiet", "-m", "first")
        return self.git("rev-parse", "--short=12", "HEAD")

    def described(self, tree=None):
        subprocess.run([sys.executable, "-B", SCRIPT, tree or self.tree, self.header], check=True)
        return self.header.read_text(encoding="utf-8").split('"')[1]

    def test_names_the_commit(self):
        commit = self.commit()
        self.assertEqual(self.described(), commit)

    def test_tells_a_changed_and_a_new_file(self):
        commit = self.commit()
        self.write("part/file.cc", "two")
        self.assertEqual(self.described(), f"{commit}, with uncommitted changes")
        self.git("checkout", "--quiet", ".")
        self.assertEqual(self.described(), commit)
        self.write("part/new.cc", "")
        self.assertEqual(self.described(), f"{commit}, with uncommitted changes")

    def test_ignored_files_and_new_logs_are_no_changes(self):
        commit = self.commit()
        self.write("build/file.o", "")
        self.write("bench/results/today/a.log", "")
        self.assertEqual(self.described(), commit)

    def test_is_unknown_without_history_also_inside_another_repository(self):
        self.assertEqual(self.described(), "unknown")
        self.commit()
        self.assertEqual(self.described(self.tree / "part"), "unknown")

    def test_leaves_the_header_alone_if_nothing_changed(self):
        self.commit()
        self.described()
        os.utime(self.header, ns=(1, 1))
        self.described()
        self.assertEqual(self.header.stat().st_mtime_ns, 1)
        self.write("part/file.cc", "two")
        self.described()
        self.assertNotEqual(self.header.stat().st_mtime_ns, 1)


if __name__ == "__main__":
    unittest.main()
