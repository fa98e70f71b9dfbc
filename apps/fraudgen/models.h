// From settings to a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "datagen/defects/defect_rates.h"
#include "datagen/model.h"
#include "datagen/output/manifest.h"
#include "datagen/run/settings.h"

namespace reveza::fraudgen {

// With so many transactions, or rides, or both; whole and without what is added.
Result<std::unique_ptr<datagen::Model>> MakeSoundModel(const datagen::Settings& settings,
                                                       uint64_t rows);
// The same with what is added.
Result<std::unique_ptr<datagen::Model>> MakeModel(const datagen::Settings& settings, uint64_t rows);
datagen::DefectOptions DefectsOf(const datagen::Settings& settings);

// Called now and then by the thread that waits; what is counted of how much there is to count, both
// 0 where nothing is. False: to stop.
using OnPreparing = std::function<bool(uint64_t done, uint64_t all)>;

// Counts the rows of each block where that takes a while, so that the model knows them.
Result<uint64_t> CountRows(const datagen::Model& model, int threads,
                           const OnPreparing& on_preparing);

// The rows that the settings say or, where they say a size, that make it up.
Result<uint64_t> RowsOf(const datagen::Settings& settings, const OnPreparing& on_preparing);

// A model of all that the settings ask for, once the count of rows is known.
struct PreparedModel {
  uint64_t rows = 0;
  datagen::Settings settings;  // with nothing left open
  std::unique_ptr<datagen::Model> model;
};
Result<PreparedModel> PrepareModel(const datagen::Settings& settings, int threads,
                                   const OnPreparing& on_preparing);

// What decides the bytes of what such settings (resolved, see Settings) make.
datagen::MadeBy MadeByOf(const datagen::Settings& settings);

// As Parquet's readers expect it of who wrote a file.
std::string_view CreatedBy();

// The one table that is most of it: transactions, or rides where there are only those.
std::string_view MainTable(const datagen::Settings& settings);

}  // namespace reveza::fraudgen
