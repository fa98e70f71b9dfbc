"""tools/embed_translation.py: which files it reads, and which it refuses."""

import subprocess
import sys
import unittest

from tree import ROOT, TreeTest

HEADER = 'msgid ""\nmsgstr "Language: pt_BR\\n"\n\n'


class EmbedTranslation(TreeTest):
    def embed(self, text: str) -> tuple[int, str]:
        source = self.write("pt_BR.po", text)
        output = self.tree / "out/pt_br.inc"
        done = subprocess.run([sys.executable, "-B", str(ROOT / "tools/embed_translation.py"),
                               str(source), str(output)], capture_output=True, text=True, check=False)
        return done.returncode, output.read_text("utf-8") if output.exists() else done.stderr

    def test_writes_a_row_per_entry(self):
        status, text = self.embed(HEADER + '# note\nmsgid "a \\"b\\""\nmsgstr "á"\n'
                                  'msgid ""\n"long "\n"text"\nmsgstr ""\n"texto\\n"\n"longo"\n')
        self.assertEqual((status, text), (0, '{"a \\"b\\"", "á"},\n{"long text", "texto\\nlongo"},\n'))

    def test_refuses_invalid_files(self):
        for text, wanted in (('msgid "a"\n', "has no translation"),
                             ('msgid "a"\nmsgstr ""\n', "has no translation"),
                             ('msgid "a"\nmsgstr "b"\nmsgid "a"\nmsgstr "c"\n', "twice"),
                             ('msgstr "b"\n', "without a msgid"),
                             ('msgid "a"\nmsgctxt "x"\nmsgstr "b"\n', "line 2"),
                             ('msgid "a\nmsgstr "b"\n', "line 1")):
            status, error = self.embed(text)
            self.assertEqual(status, 1, text)
            self.assertIn(wanted, error)


if __name__ == "__main__":
    unittest.main()
