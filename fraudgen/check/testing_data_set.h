// Data sets of both models for tests, and helpers to damage them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/platform/testing_directory.h"
#include "fraudgen/check/check.h"
#include "fraudgen/model/classic/classic_model.h"
#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/defects/defective_model.h"
#include "fraudgen/model/graph/graph_model.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen::check {

inline constexpr uint64_t kTestingRows = 9'000;

// `name`: classic, coherent, or rides (of the coherent model).
inline Settings TestingSettings(const std::string& name) {
  Settings settings;
  settings.model = name == "rides" ? "coherent" : name;
  settings.type = name == "classic" ? DataType::kAll
                  : name == "rides" ? DataType::kRidesOnly
                                    : DataType::kTransactionsOnly;
  settings.seed = 5;
  settings.rows = kTestingRows;
  settings.fraud_rate = {.billionths = 40'000'000};
  settings.customers = 150;
  return settings;
}

// `block_rows` is of the coherent model.
inline std::unique_ptr<Model> TestingModelOf(const Settings& settings,
                                             uint64_t block_rows = kTestingRows / 2) {
  constexpr uint64_t kBlockRows = kTestingRows / 2;
  if (settings.model == "classic") {
    classic::Options options{.kind = classic::Kind::kAll,
                             .seed = settings.seed,
                             .transactions = *settings.rows,
                             .rides = *settings.rows,
                             .customers = settings.customers,
                             .frauds = settings.fraud_rate,
                             .start = settings.Start(),
                             .end = settings.End(),
                             .as_of = settings.AsOf(),
                             .rows_per_block = kBlockRows};
    return classic::ClassicModel::Make(options);
  }
  coherent::Parameters parameters;
  parameters.seed = settings.seed;
  (settings.type == DataType::kRidesOnly ? parameters.rides : parameters.rows) = *settings.rows;
  if (settings.type == DataType::kRidesOnly) parameters.rows = 0;
  parameters.customers = *settings.customers;
  parameters.first_day = DaysOf(settings.Start());
  parameters.last_day = DaysOf(settings.End());
  parameters.frauds = settings.fraud_rate;
  parameters.rows_per_block = block_rows;
  return *coherent::CoherentModel::Make(parameters);
}

// Optional tables and defects.
struct Extras {
  bool graph = false;
  DefectRates defects = {};
  uint64_t blocks = 2;        // more than two: coherent model only
  uint64_t group_blocks = 1;  // that files of small tables span
};

class TestingDataSet {
 public:
  // The default format is JSON lines.
  explicit TestingDataSet(const std::string& model,
                          TableOptions table = {.format = Format::kJsonLines},
                          std::vector<std::string> partition = {}, Extras extras = {}) {
    Settings settings = TestingSettings(model);
    settings.defects = extras.defects;
    settings.graph = extras.graph;
    auto made = TestingModelOf(settings, kTestingRows / extras.blocks);
    if (extras.graph) made = std::make_unique<GraphModel>(std::move(made));
    if (extras.defects.Any()) {
      const bool text = table.format != Format::kParquet && table.format != Format::kArrow;
      made = std::make_unique<DefectiveModel>(
          std::move(made),
          DefectOptions{.seed = settings.seed, .rates = extras.defects, .numbers_as_text = text});
    }
    RunOptions options;
    options.table = table;
    options.configuration = ConfigurationText(settings, Comments::kNo);
    options.made_by.program = "fraudgen 1";
    options.made_by.model = settings.model;
    options.made_by.seed = settings.seed;
    options.made_by.configuration = HashOf(options.configuration);
    options.made_by.SetOptions(options.table);
    PartitionKeys keys = settings.Partition();
    keys.names = std::move(partition);
    const auto plan =
        Plan::Make(*made, table.format, 0, {}, keys, table.text_codec, extras.group_blocks);
    Folder folder(path());
    EXPECT_TRUE(folder.Prepare());
    const auto result = Run(*made, *plan, options, folder, [](const Progress&) { return true; });
    EXPECT_TRUE(result && result->complete);
  }

  std::filesystem::path path() const { return place_ / "data"; }

  std::string Read(const std::string& file) const {
    std::ifstream stream(path() / file, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(stream), {});
  }
  void Write(const std::string& file, const std::string& bytes) const {
    std::ofstream(path() / file, std::ios::binary | std::ios::trunc) << bytes;
  }

  // Writes a file and updates its manifests accordingly.
  void WriteAsMade(const std::string& file, const std::string& bytes) const {
    Write(file, bytes);
    auto all = *ReadManifest(Read(std::string(kManifestName)), "manifest.json");
    for (FileManifest& manifest : all) {
      if (manifest.file != file) continue;
      manifest.bytes = bytes.size();
      manifest.xxh3_128 = HashOf(bytes);
      Write(ManifestNameOf(file), WriteFileManifest(manifest));
    }
    Write(std::string(kManifestName), *WriteManifest(all));
  }

  CheckResult Check() const {
    auto result = CheckData(std::make_shared<Folder>(path()), [](uint64_t) { return true; });
    EXPECT_TRUE(result) << result.error().message;
    return result ? *std::move(result) : CheckResult();
  }
  // Returns the details of failed checks by name.
  std::map<std::string, std::string> Findings() const {
    std::map<std::string, std::string> findings;
    const CheckResult result = Check();
    for (const Outcome& outcome : result.outcomes) {
      if (outcome.verdict == Outcome::Verdict::kFailed) findings[outcome.name] = outcome.detail;
    }
    EXPECT_EQ(result.findings, findings.size());
    return findings;
  }
  std::set<std::string> FailedChecks() const {
    std::set<std::string> names;
    for (const auto& [name, detail] : Findings()) names.insert(name);
    return names;
  }

 private:
  platform::TestingDirectory place_;
};

using Names = std::set<std::string>;
using Lines = std::vector<std::string>;

inline Lines LinesOf(const std::string& text) {
  Lines lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin) + 1;
    lines.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return lines;
}
inline std::string Join(const Lines& lines) {
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

// Get and set the value of a key in a line of JSON.
inline std::string MemberOf(const std::string& line, const std::string& key) {
  const std::size_t begin = line.find("\"" + key + "\":") + key.size() + 3;
  const std::size_t end =
      line[begin] == '"' ? line.find('"', begin + 1) + 1 : line.find_first_of(",}", begin);
  return line.substr(begin, end - begin);
}
inline void SetMember(std::string& line, const std::string& key, const std::string& value) {
  const std::size_t begin = line.find("\"" + key + "\":") + key.size() + 3;
  ASSERT_LT(begin, line.size()) << key;
  line.replace(begin, MemberOf(line, key).size(), value);
}
// Returns the first line that contains `part`.
inline std::string& LineWith(Lines& lines, const std::string& part, std::size_t from = 0) {
  const auto found =
      std::find_if(lines.begin() + static_cast<std::ptrdiff_t>(from), lines.end(),
                   [&](const std::string& line) { return line.find(part) != std::string::npos; });
  EXPECT_NE(found, lines.end()) << part;
  return found == lines.end() ? lines.front() : *found;
}

// A change to the lines of a file, and the checks that must fail.
struct Damage {
  std::string file;
  std::function<void(Lines&)> change;
  Names failed;
};

inline void ExpectDetected(const std::string& model, const std::vector<Damage>& damages) {
  const TestingDataSet data(model);
  ASSERT_EQ(data.Findings(), (std::map<std::string, std::string>{}));
  for (const Damage& damage : damages) {
    const std::string whole = data.Read(damage.file);
    Lines lines = LinesOf(whole);
    ASSERT_FALSE(lines.empty()) << damage.file;
    damage.change(lines);
    ASSERT_NE(Join(lines), whole) << *damage.failed.begin();
    data.WriteAsMade(damage.file, Join(lines));
    EXPECT_EQ(data.FailedChecks(), damage.failed);
    data.WriteAsMade(damage.file, whole);
  }
  EXPECT_EQ(data.FailedChecks(), Names{}) << "after undoing the damage";
}

// Sets a member of the first line that has `part`.
inline std::function<void(Lines&)> Set(const std::string& part, const std::string& key,
                                       const std::string& value) {
  return [=](Lines& lines) { SetMember(LineWith(lines, part), key, value); };
}

}  // namespace reveza::fraudgen::check
