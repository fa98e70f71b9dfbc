"""Completion in real shells: what bash, zsh and fish make of the scripts and of the programs' answers.

  completion_test.py SHELL BUILD

Exit status 77 if the shell is missing.
"""

import os
import pathlib
import pty
import re
import select
import shutil
import subprocess
import sys
import time
import unittest

from programs import ProgramsTest

ProgramsTest.build = pathlib.Path(sys.argv.pop()).absolute()
SHELL = sys.argv.pop()

# What is typed before the key, and what it becomes.
TYPED = (
    ("reveza jobs sho", "reveza jobs show "),
    ("reveza run --resid", "reveza run --resident "),
    ("reveza jobs show sw", "reveza jobs show sweep "),
    ("reveza jobs logs sweep seed=2", "reveza jobs logs sweep seed=2 "),
    ("reveza jobs retry sweep seed=1 seed=3", "reveza jobs retry sweep seed=1 seed=3 "),
    ("reveza jobs logs grid se", "reveza jobs logs grid seed=7\\ rate=0.5 "),
    ("reveza pause tr", "reveza pause train "),
    ("reveza set train --priority lo", "reveza set train --priority low "),
    ("reveza set train --priority=hi", "reveza set train --priority=high "),
    ("reveza top --sort swa", "reveza top --sort swapped "),
    ("reveza doctor explain address-s", "reveza doctor explain address-space "),
    ("phi measure eeg.csv --columns F", "phi measure eeg.csv --columns Fz "),
    ("phi measure eeg.csv --columns Fz,C", "phi measure eeg.csv --columns Fz,Cz "),
    ("phi measure ee", "phi measure eeg.csv "),
    ("phi iit --network or-c", "phi iit --network or-copy-xor "),
    ("fraudgen --format parq", "fraudgen --format parquet "),
    ("fraudgen check --js", "fraudgen check --json "),
    ("fraudgen stream --target=web", "fraudgen stream --target=webhook "),
    ("reveza jobs run --job eeg", "reveza jobs run --job eeg.csv "),
    ("reveza jobs run --job=eeg", "reveza jobs run --job=eeg.csv "),
    ("reveza run -- cat ee", "reveza run -- cat eeg.csv "),
)
# Here there is nothing to complete, and no error on the terminal.
NOTHING = ("reveza elephant tr", "reveza jobs logs nosuchjob see", "reveza run --quiet=no",
           "phi measure nosuchfile.csv --columns F", "fraudgen check --siz")
SETUP = {
    "bash": ["bind 'set bell-style none'", "bind 'set enable-bracketed-paste off'",
             """bind -x '"\\C-x\\C-p": printf "<%s>\\n" "$READLINE_LINE"'""",
             *(f"source <({program} completion bash)" for program in ("reveza", "phi", "fraudgen"))],
    "zsh": ["autoload -U compinit && compinit -u -D", "unsetopt beep", "setopt nolistbeep",
            "PROMPT_SP= ; show() { print -r -- \"<$BUFFER>\" }; zle -N show; bindkey '^X^P' show",
            *(f"source <({program} completion zsh)" for program in ("reveza", "phi", "fraudgen"))],
}
COMMAND = {"bash": ["bash", "--noprofile", "--norc", "-i"], "zsh": ["zsh", "-f", "-i"]}


class Terminal:
    """An interactive shell on a pseudo terminal."""

    def __init__(self, words: list[str], environment: dict[str, str], folder: pathlib.Path):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.execvpe(words[0], words, {**environment, "PS1": "$ ", "COLUMNS": "300"})

    def send(self, text: str):
        os.write(self.fd, text.encode())

    def read_until(self, pattern: str) -> re.Match[str]:
        text = ""
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            if select.select([self.fd], [], [], 1)[0]:
                text += os.read(self.fd, 65536).decode(errors="replace")
                if match := re.search(pattern, text):
                    return match
        raise AssertionError(f"no {pattern!r} in {text!r}")

    def close(self):
        os.close(self.fd)
        os.waitpid(self.pid, 0)


class Completion(ProgramsTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        (cls.folder / "eeg.csv").write_text("time,Fz,Cz\n0,1,2\n1,2,1\n")
        cls.make_job()
        cls.start_program()

    def setUp(self):
        self.complete = self.complete_in_fish
        if SHELL == "fish":
            return
        self.terminal = Terminal(COMMAND[SHELL], self.environment, self.folder)
        self.addCleanup(self.terminal.close)
        for line in SETUP[SHELL]:
            self.terminal.send(line + "\n")
        self.terminal.send("echo r''eady\n")
        self.terminal.read_until("\nready\r?\n")
        self.complete = self.complete_in_terminal

    def complete_in_terminal(self, line: str) -> str:
        """Types the line and the key; returns the line that the shell then has."""
        self.terminal.send(line + "\t\x18\x10")
        shown = self.terminal.read_until(r"<((?:phi|reveza|fraudgen)[^>]*)>").group(1)
        self.terminal.send("\x15")
        return shown

    def complete_in_fish(self, line: str) -> str:
        program = line.split()[0]
        done = subprocess.run(
            ["fish", "--no-config", "-c",
             f"source ({program} completion fish | psub); complete -C '{line}'"],
            env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = [row.split("\t")[0] for row in done.stdout.splitlines()]
        if len(found) != 1:
            return line
        # In this mode fish does not quote.
        word = found[0].replace(" ", "\\ ")
        return line[:len(line) - len(line.split(" ")[-1])] + word + " "

    def test_completes(self):
        for line, wanted in TYPED:
            with self.subTest(line):
                self.assertEqual(self.complete(line), wanted)

    def test_is_silent_where_there_is_nothing(self):
        for line in NOTHING:
            with self.subTest(line):
                self.assertEqual(self.complete(line), line)

    def test_is_silent_without_the_program(self):
        if SHELL == "fish":
            self.skipTest("its scripts come from the program")
        self.terminal.send("PATH=/usr/bin:/bin\n")
        self.assertEqual(self.complete("reveza jobs sho"), "reveza jobs sho")


if __name__ == "__main__":
    if shutil.which(SHELL) is None:
        sys.exit(77)
    unittest.main()
