// `--phiid` of `phi measure` and `phi theory`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "phi/cli/testing_phi.h"
#include "phi/measures/testing_phyid.h"

namespace reveza::phi {
namespace phiid_test {

std::string PhyidFile() {
  std::string text = "one,other,trial\n";
  int row = 0;
  for (const auto& [one, other] : kPhyidSeries) {
    text += fmt::format("{},{},{}\n", one, other, row++ / 40);
  }
  return text;
}

std::vector<std::string> LinesOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

TEST_F(PhiTest, PhiIdPrintsAtoms) {
  Write("data.csv", PhyidFile());
  const auto json = nlohmann::json::parse(
      Phi("measure data.csv --columns one,other -m phi_r --phiid mmi --surrogates 19 "
          "--bias analytic --json")
          .output);
  const auto& phiid = json["phiid"];
  EXPECT_EQ(phiid["redundancy"], "mmi");
  EXPECT_EQ(phiid["partition"], "one|other");
  EXPECT_EQ(phiid["atoms"].size(), 16U);
  EXPECT_NEAR(phiid["phi_r"].get<double>(), json["measures"][0]["nats"].get<double>(), 1e-10);
  const auto& xty = phiid["atoms"]["xty"];
  EXPECT_NEAR(xty["nats"].get<double>(), kPhyidValues[0].mean[6], 1e-10);
  EXPECT_EQ(xty["mode"], "transfer");
  EXPECT_EQ(xty["surrogates"]["count"], 19);
  EXPECT_TRUE(xty.contains("less_bias"));
  EXPECT_FALSE(phiid["atoms"]["xtx"].contains("surrogates"));
  const std::string text = Phi("measure data.csv --columns one,other --phiid ccs").output;
  EXPECT_NE(text.find("decomposition by ccs, x: one, y: other"), std::string::npos) << text;
}

TEST_F(PhiTest, PhiIdWritesLocalValues) {
  Write("data.csv", PhyidFile());
  EXPECT_EQ(
      Phi("measure data.csv --columns one,other --phiid ccs --tau 2 --phiid-local l.csv").status,
      kDone);
  auto lines = LinesOf(place_ / "l.csv");
  ASSERT_EQ(lines.size(), 1U + 78U);
  EXPECT_TRUE(lines[0].starts_with("line,rtr,rtx,")) << lines[0];
  // The first present is the third row, in the fourth line.
  EXPECT_TRUE(lines[1].starts_with("4,")) << lines[1];
  double rtr = 0.0;
  std::istringstream(lines[1].substr(2)) >> rtr;
  EXPECT_NEAR(rtr, kPhyidValues[3].local[0][0], 1e-10);
  Phi("measure data.csv --trials trial --phiid mmi --tau 2 --phiid-local l.csv");
  lines = LinesOf(place_ / "l.csv");
  ASSERT_EQ(lines.size(), 1U + 76U);
  EXPECT_TRUE(lines[38].starts_with("41,")) << lines[38];
  EXPECT_TRUE(lines[39].starts_with("44,")) << lines[39];
}

TEST_F(PhiTest, PhiIdWritesTheRowsOfTheFile) {
  std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (80, 2), }";
  header.resize(128 - 10 - 1, ' ');
  std::string bytes = std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size() + 1) +
                      '\0' + header + '\n';
  for (std::size_t row = 0; row < kPhyidSeries.size(); ++row) {
    for (double value : kPhyidSeries[row]) {
      if (row == 30) value = NAN;
      bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
  Write("gap.npy", bytes);
  const platform::Ran ran = Phi("measure gap.npy --phiid mmi --missing drop --phiid-local l.csv");
  EXPECT_EQ(ran.status, kDone) << ran.output;
  const auto lines = LinesOf(place_ / "l.csv");
  ASSERT_EQ(lines.size(), 1U + 77U);
  EXPECT_TRUE(lines[0].starts_with("row,"));
  EXPECT_TRUE(lines[29].starts_with("29,")) << lines[29];
  // Row 30 is missing, and row 31 has no past.
  EXPECT_TRUE(lines[30].starts_with("32,")) << lines[30];
  EXPECT_TRUE(lines[77].starts_with("79,")) << lines[77];
}

TEST_F(PhiTest, PhiIdOfAModel) {
  const auto json =
      nlohmann::json::parse(Phi("theory --coupling '0,0;.8,0' -m phi_r --phiid mmi --json").output);
  EXPECT_NEAR(json["phiid"]["atoms"]["xty"]["nats"].get<double>(), 0.5 * std::log(1.64), 1e-12);
  EXPECT_EQ(json["phiid"]["partition"], "0|1");
  ExpectError("theory --coupling '0,0;.8,0' --phiid ccs", kUsage, "--phiid");
}

TEST_F(PhiTest, PhiIdReportsInvalidInput) {
  Write("data.csv", PhyidFile());
  ExpectError("measure data.csv --columns one,other --phiid min", kUsage, "--phiid");
  ExpectError("measure data.csv --phiid mmi --window 20", kUsage, "--window");
  ExpectError("measure data.csv --phiid-local l.csv", kUsage, "--phiid");
  ExpectError("measure data.csv --columns one,other --phiid ccs --shrinkage 0.1", kUsage,
              "without shrinkage");
  ExpectError("measure data.csv --phiid mmi -p atomic", kUsage, "defined for two parts");
}

}  // namespace phiid_test
}  // namespace reveza::phi
