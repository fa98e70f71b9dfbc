#include "phi/measures/elimination.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

namespace reveza::phi {
namespace {

[[gnu::always_inline]] inline void SubtractMultiple(std::span<double> from, const double* of,
                                                    double factor) {
  for (double& value : from) value -= factor * *of++;
}

#ifdef __x86_64__
[[gnu::target("avx2")]] void SubtractByFour(std::span<double> from, const double* of,
                                            double factor) {
  SubtractMultiple(from, of, factor);
}
#endif

// Subtracts `factor` times the numbers at `of`; the same bits for any instructions.
void Subtract(std::span<double> from, const double* of, double factor, Instructions instructions) {
#ifdef __x86_64__
  if (instructions >= Instructions::kAvx2) return SubtractByFour(from, of, factor);
#endif
  SubtractMultiple(from, of, factor);
}

}  // namespace

void Elimination::Restart(const LockstepMember& member) {
  for (int row = 0; row < left_.rows(); ++row) {
    if (!member.Owns(static_cast<std::size_t>(row))) continue;
    std::ranges::copy(std::span(whole_.Row(row), Width()), left_.Row(row));
  }
}

Elimination::Pivots Elimination::PivotsOf(std::vector<int> rows) const {
  Pivots pivots = {.rows = std::move(rows), .values = {}, .inverses = {}};
  pivots.values = Matrix(static_cast<int>(pivots.rows.size()), left_.columns());
  for (std::size_t i = 0; i < pivots.rows.size(); ++i) {
    double* const pivot = pivots.values.Row(static_cast<int>(i));
    const int row = pivots.rows[i];
    for (int j = 0; j < row; ++j) pivot[j] = left_(j, row);
    std::ranges::copy(std::span(left_.Row(row), Width()).subspan(static_cast<std::size_t>(row)),
                      pivot + row);
    for (std::size_t k = 0; k < i; ++k) {
      const double factor = pivot[pivots.rows[k]] * pivots.inverses[k];
      Subtract({pivot, Width()}, pivots.values.Row(static_cast<int>(k)), factor, instructions_);
    }
    pivots.inverses.push_back(1.0 / pivot[row]);
  }
  return pivots;
}

void Elimination::Eliminate(const Pivots& pivots, const std::vector<int>& others,
                            const LockstepMember& member) {
  for (const int other : others) {
    if (!member.Owns(static_cast<std::size_t>(other))) continue;
    const auto from = static_cast<std::size_t>(other);
    const std::span<double> values = std::span(left_.Row(other), Width()).subspan(from);
    for (std::size_t i = 0; i < pivots.rows.size(); ++i) {
      const double* const pivot = pivots.values.Row(static_cast<int>(i));
      Subtract(values, pivot + other, pivot[other] * pivots.inverses[i], instructions_);
    }
  }
}

double Elimination::LogDeterminant(const std::vector<int>& rows) const {
  if (rows.size() == 1) return std::log(left_(rows[0], rows[0]));
  const auto size = static_cast<int>(rows.size());
  Matrix block(size, size);
  for (int i = 0; i < size; ++i) {
    for (int j = i; j < size; ++j) {
      block(i, j) = block(j, i) =
          left_(rows[static_cast<std::size_t>(i)], rows[static_cast<std::size_t>(j)]);
    }
  }
  const auto lower = Cholesky(block);
  return lower ? LogDeterminantOf(*lower) : HUGE_VAL;
}

double Elimination::SecondsPerUpdate(std::size_t width, Instructions instructions) {
  constexpr std::size_t kUpdates = 1'000'000;
  std::vector<double> rows(width * width, 1.0);
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begin = Clock::now();
  std::size_t done = 0;
  while (done < kUpdates) {
    for (std::size_t row = 1; row < width; ++row) {
      Subtract({&rows[row * width + row], width - row}, &rows[row], 1e-9, instructions);
      done += width - row;
    }
  }
  return std::chrono::duration<double>(Clock::now() - begin).count() / static_cast<double>(done);
}

}  // namespace reveza::phi
