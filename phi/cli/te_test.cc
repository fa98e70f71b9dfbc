// `phi te`.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "phi/cli/testing_phi.h"
#include "phi/measures/testing_jidt.h"

namespace reveza::phi {
namespace te_test {

using platform::Ran;

std::string JidtFile(bool symbols) {
  std::string text = "a,b,c\n";
  for (const auto& [first, second, third] : kJidtSeries) {
    if (symbols) {
      text += fmt::format("{:d},{:d},{:d}\n", first > 0, second > 0, third > 0);
    } else {
      text += fmt::format("{},{},{}\n", first, second, third);
    }
  }
  return text;
}

// The options of "0,1|2|" are --source a,b --target c.
std::string SetsOf(std::string_view text) {
  std::string options = "--source ";
  for (const char letter : text) {
    if (letter != '|') {
      options += letter == ',' ? ',' : static_cast<char>('a' + (letter - '0'));
    } else if (options.find("--target") == std::string::npos) {
      options += " --target ";
    } else if (!text.ends_with('|')) {
      options += " --given ";
    }
  }
  return options;
}

TEST_F(PhiTest, TeMatchesJidt) {
  Write("values.csv", JidtFile(false));
  Write("symbols.csv", JidtFile(true));
  for (const JidtValue& expected : kJidtValues) {
    const bool discrete = expected.estimator == "discrete";
    const Ran ran = Phi(fmt::format(
        "te {}.csv --estimator {} {} -k {} -l {} -u {} --theiler {} --json",
        discrete ? "symbols" : "values", expected.estimator, SetsOf(expected.columns),
        expected.target_history, expected.source_history, expected.delay, expected.window));
    ASSERT_EQ(ran.status, kDone) << ran.output;
    const auto json = nlohmann::json::parse(ran.output);
    ASSERT_EQ(json["pairs"].size(), 1U);
    EXPECT_NEAR(json["pairs"][0]["nats"].get<double>(), expected.nats, 1e-10)
        << expected.estimator << " " << expected.columns;
    EXPECT_EQ(json["pairs"][0]["p"].is_null(), expected.estimator != "gauss");
  }
}

TEST_F(PhiTest, TeAdjustsPOfAllPairs) {
  Write("values.csv", JidtFile(false));
  const auto json = nlohmann::json::parse(Phi("te values.csv --estimator gauss --json").output);
  ASSERT_EQ(json["pairs"].size(), 6U);
  double least = 1.0;
  for (const auto& pair : json["pairs"]) {
    EXPECT_GE(pair["q"].get<double>(), pair["p"].get<double>());
    least = std::min(least, pair["p"].get<double>());
  }
  EXPECT_NEAR(json["pairs"][0]["q"].get<double>(), 6 * least, 1e-15);
  const auto discrete = nlohmann::json::parse(
      Phi("te values.csv --bins 2 --surrogates 19 --given all --json").output);
  for (const auto& pair : discrete["pairs"]) {
    EXPECT_EQ(pair["given"].get<std::string>().size(), 1U);
    EXPECT_GE(pair["q"].get<double>(), pair["p"].get<double>());
  }
}

TEST_F(PhiTest, TeConditionsOnWhatIsGiven) {
  Write("values.csv", JidtFile(false));
  const Ran ran = Phi("te values.csv --estimator ksg --given b --csv");
  EXPECT_EQ(std::ranges::count(ran.output, '\n'), 3) << ran.output;
  EXPECT_NE(ran.output.find("\na,c,b,-0.03"), std::string::npos) << ran.output;
  const std::string text = Phi("te values.csv --estimator gauss --given all").output;
  EXPECT_NE(text.find("given"), std::string::npos) << text;
  EXPECT_NE(text.find("q: p adjusted"), std::string::npos) << text;
  EXPECT_EQ(Phi("te values.csv").output.find("given"), std::string::npos);
  const std::string threads = "te values.csv --estimator ksg --surrogates 9 --threads ";
  EXPECT_EQ(Phi(threads + "1"), Phi(threads + "3"));
}

TEST_F(PhiTest, TeTakesTrials) {
  std::string text = "a,b,trial\n";
  for (std::size_t row = 0; row < kJidtSeries.size(); ++row) {
    text += fmt::format("{},{},{}\n", kJidtSeries[row][0], kJidtSeries[row][1], row / 100);
  }
  Write("trials.csv", text);
  for (const std::string_view estimator : {"discrete", "gauss", "ksg"}) {
    const auto json = nlohmann::json::parse(
        Phi(fmt::format("te trials.csv --trials trial --estimator {} -u 3 --json", estimator))
            .output);
    EXPECT_EQ(json["pairs"][0]["samples"], 200 - 2 * 3);
  }
}

TEST_F(PhiTest, TePermutesTrialsWhereThereAreFive) {
  std::string text = "a,b,trial\n";
  for (std::size_t row = 0; row < kJidtSeries.size(); ++row) {
    text += fmt::format("{},{},{}\n", kJidtSeries[row][0], kJidtSeries[row][1], row / 40);
  }
  Write("trials.csv", text);
  const auto surrogate = [&](const std::string& arguments) {
    const Ran ran = Phi("te trials.csv --surrogates 9 --json " + arguments);
    EXPECT_EQ(ran.status, kDone) << ran.output;
    return nlohmann::json::parse(ran.output)["surrogate"];
  };
  EXPECT_EQ(surrogate("--trials trial"), "trials");
  EXPECT_EQ(surrogate("--trials trial --estimator gauss"), "trials");
  EXPECT_EQ(surrogate("--columns a,b"), "shift");
  // Gaps do not make trials of one recording.
  for (int gap = 0; gap < 6; ++gap) {
    std::size_t line = 0;
    for (int i = 0; i < 10 + 20 * gap; ++i) line = text.find('\n', line) + 1;
    text.insert(line, "1,,0\n");
  }
  Write("trials.csv", text);
  EXPECT_EQ(surrogate("--columns a,b --missing drop --estimator gauss"), "shift");
  EXPECT_EQ(surrogate("--trials trial --missing drop"), "shift");
}

TEST_F(PhiTest, TeDropsMissingRowsAndPairsNothingAcross) {
  std::string text = "a,b\n";
  for (std::size_t row = 0; row < kJidtSeries.size(); ++row) {
    text += row == 100 ? ",0\n" : fmt::format("{},{}\n", kJidtSeries[row][0], kJidtSeries[row][1]);
  }
  Write("gap.csv", text);
  ExpectError("te gap.csv --estimator gauss", kUsage, "line 102: 'a' is nan; --missing drop");
  for (const std::string estimator : {"discrete", "gauss"}) {
    const auto json = nlohmann::json::parse(
        Phi("te gap.csv --missing drop --json --estimator " + estimator).output);
    EXPECT_EQ(json["rows_dropped"], 1);
    EXPECT_EQ(json["pairs"][0]["samples"], 199 - 2);
  }
}

TEST_F(PhiTest, TeSaysWhereCorrectedValuesDoNotHold) {
  std::mt19937_64 engine(3);
  std::normal_distribution<double> normal;
  std::string text = "a,b\n";
  double now = 0.0;
  double last = 0.0;
  for (int t = 0; t < 400; ++t) {
    const double next = 1.5 * now - 0.9 * last + normal(engine);
    last = now;
    now = next;
    text += fmt::format("{},{}\n", normal(engine), now);
  }
  Write("waves.csv", text);
  for (const std::string estimator : {"gauss", "discrete"}) {
    const std::string arguments = "te waves.csv --estimator " + estimator + " -k ";
    EXPECT_NE(Phi(arguments + "1").output.find("do not use those to b, which does"),
              std::string::npos);
    const auto json = nlohmann::json::parse(Phi(arguments + "1 --json").output);
    EXPECT_EQ(json["pairs"][0]["histories_suffice"], false);
    EXPECT_EQ(json["pairs"][1]["histories_suffice"], true);
    EXPECT_NE(json["corrected_note"].get<std::string>().find("to b,"), std::string::npos) << json;
    const std::string csv = Phi(arguments + "1 --csv").output;
    EXPECT_NE(csv.find(",no\nb,a,"), std::string::npos) << csv;
    const std::string longer = Phi(arguments + "2").output;
    EXPECT_EQ(longer.find("do not use"), std::string::npos) << longer;
    EXPECT_NE(longer.find("no more of its past"), std::string::npos) << longer;
  }
  EXPECT_EQ(Phi("te waves.csv --estimator ksg").output.find("corrected"), std::string::npos);
}

TEST_F(PhiTest, TeQuotesNamesInCsv) {
  std::string text = "\"x\"\"y\",\"a,b\"\n";
  for (const auto& row : kJidtSeries) text += fmt::format("{},{}\n", row[0], row[1]);
  Write("names.csv", text);
  const std::string csv = Phi("te names.csv --csv").output;
  EXPECT_NE(csv.find("\n\"x\"\"y\",\"a,b\",,"), std::string::npos) << csv;
  EXPECT_NE(csv.find("\n\"a,b\",\"x\"\"y\",,"), std::string::npos) << csv;
  const auto json = nlohmann::json::parse(Phi("te names.csv --json").output);
  EXPECT_EQ(json["pairs"][0]["from"], "x\"y");
}

TEST_F(PhiTest, TePrintsNamesOfOtherEncodings) {
  std::string text = "caf\xe9,b\n";
  for (const auto& row : kJidtSeries) text += fmt::format("{},{}\n", row[0], row[1]);
  Write("latin.csv", text);
  const Ran ran = Phi("te latin.csv --json");
  EXPECT_EQ(ran.status, kDone) << ran.output;
  EXPECT_EQ(nlohmann::json::parse(ran.output)["pairs"][0]["from"], "caf\ufffd");
}

TEST_F(PhiTest, TeReportsInvalidInput) {
  Write("values.csv", JidtFile(false));
  Write("symbols.csv", JidtFile(true));
  ExpectError("te values.csv --estimator kernel", kUsage, "--estimator");
  ExpectError("te values.csv --source a", kUsage, "--target");
  ExpectError("te values.csv --source a --target e", kUsage, "no column 'e'");
  ExpectError("te values.csv --estimator gauss --source a --target a", kUsage, "used twice");
  ExpectError("te values.csv --source a --target a", kUsage, "used twice");
  ExpectError("te values.csv --given a,b", kUsage, "--given leaves fewer than two");
  ExpectError("te values.csv --estimator ksg --theiler -1", kUsage, "--theiler");
  ExpectError("te symbols.csv --estimator ksg", kUsage, "coincides");
  std::string silent = "n1,n2,n3\n";
  for (const auto& row : kJidtSeries) silent += fmt::format("{},{},0\n", row[0], row[1]);
  Write("silent.csv", silent);
  for (const std::string estimator : {"discrete", "gauss"}) {
    ExpectError("te silent.csv --estimator " + estimator, kUsage, "'n3'");
    ExpectError("te silent.csv --estimator " + estimator, kUsage, "with --columns");
    const Ran ran = Phi("te silent.csv --columns n1,n2 --estimator " + estimator);
    EXPECT_EQ(ran.status, kDone) << ran.output;
  }
}

}  // namespace te_test
}  // namespace reveza::phi
