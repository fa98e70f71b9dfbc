#include "datagen/run/sample.h"

#include <algorithm>
#include <utility>

#include "datagen/civil_time.h"
#include "datagen/text_format.h"

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

std::string ValueText(const Batch& batch, std::size_t column, std::size_t row) {
  const Column& what = batch.table().columns[column];
  const ColumnValues& values = batch.column(column);
  std::string text;
  switch (what.type) {
    case ColumnType::kText:
      text = values.TextAt(row);
      break;
    case ColumnType::kCategory:
      text = what.values[values.codes[row]];
      break;
    case ColumnType::kBoolean:
      text = values.flags[row] != 0 ? "true" : "false";
      break;
    case ColumnType::kInteger:
      AppendInteger(text, values.numbers[row]);
      break;
    case ColumnType::kDecimal:
      AppendDecimal(text, values.numbers[row], what.decimal_places);
      break;
    case ColumnType::kDate: {
      const DateText date = FormatDate(DateOf(values.numbers[row]));
      text.assign(date.data(), date.size());
      break;
    }
    case ColumnType::kTimestamp: {
      const TimeText time = FormatTime(values.numbers[row]);
      text.assign(time.data(), time.size());
      break;
    }
  }
  return text;
}

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
