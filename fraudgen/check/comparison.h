// Makes the files of a data set again, block by block, and compares them with the stored ones.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/mutex.h"
#include "fraudgen/check/data_set.h"
#include "fraudgen/check/differences.h"
#include "fraudgen/check/outcome.h"
#include "fraudgen/model/model.h"
#include "fraudgen/run/block_loop.h"
#include "fraudgen/run/plan.h"

namespace reveza::fraudgen::check {

// Called periodically with the number of rows made. Returning false stops.
using OnRows = std::function<bool(uint64_t rows)>;

class Comparison {
 public:
  // All must outlive it.
  Comparison(const DataSet& data, const Model& model, const Plan& plan,
             const TableOptions& options);

  // Compares the bytes of all files, and their manifests, and then the values of those that differ.
  // Returns false if stopped.
  Result<bool> CompareBytes(int threads, const OnRows& on_rows);
  // Compares the values of all files.
  Result<bool> CompareValues(int threads, const OnRows& on_rows);

  void Report(std::vector<Outcome>& outcomes) const;
  // Returns the files that differ.
  std::vector<FileDifferences> TakeDifferences();

 private:
  struct File {
    const FileManifest* manifest = nullptr;
    bool planned = false;
    bool differs = false;
    std::optional<uint64_t> first_byte;  // that differs
    FileDifferences differences;
  };

  BlockCalls Calls(bool File::* wanted);
  Result<bool> CompareMarked(int threads, const OnRows& on_rows);
  void CompareManifest(const WrittenFile& made);
  Result<bool> Loop(int threads, const OnRows& on_rows, BlockCalls calls);

  const DataSet& data_;
  const Model& model_;
  const Plan& plan_;
  const TableOptions& options_;
  std::atomic<uint64_t> rows_ = 0;

  // By name. Each is used by one thread at a time; no file is added after the constructor.
  std::map<std::string, File, std::less<>> files_;
  Tally planned_{"files: those that the settings give, and no others"};
  mutable Mutex mutex_;
  Tally manifests_ GUARDED_BY(mutex_){
      "manifests: rows, sizes and hashes are those of the settings"};
};

}  // namespace reveza::fraudgen::check
