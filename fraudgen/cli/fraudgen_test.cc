// Tests of `fraudgen` as a program: output, errors and exit statuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "fraudgen/cli/commands.h"
#include "fraudgen/cli/testing_fraudgen.h"

namespace reveza::fraudgen::cli {
namespace fraudgen_test {

using nlohmann::json;
using platform::Ran;

TEST_F(FraudgenTest, AllCommandsHaveHelp) {
  for (const char* command : {"", "plan", "sample", "config", "schema", "version", "check",
                              "stream", "report", "bench", "demo"}) {
    const Ran ran = Fraudgen(std::string(command) + " --help");
    EXPECT_EQ(ran.status, kDone) << command;
    EXPECT_NE(ran.output.find("Usage: "), std::string::npos) << ran.output;
  }
  const Ran ran = Fraudgen("--help");
  for (const char* option :
       {"-t,", "-s,", "-o,", "-f,", "-r,", "-w,", "-c,", "-v,", "--seed", "--start-date",
        "--end-date", "--no-profiles", "--compression", "total bytes", "--shard"}) {
    EXPECT_NE(ran.output.find(option), std::string::npos) << option;
  }
}

TEST_F(FraudgenTest, CheckValidatesDataSets) {
  for (const char* model : {"classic", "coherent"}) {
    const std::string folder = model;
    ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output " + folder + " --model " + model).status,
              kDone);
    const Ran fine = Fraudgen("check " + folder);
    EXPECT_EQ(fine.status, kDone) << fine.output;
    EXPECT_NE(fine.output.find(" checks passed"), std::string::npos);
    EXPECT_EQ(Fraudgen("check --quiet " + folder).output, "");

    std::filesystem::remove(place_ / folder / "_fraudgen/manifest.json");
    const Ran wrong = Fraudgen("check --quiet " + folder);
    EXPECT_EQ(wrong.status, kFindings);
    EXPECT_TRUE(wrong.output.starts_with("FAILED   manifests: ")) << wrong.output;
    EXPECT_EQ(std::ranges::count(wrong.output, '\n'), 1);
    const json all = json::parse(Fraudgen("check --json --quiet " + folder).output);
    EXPECT_EQ(all["findings"], 1);
    EXPECT_GT(all["checks"].size(), 8u);
    EXPECT_TRUE(all["files"].empty());
  }
  ExpectError("check nothing", kUnreadable, "could not read the folder nothing");
  place_.Write("empty/file", "");
  ExpectError("check empty", kUnreadable, "not a fraudgen data set");
  ExpectError("check", kUsage, "PLACE");
  ExpectError("check nothing --sql", kUsage, "PLACE");
  ExpectError("check nothing --model classic", kUsage, "--model has no effect on check");
  ExpectError("check --sql --seed 2", kUsage, "--seed has no effect on check --sql");
  ExpectError("check nothing --s3-region here", kUsage, "require s3://bucket/prefix");
}

TEST_F(FraudgenTest, CheckNamesWrongValues) {
  ASSERT_EQ(Fraudgen("--rows 3000 --quiet --output data").status, kDone);
  const auto file = place_ / "data/transactions/part-00000.jsonl";
  std::string text;
  {
    std::ifstream stream(file);
    text.assign(std::istreambuf_iterator<char>(stream), {});
  }
  const std::string approved = "\"status\":\"APPROVED\"";
  text.replace(text.find(approved), approved.size(), "\"status\":\"BLOCKED\"");
  std::ofstream(file, std::ios::trunc) << text;
  const Ran wrong = Fraudgen("check --quiet data");
  EXPECT_EQ(wrong.status, kFindings);
  EXPECT_NE(wrong.output.find(", status: \"BLOCKED\", should be \"APPROVED\""), std::string::npos)
      << wrong.output;
  const json all = json::parse(Fraudgen("check --json --quiet data").output);
  ASSERT_EQ(all["files"].size(), 1u);
  EXPECT_EQ(all["files"][0]["file"], "transactions/part-00000.jsonl");
  EXPECT_EQ(all["files"][0]["count"], 1);
  EXPECT_EQ(all["files"][0]["first"][0]["column"], "status");
}

TEST_F(FraudgenTest, CheckComparesTheFilesOfEachShard) {
  const std::string rows = "--rows 130000 --customers 500 --format csv --quiet --output data";
  ASSERT_EQ(Fraudgen(rows + " --shard 2/2").status, kDone);
  const Ran half = Fraudgen("check --quiet data");
  EXPECT_EQ(half.status, kFindings);
  EXPECT_EQ(std::ranges::count(half.output, '\n'), 1) << half.output;
  EXPECT_NE(half.output.find("manifest.json is missing"), std::string::npos) << half.output;
  ASSERT_EQ(Fraudgen(rows + " --shard 1/2").status, kDone);
  EXPECT_EQ(Fraudgen("check --quiet data"), (Ran{.status = kDone, .output = ""}));
}

TEST_F(FraudgenTest, ListsAndPrintsScenarios) {
  const Ran list = Fraudgen("scenarios");
  EXPECT_EQ(list.status, kDone);
  EXPECT_NE(list.output.find("CADEIA_DIVIDIDA"), std::string::npos);
  const Ran one = Fraudgen("scenarios PHISHING");
  EXPECT_EQ(one.status, kDone);
  EXPECT_TRUE(one.output.starts_with("# ")) << one.output;
  ExpectError("scenarios PHISCHING", kUsage, "did you mean 'PHISHING'?");
}

TEST_F(FraudgenTest, ResumesAfterFullDisk) {
  const std::string command =
      "--model classic --rows 20000 --format csv --file-rows 5000 --quiet --output ";
  ASSERT_EQ(Fraudgen(command + "whole").status, kDone);
  ExpectError(command + "data", kNoRoom, "data/transactions", "trap \"\" XFSZ; ulimit -f 1000;");
  for (const auto& [name, content] : Contents("data")) EXPECT_FALSE(name.ends_with(".partial"));
  const Ran again = Fraudgen(command + "data");
  ASSERT_EQ(again.status, kDone) << again.output;
  EXPECT_EQ(Contents("data"), Contents("whole"));
}

TEST_F(FraudgenTest, WritesFilesAndSummary) {
  const Ran ran = Fraudgen("--rows 3000 --json --output data");
  ASSERT_EQ(ran.status, kDone) << ran.output;
  const json summary = json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(summary.is_object()) << ran.output;
  EXPECT_EQ(summary["complete"], true);
  EXPECT_EQ(summary["tables"]["transactions"]["rows"], 3000);
  EXPECT_EQ(summary["tables"]["customers"]["rows"], 1000);
  const auto contents = Contents("data");
  for (const char* name :
       {"transactions/part-00000.jsonl", "customers/part-00000.jsonl", "devices/part-00000.jsonl",
        "_fraudgen/manifest-transactions.part-00000.jsonl.json", "_fraudgen/manifest.json",
        "_fraudgen/fraudgen.toml"}) {
    EXPECT_TRUE(contents.contains(name)) << name;
  }
  EXPECT_EQ(std::ranges::count(contents.at("transactions/part-00000.jsonl"), '\n'), 3000);
  const Ran again = Fraudgen("--rows 3000 --output data");
  EXPECT_NE(again.output.find("already existed"), std::string::npos) << again.output;
  EXPECT_EQ(Fraudgen("--rows 3000 --output data --quiet").output, "");
}

TEST_F(FraudgenTest, StoredConfigurationReproducesTheData) {
  ASSERT_EQ(
      Fraudgen("--model classic --rows 3000 --seed 9 --type all --no-profiles --identities safe "
               "--customers 50 --format tsv --output one")
          .status,
      kDone);
  ASSERT_EQ(Fraudgen("--config one/_fraudgen/fraudgen.toml --output two").status, kDone);
  EXPECT_EQ(Contents("one"), Contents("two"));
}

TEST_F(FraudgenTest, ShardsFormOneDataSet) {
  ASSERT_EQ(Fraudgen("--rows 3000 --output whole").status, kDone);
  const Ran second = Fraudgen("--rows 3000 --output data --shard 2/2");
  ASSERT_EQ(second.status, kDone);
  EXPECT_NE(second.output.find("part 2 of 2"), std::string::npos) << second.output;
  EXPECT_FALSE(Exists("data/_fraudgen/manifest.json"));
  ASSERT_EQ(Fraudgen("--rows 3000 --output data --shard 1/2").status, kDone);
  EXPECT_EQ(Contents("data"), Contents("whole"));
}

TEST_F(FraudgenTest, WritesOneTableToStandardOutput) {
  ASSERT_EQ(Fraudgen("--rows 3000 --format csv --output data").status, kDone);
  const auto files = Contents("data");
  EXPECT_EQ(Fraudgen("--rows 3000 --format csv --output -").output,
            files.at("transactions/part-00000.csv"));
  EXPECT_EQ(Fraudgen("--rows 3000 --format csv --output - --table customers").output,
            files.at("customers/part-00000.csv"));
  EXPECT_FALSE(Exists("-"));
  // The reader closes the pipe.
  const Ran piped =
      platform::Shell("cd " + place_.path().string() + " && bash -c '" + FraudgenPath() +
                      " --rows 300000 --output - 2>errors | head -n 1 >/dev/null; "
                      "echo ${PIPESTATUS[0]}'");
  EXPECT_EQ(piped.output, "0\n");
  EXPECT_EQ(Contents(".").at("errors"), "");
}

TEST_F(FraudgenTest, SizeMatchesFiles) {
  for (const std::string model : {"classic", "coherent"}) {
    const Ran ran =
        Fraudgen("--size 20MB --format csv --quiet --output " + model + " --model " + model);
    ASSERT_EQ(ran.status, kDone) << ran.output;
    uint64_t bytes = 0;
    for (const auto& [name, content] : Contents(model)) {
      if (name.ends_with(".csv")) bytes += content.size();
    }
    EXPECT_NEAR(static_cast<double>(bytes) / 20e6, 1.0, 0.01) << model;
  }
}

TEST_F(FraudgenTest, ShowsHelpWithoutArguments) {
  const Ran ran = Fraudgen("");
  EXPECT_EQ(ran.status, kDone);
  EXPECT_EQ(ran.output, Fraudgen("--help").output);
  EXPECT_FALSE(Exists("output"));
}

// Threads and shards have something to do from a few hundred thousand rows on.
TEST_F(FraudgenTest, PlansSixteenBlocks) {
  const auto blocks = [&](const std::string& options) {
    return json::parse(Fraudgen("plan --json -q " + options).output)["blocks"].get<int>();
  };
  for (const std::string model : {"classic", "coherent"}) {
    EXPECT_EQ(blocks("--rows 2M --model " + model), 16);
    EXPECT_EQ(blocks("--rows 50M --model " + model), 25);
    EXPECT_EQ(blocks("--rows 100k --model " + model), 1);
  }
  EXPECT_EQ(blocks("--rows 3M --customers 1.2M"), 20) << "memory is bounded by customers";
}

TEST_F(FraudgenTest, ShardsToStandardOutputAreTheRowsOfTheirBlocks) {
  const std::string rows = "--rows 300k --format csv --quiet --output - ";
  const std::string whole = Fraudgen(rows).output;
  const std::string header = whole.substr(0, whole.find('\n') + 1);
  std::string all = header;
  for (const char* shard : {"1/3", "2/3", "3/3"}) {
    const Ran part = Fraudgen(rows + "--shard " + shard);
    ASSERT_TRUE(part.output.starts_with(header)) << part.output.substr(0, 200);
    all += part.output.substr(header.size());
  }
  EXPECT_TRUE(all == whole) << "three blocks, one per shard";
}

TEST_F(FraudgenTest, PlanShowsFiles) {
  const Ran plan = Fraudgen("plan --model classic --rows 300000 --format csv --threads 1");
  ASSERT_EQ(plan.status, kDone) << plan.output;
  EXPECT_NE(plan.output.find("transactions      3  300,000"), std::string::npos) << plan.output;
  EXPECT_NE(plan.output.find("with 1 thread,"), std::string::npos) << plan.output;
  EXPECT_EQ(plan.output.find("too little"), std::string::npos) << plan.output;
  EXPECT_FALSE(Exists("output"));
}

TEST_F(FraudgenTest, PlanSaysThatTheDiskIsTooSmall) {
  const std::string plan = "plan --model classic --size 500TB --threads 1 --output ";
  const Ran folder = Fraudgen(plan + "not/yet");
  EXPECT_EQ(folder.status, kDone);
  EXPECT_NE(folder.output.find("free, which is too little for 500 TB"), std::string::npos)
      << folder.output;
  const Ran bucket = Fraudgen(plan + "s3://bucket/data");
  EXPECT_EQ(bucket.output.find("too little"), std::string::npos) << bucket.output;
}

// Labels take room, too, but must not decide how many rows there are.
TEST_F(FraudgenTest, ASizeHasTheSameRowsWithAnyLabels) {
  const auto rows = [&](const std::string& options) {
    const Ran ran = Fraudgen("plan --size 5MB --json " + options);
    const json plan = json::parse(ran.output, nullptr, false);
    return plan.is_object() ? plan["tables"]["transactions"]["rows"].dump() : ran.output;
  };
  EXPECT_EQ(rows("--labels-as-of 2025-01-01"), rows(""));
}

TEST_F(FraudgenTest, PlanPrintsJson) {
  const std::string plan = "plan --model classic --rows 3000 --customers 10 --json";
  const Ran ran = Fraudgen(plan + " --shard 2/3");
  ASSERT_EQ(ran.status, kDone) << ran.output;
  const auto all = nlohmann::json::parse(ran.output, nullptr, false);
  ASSERT_TRUE(all.is_object()) << ran.output;
  EXPECT_EQ(all["tables"]["transactions"]["rows"], 3000);
  EXPECT_EQ(all["shard"], "2/3");
  EXPECT_EQ(all["files"], 3);
  EXPECT_EQ(all["files_of_shard"], 0);
  EXPECT_GT(all["bytes"], 0);
}

TEST_F(FraudgenTest, SampleShowsTenRowsOfEachTable) {
  const Ran sample = Fraudgen("sample --model classic --type all");
  ASSERT_EQ(sample.status, kDone) << sample.output;
  for (const char* table : {"customers\n", "devices\n", "transactions\n", "drivers\n", "rides\n"}) {
    EXPECT_NE(sample.output.find(table), std::string::npos) << table;
  }
  EXPECT_EQ(std::ranges::count(sample.output, '\n'), 5 * 12 + 4);
}

TEST_F(FraudgenTest, SampleObeysFormatTableAndJson) {
  const Ran whole = Fraudgen("--rows 100000 --format csv --quiet --output - --table devices");
  std::size_t end = 0;
  for (int line = 0; line < 11; ++line) end = whole.output.find('\n', end) + 1;
  EXPECT_EQ(Fraudgen("sample --format csv --table devices").output, whole.output.substr(0, end));
  EXPECT_TRUE(Fraudgen("sample -f jsonl").output.starts_with("{\"transaction_id\":"));
  const Ran table = Fraudgen("sample --table customers");
  EXPECT_TRUE(table.output.starts_with("customers\n"));
  EXPECT_EQ(std::ranges::count(table.output, '\n'), 12);
  const json all = json::parse(Fraudgen("sample --json --type all --model classic").output);
  EXPECT_EQ(all.size(), 5u);
  EXPECT_EQ(all["rides"].size(), 10u);
  ExpectError("sample --format parquet", kUsage, "prints text, not parquet");
  ExpectError("sample --table people", kUsage, "unknown table 'people'");
}

TEST_F(FraudgenTest, ConfigRoundTrips) {
  const Ran config = Fraudgen("config --seed 77 --format parquet --nested");
  ASSERT_EQ(config.status, kDone);
  place_.Write("my.toml", config.output);
  EXPECT_EQ(Fraudgen("config --config my.toml").output, config.output);
  EXPECT_NE(config.output.find("\nseed = 77\n"), std::string::npos);
}

TEST_F(FraudgenTest, PrintsSchemaAndVersion) {
  EXPECT_NE(Fraudgen("schema").output.find("| `is_fraud` | boolean |"), std::string::npos);
  EXPECT_TRUE(Fraudgen("version").output.starts_with("fraudgen "));
  EXPECT_TRUE(Fraudgen("version").output.ends_with(" on this processor\n"));
  EXPECT_TRUE(Fraudgen("--version").output.starts_with("fraudgen "));
}

// Too many rows to finish; the signal is sent after the first file.
TEST_F(FraudgenTest, SignalsStopCleanly) {
  for (const auto& [signal, status] : {std::pair{SIGINT, kInterrupted}, {SIGTERM, kTerminated}}) {
    const std::string name = "data" + std::to_string(signal);
    const std::string folder = place_ / name;
    const std::string errors = place_ / "errors";
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      const int file = open(errors.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
      dup2(file, STDERR_FILENO);
      execl(FraudgenPath(), "fraudgen", "--rows", "900000000", "--format", "csv", "--file-rows",
            "5000", "--model", "classic", "--threads", "2", "--output", folder.c_str(), nullptr);
      _exit(99);
    }
    while (!Exists(name + "/_fraudgen/manifest-transactions.part-00000.csv.json")) usleep(10'000);
    kill(child, signal);
    int ended = 0;
    ASSERT_EQ(waitpid(child, &ended, 0), child);
    ASSERT_TRUE(WIFEXITED(ended));
    EXPECT_EQ(WEXITSTATUS(ended), status);
    EXPECT_EQ(Contents(".").at("errors"),
              "fraudgen: stopped; finished files are kept, run the same command to resume\n");
    for (const auto& [file, content] : Contents(name)) EXPECT_FALSE(file.ends_with(".partial"));
  }
}

}  // namespace fraudgen_test
}  // namespace reveza::fraudgen::cli
