#include "fraudgen/run/direct_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen {
namespace {

class CountingSink final : public ByteSink {
 public:
  // `next` must outlive it.
  explicit CountingSink(ByteSink& next) : next_(next) {}

  Status Append(std::string_view bytes) override {
    RETURN_IF_ERROR(next_.Append(bytes));
    bytes_ += bytes.size();
    return {};
  }
  Status Finish() override { return next_.Finish(); }
  uint64_t bytes() const { return bytes_; }

 private:
  ByteSink& next_;
  uint64_t bytes_ = 0;
};

}  // namespace

Status WriteOneFile(const Model& model, const Plan& plan, const Table& table,
                    const TableOptions& options, ByteSink& sink, const OnProgress& on_progress) {
  CountingSink counting(sink);
  ASSIGN_OR_RETURN(const auto writer, MakeTableWriter(options, table, counting));
  Progress progress;
  FunctionSink rows([&](const Batch& batch) -> Status {
    RETURN_IF_ERROR(writer->Write(batch));
    progress.rows += batch.rows();
    progress.rows_made = progress.rows;
    progress.bytes_made = counting.bytes();
    if (on_progress(progress)) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  });
  const Table* const wanted = &table;
  for (uint64_t n = 0; n < plan.shard().blocks(); ++n) {
    RETURN_IF_ERROR(model.Make(plan.shard().BlockAt(n), std::span(&wanted, 1), rows));
  }
  RETURN_IF_ERROR(writer->Finish());
  return counting.Finish();
}

Status WriteFirstRows(const Model& model, const Table& table, std::size_t rows,
                      const TableOptions& options, ByteSink& sink) {
  ASSIGN_OR_RETURN(const auto writer, MakeTableWriter(options, table, sink));
  std::size_t left = rows;
  FunctionSink first([&](const Batch& batch) -> Status {
    Batch slice(table);
    const std::size_t count = std::min(left, batch.rows());
    slice.Begin(count);
    AppendRows(batch, 0, count, slice, 0);
    RETURN_IF_ERROR(writer->Write(slice));
    left -= count;
    if (left > 0) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  });
  const Table* const wanted = &table;
  if (model.blocks() > 0) {
    const auto made = model.Make(0, std::span(&wanted, 1), first);
    if (!made && left > 0) return made;
  }
  return writer->Finish();
}

Result<const Table*> FindTable(const Model& model, std::string_view name) {
  std::vector<std::string_view> names;
  for (const Table* table : model.tables()) {
    if (table->name == name) return table;
    names.push_back(table->name);
  }
  return InvalidArgument("--table: unknown table '{}'; expected one of {}", name,
                         fmt::join(names, ", "));
}

Result<std::vector<TableSample>> Sample(const Model& model, std::size_t rows) {
  std::vector<TableSample> samples;
  for (const Table* table : model.tables()) samples.push_back({.table = table, .rows = {}});
  if (model.blocks() == 0) return samples;
  const auto full = [&] {
    return std::ranges::all_of(samples, [&](const auto& each) { return each.rows.size() == rows; });
  };
  FunctionSink first([&](const Batch& batch) -> Status {
    const auto sample = std::ranges::find(samples, &batch.table(), &TableSample::table);
    for (std::size_t row = 0; row < batch.rows() && sample->rows.size() < rows; ++row) {
      auto& texts = sample->rows.emplace_back();
      for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
        texts.push_back(batch.IsNull(i, row) ? "null" : ValueText(batch, i, row));
      }
    }
    if (!full()) return {};
    return Fail(Error::Code::kUnavailable, "stopped");
  });
  const auto made = model.Make(0, model.tables(), first);
  if (!made && !full()) return std::unexpected(made.error());
  return samples;
}

}  // namespace reveza::fraudgen
