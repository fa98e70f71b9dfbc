#include "datagen/run/sample.h"

#include <algorithm>
#include <utility>

#include "datagen/value_text.h"

namespace reveza::datagen {
namespace {

class FirstRows final : public BatchSink {
 public:
  FirstRows(std::vector<TableSample>& samples, std::size_t rows) : samples_(samples), rows_(rows) {}

  Status Put(const Batch& batch) override {
    const auto sample = std::ranges::find(samples_, &batch.table(), &TableSample::table);
    for (std::size_t row = 0; row < batch.rows() && sample->rows.size() < rows_; ++row) {
      auto& texts = sample->rows.emplace_back();
      for (std::size_t i = 0; i < batch.table().columns.size(); ++i) {
        texts.push_back(batch.IsNull(i, row) ? "null" : ValueText(batch, i, row));
      }
    }
    if (!Full()) return {};
    return Fail(Error::Code::kUnavailable, "that is enough");
  }

  bool Full() const {
    return std::ranges::all_of(samples_,
                               [this](const auto& sample) { return sample.rows.size() == rows_; });
  }

 private:
  std::vector<TableSample>& samples_;
  std::size_t rows_;
};

}  // namespace

Result<std::vector<TableSample>> Sample(const Model& model, std::size_t rows) {
  std::vector<TableSample> samples;
  for (const Table* table : model.tables()) samples.push_back({.table = table, .rows = {}});
  if (model.blocks() == 0) return samples;
  FirstRows first(samples, rows);
  const auto made = model.Make(0, model.tables(), first);
  if (!made && !first.Full()) return std::unexpected(made.error());
  return samples;
}

}  // namespace reveza::datagen
