// Test support: a data set of 450 customers, small enough to inspect every row.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/model/coherent/testing_collector.h"

namespace reveza::fraudgen::coherent {

constexpr uint64_t kBlockRows = 8'000;

inline Parameters Small() {
  Parameters parameters;
  parameters.rows = 3 * kBlockRows;
  parameters.rows_per_block = kBlockRows;
  parameters.customers = 450;
  parameters.frauds = {.billionths = 50'000'000};
  return parameters;
}

// Returns the scenario of that name, which must exist.
inline Scenario& Named(Parameters& parameters, std::string_view name) {
  return *std::ranges::find(parameters.scenarios, name, &Scenario::name);
}

inline std::unique_ptr<CoherentModel> ModelOf(const Parameters& parameters) {
  auto model = CoherentModel::Make(parameters);
  EXPECT_TRUE(model) << model.error().message;
  return std::move(*model);
}

inline Collector Everything(const CoherentModel& model) {
  Collector collector;
  for (uint64_t block = 0; block < model.blocks(); ++block) {
    EXPECT_TRUE(model.Make(block, model.tables(), collector));
  }
  return collector;
}

// The rows of Small(), generated once.
inline Collector& SmallRows() {
  static Collector collector = Everything(*ModelOf(Small()));
  return collector;
}

}  // namespace reveza::fraudgen::coherent
