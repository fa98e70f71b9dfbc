// Measures of series and of models: `measure`, `windows`, `theory`, `phiid`, `granger`, `te`,
// `gaussian_complexes`, `legacy`.
#include <nanobind/stl/optional.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/python/native.h"
#include "phi/measures/estimate.h"
#include "phi/measures/gaussian.h"
#include "phi/measures/granger.h"
#include "phi/measures/legacy.h"
#include "phi/measures/matrix.h"
#include "phi/measures/minimum_partition.h"
#include "phi/measures/phiid.h"
#include "phi/measures/sliding_windows.h"
#include "phi/measures/whole_series.h"
#include "phi/measures/window.h"
#include "phi/python/arrays.h"
#include "phi/series/transfers.h"

namespace reveza::phi {
namespace {

namespace nb = nanobind;
using python::Arguments;
using python::Check;
using python::ValueOf;
using python::WithoutLock;
using Names = std::vector<std::string>;

constexpr std::int64_t kMaxCount = 1'000'000;
constexpr std::int64_t kMaxRows = std::int64_t{1} << 40;

nb::object PartsOf(const std::optional<Partition>& partition) {
  if (!partition) return nb::none();
  nb::list parts;
  for (const auto& part : partition->parts()) parts.append(nb::tuple(nb::cast(part)));
  return nb::tuple(parts);
}

nb::object DictOf(const std::optional<Significance>& test) {
  if (!test) return nb::none();
  nb::dict row;
  row["p"] = test->p;
  row["null_mean"] = test->null_mean;
  row["null_high"] = test->null_high;
  row["surrogates"] = test->surrogates;
  row["missing"] = test->missing;
  return row;
}

nb::object DictOf(const std::optional<Interval>& interval) {
  if (!interval) return nb::none();
  nb::dict row;
  row["low"] = interval->low;
  row["high"] = interval->high;
  row["replicates"] = interval->replicates;
  row["block"] = interval->block;
  row["missing"] = interval->missing;
  return row;
}

nb::dict DictOf(const WindowValue& value) {
  const bool searched = value.examined > 0;
  nb::dict row;
  row["measure"] = std::string(NameOf(value.measure));
  row["nats"] = value.value;
  row["partition"] = PartsOf(value.partition);
  row["examined"] = value.examined;
  row["exact"] = value.exact;
  row["method"] = searched ? nb::cast(std::string(NameOf(value.method))) : nb::none();
  row["starts"] = value.starts;
  row["agreed"] = value.agreed;
  row["at_least"] = value.starts > 0 ? nb::cast(value.at_least) : nb::none();
  row["missing"] = value.missing;
  return row;
}

// What a function measures, from its arguments.
struct Request {
  std::vector<SeriesView> trials;
  WindowOptions options;
  SignificanceOptions chance;
  int threads = 1;
};

int OrderOf(const Arguments& given, const Request& request, const Names& names) {
  const auto order = given.Get<std::string>("order");
  const auto max_order = given.Whole<int>("max_order", 1, kMaxRows);
  if (order != "aic" && order != "bic") return given.Whole<int>("past_rows", 1, kMaxCount);
  const auto criterion = order == "aic" ? OrderCriterion::kAic : OrderCriterion::kBic;
  return ValueOf(WithoutLock([&] {
    return BestOrder(request.trials, request.options.estimate.lag, max_order, criterion, names);
  }));
}

Request RequestOf(const std::vector<Array>& arrays, const Names& names, const Arguments& given) {
  Request request{.trials = ViewsOf(arrays), .options = {}, .chance = {}};
  const MeasureSelection selection = {.measures = given.Get<std::string>("measures"),
                                      .partition = given.Get<std::string>("partition"),
                                      .minimum = given.Get<std::string>("mip"),
                                      .normalised = given.Get<bool>("normalised")};
  request.options = ValueOf(WindowOptionsOf(selection, names));
  EstimateOptions& estimate = request.options.estimate;
  estimate.names = names;
  estimate.lag = given.Whole<int>("lag", 1, kMaxCount);
  auto shrinkage = ParseShrinkage(given.Get<std::string>("shrinkage"));
  if (!shrinkage) python::Raise(PyExc_ValueError, "shrinkage: " + shrinkage.error().message);
  estimate.shrinkage = *shrinkage;
  estimate.order = OrderOf(given, request, names);
  request.threads = given.Whole<int>("threads", 1, kMaxThreads);
  return request;
}

SurrogateOptions SurrogatesOf(const Arguments& given, std::span<const SeriesView> trials) {
  return {.kind = ValueOf(
              ParseSurrogateKind(given.Get<std::string>("surrogate"), trials, trials.size())),
          .count = given.Whole<int>("surrogates", 0, kMaxCount),
          .seed = given.Get<std::uint64_t>("seed"),
          .threads = given.Whole<int>("threads", 1, kMaxThreads)};
}

nb::dict MeasureArrays(const std::vector<Array>& arrays, const Names& names, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  Request request = RequestOf(arrays, names, given);
  SignificanceOptions& chance = request.chance;
  chance.bias = given.Get<bool>("bias");
  chance.surrogates = SurrogatesOf(given, request.trials);
  chance.bootstrap = {.count = given.Whole<int>("bootstrap", 0, kMaxCount),
                      .block = given.Whole<std::int64_t>("block", 0, kMaxRows),
                      .seed = chance.surrogates.seed,
                      .threads = request.threads};
  const auto whole =
      ValueOf(WithoutLock([&] { return MeasureWhole(request.trials, request.options, chance); }));
  nb::list values;
  for (const MeasuredValue& value : whole.values) {
    nb::dict row = DictOf(value.value);
    row["bias"] = nb::cast(value.bias);
    row["significance"] = DictOf(value.significance);
    row["interval"] = DictOf(value.interval);
    values.append(row);
  }
  nb::dict found;
  found["values"] = values;
  found["samples"] = whole.samples;
  found["lag"] = request.options.estimate.lag;
  found["order"] = request.options.estimate.order;
  found["shrinkage"] = whole.shrinkage;
  found["condition_number"] = whole.model.condition();
  found["bias_note"] = whole.bias_note;
  return found;
}

nb::list MeasureWindows(const std::vector<Array>& arrays, const Names& names, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Request request = RequestOf(arrays, names, given);
  const SlidingOptions sliding = {.length = given.Whole<std::int64_t>("length", 1, kMaxRows),
                                  .step = given.Whole<std::int64_t>("step", 1, kMaxRows),
                                  .threads = request.threads};
  Check(CheckNumbers(request.trials, names));
  const auto windows = ValueOf(
      WithoutLock([&] { return MeasureSliding(request.trials, request.options, sliding); }));
  nb::list found;
  for (const MeasuredWindow& window : windows) {
    nb::list values;
    for (const WindowValue& value : window.values) values.append(DictOf(value));
    nb::dict row;
    row["first_row"] = window.first;
    row["last_row"] = window.last;
    row["values"] = values;
    found.append(row);
  }
  return found;
}

Matrix DenseMatrixOf(const Array& array) {
  Matrix matrix(static_cast<int>(array.shape(0)), static_cast<int>(array.shape(1)));
  for (std::size_t i = 0; i < array.shape(0); ++i) {
    for (std::size_t j = 0; j < array.shape(1); ++j) {
      matrix(static_cast<int>(i), static_cast<int>(j)) = array(i, j);
    }
  }
  return matrix;
}

nb::dict MeasureMatrices(const Array& coupling, const Array& noise, const Names& names,
                         nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Matrix matrix = DenseMatrixOf(coupling);
  const auto model = ValueOf(GaussianModel::FromCoupling(matrix, DenseMatrixOf(noise)));
  const auto options = ValueOf(WindowOptionsOf({.measures = given.Get<std::string>("measures"),
                                                .partition = given.Get<std::string>("partition"),
                                                .minimum = given.Get<std::string>("mip"),
                                                .normalised = given.Get<bool>("normalised")},
                                               names));
  nb::list values;
  for (const auto& value : ValueOf(WithoutLock([&] { return MeasureModel(model, options); }))) {
    values.append(DictOf(value));
  }
  nb::dict found;
  found["values"] = values;
  found["spectral_radius"] = SpectralRadius(matrix);
  found["condition_number"] = model.condition();
  return found;
}

nb::list ComplexesOfArrays(const std::vector<Array>& arrays, const Names& names,
                           nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Request request = RequestOf(arrays, names, given);
  const Measure measure = ValueOf(ParseMeasure(given.Get<std::string>("measures")));
  const auto complexes = ValueOf(WithoutLock([&]() -> Result<std::vector<Complex>> {
    ASSIGN_OR_RETURN(const auto estimate, EstimateModel(request.trials, request.options.estimate));
    return ComplexesOf(estimate.model, measure);
  }));
  nb::list found;
  for (const Complex& one : complexes) {
    found.append(nb::make_tuple(nb::tuple(nb::cast(one.variables)), one.value, one.main));
  }
  return found;
}

nb::tuple LegacyOfArrays(const std::vector<Array>& arrays) {
  const SeriesView last = ViewsOf(arrays).back();
  constexpr int kReplicates = 1000;
  const auto rows = static_cast<int>(std::min<std::int64_t>(last.length, kLegacyWindow));
  const double value = ValueOf(WithoutLock([&] { return LegacyAtEnd(last); }));
  const LegacyNull null =
      WithoutLock([&] { return LegacyNullOf(last.variables, rows, kReplicates, 1); });
  return nb::make_tuple(value, null.mean, null.low, null.high);
}

// The atoms, and what they are compared with.
struct Decomposed {
  PhiId found;
  std::optional<PhiIdAtoms> bias = {};
  std::array<std::optional<Significance>, 16> tests = {};
};

Result<Decomposed> Decompose(const Request& request, const PhiIdOptions& options, bool bias,
                             const SurrogateOptions& surrogates) {
  ASSIGN_OR_RETURN(auto found, DecomposeSeries(request.trials, options));
  Decomposed all{.found = std::move(found)};
  // Only of mmi without shrinkage the bias has a formula, and not of a minimum over partitions.
  const bool searched = !options.partition && request.trials.front().variables > 2;
  if (bias && options.redundancy == PhiIdRedundancy::kMmi && !searched) {
    ASSIGN_OR_RETURN(const auto estimate, EstimateModel(request.trials, options.estimate));
    if (estimate.shrinkage == 0.0) {
      all.bias = PhiIdBias(estimate.model, all.found.partition, estimate.samples);
    }
  }
  if (surrogates.count > 0) {
    ASSIGN_OR_RETURN(all.tests, TestPhiId(request.trials, options, all.found.mean, surrogates));
  }
  return all;
}

nb::dict DecomposeArrays(const std::vector<Array>& arrays, const Names& names, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  Request request = RequestOf(arrays, names, given);
  request.options.measures = {Measure::kPhiR};  // whose partition is searched
  const PhiIdOptions options = {
      .redundancy = ValueOf(ParsePhiIdRedundancy(given.Get<std::string>("redundancy"))),
      .estimate = request.options.estimate,
      .partition = request.options.partition,
      .search = request.options.minimum.value_or(SearchOptions{}),
      .local = given.Get<bool>("local")};
  const SurrogateOptions surrogates = SurrogatesOf(given, request.trials);
  const bool bias = given.Get<bool>("bias");
  auto all = ValueOf(WithoutLock([&] { return Decompose(request, options, bias, surrogates); }));
  nb::list atoms;
  for (std::size_t i = 0; i < kPhiIdAtoms.size(); ++i) {
    nb::dict row;
    row["name"] = std::string(kPhiIdAtoms[i]);
    row["nats"] = all.found.mean[i];
    row["mode"] = std::string(PhiIdModeOf(i));
    row["bias"] = all.bias ? nb::cast((*all.bias)[i]) : nb::none();
    row["significance"] = DictOf(all.tests[i]);
    atoms.append(row);
  }
  nb::dict found;
  found["redundancy"] = std::string(NameOf(options.redundancy));
  found["partition"] = PartsOf(all.found.partition);
  found["atoms"] = atoms;
  found["phi_r"] = PhiRFrom(all.found.mean);
  found["bias_note"] = all.bias ? BiasNote(request.trials, names) : "";
  found["local"] = nb::none();
  if (options.local) {
    std::vector<double> local;
    for (const PhiIdAtoms& pair : all.found.local)
      local.insert(local.end(), pair.begin(), pair.end());
    found["local"] = ArrayOf(std::move(local), all.found.local.size(), kPhiIdAtoms.size());
  }
  return found;
}

nb::object RowsOf(const std::optional<Matrix>& matrix) {
  if (!matrix) return nb::none();
  return nb::cast(ArrayOf(std::vector<double>(matrix->values().begin(), matrix->values().end()),
                          static_cast<std::size_t>(matrix->rows()),
                          static_cast<std::size_t>(matrix->columns())));
}

nb::dict GrangerOfArrays(const std::vector<Array>& arrays, const Names& names, nb::dict arguments) {
  const Arguments given(std::move(arguments));
  const Request request = RequestOf(arrays, names, given);
  const auto kind = given.Get<bool>("conditional") ? GrangerKind::kConditional : GrangerKind::kPair;
  const auto granger = ValueOf(WithoutLock([&]() -> Result<Granger> {
    ASSIGN_OR_RETURN(const auto estimate, EstimateModel(request.trials, request.options.estimate));
    // With shrinkage p has no formula.
    return GrangerOf(estimate.model, kind,
                     estimate.shrinkage > 0 ? std::nullopt : std::optional(estimate.samples));
  }));
  nb::dict found;
  found["nats"] = RowsOf(granger.causality);
  found["p"] = RowsOf(granger.p);
  found["q"] = RowsOf(granger.q);
  return found;
}

nb::list TransfersOfArrays(const std::vector<Array>& arrays, const Names& names,
                           nb::dict arguments) {
  const Arguments given(std::move(arguments));
  constexpr int kMaxHistory = 62;
  constexpr int kMaxBins = 1 << 16;
  const auto trials = ViewsOf(arrays);
  const TransferRequest request = {
      .estimator = ValueOf(ParseTransferEstimator(given.Get<std::string>("estimator"))),
      .columns = {.sources = given.Get<std::vector<int>>("source"),
                  .targets = given.Get<std::vector<int>>("target"),
                  .given = given.Get<std::vector<int>>("given")},
      .given_all_others = given.Get<bool>("given_all_others"),
      .bins = given.Whole<int>("bins", 2, kMaxBins),
      .neighbours = given.Whole<int>("neighbours", 1, kMaxCount),
      .window = given.Whole<std::int64_t>("theiler", 0, kMaxCount),
      .options = {.target_history = given.Whole<int>("target_history", 1, kMaxHistory),
                  .source_history = given.Whole<int>("source_history", 1, kMaxHistory),
                  .delay = given.Whole<int>("delay", 1, kMaxCount),
                  .surrogates = given.Whole<int>("surrogates", 0, kMaxCount),
                  .seed = given.Get<std::uint64_t>("seed")},
      .surrogate = ValueOf(ParseSurrogateKind("auto", trials, trials.size())),
      .threads = given.Whole<int>("threads", 1, kMaxThreads)};
  const auto transfers = ValueOf(WithoutLock([&] { return TransfersOf(trials, names, request); }));
  nb::list found;
  for (const Transfer& transfer : transfers) {
    nb::dict row;
    row["source"] = nb::tuple(nb::cast(transfer.columns.sources));
    row["target"] = nb::tuple(nb::cast(transfer.columns.targets));
    row["given"] = nb::tuple(nb::cast(transfer.columns.given));
    row["nats"] = transfer.nats;
    row["corrected"] = nb::cast(transfer.corrected);
    row["histories_suffice"] = transfer.histories_suffice;
    row["samples"] = transfer.samples;
    row["states"] = transfer.states;
    row["null_mean"] = nb::cast(transfer.null_mean);
    row["p"] = nb::cast(transfer.p);
    row["q"] = nb::cast(transfer.q);
    found.append(row);
  }
  return found;
}

}  // namespace

void AddMeasures(nb::module_& module) {
  const auto trials = nb::arg("trials").noconvert();
  module.def("measure", &MeasureArrays, trials, nb::arg("names"), nb::arg("arguments"));
  module.def("windows", &MeasureWindows, trials, nb::arg("names"), nb::arg("arguments"));
  module.def("theory", &MeasureMatrices, nb::arg("coupling").noconvert(),
             nb::arg("noise").noconvert(), nb::arg("names"), nb::arg("arguments"));
  module.def("gaussian_complexes", &ComplexesOfArrays, trials, nb::arg("names"),
             nb::arg("arguments"));
  module.def("legacy", &LegacyOfArrays, trials);
  module.def("phiid", &DecomposeArrays, trials, nb::arg("names"), nb::arg("arguments"));
  module.def("granger", &GrangerOfArrays, trials, nb::arg("names"), nb::arg("arguments"));
  module.def("te", &TransfersOfArrays, trials, nb::arg("names"), nb::arg("arguments"));
}

}  // namespace reveza::phi
