// `fraudgen stream` as people meet it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "exit_status.h"
#include "testing_fraudgen.h"

namespace reveza::fraudgen {
namespace {

using json = nlohmann::ordered_json;  // whose first member is the identifier

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

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
    std::vector<std::string> wanted = Lines(Contents(table).at(table + "_00000.jsonl"));
    ASSERT_EQ(wanted.size(), 3000u);
    // By time and, where that is equal, by identifier.
    std::ranges::sort(wanted, {}, [](const std::string& line) {
      const json row = json::parse(line);
      return std::pair(row["timestamp"].get<std::string>(), row.front().get<std::string>());
    });
    EXPECT_TRUE(Lines(stream.output) == wanted) << table;
  }
}

// Of one block a stream is broken as its files are, byte for byte, and so is the answer key.
TEST_F(FraudgenStreamTest, DefectsAreThoseOfTheFiles) {
  const std::string what =
      " --rows 3000 --quiet --defects late=0.1,duplicate,outoforder,null,schema";
  ASSERT_EQ(Fraudgen("--output data" + what).status, kDone);
  const Ran stream = Fraudgen("stream -t stdout --pace max --defects-key key" + what);
  EXPECT_EQ(stream.status, kDone);
  const auto files = Contents("data");
  EXPECT_TRUE(stream.output == files.at("transactions_00000.jsonl"));
  EXPECT_TRUE(Contents(".").at("key") == files.at("defects_00000.jsonl"));
}

// Undoes what the key says.
std::vector<std::string> Mended(std::vector<std::string> events, const std::vector<json>& key) {
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

// Three blocks side by side, of which each has its own timeline; and the other model, whose rows
// are in no order.
TEST_F(FraudgenStreamTest, TheKeyUndoesTheDefectsOfAnyStream) {
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
    EXPECT_GT(key.size(), sound.size() / 25) << "five kinds, a hundredth each";
    const std::vector<std::string> mended = Mended(Lines(ran.output), key);
    ASSERT_EQ(mended.size(), sound.size());
    std::map<std::string, json> damaged;
    for (const json& defect : key) {
      if (defect["column_name"].is_string()) damaged[defect["row_id"]] = defect;
    }
    std::size_t different = 0;
    for (std::size_t i = 0; i < sound.size(); ++i) {
      const std::string id = json::parse(sound[i]).front();
      EXPECT_EQ(json::parse(mended[i]).front(), id) << what << " row " << i;
      EXPECT_EQ(mended[i] != sound[i], damaged.contains(id)) << mended[i];
      if (mended[i] != sound[i]) ++different;
    }
    EXPECT_EQ(different, damaged.size());
  }
}

TEST_F(FraudgenStreamTest, TheKeyEndsWithTheEvents) {
  const std::string what = "stream -t stdout --rows 3000 --pace max --defects duplicate --quiet";
  EXPECT_EQ(Fraudgen(what + " -n 700 --defects-key part").status, kDone);
  EXPECT_EQ(Fraudgen(what + " --defects-key all").status, kDone);
  const auto files = Contents(".");
  EXPECT_TRUE(files.at("all").starts_with(files.at("part")));
  EXPECT_LE(json::parse(Lines(files.at("part")).back())["position"], 700);
  EXPECT_GT(json::parse(Lines(files.at("all")).back())["position"], 700);
}

TEST_F(FraudgenStreamTest, CustomersAloneSayHowMuch) {
  const std::string days = " --start-date 2025-01-01 --end-date 2025-01-";
  const std::string stream = "stream -t stdout --pace max --quiet --customers 1000" + days;
  const Ran week = Fraudgen(stream + "07");
  EXPECT_EQ(week.status, kDone);
  EXPECT_TRUE(Fraudgen(stream + "09").output.starts_with(week.output)) << "a later end appends";
  ASSERT_EQ(Fraudgen("--quiet --output data --customers 1000" + days + "07").status, kDone);
  EXPECT_TRUE(week.output == Contents("data").at("transactions_00000.jsonl"));
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
  ExpectError("stream --max-events=-1" + out, kUsage, "--max-events: -1 is not right");
  ExpectError("stream --output data" + out, kUsage, "--output is for files; a stream goes to its");
  ExpectError("stream --partition year" + out, kUsage, "--partition is for files");
  ExpectError("stream --type all --model classic" + out, kUsage, "a stream is of one table");
  ExpectError("stream --format csv" + out, kUsage, "events are lines of JSON");
  ExpectError("stream --shard 1/2" + out, kUsage, "a stream is whole");
  ExpectError("stream --pace max --rows 900000000000" + out, kUsage, "at most 4,000,000,000 rows");
  ExpectError("stream --defects null --pace max" + out, kUsage, "--defects needs --defects-key");
  ExpectError("stream --defects-key key" + out, kUsage, "--defects-key is for --defects");
  ExpectError("stream --rows 3000 --defects null --defects-key no/key" + out, kOutput,
              "--defects-key: could not write no/key: No such file");
  const Ran full = StandardErrorOf("--pace max --rows 3000 --quiet > /dev/full" + out);
  EXPECT_EQ(full.status, kNoRoom);
  EXPECT_TRUE(full.output.starts_with("fraudgen: cannot write to standard output: "))
      << full.output;
}

TEST_F(FraudgenStreamTest, WrongTargets) {
  const std::string hook = " --target webhook --webhook-url http://localhost:9/";
  ExpectError("stream --pretty" + hook, kUsage, "--pretty is for --target stdout");
  ExpectError("stream --target webhook", kUsage, "needs --webhook-url");
  ExpectError("stream --webhook-method GET" + hook, kUsage, "write POST, PUT or PATCH");
  ExpectError("stream --webhook-batch 0" + hook, kUsage, "write a number from 1 to 1000");
  ExpectError("stream --webhook-batch=-1" + hook, kUsage, "--webhook-batch: -1 is not right");
  ExpectError("stream --webhook-header secret" + hook, kUsage, "Authorization: Bearer x");
  ExpectError("stream --target webhook --webhook-url localhost", kUsage, "http://localhost:8080/");
  ExpectError("stream --target kafka --kafka-key month", kUsage, "write customer, event or none");
  ExpectError("stream --target kafka --kafka-option lz4", kUsage, "write NAME=VALUE");
}

}  // namespace
}  // namespace reveza::fraudgen
