"""tools/embed_tables.py on valid and invalid declarations."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).parents[2]
TOOL = ROOT / "tools" / "embed_tables.py"
HEAD = ("table: ride_alerts\nenglish: One row per alert.\nportuguese: Uma linha por alerta.\n\n"
        "column|type|unit|null|English|Portuguese|how it is generated|categories\n")


class EmbedTables(unittest.TestCase):
    def run_on(self, text: str) -> tuple[int, str, str]:
        """Returns the exit status, the output files and stderr."""
        with tempfile.TemporaryDirectory() as folder:
            source = pathlib.Path(folder, "coherent", "ride_alerts.txt")
            output = pathlib.Path(folder, "out", "ride_alerts.inc")
            source.parent.mkdir()
            source.write_text(text, "utf-8")
            run = subprocess.run([sys.executable, "-B", TOOL, source, output], check=False,
                                 capture_output=True, text=True)
            columns = output.with_name("ride_alerts_columns.inc")
            written = [file.read_text("utf-8") for file in (output, columns) if file.exists()]
            return run.returncode, "".join(written), run.stderr

    def assert_rejected(self, text: str, reason: str):
        status, written, stderr = self.run_on(text)
        self.assertEqual(status, 1)
        self.assertEqual(written, "")
        self.assertIn(reason, stderr)

    def test_columns_of_every_kind(self):
        status, written, stderr = self.run_on(
            "# A comment.\n" + HEAD +
            "ride_id        | recurring text |     |      | Ride  | Corrida  | random\n"
            "end.fare       | decimal 2      | BRL | null | Fare  | Tarifa   | by distance\n"
            "rule           | category       |     |      | Rule  | Regra    | uniform | A B\n"
            "state          | category       |     |      | State | Estado   | uniform | @lists::k\n"
            "key            | category       |     |      | Key   | Chave    | uniform "
            "| KeyType: PIX_KEY kPhone=TELEFONE\n")
        self.assertEqual((status, stderr), (0, ""))
        self.assertEqual(written, """\
namespace {
constexpr std::array<std::string_view, 2> kCoherentRideAlertsRuleValues = {"A", "B"};
constexpr std::array<Column, 5> kCoherentRideAlertsColumns = {{
    {"ride_id", ColumnType::kText, 0, "", Nullable::kNo, "Ride", "Corrida", "random", {}, true},
    {"end.fare", ColumnType::kDecimal, 2, "BRL", Nullable::kYes, "Fare", "Tarifa", "by distance", \
{}},
    {"rule", ColumnType::kCategory, 0, "", Nullable::kNo, "Rule", "Regra", "uniform", \
kCoherentRideAlertsRuleValues},
    {"state", ColumnType::kCategory, 0, "", Nullable::kNo, "State", "Estado", "uniform", lists::k},
    {"key", ColumnType::kCategory, 0, "", Nullable::kNo, "Key", "Chave", "uniform", kKeyTypeNames},
}};
}  // namespace
const Table kRideAlerts = {"ride_alerts", "One row per alert.", "Uma linha por alerta.", \
kCoherentRideAlertsColumns};
enum class RideAlertsColumn : std::size_t {
  kRideId,
  kEndFare,
  kRule,
  kState,
  kKey,
};
enum class KeyType : uint8_t {kPixKey, kPhone};
inline constexpr std::array<std::string_view, 2> kKeyTypeNames = {"PIX_KEY", "TELEFONE"};
""")

    def test_rejects_malformed_declarations(self):
        self.assert_rejected("english: x\n", "line 1: expected 'table: ...'")
        self.assert_rejected(HEAD.replace("unit|", ""), "line 5: expected the header")
        self.assert_rejected(HEAD, "declares no columns")
        self.assert_rejected(HEAD + "a|text|||A|B\n", "line 6: 6 cells instead of 7 or 8")
        self.assert_rejected(HEAD + "A b|text|||A|B|c\n", "'A b' is not a column name")
        self.assert_rejected(HEAD + "a|number|||A|B|c\n", "unknown type 'number'")
        self.assert_rejected(HEAD + "a|decimal|||A|B|c\n", "unknown type 'decimal'")
        self.assert_rejected(HEAD + "a|text||yes|A|B|c\n", "'yes' instead of 'null' or nothing")
        self.assert_rejected(HEAD + "a|text|||A||c\n", "a: Portuguese is empty")
        self.assert_rejected(HEAD + 'a|text|||"A"|B|c\n', "contains a quote")
        self.assert_rejected(HEAD + "a|category|||A|B|c\n", "lists its categories")
        self.assert_rejected(HEAD + "a|text|||A|B|c|X Y\n", "lists its categories")
        self.assert_rejected(HEAD + "a|category|||A|B|c|X X\n", "lists a category twice")
        self.assert_rejected(HEAD + "a|text|||A|B|c\na|date|||A|B|c\n",
                             "line 7: a is declared twice")

    def test_accepts_every_declaration_of_the_repository(self):
        tables = sorted((ROOT / "fraudgen" / "schema" / "tables").glob("*/*.txt"))
        self.assertGreater(len(tables), 10)
        for table in tables:
            with tempfile.TemporaryDirectory() as folder:
                run = subprocess.run(
                    [sys.executable, "-B", TOOL, table, pathlib.Path(folder, "table.inc")],
                    check=False, capture_output=True, text=True)
                self.assertEqual((run.returncode, run.stderr), (0, ""), table)


if __name__ == "__main__":
    unittest.main()
