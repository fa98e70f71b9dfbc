#include "fraudgen/check/comparison.h"

#include <fmt/format.h>

#include <memory>
#include <utility>

#include "fraudgen/output/byte_stream.h"
#include "fraudgen/output/sinks.h"

namespace reveza::fraudgen::check {

Comparison::Comparison(const DataSet& data, const Model& model, const Plan& plan,
                       const TableOptions& options)
    : data_(data), model_(model), plan_(plan), options_(options) {
  for (const FileManifest& manifest : data.files) {
    File& file = files_[manifest.file];
    file.manifest = &manifest;
    file.differences.file = manifest.file;
    file.differences.table = manifest.table;
  }
  for (uint64_t block = 0; block < plan.all_blocks(); ++block) {
    for (const PlannedFile& planned : plan.FilesOf(block)) {
      planned_.AddChecked();
      const auto found = files_.find(planned.name);
      if (found != files_.end()) {
        found->second.planned = true;
      } else if (data.complete && !data.missing.contains(planned.name)) {
        planned_.AddFailure("{} is in no manifest", planned.name);
      }
    }
  }
  for (const auto& [name, file] : files_) {
    if (!file.planned) planned_.AddFailure("{} is not one of them", name);
  }
}

// Returns the calls of a loop that makes the files for which `wanted` is true.
BlockCalls Comparison::Calls(bool File::* wanted) {
  return {.keeps = [this, wanted](const PlannedFile& planned) -> Result<bool> {
            const auto found = files_.find(planned.name);
            return found == files_.end() || !(found->second.*wanted);
          },
          .create = nullptr,
          .finish = nullptr,
          .progress = [this](uint64_t rows, uint64_t) { rows_ += rows; }};
}

Result<bool> Comparison::Loop(int threads, const OnRows& on_rows, BlockCalls calls) {
  BlockLoop loop(model_, plan_, options_, std::move(calls));
  return loop.Run(threads, [&] { return on_rows(rows_); });
}

Result<bool> Comparison::CompareBytes(int threads, const OnRows& on_rows) {
  BlockCalls calls = Calls(&File::planned);
  calls.create = [this](const PlannedFile& planned) -> Result<std::unique_ptr<ByteSink>> {
    ASSIGN_OR_RETURN(auto stored, data_.place->Open(planned.name));
    return std::make_unique<ComparingSink>(std::move(stored),
                                           files_.find(planned.name)->second.first_byte);
  };
  calls.finish = [this](WrittenFile made) -> Status {
    RETURN_IF_ERROR(made.sink->Finish());
    File& file = files_.find(made.planned.name)->second;
    file.differs = file.first_byte.has_value();
    CompareManifest(made);
    return {};
  };
  ASSIGN_OR_RETURN(const auto done, Loop(threads, on_rows, std::move(calls)));
  if (!done) return false;
  return CompareMarked(threads, on_rows);
}

Result<bool> Comparison::CompareValues(int threads, const OnRows& on_rows) {
  for (auto& [name, file] : files_) file.differs = file.planned;
  ASSIGN_OR_RETURN(const auto done, CompareMarked(threads, on_rows));
  for (auto& [name, file] : files_) file.differs = file.differences.count > 0;
  return done;
}

// Compares the values of the files that differ.
Result<bool> Comparison::CompareMarked(int threads, const OnRows& on_rows) {
  BlockCalls calls = Calls(&File::differs);
  calls.create = [](const PlannedFile&) { return std::make_unique<NullSink>(); };
  calls.make_writer = [this](const PlannedFile& planned, const Table& table,
                             ByteSink&) -> Result<std::unique_ptr<TableWriter>> {
    ASSIGN_OR_RETURN(auto stored, data_.place->Open(planned.name));
    return CompareRows(options_, table, std::move(stored),
                       files_.find(planned.name)->second.differences);
  };
  calls.finish = [this](const WrittenFile& made) -> Status {
    File& file = files_.find(made.planned.name)->second;
    if (file.first_byte && file.differences.count == 0) {
      file.differences.Add(
          {.row = 0,
           .column = "",
           .found = fmt::format("byte {} differs, all values are as they should be",
                                *file.first_byte + 1),
           .expected = ""});
    }
    if (!file.first_byte && made.rows != file.manifest->rows) {
      const MutexLock lock(mutex_);
      manifests_.AddFailure("{}: {} rows, {} in its manifest", made.planned.name, made.rows,
                            file.manifest->rows);
    }
    return {};
  };
  return Loop(threads, on_rows, std::move(calls));
}

void Comparison::CompareManifest(const WrittenFile& made) {
  const FileManifest& there = *files_.find(made.planned.name)->second.manifest;
  const bool same = there.table == made.planned.table->name && there.block == made.planned.block &&
                    there.part == made.planned.part && there.rows == made.rows &&
                    there.bytes == made.bytes && there.xxh3_128 == made.hash &&
                    there.rows_of_blocks == made.rows_of_blocks;
  const MutexLock lock(mutex_);
  manifests_.AddChecked();
  if (!same) {
    manifests_.AddFailure("{}: {} rows, {} bytes, {}; should be {} rows, {} bytes, {}",
                          made.planned.name, there.rows, there.bytes, there.xxh3_128, made.rows,
                          made.bytes, made.hash);
  }
}

void Comparison::Report(std::vector<Outcome>& outcomes) const {
  outcomes.push_back(planned_.outcome());
  {
    const MutexLock lock(mutex_);
    if (manifests_.checked() + manifests_.failed() > 0) outcomes.push_back(manifests_.outcome());
  }
  for (const Table* table : model_.tables()) {
    uint64_t files = 0;
    uint64_t rows = 0;
    uint64_t different = 0;
    uint64_t differences = 0;
    std::string first;
    for (const auto& [name, file] : files_) {
      if (!file.planned || file.manifest->table != table->name) continue;
      ++files;
      rows += file.manifest->rows;
      if (!file.differs) continue;
      ++different;
      differences += file.differences.count;
      if (first.empty() && file.differences.count > 0) {
        first = fmt::format("{} {}", name, TextOf(file.differences.first.front()));
      }
    }
    if (files == 0) continue;
    Outcome outcome;
    outcome.name = fmt::format("{}: values are those of the settings", table->name);
    if (different == 0) {
      outcome.detail = fmt::format("{} rows in {} file{}", rows, files, files == 1 ? "" : "s");
    } else {
      outcome.verdict = Outcome::Verdict::kFailed;
      outcome.detail = fmt::format("{} difference{} in {} of {} files; first: {}", differences,
                                   differences == 1 ? "" : "s", different, files, first);
    }
    outcomes.push_back(std::move(outcome));
  }
}

std::vector<FileDifferences> Comparison::TakeDifferences() {
  std::vector<FileDifferences> differences;
  for (auto& [name, file] : files_) {
    if (file.differs) differences.push_back(std::move(file.differences));
  }
  return differences;
}

}  // namespace reveza::fraudgen::check
