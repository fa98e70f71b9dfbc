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
PROGRAMS = ("reveza", "phi", "fraudgen")
BASH_COMPLETION = pathlib.Path("/usr/share/bash-completion/bash_completion")
# Where shells look for the completion of a program, below HOME.
INSTALLED = {"bash": ".local/share/bash-completion/completions/reveza", "zsh": "functions/_reveza",
             "fish": ".config/fish/completions/reveza.fish"}
BINDINGS = {
    "bash": ["bind 'set bell-style none'", "bind 'set enable-bracketed-paste off'",
             """bind -x '"\\C-x\\C-p": printf "<%s>\\n" "$READLINE_LINE"'"""],
    "zsh": ["autoload -U compinit && compinit -u -D", "unsetopt beep", "setopt nolistbeep",
            "PROMPT_SP= ; show() { print -r -- \"<$BUFFER>\" }; zle -N show; bindkey '^X^P' show"],
    "fish": [],
}
SETUP = {shell: [*lines, *(f"source <({program} completion {shell})" for program in PROGRAMS)]
         for shell, lines in BINDINGS.items()}
SETUP_INSTALLED = {"bash": [*BINDINGS["bash"], f"source {BASH_COMPLETION}"],
                   "zsh": ["fpath=(~/functions $fpath)", *BINDINGS["zsh"]], "fish": []}
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
        cls.has_program = cls.start_program()
        for shell, file in INSTALLED.items():
            path = cls.folder / file
            path.parent.mkdir(parents=True)
            path.write_text(cls.run_program("reveza", "completion", shell))

    def open_terminal(self, *lines: str):
        """Starts bash or zsh and executes the lines. Each completion in fish starts its own."""
        if SHELL == "fish":
            return
        self.terminal = Terminal(COMMAND[SHELL], self.environment, self.folder)
        self.addCleanup(self.terminal.close)
        for line in lines:
            self.terminal.send(line + "\n")
        self.terminal.send("echo r''eady\n")
        self.terminal.read_until("\nready\r?\n")

    def complete(self, line: str, source: str = "source ({} completion fish | psub)") -> str:
        if SHELL == "fish":
            return self.complete_in_fish(line, source)
        return self.complete_in_terminal(line)

    def complete_in_terminal(self, line: str) -> str:
        """Types the line and the key; returns the line that the shell then has."""
        self.terminal.send(line + "\t\x18\x10")
        shown = self.terminal.read_until(r"<((?:phi|reveza|fraudgen)[^>]*)>").group(1)
        self.terminal.send("\x15")
        return shown

    def complete_in_fish(self, line: str, source: str) -> str:
        done = subprocess.run(
            ["fish", "-c", source.format(line.split()[0]) + f"; complete -C '{line}'"],
            env=self.environment, cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        found = [row.split("\t")[0] for row in done.stdout.splitlines()]
        if len(found) != 1:
            return line
        # In this mode fish does not quote.
        word = found[0].replace(" ", "\\ ")
        return line[:len(line) - len(line.split(" ")[-1])] + word + " "

    def test_completes(self):
        self.open_terminal(*SETUP[SHELL])
        for line, wanted in TYPED:
            if self.has_program or " tr" not in line:
                with self.subTest(line):
                    self.assertEqual(self.complete(line), wanted)

    def test_completes_where_the_script_is_installed(self):
        if SHELL == "bash" and not BASH_COMPLETION.exists():
            self.skipTest("no bash-completion")
        self.open_terminal(*SETUP_INSTALLED[SHELL])
        for line, wanted in TYPED:
            if line.startswith("reveza") and (self.has_program or " tr" not in line):
                with self.subTest(line):
                    self.assertEqual(self.complete(line, "true"), wanted)

    def test_is_silent_where_there_is_nothing(self):
        self.open_terminal(*SETUP[SHELL])
        for line in NOTHING:
            with self.subTest(line):
                self.assertEqual(self.complete(line), line)

    def test_is_silent_without_the_program(self):
        if SHELL == "fish":
            self.skipTest("its scripts come from the program")
        self.open_terminal(*SETUP[SHELL], "PATH=/usr/bin:/bin")
        self.assertEqual(self.complete("reveza jobs sho"), "reveza jobs sho")


if __name__ == "__main__":
    if shutil.which(SHELL) is None:
        sys.exit(77)
    unittest.main()
