#include "phi/discrete/network_file.h"

#include <gtest/gtest.h>

#include <fstream>

#include "common/platform/testing_directory.h"

namespace reveza::phi {
namespace network_file_test {

std::string ErrorOf(const Result<Network>& network) {
  return network ? "no error" : network.error().message;
}

TEST(NetworkFileTest, ReadsStateByNode) {
  const auto network = NetworkFromCsv("# two nodes\nleft,right\n0,0\n1,0.25\n0,1\n1,1\n");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->labels, (std::vector<std::string>{"left", "right"}));
  EXPECT_EQ(network->matrix.nodes, 2);
  EXPECT_EQ(network->matrix.On(1, 1), 0.25);
}

TEST(NetworkFileTest, ReadsStateByState) {
  // The first node varies fastest in rows and columns.
  const auto network = NetworkFromCsv("1 0 0 0\n0 0.5 0 0.5\n0 0 1 0\n0.25 .25 .25 .25\n");
  ASSERT_TRUE(network) << ErrorOf(network);
  EXPECT_EQ(network->matrix.On(1, 0), 1);
  EXPECT_EQ(network->matrix.On(1, 1), 0.5);
  EXPECT_EQ(network->matrix.On(2, 0), 0);
  EXPECT_EQ(network->matrix.On(2, 1), 1);
}

TEST(NetworkFileTest, ReadsJson) {
  const auto network =
      NetworkFromJson(R"({"tpm": [[0,0],[1,0],[0,1],[1,1]], "labels": ["X","Y"], "state": [1,0]})");
  ASSERT_TRUE(network);
  EXPECT_EQ(network->labels[1], "Y");
  EXPECT_EQ(network->state, 1U);
  EXPECT_TRUE(NetworkFromJson("[[0.5],[1]]"));
}

TEST(NetworkFileTest, ReportsInvalidMatrices) {
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0\n1,1\n0,1\n")).find("3 rows"), std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0\n1,1.5\n0,1\n1,1\n")).find("row 2, column 2"),
            std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0\n1,nan\n0,1\n1,1\n")).find("from 0 to 1"),
            std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0\n1\n0,1\n1,1\n")).find("row 2"), std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0,1\n1,1,1\n0,1,1\n1,1,1\n")).find("2 (state by node)"),
            std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("1,0,0,0\n0,1,0,0\n0,0,1,0\n0,0,0,.5\n")).find("row 4"),
            std::string::npos);
  // The nodes change together at random, which has no state-by-node form.
  EXPECT_NE(ErrorOf(NetworkFromCsv(".5,0,0,.5\n0,1,0,0\n0,0,1,0\n0,0,0,1\n"))
                .find("not conditionally independent"),
            std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("0,0\n1,x\n")).find("line 2: 'x'"), std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromCsv("")).find("empty"), std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromJson("{")).find("JSON"), std::string::npos);
  EXPECT_NE(ErrorOf(NetworkFromJson("{}")).find("tpm"), std::string::npos);
}

TEST(NetworkFileTest, ErrorsNameTheFile) {
  const platform::TestingDirectory folder;
  const auto path = folder.path() / "network.csv";
  EXPECT_NE(ErrorOf(ReadNetwork(path)).find("cannot read"), std::string::npos);
  std::ofstream(path) << "0,0\n1,1\n";
  EXPECT_NE(ErrorOf(ReadNetwork(path)).find("network.csv: "), std::string::npos);
}

TEST(NetworkFileTest, ReadsStatesAndNodes) {
  EXPECT_EQ(*ParseState("1,0,0", 3), 1U);
  EXPECT_EQ(*ParseState("011", 3), 6U);
  EXPECT_FALSE(ParseState("1,0", 3));
  EXPECT_FALSE(ParseState("1,0,2", 3));
  EXPECT_FALSE(ParseState("1,0,0,0", 3));
  const std::vector<std::string> labels = {"A", "B", "C"};
  EXPECT_EQ(*ParseNodes("A,C", labels), 5U);
  EXPECT_EQ(*ParseNodes("1 2", labels), 6U);
  EXPECT_FALSE(ParseNodes("D", labels));
  EXPECT_FALSE(ParseNodes("", labels));
  EXPECT_EQ(NodesText(5, labels), "A,C");
}

TEST(NetworkFileTest, SuggestsTheNearestName) {
  EXPECT_NE(ErrorOf(BuiltInNetwork("or-copy-xr")).find("did you mean 'or-copy-xor'"),
            std::string::npos);
  for (const BuiltInNetworkInfo& known : BuiltInNetworks()) EXPECT_TRUE(BuiltInNetwork(known.name));
}

}  // namespace network_file_test
}  // namespace reveza::phi
