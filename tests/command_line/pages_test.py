"""Man pages, and the options that the documentation names, beside what --help says.

  pages_test.py SOURCE BUILD
"""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from programs import ProgramsTest

ProgramsTest.build = pathlib.Path(sys.argv.pop()).absolute()
SOURCE = pathlib.Path(sys.argv.pop()).absolute()
PROGRAMS = ("reveza", "revezad", "fraudgen", "phi")
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]+")


class Pages(ProgramsTest):
    def help_of(self, program: str) -> dict[str, str]:
        """The help of a program and of all its commands, by name: "reveza jobs show"."""
        texts = {}

        def read(words: tuple[str, ...]):
            text = self.run_program(*words, "--help")
            texts[" ".join(words)] = text
            commands = re.search(r"^Subcommands:\n((?:  .*\n)+)", text, re.MULTILINE)
            for row in commands.group(1).splitlines() if commands else ():
                if name := re.match(r"  (\S+)", row):
                    read((*words, name.group(1)))

        read((program,))
        return texts

    def page_of(self, program: str) -> str:
        return self.run_program(program, "completion", "man")

    def test_each_option_of_the_help_is_in_its_section(self):
        for program in PROGRAMS:
            sections = {program: ""}
            name = program
            for line in self.page_of(program).splitlines():
                if line.startswith(".SS "):
                    name = line[4:].replace("\\-", "-")
                    sections[name] = ""
                sections[name] += line.replace("\\-", "-") + "\n"
            texts = self.help_of(program)
            self.assertEqual(set(sections), set(texts))
            count = 0
            for command, text in texts.items():
                rows = re.findall(r"^  (-\S+)", text, re.MULTILINE)
                self.assertIn("-h,--help", rows)
                for flag in (flag for row in rows for flag in row.split(",")):
                    if flag in ("-h", "--help") and command != program:
                        continue
                    self.assertIn(f"\\fB{flag}\\fR", sections[command], command)
                    count += 1
            self.assertGreater(count, 15, program)
            footers = [text[text.rindex("Example"):] for text in texts.values() if "Example" in text]
            self.assertEqual(len(footers), len(set(footers)), "a command has the example of another")

    def test_pages_have_no_warnings(self):
        for program in PROGRAMS:
            page = self.folder / f"{program}.man"
            page.write_text(self.page_of(program))
            for command in (["groff", "-ww", "-man", "-Tutf8"],
                            ["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z"]):
                if shutil.which(command[0]) is None:
                    continue
                done = subprocess.run([*command, str(page)], capture_output=True, text=True,
                                      env=self.environment, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""), command)
                self.assertGreater(len(done.stdout), 1000)

    def test_reveza_and_its_program_for_metrics_agree(self):
        if not (self.build / "bin/reveza-metrics").exists():
            self.skipTest("built without prometheus-cpp")
        helped = self.run_program("reveza-metrics", "--help")
        self.assertEqual(helped, self.run_program("reveza", "metrics", "--help"))

    def test_tables_of_the_documentation_name_existing_options(self):
        known = {"--help"}
        # Those that the plugin adds to Slurm's programs.
        plugin = (SOURCE / "integrations/slurm/spank_reveza.c").read_text("utf-8")
        known.update(f"--{name}" for name in re.findall(r'^    \{"([a-z-]+)", ', plugin, re.M))
        for program in PROGRAMS:
            for text in self.help_of(program).values():
                known.update(OPTION.findall(text))
        named = set()
        for page in sorted((SOURCE / "docs").glob("*.md")):
            for line in page.read_text("utf-8").splitlines():
                if not line.startswith("|"):
                    continue
                # In the first column; here that has the options of other tools.
                column = 2 if page.name == "jobs-from-other-tools.md" else 1
                cells = re.split(r"(?<!\\)\|", line)
                options = {option for cell in re.findall(r"`([^`]*)`", cells[column])
                           if cell.startswith("-") for option in OPTION.findall(cell)}
                self.assertLessEqual(options, known, f"{page.name}: {line}")
                named |= options
        self.assertGreater(len(named), 40)
        # docs/jobs.md describes each option of `reveza jobs run`.
        jobs = (SOURCE / "docs/jobs.md").read_text("utf-8")
        text = self.run_program("reveza", "jobs", "run", "--help")
        for row in re.findall(r"^  (-\S+)", text, re.MULTILINE):
            if not row.endswith("--help"):
                self.assertIn(row.split(",")[-1], jobs)


if __name__ == "__main__":
    unittest.main()
