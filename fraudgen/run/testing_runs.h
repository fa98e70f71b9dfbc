// Test support: runs of a small model in a folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "fraudgen/output/sinks.h"
#include "fraudgen/run/folder.h"
#include "fraudgen/run/runner.h"
#include "fraudgen/run/testing_model.h"

namespace reveza::fraudgen {

inline constexpr uint64_t kRows = 25'000;
inline constexpr uint64_t kBlockRows = 3'000;
inline constexpr uint64_t kFileRows = 1'100;

struct RunSpec {
  uint64_t seed = 1;
  TableOptions table = {.format = Format::kCsv};
  std::string program = "fraudgen 1";
  std::string configuration = "rows = 25000\nfraud_rate = 0.02\n";
  int threads = 1;
  Shard shard = {};
  uint64_t group_blocks = 0;
  OnProgress on_progress = [](const Progress&) { return true; };
};

inline RunOptions OptionsOf(const RunSpec& spec) {
  RunOptions options;
  options.table = spec.table;
  options.configuration = spec.configuration;
  options.threads = spec.threads;
  options.made_by.program = spec.program;
  options.made_by.model = "testing";
  options.made_by.seed = spec.seed;
  options.made_by.configuration = HashOf(spec.configuration);
  options.made_by.SetOptions(options.table);
  return options;
}

inline Result<RunResult> RunIn(const std::filesystem::path& path, const RunSpec& spec = {},
                               const Model* model = nullptr) {
  const TestingModel own(spec.seed, kRows, kBlockRows);
  if (model == nullptr) model = &own;
  const auto plan = Plan::Make(*model, Format::kCsv, kFileRows, spec.shard, {},
                               spec.table.text_codec, spec.group_blocks);
  Folder folder(path);
  return Run(*model, *plan, OptionsOf(spec), folder, spec.on_progress);
}

}  // namespace reveza::fraudgen
