// From settings to a model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "base/error.h"
#include "datagen/model.h"
#include "datagen/output/manifest.h"
#include "datagen/run/settings.h"

namespace reveza::fraudgen {

// With so many transactions, or rides, or both.
Result<std::unique_ptr<datagen::Model>> MakeModel(const datagen::Settings& settings, uint64_t rows);

// The rows that the settings say or, where they say a size, that make it up. `on_batch` as in
// datagen/run/pilot.h.
Result<uint64_t> RowsOf(const datagen::Settings& settings, const std::function<bool()>& on_batch);

// What decides the bytes of what such settings (resolved, see Settings) make.
datagen::MadeBy MadeByOf(const datagen::Settings& settings);

// As Parquet's readers expect it of who wrote a file.
std::string_view CreatedBy();

// The one table that is most of it: transactions, or rides where there are only those.
std::string_view MainTable(const datagen::Settings& settings);

}  // namespace reveza::fraudgen
