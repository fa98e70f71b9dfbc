// Groups of variables: `oinfo`.
#include "phi/measures/multiplets.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "phi/python/arrays.h"
#include "phi/run/device.h"

namespace reveza::phi {
namespace {

namespace nb = nanobind;
using python::Arguments;
using python::Check;
using python::ValueOf;
using python::WithoutLock;
using Names = std::vector<std::string>;

// The table of all subsets, and the surrogates that they are compared with.
struct FoundMultiplets {
  MeasuredMultiplets measured;
  std::optional<MultipletNull> null;
  std::string bias_note;
};

nb::tuple MembersOf(std::uint32_t subset) {
  nb::list members;
  for (; subset != 0; subset &= subset - 1) members.append(std::countr_zero(subset));
  return nb::tuple(members);
}

// Calls with each subset of `order` variables, in the order of itertools.combinations.
template <typename Call>
void ForEachSubset(int variables, int order, const Call& call) {
  std::vector<int> members(static_cast<std::size_t>(order));
  for (int i = 0; i < order; ++i) members[static_cast<std::size_t>(i)] = i;
  while (true) {
    std::uint32_t subset = 0;
    for (const int member : members) subset |= std::uint32_t{1} << member;
    call(subset);
    int last = order - 1;
    while (last >= 0 && members[static_cast<std::size_t>(last)] == variables - order + last) --last;
    if (last < 0) return;
    int next = members[static_cast<std::size_t>(last)];
    for (int i = last; i < order; ++i) members[static_cast<std::size_t>(i)] = ++next;
  }
}

FoundMultiplets MeasureArrays(const std::vector<Array>& arrays, const Names& names,
                              nb::dict arguments) {
  const Arguments given(std::move(arguments));
  constexpr int kMaxCount = 1'000'000;
  MultipletOptions options = {.copula = given.Get<bool>("copula"), .names = names};
  auto shrinkage = ParseShrinkage(given.Get<std::string>("shrinkage"));
  if (!shrinkage) python::Raise(PyExc_ValueError, "shrinkage: " + shrinkage.error().message);
  options.shrinkage = *shrinkage;
  const std::vector<SeriesView> trials = ViewsOf(arrays);
  const SurrogateOptions surrogates = {
      .kind =
          ValueOf(ParseSurrogateKind(given.Get<std::string>("surrogate"), trials, trials.size())),
      .count = given.Whole<int>("surrogates", 0, kMaxCount),
      .seed = given.Get<std::uint64_t>("seed"),
      .threads = given.Whole<int>("threads", 1, kMaxThreads)};
  const int workers = std::min(surrogates.threads, surrogates.count);
  Check(CheckMultiplets(static_cast<int>(names.size()), 1 + workers, FreeMemory()));
  return ValueOf(WithoutLock([&]() -> Result<FoundMultiplets> {
    ASSIGN_OR_RETURN(auto measured, MeasureMultiplets(trials, options));
    FoundMultiplets found{.measured = std::move(measured), .null = {}, .bias_note = {}};
    found.bias_note = BiasNote(trials, names);
    if (surrogates.count > 0) {
      ASSIGN_OR_RETURN(found.null, MultipletNull::Of(trials, options, surrogates));
    }
    return found;
  }));
}

nb::object KeyOf(MultipletMeasure measure) { return nb::cast(std::string(NameOf(measure))); }

nb::dict DictOf(const MultipletValues& values) {
  nb::dict row;
  for (std::size_t i = 0; i < values.size(); ++i) {
    row[KeyOf(kMultipletMeasures[i])] = values[i];
  }
  return row;
}

nb::dict ExtremesOf(const FoundMultiplets& found, const MultipletOrder& order, bool low) {
  nb::dict rows;
  for (std::size_t i = 0; i < kMultipletMeasures.size(); ++i) {
    const MultipletMeasure measure = kMultipletMeasures[i];
    const MultipletExtreme& extreme = (low ? order.lowest : order.highest)[i];
    nb::dict row;
    row["nats"] = extreme.value;
    row["variables"] = MembersOf(extreme.subset);
    // Only of o, whose sign means something, the lowest value is tested.
    const bool tested = found.null && (!low || measure == MultipletMeasure::kOInformation);
    row["p"] =
        tested ? nb::cast(found.null->P(measure, order.order, extreme.value, low)) : nb::none();
    row["null_bound"] =
        tested ? nb::cast(found.null->Bound(measure, order.order, low)) : nb::none();
    rows[KeyOf(measure)] = row;
  }
  return rows;
}

nb::list OrdersOf(const FoundMultiplets& found) {
  const auto orders = WithoutLock([&] { return found.measured.multiplets.Orders(); });
  nb::list rows;
  for (const MultipletOrder& order : orders) {
    nb::dict row;
    row["order"] = order.order;
    row["subsets"] = order.subsets;
    row["mean"] = DictOf(order.mean);
    row["bias"] = DictOf(MultipletBias(order.order, found.measured.samples));
    row["highest"] = ExtremesOf(found, order, false);
    row["lowest"] = ExtremesOf(found, order, true);
    rows.append(row);
  }
  return rows;
}

// Returns the values of a subset as its bits.
nb::dict ValuesOf(const FoundMultiplets& found, std::uint32_t subset) {
  return DictOf(found.measured.multiplets.ValuesOf(subset));
}

// Returns the bits of all subsets of so many variables and, for each, its values.
nb::tuple TableOf(const FoundMultiplets& found, int minsize, int maxsize) {
  const Multiplets& multiplets = found.measured.multiplets;
  std::vector<std::uint32_t> subsets;
  std::vector<double> values;
  WithoutLock([&] {
    for (int order = minsize; order <= maxsize; ++order) {
      ForEachSubset(multiplets.variables(), order, [&](std::uint32_t subset) {
        subsets.push_back(subset);
        const MultipletValues of_subset = multiplets.ValuesOf(subset);
        values.insert(values.end(), of_subset.begin(), of_subset.end());
      });
    }
  });
  const std::size_t count = subsets.size();
  return nb::make_tuple(ArrayOf(std::move(subsets), count, 1),
                        ArrayOf(std::move(values), count, kMultipletMeasures.size()));
}

}  // namespace

void AddMultiplets(nb::module_& module) {
  module.def("oinfo", &MeasureArrays, nb::arg("trials").noconvert(), nb::arg("names"),
             nb::arg("arguments"));
  nb::class_<FoundMultiplets>(module, "Multiplets")
      .def("orders", &OrdersOf)
      .def("values", &ValuesOf, nb::arg("subset"))
      .def("table", &TableOf, nb::arg("minsize"), nb::arg("maxsize"))
      .def_prop_ro("samples", [](const FoundMultiplets& found) { return found.measured.samples; })
      .def_prop_ro("bias_note", [](const FoundMultiplets& found) { return found.bias_note; })
      .def_prop_ro("shrinkage",
                   [](const FoundMultiplets& found) { return found.measured.shrinkage; })
      .def_prop_ro("condition_number",
                   [](const FoundMultiplets& found) { return found.measured.condition; });
}

}  // namespace reveza::phi
