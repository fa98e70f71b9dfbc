// Parses arbitrary bytes as a time series (CSV, .npy), a model and a partition. Valid input must be
// consistent: rows x columns values, trials that cover all rows, a partition that contains each
// variable once.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "phi/measures/partition.h"
#include "phi/series/model_file.h"
#include "phi/series/series_table.h"

namespace {

using reveza::phi::SeriesTable;

void CheckSeries(const reveza::Result<SeriesTable>& table) {
  if (!table) {
    if (table.error().message.empty()) std::abort();
    return;
  }
  const auto rows = static_cast<std::size_t>(table->length());
  if (table->names.empty() || table->values.size() != rows * table->names.size()) std::abort();
  std::int64_t rows_of_trials = 0;
  for (const auto& view : table->Trials()) {
    if (view.length < 1) std::abort();
    rows_of_trials += view.length;
  }
  if (rows_of_trials != table->length()) std::abort();
}

void CheckPartition(std::string_view text) {
  constexpr int kVariables = 5;
  const auto partition = reveza::phi::ParsePartition(text, kVariables, {"a", "b", "c", "d", "e"});
  if (!partition) {
    if (partition.error().message.empty()) std::abort();
    return;
  }
  std::size_t variables = 0;
  for (const auto& part : partition->parts()) variables += part.size();
  if (variables != kVariables) std::abort();
  if (reveza::phi::ParsePartition(partition->Text(), kVariables) != *partition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  CheckSeries(reveza::phi::ReadDelimited(bytes, "fuzz.csv", {}));
  CheckSeries(reveza::phi::ReadDelimited(bytes, "fuzz.csv", {.columns = {"0"}, .trials = "1"}));
  CheckSeries(reveza::phi::ReadNumpy(bytes, "fuzz.npy", {}));
  CheckSeries(reveza::phi::ReadNumpy(bytes, "fuzz.npy", {.trials = "0"}));
  const auto model = reveza::phi::ParseModel(bytes, "fuzz.toml");
  if (!model && model.error().message.empty()) std::abort();
  const auto matrix = reveza::phi::ParseMatrix(bytes, "--coupling");
  if (!matrix && matrix.error().message.empty()) std::abort();
  CheckPartition(bytes);
  return 0;
}
