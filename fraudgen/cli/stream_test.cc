// Tests of `fraudgen stream` as a program.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace stream_test {

using json = nlohmann::ordered_json;  // whose first member is the identifier

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class FraudgenStreamTest : public FraudgenTest {
 protected:
  // Returns standard error; the arguments redirect standard output.
  Ran StandardErrorOf(const std::string& arguments, const std::string& before = "") const {
    return Fraudgen("stream " + arguments + ")", before + " ( env --default-signal=INT,TERM");
  }
};

TEST_F(FraudgenStreamTest, StreamsRowsOfFilesInOrder) {
  ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output data").status, kDone);
  const Ran stream = Fraudgen("stream --target stdout --rows 3000 --pace max --quiet");
  EXPECT_EQ(stream.status, kDone);
  EXPECT_TRUE(stream.output == Contents("data").at("transactions/part-00000.jsonl"));
  const Ran part = Fraudgen("stream -t stdout --rows 3000 --rate 100000 -n 7 --quiet");
  EXPECT_EQ(std::ranges::count(part.output, '\n'), 7);
  EXPECT_TRUE(stream.output.starts_with(part.output));
}

// Files of the classic model are not in order of time.
TEST_F(FraudgenStreamTest, SortsRowsOfClassicModel) {
  for (const std::string table : {"transactions", "rides"}) {
    const std::string what = " --model classic --rows 3000 --type " + table;
    ASSERT_EQ(Fraudgen("--quiet --output " + table + what).status, kDone);
    const Ran stream = Fraudgen("stream --target stdout --pace max --quiet" + what);
    EXPECT_EQ(stream.status, kDone);
    std::vector<std::string> wanted = Lines(Contents(table).at(table + "/part-00000.jsonl"));
    ASSERT_EQ(wanted.size(), 3000u);
    // By time, then by identifier.
    std::ranges::sort(wanted, {}, [](const std::string& line) {
      const json row = json::parse(line);
      return std::pair(row["timestamp"].get<std::string>(), row.front().get<std::string>());
    });
    EXPECT_TRUE(Lines(stream.output) == wanted) << table;
  }
}

// With a single block, stream and answer key are identical to the files.
TEST_F(FraudgenStreamTest, HasSameDefectsAsFiles) {
  const std::string what =
      " --rows 3000 --quiet --defects late=0.1,duplicate,outoforder,null,schema";
  ASSERT_EQ(Fraudgen("--output data" + what).status, kDone);
  const Ran stream = Fraudgen("stream -t stdout --pace max --defects-key key" + what);
  EXPECT_EQ(stream.status, kDone);
  const auto files = Contents("data");
  EXPECT_TRUE(stream.output == files.at("transactions/part-00000.jsonl"));
  EXPECT_TRUE(Contents(".").at("key") == files.at("defects/part-00000.jsonl"));
}

// Repairs the events using the answer key.
std::vector<std::string> Repaired(std::vector<std::string> events, const std::vector<json>& key) {
  std::map<std::size_t, std::string> moved;
  for (const json& defect : key) {
    const std::size_t place = defect["position"].get<std::size_t>() - 1;
    EXPECT_EQ(json::parse(events.at(place)).front(), defect["row_id"]);
    const std::string kind = defect["kind"];
    if (kind == "late" || kind == "outoforder") {
      moved[defect["original_position"].get<std::size_t>() - 1] = events[place];
    }
    if (kind != "null" && kind != "schema") events[place].clear();
  }
  std::erase(events, "");
  for (const auto& [place, event] : moved) {
    events.insert(events.begin() + static_cast<std::ptrdiff_t>(place), event);
  }
  return events;
}

// Three merged blocks, and the classic model.
TEST_F(FraudgenStreamTest, AnswerKeyDescribesAllDefects) {
  for (const std::string what :
       {"--customers 3000 --start-date 2025-01-01 --end-date 2025-01-05",
        "--model classic --rows 5000", "--model classic --rows 5000 --type rides"}) {
    const std::string stream = "stream -t stdout --pace max --quiet " + what;
    const std::string broken = stream + " --defects late,duplicate,outoforder,null,schema";
    const std::vector<std::string> sound = Lines(Fraudgen(stream).output);
    ASSERT_GT(sound.size(), 4'000u);
    const Ran ran = Fraudgen(broken + " --threads 1 --defects-key key");
    EXPECT_TRUE(Fraudgen(broken + " --threads 3 --defects-key key3").output == ran.output) << what;
    EXPECT_TRUE(Contents(".").at("key") == Contents(".").at("key3")) << what;
    std::vector<json> key;
    for (const std::string& line : Lines(Contents(".").at("key"))) key.push_back(json::parse(line));
    EXPECT_GT(key.size(), sound.size() / 25) << "five kinds, 1 % each";
    const std::vector<std::string> repaired = Repaired(Lines(ran.output), key);
    ASSERT_EQ(repaired.size(), sound.size());
    std::map<std::string, json> damaged;
    for (const json& defect : key) {
      if (defect["column_name"].is_string()) damaged[defect["row_id"]] = defect;
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < sound.size(); ++i) {
      const std::string id = json::parse(sound[i]).front();
      EXPECT_EQ(json::parse(repaired[i]).front(), id) << what << " row " << i;
      EXPECT_EQ(repaired[i] != sound[i], damaged.contains(id)) << repaired[i];
      if (repaired[i] != sound[i]) ++different;
    }
    EXPECT_EQ(different, damaged.size());
  }
}

TEST_F(FraudgenStreamTest, AnswerKeyEndsWithTheEvents) {
  const std::string what = "stream -t stdout --rows 3000 --pace max --defects duplicate --quiet";
  EXPECT_EQ(Fraudgen(what + " -n 700 --defects-key part").status, kDone);
  EXPECT_EQ(Fraudgen(what + " --defects-key all").status, kDone);
  const auto files = Contents(".");
  EXPECT_TRUE(files.at("all").starts_with(files.at("part")));
  EXPECT_LE(json::parse(Lines(files.at("part")).back())["position"], 700);
  EXPECT_GT(json::parse(Lines(files.at("all")).back())["position"], 700);
}

TEST_F(FraudgenStreamTest, StreamsGrowingData) {
  const std::string days = " --start-date 2025-01-01 --end-date 2025-01-";
  const std::string stream = "stream -t stdout --pace max --quiet --customers 1000" + days;
  const Ran week = Fraudgen(stream + "07");
  EXPECT_EQ(week.status, kDone);
  EXPECT_TRUE(Fraudgen(stream + "09").output.starts_with(week.output))
      << "a later end date appends";
  ASSERT_EQ(Fraudgen("--quiet --output data --customers 1000" + days + "07").status, kDone);
  EXPECT_TRUE(week.output == Contents("data").at("transactions/part-00000.jsonl"));
}

TEST_F(FraudgenStreamTest, PrintsSummaryToStandardError) {
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

// Shells start background jobs with SIGINT ignored.
TEST_F(FraudgenStreamTest, SignalsStopWithSummary) {
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

TEST_F(FraudgenStreamTest, RejectsInvalidOptions) {
  const std::string out = " --target stdout";
  ExpectError("stream", kUsage, "--target is required");
  ExpectError("stream --target somewhere", kUsage, "--target: 'somewhere' is invalid");
  ExpectError("stream --rate 5 --pace max" + out, kUsage, "exclude each other");
  ExpectError("stream --rate 0" + out, kUsage, "--rate: '0' is invalid");
  ExpectError("stream --pace 60" + out, kUsage, "--pace: '60' is invalid; expected real, max");
  ExpectError("stream --max-events many" + out, kUsage, "--max-events");
  ExpectError("stream --max-events=-1" + out, kUsage, "--max-events: -1 is invalid");
  ExpectError("stream --output data" + out, kUsage, "--output applies to files");
  ExpectError("stream --partition year" + out, kUsage, "--partition applies to files");
  ExpectError("stream --type all --model classic" + out, kUsage, "a stream has one table");
  ExpectError("stream --format csv" + out, kUsage, "--format does not apply");
  ExpectError("stream --shard 1/2" + out, kUsage, "--shard does not apply");
  ExpectError("stream --pace max --rows 900000000000" + out, kUsage, "at most 4000000000 rows");
  ExpectError("stream --defects null --pace max" + out, kUsage, "--defects requires --defects-key");
  ExpectError("stream --defects-key key" + out, kUsage, "--defects-key requires --defects");
  ExpectError("stream --rows 3000 --defects null --defects-key no/key" + out, kOutput,
              "--defects-key: could not write no/key: No such file");
  const Ran full = StandardErrorOf("--pace max --rows 3000 --quiet > /dev/full" + out);
  EXPECT_EQ(full.status, kNoRoom);
  EXPECT_TRUE(full.output.starts_with("fraudgen: cannot write to standard output: "))
      << full.output;
}

TEST_F(FraudgenStreamTest, RejectsInvalidTargetOptions) {
  const std::string hook = " --target webhook --webhook-url http://localhost:9/";
  ExpectError("stream --pretty" + hook, kUsage, "--pretty requires --target stdout");
  ExpectError("stream --target webhook", kUsage, "requires --webhook-url");
  ExpectError("stream --webhook-method GET" + hook, kUsage, "expected POST, PUT or PATCH");
  ExpectError("stream --webhook-batch 0" + hook, kUsage, "expected 1 to 1000");
  ExpectError("stream --webhook-batch=-1" + hook, kUsage, "--webhook-batch: -1 is invalid");
  ExpectError("stream --webhook-header secret" + hook, kUsage, "Authorization: Bearer x");
  ExpectError("stream --target webhook --webhook-url localhost", kUsage, "http://localhost:8080/");
  ExpectError("stream --target kafka --kafka-key month", kUsage,
              "expected customer, event or none");
  ExpectError("stream --target kafka --kafka-option lz4", kUsage, "expected NAME=VALUE");
}

}  // namespace stream_test
}  // namespace reveza::fraudgen::cli
