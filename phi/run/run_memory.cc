#include "phi/run/run_memory.h"

#include <algorithm>
#include <limits>
#include <string>

#include "common/base/units.h"
#include "phi/run/run_measures.h"
#include "phi/run/runner.h"

namespace reveza::phi {
namespace {

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
