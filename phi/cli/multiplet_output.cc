#include "phi/cli/multiplet_output.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "phi/run/device.h"

namespace reveza::phi {
namespace {

// What was measured, and what it is compared with.
struct Measured {
  MeasuredMultiplets values;
  std::optional<MultipletNull> null = {};
  bool bias = false;
  bool bias_holds = true;  // whether rows are independent
};

Names NamesIn(std::uint32_t subset, const Names& names) {
  Names chosen;
  for (; subset != 0; subset &= subset - 1) {
    chosen.push_back(names[static_cast<std::size_t>(std::countr_zero(subset))]);
  }
  return chosen;
}

std::string SubsetText(std::uint32_t subset, const Names& names) {
  return fmt::format("{}", fmt::join(NamesIn(subset, names), ","));
}

// Only of o, whose sign means something, the lowest value is tested.
bool IsTested(MultipletMeasure measure, bool low) {
  return !low || measure == MultipletMeasure::kOInformation;
}

Json ToJson(const MultipletValues& values) {
  Json json;
  for (std::size_t i = 0; i < values.size(); ++i) {
    json[std::string(NameOf(kMultipletMeasures[i]))] = values[i];
  }
  return json;
}

Json ExtremesToJson(const MultipletOrder& order, bool low, const Measured& measured,
                    const Names& names) {
  Json json;
  for (std::size_t i = 0; i < kMultipletMeasures.size(); ++i) {
    const MultipletMeasure measure = kMultipletMeasures[i];
    const MultipletExtreme& extreme = (low ? order.lowest : order.highest)[i];
    Json row = {{"nats", extreme.value}, {"variables", NamesIn(extreme.subset, names)}};
    if (measured.null && IsTested(measure, low)) {
      row["p"] = measured.null->P(measure, order.order, extreme.value, low);
      row["null_bound"] = measured.null->Bound(measure, order.order, low);
    }
    json[std::string(NameOf(measure))] = std::move(row);
  }
  return json;
}

Json ToJson(const std::vector<MultipletOrder>& orders, const Measured& measured,
            const Names& names) {
  Json rows = Json::array();
  for (const MultipletOrder& order : orders) {
    Json row = {{"order", order.order}, {"subsets", order.subsets}, {"mean", ToJson(order.mean)}};
    if (measured.bias) row["bias"] = ToJson(MultipletBias(order.order, measured.values.samples));
    row["highest"] = ExtremesToJson(order, false, measured, names);
    row["lowest"] = ExtremesToJson(order, true, measured, names);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<std::string> TextRow(const MultipletOrder& order, std::size_t i, bool low,
                                 const Measured& measured, const Names& names) {
  const MultipletMeasure measure = kMultipletMeasures[i];
  const MultipletExtreme& extreme = (low ? order.lowest : order.highest)[i];
  std::vector<std::string> row = {fmt::format("{}", order.order),
                                  fmt::format("{}", order.subsets),
                                  fmt::format("{}{}",
                                              order.subsets == 1 ? ""
                                              : low              ? "lowest "
                                                                 : "highest ",
                                              NameOf(measure)),
                                  Nats(extreme.value),
                                  "",
                                  "",
                                  "",
                                  SubsetText(extreme.subset, names)};
  if (measured.bias) {
    row[4] = Nats(extreme.value - MultipletBias(order.order, measured.values.samples)[i]);
  }
  if (measured.null) {
    row[5] = fmt::format("{:.4f}", measured.null->Bound(measure, order.order, low));
    row[6] = fmt::format("{:.4g}", measured.null->P(measure, order.order, extreme.value, low));
  }
  return row;
}

std::string ToText(const std::vector<MultipletOrder>& orders, const Measured& measured,
                   const Names& names) {
  std::vector<std::vector<std::string>> rows;
  rows.push_back({"order", "subsets", "", "nats", measured.bias ? "bias-corrected" : "",
                  measured.null ? "null 95%" : "", measured.null ? "p" : "", "variables"});
  for (const MultipletOrder& order : orders) {
    for (std::size_t i = 0; i < kMultipletMeasures.size(); ++i) {
      const MultipletMeasure measure = kMultipletMeasures[i];
      // Of two variables, o is 0, s twice tc, and dtc the same as tc.
      if (order.order == 2 && measure != MultipletMeasure::kTotalCorrelation) continue;
      // Of a single subset, the test of o is that of its sign.
      const bool only_low = order.subsets == 1 && order.lowest[i].value < 0.0;
      if (!only_low) rows.push_back(TextRow(order, i, false, measured, names));
      if (measure == MultipletMeasure::kOInformation && (only_low || order.subsets > 1)) {
        rows.push_back(TextRow(order, i, true, measured, names));
      }
    }
  }
  return Aligned(rows);
}

// Prints every subset, by order.
void PrintCsv(const Measured& measured, const Names& names) {
  constexpr std::size_t kChunk = 1 << 20;
  std::string text = "order,variables";
  const auto add_header = [&](std::string_view suffix) {
    for (const MultipletMeasure measure : kMultipletMeasures) {
      text += fmt::format(",{}{}", NameOf(measure), suffix);
    }
  };
  add_header("");
  if (measured.bias) add_header("_less_bias");
  if (measured.null) add_header("_p");
  if (measured.bias) text += ",less_bias_holds";
  text += '\n';
  const Multiplets& multiplets = measured.values.multiplets;
  const std::uint32_t count = std::uint32_t{1} << multiplets.variables();
  for (int order = 2; order <= multiplets.variables(); ++order) {
    const MultipletValues bias = MultipletBias(order, measured.values.samples);
    for (std::uint32_t subset = 1; subset < count; ++subset) {
      if (std::popcount(subset) != order) continue;
      const MultipletValues values = multiplets.ValuesOf(subset);
      text += fmt::format("{},{}", order, Quoted(SubsetText(subset, names)));
      for (const double value : values) text += fmt::format(",{}", value);
      for (std::size_t i = 0; measured.bias && i < values.size(); ++i) {
        text += fmt::format(",{}", values[i] - bias[i]);
      }
      for (std::size_t i = 0; measured.null && i < values.size(); ++i) {
        const bool low =
            kMultipletMeasures[i] == MultipletMeasure::kOInformation && values[i] < 0.0;
        text += fmt::format(",{}", measured.null->P(kMultipletMeasures[i], order, values[i], low));
      }
      if (measured.bias) text += measured.bias_holds ? ",yes" : ",no";
      text += '\n';
      if (text.size() < kChunk) continue;
      fmt::print("{}", text);
      text.clear();
    }
  }
  fmt::print("{}", text);
}

std::string Heading(const SeriesTable& table, const MultipletRequest& request,
                    const Measured& measured, const Json& document) {
  const std::string text = fmt::format(
      "{}: {} rows, {} variables ({}); {}, condition number {:.4g}{}\n",
      document["file"].get<std::string>(), table.length(), table.variables(),
      fmt::join(table.names, ", "), request.options.copula ? "normal quantiles of ranks" : "values",
      measured.values.condition,
      measured.values.shrinkage > 0 ? fmt::format(", shrinkage {:.4g}", measured.values.shrinkage)
                                    : "");
  return text + request.notes;
}

}  // namespace

Status PrintMultiplets(const SeriesTable& table, const MultipletRequest& request,
                       const OutputFormat& format, Json document) {
  const SurrogateOptions& surrogates = request.surrogates;
  const int workers = std::min(surrogates.threads, surrogates.count);
  RETURN_IF_ERROR(CheckMultiplets(table.variables(), 1 + workers, FreeMemory()));
  const std::vector<SeriesView> trials = table.Trials();
  ASSIGN_OR_RETURN(auto values, MeasureMultiplets(trials, request.options));
  Measured measured{.values = std::move(values)};
  // The formula holds only for covariances without shrinkage.
  measured.bias = request.bias && measured.values.shrinkage == 0.0;
  const std::vector<double> memories = LongMemories(trials, 0);
  measured.bias_holds = std::ranges::all_of(memories, [](double value) { return value == 0.0; });
  if (surrogates.count > 0) {
    ASSIGN_OR_RETURN(measured.null, MultipletNull::Of(trials, request.options, surrogates));
  }
  if (format.csv) {
    PrintCsv(measured, table.names);
    return {};
  }
  const auto orders = measured.values.multiplets.Orders();
  document["trials"] = table.trials.size();
  document["variables"] = table.names;
  document["estimator"] = request.options.copula ? "copula" : "gauss";
  document["unit"] = "nats";
  document["shrinkage_used"] = measured.values.shrinkage;
  document["condition_number"] = measured.values.condition;
  if (measured.null) {
    document["surrogates"] = {{"count", surrogates.count}, {"method", NameOf(surrogates.kind)}};
  }
  document["orders"] = ToJson(orders, measured, table.names);
  std::string text = Heading(table, request, measured, document) +
                     ToText(orders, measured, table.names) +
                     "\no > 0: redundancy prevails, o < 0: synergy; of two variables o is 0\n";
  if (measured.null) {
    text += fmt::format(
        "null, p: the extremes of each order in {} surrogates of independent variables, {}\n",
        surrogates.count, NameOf(surrogates.kind));
  }
  if (request.bias) {
    const std::string note = measured.bias ? BiasNote(trials, table.names)
                                           : "with shrinkage there is no formula for the bias";
    document["bias_note"] = note;
    text += note + '\n';
  }
  PrintResult(format, document, "", text);
  return {};
}

}  // namespace reveza::phi
