// `fraudgen stream` as people meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exit_status.h"
#include "testing_fraudgen.h"

namespace reveza::fraudgen {
namespace {

using nlohmann::json;

class FraudgenStreamTest : public FraudgenTest {
 protected:
  // What goes to standard error, while the events go where the arguments say.
  Ran StandardErrorOf(const std::string& arguments, const std::string& before = "") const {
    return Fraudgen("stream " + arguments + ")", before + " ( env --default-signal=INT,TERM");
  }
};

TEST_F(FraudgenStreamTest, ItIsTheRowsOfTheFilesInOrderOfTime) {
  ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output data").status, kDone);
  const Ran stream = Fraudgen("stream --target stdout --rows 3000 --pace max --quiet");
  EXPECT_EQ(stream.status, kDone);
  EXPECT_TRUE(stream.output == Contents("data").at("transactions_00000.jsonl"));
  const Ran part = Fraudgen("stream -t stdout --rows 3000 --rate 100000 -n 7 --quiet");
  EXPECT_EQ(std::ranges::count(part.output, '\n'), 7);
  EXPECT_TRUE(stream.output.starts_with(part.output));
}

// The rows of the files, though those are in no order.
TEST_F(FraudgenStreamTest, TheClassicModelHasATimelineToo) {
  for (const std::string table : {"transactions", "rides"}) {
    const std::string what = " --model classic --rows 3000 --type " + table;
    ASSERT_EQ(Fraudgen("--quiet --output " + table + what).status, kDone);
    const Ran stream = Fraudgen("stream --target stdout --pace max --quiet" + what);
    EXPECT_EQ(stream.status, kDone);
    const auto lines_of = [](const std::string& text) {
      std::vector<std::string> lines;
      std::istringstream in(text);
      for (std::string line; std::getline(in, line);) lines.push_back(line);
      return lines;
    };
    std::vector<std::string> wanted = lines_of(Contents(table).at(table + "_00000.jsonl"));
    ASSERT_EQ(wanted.size(), 3000u);
    // A file has its rows in the order of their identifiers.
    std::ranges::stable_sort(wanted, {}, [](const std::string& line) {
      return json::parse(line)["timestamp"].get<std::string>();
    });
    EXPECT_TRUE(lines_of(stream.output) == wanted) << table;
  }
}

TEST_F(FraudgenStreamTest, SaysOnStandardErrorHowItWent) {
  const Ran ran = StandardErrorOf("-t stdout --rows 3000 --pace max --json > events");
  const json summary = json::parse(ran.output);
  EXPECT_EQ(summary["events"], 3000);
  EXPECT_EQ(summary["confirmed"], 3000);
  EXPECT_EQ(summary["bytes"], std::filesystem::file_size(place_ / "events"));
  EXPECT_EQ(summary["whole"], true);
  const Ran head = Fraudgen("stream -t stdout --rows 3000 --pace max --quiet | head -n 2)", "(");
  EXPECT_EQ(head.status, kDone);
  EXPECT_EQ(std::ranges::count(head.output, '\n'), 2);
}

// A shell lets what it starts in the background ignore SIGINT, unless told otherwise.
TEST_F(FraudgenStreamTest, SignalsEndItWithASummary) {
  for (const auto& [signal, status] : {std::pair{"INT", kInterrupted}, {"TERM", kTerminated}}) {
    const Ran ran = StandardErrorOf(
        std::string("-t stdout --rows 3000 --rate 5 -n 200 > events & ") +
            "while [ ! -s events ]; do sleep 0.05; done; kill -" + signal + " $!; wait $!",
        "rm -f events;");
    EXPECT_EQ(ran.status, status) << ran.output;
    EXPECT_NE(ran.output.find(" event"), std::string::npos) << ran.output;
    EXPECT_EQ(std::ranges::count(ran.output, '\n'), 1) << ran.output;
  }
}

TEST_F(FraudgenStreamTest, WrongStreams) {
  const std::string out = " --target stdout";
  ExpectError("stream", kUsage, "--target is required");
  ExpectError("stream --target somewhere", kUsage, "--target: 'somewhere' is not right; write ");
  ExpectError("stream --rate 5 --pace max" + out, kUsage, "leave one of them");
  ExpectError("stream --rate 0" + out, kUsage, "--rate: '0' is not right; write events a second");
  ExpectError("stream --pace 60" + out, kUsage, "--pace: '60' is not right; write real, max, or");
  ExpectError("stream --max-events many" + out, kUsage, "--max-events");
  ExpectError("stream --type all --model classic" + out, kUsage, "a stream is of one table");
  ExpectError("stream --format csv" + out, kUsage, "events are lines of JSON");
  ExpectError("stream --shard 1/2" + out, kUsage, "a stream is whole");
  ExpectError("stream --pace max --rows 900000000000" + out, kUsage, "at most 4,000,000,000 rows");
  const Ran full = StandardErrorOf("--pace max --rows 3000 --quiet > /dev/full" + out);
  EXPECT_EQ(full.status, kNoRoom);
  EXPECT_TRUE(full.output.starts_with("fraudgen: could not write to standard output: "))
      << full.output;
}

TEST_F(FraudgenStreamTest, WrongTargets) {
  const std::string hook = " --target webhook --webhook-url http://localhost:9/";
  ExpectError("stream --pretty" + hook, kUsage, "--pretty is for --target stdout");
  ExpectError("stream --target webhook", kUsage, "needs --webhook-url");
  ExpectError("stream --webhook-method GET" + hook, kUsage, "write POST, PUT or PATCH");
  ExpectError("stream --webhook-batch 0" + hook, kUsage, "write a number from 1 to 1000");
  ExpectError("stream --webhook-header secret" + hook, kUsage, "Authorization: Bearer x");
  ExpectError("stream --target webhook --webhook-url localhost", kUsage, "http://localhost:8080/");
  ExpectError("stream --target kafka --kafka-key month", kUsage, "write customer, event or none");
  ExpectError("stream --target kafka --kafka-option lz4", kUsage, "write NAME=VALUE");
}

}  // namespace
}  // namespace reveza::fraudgen
