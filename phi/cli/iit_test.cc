// `phi iit --theory 4.0`.
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "phi/cli/testing_phi.h"

namespace reveza::phi {
namespace iit_test {

TEST_F(PhiTest, Iit4PrintsPhiDistinctionsAndRelations) {
  const std::string command = "iit --network or-copy-xor --state 1,0,0 --theory 4.0";
  const auto json = nlohmann::json::parse(Phi(command + " --json").output);
  // The values of PyPhi 2.
  EXPECT_NEAR(json["phi_s"].get<double>(), std::log2(4.0 / 3), 1e-12);
  EXPECT_EQ(json["structure"]["big_phi"], 1.125);
  EXPECT_EQ(json["conventions"]["theory"], "IIT 4.0 (Albantakis et al. 2023)");
  EXPECT_EQ(json["state"], "100");
  EXPECT_EQ(json["cause"]["state"].get<std::string>().size(), 3U);
  EXPECT_GT(json["partition"].size(), 1U);
  const auto& structure = json["structure"];
  EXPECT_NEAR(structure["big_phi"].get<double>(),
              structure["sum_phi_d"].get<double>() + structure["sum_phi_r"].get<double>(), 1e-9);
  std::int64_t relations = 0;
  for (const auto& order : structure["relations"]["by_order"]) {
    relations += order["count"].get<std::int64_t>();
  }
  EXPECT_EQ(structure["relations"]["count"], relations);
  for (const auto& distinction : structure["distinctions"]) {
    EXPECT_GT(distinction["phi"].get<double>(), 0);
    EXPECT_GT(distinction["cause"]["partition"].size(), 0U);
    EXPECT_EQ(distinction["effect"]["state"].get<std::string>().size(),
              distinction["effect"]["purview"].size());
  }
  const std::string text = Phi(command).output;
  EXPECT_TRUE(text.starts_with("phi_s = 0.415037, cut inputs of A; outputs of B,C\n")) << text;
  EXPECT_NE(text.find("\nPhi = "), std::string::npos) << text;
}

TEST_F(PhiTest, Iit4FindsComplexes) {
  Write("pairs.csv",
        "0,0,0,0\n0,1,0,0\n1,0,0,0\n1,1,0,0\n0,0,0,1\n0,1,0,1\n1,0,0,1\n1,1,0,1\n"
        "0,0,1,0\n0,1,1,0\n1,0,1,0\n1,1,1,0\n0,0,1,1\n0,1,1,1\n1,0,1,1\n1,1,1,1\n");
  const std::string command = "iit pairs.csv --state 0,0,0,0 --theory 4.0 --complexes";
  const auto json = nlohmann::json::parse(Phi(command + " --json").output);
  EXPECT_EQ(json["systems"].size(), 15U);
  EXPECT_EQ(json["complexes"].dump(), R"([["A","B"],["C","D"]])");
  EXPECT_NE(Phi(command).output.find("the main complex"), std::string::npos);
}

TEST_F(PhiTest, Iit4ReportsWrongArguments) {
  const std::string known = "iit --network xor --theory 4.0 ";
  ExpectError("iit --network xor --state 0,0,0 --theory 5", kUsage, "--theory");
  ExpectError(known + "--state 0,0,1", kUsage, "cannot be reached");
  ExpectError(known + "--state 0,0", kUsage, "'0,0' is not a state of 3 nodes");
  ExpectError(known + "--state 0,0,0 --subsystem D", kUsage, "no node 'D'");
  ExpectError(known + "--state 0,0,0 --single-nodes", kUsage, "--theory 3.0");
  std::string rows;
  for (int row = 0; row < 1 << 10; ++row) rows += "0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5,0.5\n";
  Write("ten.csv", rows);
  ExpectError("iit ten.csv --state 0000000000 --theory 4.0", kUsage, "10 nodes are too many");
  ExpectError("iit ten.csv --state 0000000000 --theory 4.0 --complexes", kUsage,
              "10 nodes are too many");
}

}  // namespace iit_test
}  // namespace reveza::phi
