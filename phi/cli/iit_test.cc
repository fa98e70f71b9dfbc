// `phi iit --theory 4.0`, and its cache.
#include <sys/stat.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

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

std::vector<std::filesystem::path> EntriesOf(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> entries;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) entries.push_back(entry);
  std::ranges::sort(entries);
  return entries;
}

ino_t NumberOf(const std::filesystem::path& file) {
  struct stat status = {};
  EXPECT_EQ(stat(file.c_str(), &status), 0);
  return status.st_ino;
}

TEST_F(PhiTest, IitTakesAnswersFromTheCache) {
  const std::string command = "iit --network or-copy-xor --theory 4.0 --cache a/b --state ";
  const std::string answer = Phi("iit --network or-copy-xor --theory 4.0 --state 1,0,0").output;
  EXPECT_EQ(Phi(command + "1,0,0").output, answer);
  auto entries = EntriesOf(place_ / "a/b");
  ASSERT_EQ(entries.size(), 1U);
  const std::filesystem::path entry = entries.front();
  // An entry that is written has a new file.
  const ino_t before = NumberOf(entry);
  EXPECT_EQ(Phi(command + "1,0,0").output, answer);
  EXPECT_EQ(NumberOf(entry), before);
  // Anything else that decides the output is another question, but threads are not.
  EXPECT_EQ(Phi(command + "1,0,0 --threads 2").output, answer);
  EXPECT_EQ(EntriesOf(place_ / "a/b").size(), 1U);
  for (const char* other :
       {"--theory 4.0 --state 0,0,1", "--theory 4.0 --state 1,0,0 --json",
        "--theory 4.0 --state 1,0,0 --complexes", "--theory 4.0 --state 1,0,0 --subsystem A,C",
        "--state 1,0,0", "--state 1,0,0 --single-nodes"}) {
    const std::string options = std::string(" --cache a/b ") + other;
    EXPECT_EQ(Phi("iit --network or-copy-xor" + options).status, kDone) << other;
  }
  EXPECT_EQ(EntriesOf(place_ / "a/b").size(), 7U);
  // So is another probability.
  Write("two.json", R"({"state": [1, 0], "tpm": [[0, 0], [1, 0.25], [0, 1], [1, 1]]})");
  Write("other.json",
        R"({"state": [1, 0], "tpm": [[0, 0], [1, 0.25000000000000006], [0, 1], [1, 1]]})");
  EXPECT_EQ(Phi("iit two.json --cache c").status, kDone);
  EXPECT_EQ(Phi("iit other.json --cache c").status, kDone);
  EXPECT_EQ(EntriesOf(place_ / "c").size(), 2U);
}

TEST_F(PhiTest, IitComputesDamagedAnswersAgain) {
  const std::string command = "iit --network or-copy-xor --theory 4.0 --cache c --state 1,0,0";
  const std::string answer = Phi(command).output;
  const std::filesystem::path entry = EntriesOf(place_ / "c").front();
  std::ifstream file(entry, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  std::string other = bytes;
  other[other.size() - 5] ^= 1;
  for (const std::string& damaged : {std::string(), bytes.substr(0, 40),
                                     bytes.substr(0, bytes.size() - 1), bytes + "x", other}) {
    std::ofstream(entry, std::ios::binary) << damaged;
    const std::string again = Phi(command).output;
    EXPECT_TRUE(again.starts_with("phi: " + ("c" / entry.filename()).string() + " is damaged"))
        << again;
    EXPECT_TRUE(again.ends_with(answer)) << again;
    EXPECT_EQ(Phi(command).output, answer);
  }
  // An entry that cannot be replaced.
  std::filesystem::remove(entry);
  std::filesystem::create_directory(entry);
  const platform::Ran ran = Phi(command);
  EXPECT_EQ(ran.status, kDone);
  EXPECT_NE(ran.output.find("phi: not cached: "), std::string::npos) << ran.output;
  EXPECT_TRUE(ran.output.ends_with(answer)) << ran.output;
  EXPECT_EQ(EntriesOf(place_ / "c").size(), 1U);
  Write("file", "");
  ExpectError("iit --network xor --state 0,0,0 --cache file", kUsage, "--cache");
}

// The analysis would take hours.
TEST_F(PhiTest, IitEndsAtCtrlCAndCachesNothing) {
  std::string rows;
  for (int row = 0; row < 1 << 8; ++row) {
    for (int node = 0; node < 8; ++node) {
      rows += std::to_string((row * 37 + node * 101) % 97 / 100.0) + (node < 7 ? "," : "\n");
    }
  }
  Write("dense.csv", rows);
  const platform::Ran ran =
      platform::Shell("cd " + place_.path().string() + " && timeout --preserve-status -s INT 1 " +
                      PhiPath() + " iit dense.csv --state 0,0,0,0,0,0,0,0 --cache c");
  EXPECT_EQ(ran.status, 130) << ran.output;
  EXPECT_EQ(ran.output, "");
  EXPECT_TRUE(EntriesOf(place_ / "c").empty());
}

}  // namespace iit_test
}  // namespace reveza::phi
