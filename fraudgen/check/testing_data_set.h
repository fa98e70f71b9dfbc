// Small data sets for tests, made from settings as the program does, and helpers to damage them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/platform/testing_directory.h"
#include "fraudgen/check/check.h"
#include "fraudgen/output/manifest.h"
#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/manifest_store.h"
#include "fraudgen/run/prepare.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/settings.h"

namespace reveza::fraudgen::check {

// `name`: classic, coherent, or rides (of the coherent model).
inline Settings TestingSettings(const std::string& name) {
  Settings settings;
  settings.model = name == "rides" ? "coherent" : name;
  settings.type = name == "classic" ? DataType::kAll
                  : name == "rides" ? DataType::kRidesOnly
                                    : DataType::kTransactionsOnly;
  settings.seed = 5;
  settings.rows = 9'000;
  settings.fraud_rate = {.billionths = 40'000'000};
  settings.customers = 150;
  settings.file_rows = 3'000;
  return settings;
}

using Change = std::function<void(Settings&)>;
// Returns the model to make the data set with, instead of the settings'.
using Wrap = std::function<std::unique_ptr<Model>(std::unique_ptr<Model>)>;

class TestingDataSet {
 public:
  // The default format is JSON lines.
  explicit TestingDataSet(const std::string& name, const Change& change = nullptr,
                          const Wrap& wrap = nullptr) {
    Settings settings = TestingSettings(name);
    if (change) change(settings);
    auto run = PrepareRun(settings, {}, 1, [](uint64_t, uint64_t) { return true; });
    EXPECT_TRUE(run) << run.error().message;
    std::unique_ptr<Model> model = std::move(run->model);
    // The plan refers to the model, which stays where it is.
    if (wrap) model = wrap(std::move(model));
    Folder folder(path());
    const auto result =
        Run(*model, run->plan, run->Options(1), folder, [](const Progress&) { return true; });
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
  void Remove(const std::string& file) const { std::filesystem::remove(path() / file); }
  // Returns the names of all files.
  std::set<std::string> Names() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path())) {
      if (entry.is_regular_file()) names.insert(entry.path().lexically_relative(path()));
    }
    return names;
  }

  // Writes a file and updates its manifests accordingly.
  void WriteAsMade(const std::string& file, const std::string& bytes) const {
    Write(file, bytes);
    ChangeManifests([&](FileManifest& manifest) {
      if (manifest.file != file) return;
      manifest.bytes = bytes.size();
      manifest.xxh3_128 = HashOf(bytes);
    });
  }
  // Rewrites all manifests.
  void ChangeManifests(const std::function<void(FileManifest&)>& change) const {
    auto all = *ReadManifest(Read(std::string(kManifestName)), "manifest.json");
    for (FileManifest& manifest : all) {
      change(manifest);
      Write(ManifestNameOf(manifest.file), WriteFileManifest(manifest));
    }
    Write(std::string(kManifestName), *WriteManifest(all));
  }

  CheckResult Check() const {
    auto result = CheckData(std::make_shared<Folder>(path()), 2, [](uint64_t) { return true; });
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
using NoFindings = std::map<std::string, std::string>;

}  // namespace reveza::fraudgen::check
