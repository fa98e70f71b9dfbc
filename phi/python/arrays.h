// NumPy arrays as series, without copies.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "phi/measures/series.h"

namespace reveza::phi {

inline constexpr int kMaxThreads = 1024;

// One trial: rows of doubles in C order. Holds a reference to the array.
using Array =
    nanobind::ndarray<const double, nanobind::ndim<2>, nanobind::c_contig, nanobind::device::cpu>;

// Returns views that are valid as long as the arrays.
inline std::vector<SeriesView> ViewsOf(const std::vector<Array>& trials) {
  std::vector<SeriesView> views;
  views.reserve(trials.size());
  for (const Array& trial : trials) {
    const auto variables = static_cast<int>(trial.shape(1));
    views.push_back({.values = trial.data(),
                     .length = static_cast<std::int64_t>(trial.shape(0)),
                     .variables = variables,
                     .stride = variables});
  }
  return views;
}

// Returns an array of rows x columns that owns its values.
template <typename T>
nanobind::ndarray<nanobind::numpy, T, nanobind::ndim<2>> ArrayOf(std::vector<T> values,
                                                                 std::size_t rows,
                                                                 std::size_t columns) {
  values.reserve(1);  // an empty array has an address, too
  auto held = std::make_unique<std::vector<T>>(std::move(values));
  T* const data = held->data();
  const nanobind::capsule owner(held.release(), [](void* at) noexcept {
    const std::unique_ptr<std::vector<T>> ended(static_cast<std::vector<T>*>(at));
  });
  return {data, {rows, columns}, owner};
}

// The functions of the module, by file.
void AddMeasures(nanobind::module_& module);
void AddMultiplets(nanobind::module_& module);
void AddDiscrete(nanobind::module_& module);
void AddIit4(nanobind::module_& module);
void AddCycles(nanobind::module_& module);

}  // namespace reveza::phi
