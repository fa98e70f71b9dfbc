#include "phi/run/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <ranges>
#include <string>
#include <string_view>

#include "common/base/nearest.h"
#include "common/base/units.h"
#include "phi/run/run_measures.h"
#include "phi/run/runner.h"

namespace reveza::phi {
namespace {

constexpr int kMaxWindow = 100'000;

Status UnknownMeasure(std::string_view name) {
  std::vector<std::string_view> names = {kLegacyName};
  std::string list(kLegacyName);
  for (const Measure measure : kAllMeasures) {
    names.push_back(NameOf(measure));
    list += fmt::format(", {}", NameOf(measure));
  }
  return InvalidArgument("--measure: unknown measure '{}'{}; use some of {}, or all, or none", name,
                         DidYouMean(name, names), list);
}

Status AddMeasure(std::string_view name, RunSettings& settings) {
  if (name == kLegacyName) {
    settings.legacy = true;
    return {};
  }
  const auto measure = ParseMeasure(name);
  if (!measure) return UnknownMeasure(name);
  if (std::ranges::find(settings.measures, *measure) == settings.measures.end()) {
    settings.measures.push_back(*measure);
  }
  return {};
}

Status CheckInteger(std::string_view name, std::int64_t value, std::int64_t min, std::int64_t max) {
  if (value >= min && value <= max) return {};
  return InvalidArgument("{} is {}; use a number from {} to {}", name, value, min, max);
}

// Size of a row: run, cycle and hash; six means and three norms; measures.
Bytes RowBytes(Bytes measures) { return 4 + 8 + 8 + (kModules + 3) * sizeof(float) + 8 * measures; }
// Maximum size of a row as text.
Bytes RowTextBytes(Bytes measures) { return 240 + 24 * measures; }

// A growing vector reserves up to twice its size.
constexpr Bytes kGrown = 2;
// Parquet rows wait in growing vectors, are copied to growing columns, and are then encoded.
constexpr Bytes kParquetCopies = 2 * kGrown + 1;

Bytes Product(Bytes one, Bytes other) {
  Bytes product = 0;
  return __builtin_mul_overflow(one, other, &product) ? std::numeric_limits<Bytes>::max() : product;
}

Bytes Sum(Bytes one, Bytes other) {
  Bytes sum = 0;
  return __builtin_add_overflow(one, other, &sum) ? std::numeric_limits<Bytes>::max() : sum;
}

Bytes BytesOfRows(const RunSettings& settings) {
  const auto runs = static_cast<Bytes>(settings.engine.runs);
  const auto measures = static_cast<Bytes>(MeasureNames(settings).size());
  const Bytes cycles = std::min(settings.cycles, settings.checkpoint_every);
  const Bytes row = RowBytes(measures);
  // A batch holds observations and measures, the same as rows, and as text.
  const Bytes piece = sizeof(Observation) + 8 * measures + kGrown * (row + RowTextBytes(measures));
  const Bytes piece_rows = std::min(Product(runs, cycles), std::max(runs, kMaxBatchRows));
  Bytes bytes = Product(piece_rows, piece);
  if (settings.Keeps() && settings.format == RowFormat::kParquet) {
    bytes = Sum(bytes, Product(Product(runs, cycles), kParquetCopies * row));
  }
  // Means of the cycles since the last checkpoint, and their serialised form in the next.
  return Sum(bytes, Product(cycles, 400 + 80 * measures));
}

// Names the option that reduces the largest share.
std::string Advice(const RunSettings& settings, const RunMemory& memory, Bytes engine) {
  const Bytes max = std::max({memory.states, memory.measures, memory.rows, engine});
  if (max == memory.rows) return "a lower --checkpoint-every";
  if (max == memory.measures) return "a shorter --window";
  return settings.legacy ? "--measure without phi_legacy, which needs the most memory"
                         : "a lower --dimension";
}

}  // namespace

Status SetMeasures(std::string_view names, RunSettings& settings) {
  settings.legacy = false;
  settings.measures.clear();
  if (names == "none") return {};
  if (names == "all") {
    settings.legacy = true;
    settings.measures.assign(kAllMeasures.begin(), kAllMeasures.end());
    return {};
  }
  if (names.empty()) return UnknownMeasure(names);
  for (const auto name : std::views::split(names, ',')) {
    RETURN_IF_ERROR(AddMeasure(std::string_view(name), settings));
  }
  return {};
}

std::vector<std::string> MeasureNames(const RunSettings& settings) {
  std::vector<std::string> names;
  if (settings.legacy) names.emplace_back(kLegacyName);
  for (const Measure measure : settings.measures) names.emplace_back(NameOf(measure));
  return names;
}

Status Prepare(RunSettings& settings) {
  settings.engine.correlation = settings.legacy;
  RETURN_IF_ERROR(CheckSettings(settings.engine));
  // A regression of six modules on six needs more rows than this.
  const int min = 2 * kModules + settings.lag + 2;
  for (const Status& status :
       {CheckInteger("--lag", settings.lag, 1, kMaxWindow),
        CheckInteger("--window", settings.window, min, kMaxWindow),
        CheckInteger("--every", settings.every, 1, std::int64_t{1} << 40),
        CheckInteger("--checkpoint-every", static_cast<std::int64_t>(settings.checkpoint_every), 1,
                     std::int64_t{1} << 40),
        CheckInteger("--cycles", static_cast<std::int64_t>(settings.cycles), 1, 0xffffffff)}) {
    if (!status) return status;
  }
  return {};
}

std::vector<Parameter> ParametersOf(const RunSettings& settings) {
  const EngineSettings& engine = settings.engine;
  const CycleConstants& constants = engine.constants;
  const auto parameter = [](std::string_view name, const auto& value) {
    return Parameter{std::string(name), fmt::format("{}", value)};
  };
  std::string measures;
  for (const std::string& name : MeasureNames(settings)) {
    measures += (measures.empty() ? "" : ",") + name;
  }
  return {parameter("dimension", constants.dimension),
          parameter("seed", engine.seed),
          parameter("first-run", engine.first_run),
          parameter("runs", engine.runs),
          parameter("temperature", constants.temperature),
          parameter("repression", constants.repression),
          parameter("decay", constants.decay),
          parameter("least-variance", constants.min_variance),
          parameter("feedback", constants.feedback),
          parameter("measure", measures.empty() ? "none" : measures),
          parameter("window", settings.window),
          parameter("every", settings.every),
          parameter("lag", settings.lag),
          parameter("mip", settings.minimum ? "yes" : "no"),
          parameter("format", NameOf(settings.format))};
}

std::vector<std::string> ModuleNames() {
  return {"sensory_input", "qualia", "narrative", "meaning_maker", "expectation", "imagination"};
}

RowLayout LayoutOf(const RunSettings& settings) {
  RowLayout layout;
  for (const std::string& name : ModuleNames()) layout.states.push_back("mean_" + name);
  for (const char* name : {"rho_c_norm", "rho_p_norm", "rho_u_norm"}) {
    layout.states.emplace_back(name);
  }
  layout.measures = MeasureNames(settings);
  return layout;
}

RunMemory MemoryOf(const RunSettings& settings) {
  const auto runs = static_cast<Bytes>(settings.engine.runs);
  // One copy at the end for the hashes; a checkpoint is still held while the next is taken.
  const Bytes copies = settings.Keeps() ? 2 : 1;
  const bool measures = !MeasureNames(settings).empty();
  return {.states = Product(copies, StateBytes(settings.engine)),
          .measures = measures ? Product(runs, RunMeasures::MaxBytes(settings)) : 0,
          .rows = BytesOfRows(settings)};
}

Status CheckMemory(const RunSettings& settings, Bytes engine, std::optional<Bytes> available) {
  const RunMemory memory = MemoryOf(settings);
  const Bytes wanted = Sum(Sum(memory.states, memory.measures), Sum(memory.rows, engine));
  if (!available || wanted <= *available) return {};
  return Fail(Error::Code::kExhausted,
              "{} runs of dimension {} need {} of memory (cycles {}, copies of states {}, measures "
              "{}, unwritten rows {}), and {} are free; use fewer --runs, or {}",
              settings.engine.runs, settings.engine.constants.dimension, FormatBytes(wanted),
              FormatBytes(engine), FormatBytes(memory.states), FormatBytes(memory.measures),
              FormatBytes(memory.rows), FormatBytes(*available), Advice(settings, memory, engine));
}

}  // namespace reveza::phi
