"""The help in Portuguese: every message of every command is translated, and no translation is stale.

  translation_test.py SOURCE BUILD
"""

import pathlib
import re
import sys
import unittest

from programs import ProgramsTest

ProgramsTest.build = pathlib.Path(sys.argv.pop()).absolute()
SOURCE = pathlib.Path(sys.argv.pop()).absolute()
sys.path.insert(0, str(SOURCE / "tools"))
import embed_translation  # noqa: E402  (found by the line above)

ROOMS = {"reveza": "reveza/cli/reveza", "revezad": "reveza/cli/revezad", "phi": "phi/cli", "fraudgen": "fraudgen/cli"}
# What a translation must say as the original does: options, numbers, names of variables and of files.
SAME = re.compile(r"--[a-z][a-z0-9-]*|\d+|\b[A-Z]+_[A-Z_]+\b|\.[a-z]{2,}\b")
COMMANDS = re.compile(r"^(?:Subcommands|Subcomandos):\n((?:  .*\n)+)", re.MULTILINE)


def table(room: str) -> dict[str, str]:
    text = (SOURCE / room / "pt_BR.po").read_text("utf-8")
    return {english[1:-1].replace('\\"', '"'): portuguese[1:-1].replace('\\"', '"')
            for english, portuguese in embed_translation.entries(text)}


class Translation(ProgramsTest):
    def messages_of(self, program: str) -> list[str]:
        return self.run_program(program, "completion", "messages").splitlines()

    def helps_of(self, program: str, language: str) -> str:
        """The help of a program and of all its commands."""
        def read(*words: str) -> str:
            text = self.run_program(*words, "--help", LC_ALL="", LANG=language)
            found = COMMANDS.search(text)
            names = [row.split()[0] for row in found[1].splitlines() if row[2] != " "] if found else []
            return text + "".join(read(*words, name) for name in names)

        return read(program)

    def test_each_message_has_one_translation_and_each_translation_a_message(self):
        common = table("common/cli")
        used = set()
        for program, room in ROOMS.items():
            messages = set(self.messages_of(program))
            own = table(room)
            self.assertGreater(len(messages), 25)
            self.assertEqual(messages - set(common) - set(own), set(), f"{program}: untranslated")
            self.assertEqual(set(own) - messages, set(), f"{room}/pt_BR.po: of no message")
            self.assertEqual(set(own) & set(common), set())
            used |= messages
        self.assertEqual(set(common) - used, set(), "common/cli/pt_BR.po: of no message")

    def test_translations_say_the_same(self):
        for room in ("common/cli", *ROOMS.values()):
            for english, portuguese in table(room).items():
                wanted = sorted(set(SAME.findall(english)))
                found = sorted(set(SAME.findall(portuguese.replace("\\n", " "))))
                self.assertEqual(found, wanted, english)

    def test_help_is_in_the_language_of_the_environment(self):
        for program in ROOMS:
            english = self.helps_of(program, "en_US.UTF-8")
            for language in ("C", "de_DE.UTF-8"):
                self.assertEqual(self.run_program(program, "--help", LC_ALL="", LANG=language),
                                 self.run_program(program, "--help", LC_ALL="C"))
            portuguese = self.helps_of(program, "pt_BR.UTF-8")
            self.assertEqual(portuguese.count("Uso: "), english.count("Usage: "))
            # The same options in the same order.
            flags = re.compile(r"^  (-\S+)", re.MULTILINE)
            self.assertEqual(flags.findall(portuguese), flags.findall(english))
            left = " ".join(portuguese.split())
            for message in self.messages_of(program):
                if " " in message and message in left:
                    self.assertRegex(message, r"^webhook: |^A = B", "still in English")

    def test_variables_of_the_environment_have_their_precedence(self):
        def usage(**environment: str) -> str:
            return self.run_program("phi", "te", "--help", **environment).splitlines()[1].split(":")[0]

        self.assertEqual(usage(LC_ALL="", LANG="pt_BR"), "Uso")
        self.assertEqual(usage(LC_ALL="", LC_MESSAGES="pt_BR.UTF-8", LANG="C"), "Uso")
        self.assertEqual(usage(LC_ALL="C", LC_MESSAGES="pt_BR.UTF-8", LANG="pt_BR.UTF-8"), "Usage")

    def test_completion_is_translated_and_man_pages_are_not(self):
        words = ("reveza", "completion", "--", "jobs", "sho")
        self.assertEqual(self.run_program(*words, LC_ALL="pt_BR.UTF-8").splitlines(), [
            "values", "show\tMostra o progresso, os passos que falharam e as métricas de um job"])
        for program in ROOMS:
            self.assertEqual(self.run_program(program, "completion", "man", LC_ALL="pt_BR.UTF-8"),
                             self.run_program(program, "completion", "man"))


if __name__ == "__main__":
    unittest.main()
