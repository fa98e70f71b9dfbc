#include "phi/run/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>

#include "base/units.h"
#include "phi/run/measuring.h"
#include "phi/run/runner.h"

namespace reveza::phi {
namespace {

// run, cycle and hash; six means and three norms; measures.
Bytes RowBytes(Bytes measures) { return 4 + 8 + 8 + (kModules + 3) * sizeof(float) + 8 * measures; }
// As text, at most.
Bytes RowTextBytes(Bytes measures) { return 240 + 24 * measures; }

// A list that grows has room for twice what is in it.
constexpr Bytes kGrown = 2;
// Parquet's rows wait in lists that grow, are copied into columns that grow, and are encoded.
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
  // Of a piece: what was observed and measured, the same as rows, and as text.
  const Bytes piece = sizeof(Observation) + 8 * measures + kGrown * (row + RowTextBytes(measures));
  const Bytes piece_rows = std::min(Product(runs, cycles), std::max(runs, kMostPieceRows));
  Bytes bytes = Product(piece_rows, piece);
  if (settings.Keeps() && settings.format == RowFormat::kParquet) {
    bytes = Sum(bytes, Product(Product(runs, cycles), kParquetCopies * row));
  }
  // The means of each cycle since the checkpoint, and as they stand in the next.
  return Sum(bytes, Product(cycles, 400 + 80 * measures));
}

// What to take less of, where this is the most.
std::string Advice(const RunSettings& settings, const RunMemory& memory, Bytes engine) {
  const Bytes most = std::max({memory.states, memory.measures, memory.rows, engine});
  if (most == memory.rows) return "a lower --checkpoint-every";
  if (most == memory.measures) return "a shorter --window";
  return settings.legacy ? "--measure without phi_legacy, which remembers most"
                         : "a lower --dimension";
}

}  // namespace

RunMemory MemoryOf(const RunSettings& settings) {
  const auto runs = static_cast<Bytes>(settings.engine.runs);
  // One at the end, for the hashes; before that, a checkpoint's is there while the next is taken.
  const Bytes copies = settings.Keeps() ? 2 : 1;
  const bool measures = !MeasureNames(settings).empty();
  return {.states = Product(copies, StateBytes(settings.engine)),
          .measures = measures ? Product(runs, RunMeasures::MostBytes(settings)) : 0,
          .rows = BytesOfRows(settings)};
}

Status CheckMemory(const RunSettings& settings, Bytes engine, std::optional<Bytes> room) {
  const RunMemory memory = MemoryOf(settings);
  const Bytes wanted = Sum(Sum(memory.states, memory.measures), Sum(memory.rows, engine));
  if (!room || wanted <= *room) return {};
  return Fail(
      Error::Code::kExhausted,
      fmt::format("{} runs of dimension {} need {} of memory (cycles {}, copies of states "
                  "{}, measures {}, rows that wait {}), and {} are free; take fewer "
                  "--runs, or {}",
                  settings.engine.runs, settings.engine.constants.dimension, FormatBytes(wanted),
                  FormatBytes(engine), FormatBytes(memory.states), FormatBytes(memory.measures),
                  FormatBytes(memory.rows), FormatBytes(*room), Advice(settings, memory, engine)));
}

}  // namespace reveza::phi
