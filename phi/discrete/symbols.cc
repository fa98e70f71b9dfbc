#include "phi/discrete/symbols.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <utility>

namespace reveza::phi {

SymbolSeries::SymbolSeries(std::vector<Symbol> symbols) : symbols_(std::move(symbols)) {
  Symbol highest = 1;
  for (const Symbol symbol : symbols_) highest = std::max(highest, symbol);
  states_ = std::uint64_t{highest} + 1;
  bits_ = std::bit_width(highest);
  if (bits_ <= kMaxPlanes) MakePlanes();
}

void SymbolSeries::MakePlanes() {
  static_assert(std::endian::native == std::endian::little);
  constexpr std::size_t kRows = 64;
  const std::size_t rows = symbols_.size();
  words_ = rows / kRows + 2;
  planes_.resize(static_cast<std::size_t>(bits_) * words_);
  for (std::size_t row = 0; row < rows; row += kRows) {
    std::array<std::uint8_t, kRows> low = {};
    const std::size_t count = std::min(kRows, rows - row);
    for (std::size_t i = 0; i < count; ++i) low[i] = static_cast<std::uint8_t>(symbols_[row + i]);
    const auto eights = std::bit_cast<std::array<std::uint64_t, kRows / 8>>(low);
    for (int bit = 0; bit < bits_; ++bit) {
      std::uint64_t word = 0;
      for (std::size_t i = eights.size(); i-- > 0;) {
        // Multiplied, the lowest bits of all bytes meet in the highest byte.
        word = word << 8 | ((eights[i] >> bit) & 0x0101010101010101U) * 0x0102040810204080U >> 56;
      }
      planes_[static_cast<std::size_t>(bit) * words_ + row / kRows] = word;
    }
  }
}

Result<std::vector<Symbol>> JointSymbols(std::span<const std::span<const Symbol>> series) {
  std::vector<Symbol> joint(series.front().begin(), series.front().end());
  for (const std::span<const Symbol> other : series.subspan(1)) {
    std::map<std::pair<Symbol, Symbol>, Symbol> symbols;
    for (std::size_t row = 0; row < joint.size(); ++row) {
      const auto next = static_cast<Symbol>(symbols.size());
      joint[row] = symbols.try_emplace({joint[row], other[row]}, next).first->second;
      if (symbols.size() <= kMaxSymbols) continue;
      return InvalidArgument("{} columns together have more than {} symbols; use fewer bins",
                             series.size(), kMaxSymbols);
    }
  }
  return joint;
}

}  // namespace reveza::phi
