// `phi measure --oinfo`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "phi/cli/testing_phi.h"

namespace reveza::phi {
namespace multiplet_test {

using platform::Ran;

// a and b are noisy copies; d is the sum of the independent c and e.
std::string Series(int rows) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  std::string text = "a,b,c,d,e\n";
  for (int t = 0; t < rows; ++t) {
    const double common = normal(engine);
    const double c = normal(engine);
    const double e = normal(engine);
    text += fmt::format("{},{},{},{},{}\n", common + 0.5 * normal(engine),
                        common + 0.5 * normal(engine), c, c + e + 0.3 * normal(engine), e);
  }
  return text;
}

TEST_F(PhiTest, OinfoFindsExtremesOfEachOrder) {
  Write("data.csv", Series(300));
  const auto json = nlohmann::json::parse(
      Phi("measure data.csv --oinfo gauss --surrogates 39 --bias analytic --json").output);
  ASSERT_EQ(json["orders"].size(), 4U);
  const auto& triplets = json["orders"][1];
  EXPECT_EQ(triplets["order"], 3);
  EXPECT_EQ(triplets["subsets"], 10);
  const auto& lowest = triplets["lowest"]["o"];
  EXPECT_EQ(lowest["variables"], nlohmann::json({"c", "d", "e"}));
  EXPECT_LT(lowest["nats"].get<double>(), -0.5);
  EXPECT_EQ(lowest["p"], 1.0 / 40);
  EXPECT_FALSE(triplets["lowest"]["tc"].contains("p"));
  EXPECT_EQ(json["orders"][0]["highest"]["tc"]["variables"], nlohmann::json({"a", "b"}));
  EXPECT_EQ(json["orders"][0]["mean"]["o"], 0.0);
  EXPECT_GT(triplets["bias"]["tc"].get<double>(), 0.0);
  EXPECT_EQ(json["surrogates"]["method"], "shift");
  EXPECT_NE(json["bias_note"].get<std::string>().find("independent rows"), std::string::npos);
  EXPECT_EQ(json["bias_note"].get<std::string>().find("do not use"), std::string::npos);
}

TEST_F(PhiTest, OinfoPrintsEverySubset) {
  Write("data.csv", Series(300));
  const Ran ran = Phi("measure data.csv --oinfo copula --csv --surrogates 19 --bias analytic");
  EXPECT_EQ(ran.status, kDone);
  EXPECT_TRUE(ran.output.starts_with(
      "order,variables,o,s,tc,dtc,o_less_bias,s_less_bias,tc_less_bias,dtc_less_bias,o_p,s_p,tc_p,"
      "dtc_p,less_bias_holds\n2,\"a,b\",0,"))
      << ran.output;
  EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1 + 26);
  const auto last = ran.output.find("5,\"a,b,c,d,e\",-");
  EXPECT_NE(last, std::string::npos) << ran.output;
  // Results do not depend on threads.
  EXPECT_EQ(
      Phi("measure data.csv --oinfo copula --csv --surrogates 19 --bias analytic --threads 3"),
      ran);
}

TEST_F(PhiTest, OinfoSaysWhereTheBiasDoesNotHold) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  std::string text = "a,b,c\n";
  double slow = 0.0;
  for (int t = 0; t < 300; ++t) {
    slow = 0.9 * slow + normal(engine);
    text += fmt::format("{},{},{}\n", normal(engine), slow, normal(engine));
  }
  Write("slow.csv", text);
  const std::string arguments = "measure slow.csv --oinfo gauss --bias analytic ";
  for (const std::string& output : {Phi(arguments).output, Phi(arguments + "--json").output}) {
    EXPECT_NE(output.find("do not use them here: 'b' has an autocorrelation of 0."),
              std::string::npos)
        << output;
  }
  EXPECT_EQ(std::ranges::count(Phi(arguments + "--csv").output, '\n'), 5);
  EXPECT_NE(Phi(arguments + "--csv").output.find(",no\n"), std::string::npos);
  EXPECT_NE(Phi(arguments + "--columns a,c --csv").output.find(",yes\n"), std::string::npos);
}

TEST_F(PhiTest, OinfoExplainsItsTable) {
  Write("data.csv", Series(300));
  const std::string text = Phi("measure data.csv --oinfo gauss --surrogates 19").output;
  EXPECT_NE(text.find("lowest o "), std::string::npos) << text;
  EXPECT_NE(text.find("c,d,e"), std::string::npos) << text;
  EXPECT_EQ(text.find("bias-corrected"), std::string::npos) << text;
  EXPECT_NE(Phi("measure data.csv --oinfo gauss --bias analytic --shrinkage 0.1")
                .output.find("no formula for the bias"),
            std::string::npos);
}

TEST_F(PhiTest, OinfoReportsInvalidInput) {
  Write("data.csv", Series(300));
  ExpectError("measure data.csv --oinfo ranks", kUsage, "--oinfo");
  ExpectError("measure data.csv --oinfo gauss --tau 2", kUsage, "--tau excludes --oinfo");
  ExpectError("measure data.csv --oinfo gauss -m si", kUsage, "--measure");
  ExpectError("measure data.csv --oinfo gauss --columns a", kUsage, "2 to 24 variables");
  std::mt19937_64 engine(5);
  std::string wide;
  for (int row = 0; row < 60; ++row) {
    for (int i = 0; i < 25; ++i) wide += fmt::format("{}{}", i > 0 ? "," : "", engine() % 1000);
    wide += '\n';
  }
  Write("wide.csv", wide);
  ExpectError("measure wide.csv --oinfo gauss", kUsage, "25 variables given");
}

}  // namespace multiplet_test
}  // namespace reveza::phi
