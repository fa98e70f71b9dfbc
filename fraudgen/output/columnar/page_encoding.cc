#include "fraudgen/output/columnar/page_encoding.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>

namespace reveza::fraudgen {
namespace {

static_assert(std::endian::native == std::endian::little, "bytes of values are stored as they are");

// Values packed together; packed they are as many bytes as one value has bits.
constexpr std::size_t kGroup = 8;
// Whole words are stored, beyond the end of a group.
constexpr std::size_t kSlack = 16;
constexpr std::size_t kMaxVarint = 10;

uint64_t Load(const void* from) {
  uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return word;
}

void Store(uint64_t word, uint8_t* to) { std::memcpy(to, &word, sizeof word); }

uint8_t* AppendVarint(uint64_t number, uint8_t* to) {
  for (; number >= 0x80; number >>= 7) *to++ = static_cast<uint8_t>(number | 0x80);
  *to++ = static_cast<uint8_t>(number);
  return to;
}

// Packs numbers of any width, whose sum of bits is a multiple of 8.
template <typename T>
uint8_t* PackSlowly(const T* values, std::size_t count, unsigned width, uint8_t* to) {
  uint64_t word = 0;
  unsigned used = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t value = values[i];
    word |= value << used;
    used += width;
    if (used < 64) continue;
    Store(word, to);
    to += 8;
    used -= 64;
    word = used == 0 ? 0 : value >> (width - used);
  }
  Store(word, to);
  return to + used / 8;
}

// Packs four values, of up to 16 bits.
uint64_t PackFour(const uint16_t* values, unsigned width) {
  uint64_t x = Load(values);
  x = (x & 0x0000'ffff'0000'ffffu) | (x & 0xffff'0000'ffff'0000u) >> (16 - width);
  return (x & 0xffff'ffffu) | x >> 32 << 2 * width;
}

uint64_t PackFour(const uint32_t* values, unsigned width) {
  const uint64_t low = Load(values);
  const uint64_t high = Load(values + 2);
  const uint64_t first = (low & 0xffff'ffffu) | low >> 32 << width;
  const uint64_t second = (high & 0xffff'ffffu) | high >> 32 << width;
  return first | second << 2 * width;
}

template <typename T>
uint8_t* PackGroups(const T* values, std::size_t groups, unsigned width, uint8_t* to) {
  if (width > 16) return PackSlowly(values, groups * kGroup, width, to);
  if (width > 8) {
    for (; groups > 0; --groups, values += kGroup, to += width) {
      const uint64_t low = PackFour(values, width);
      const uint64_t high = PackFour(values + 4, width);
      Store(width == 16 ? low : low | high << 4 * width, to);
      Store(width == 16 ? high : high >> (64 - 4 * width), to + 8);
    }
    return to;
  }
  for (; groups > 0; --groups, values += kGroup, to += width) {
    Store(PackFour(values, width) | PackFour(values + 4, width) << 4 * width, to);
  }
  return to;
}

// Only levels are bytes.
uint8_t* PackGroups(const uint8_t* values, std::size_t groups, [[maybe_unused]] unsigned width,
                    uint8_t* to) {
  assert(width == 1);
  for (; groups > 0; --groups, values += kGroup) {
    // The highest byte of the product collects the eight bits without carries.
    *to++ = static_cast<uint8_t>((Load(values) * 0x0102'0408'1020'4080u) >> 56);
  }
  return to;
}

// Returns true if the eight values are equal to the first.
template <typename T>
bool IsConstant(const T* values) {
  const uint64_t ones = ~uint64_t{0} / std::numeric_limits<T>::max();
  const uint64_t all = ones * values[0];
  uint64_t different = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i) {
    different |= Load(values + i * sizeof(uint64_t) / sizeof(T)) ^ all;
  }
  return different == 0;
}

template <typename T>
class RunEncoder {
 public:
  RunEncoder(std::span<const T> values, unsigned width, uint8_t* to)
      : values_(values), width_(width), to_(to) {}

  // Returns the end of the bytes.
  uint8_t* Encode() {
    // A run is worth it if its groups would be more bytes than its header, its value and the header
    // of what follows.
    const std::size_t least = kGroup * (3 / width_ + 1);
    for (std::size_t at = 0; at + kGroup <= values_.size();) {
      const std::size_t end = EndOfRun(at);
      if (end - at >= least) {
        Pack(at);
        Repeat(at, end);
        at = end;
      } else {
        at += std::max(kGroup, (end - at) / kGroup * kGroup);
      }
    }
    Pack(values_.size());
    return to_;
  }

 private:
  // Returns the end of the values equal to that at `begin`, of which there are at least a group, or
  // `begin`.
  std::size_t EndOfRun(std::size_t begin) const {
    const T* const values = values_.data();
    const T first = values[begin];
    std::size_t end = begin;
    while (end + kGroup <= values_.size() && values[end] == first && IsConstant(values + end)) {
      end += kGroup;
    }
    if (end == begin) return begin;
    while (end < values_.size() && values[end] == first) ++end;
    return end;
  }

  void Repeat(std::size_t first, std::size_t end) {
    to_ = AppendVarint((end - first) << 1, to_);
    uint32_t value = values_[first];
    for (unsigned bits = 0; bits < width_; bits += 8, value >>= 8) {
      *to_++ = static_cast<uint8_t>(value);
    }
    done_ = end;
  }

  // Packs the values up to `end`, which is whole groups away or the end of all values.
  void Pack(std::size_t end) {
    if (end == done_) return;
    const std::size_t whole = (end - done_) / kGroup;
    const std::size_t rest = (end - done_) % kGroup;
    to_ = AppendVarint((whole + (rest > 0 ? 1 : 0)) << 1 | 1, to_);
    to_ = PackGroups(values_.data() + done_, whole, width_, to_);
    if (rest > 0) {
      std::array<T, kGroup> last{};
      std::ranges::copy(values_.subspan(end - rest, rest), last.begin());
      to_ = PackGroups(last.data(), 1, width_, to_);
    }
    done_ = end;
  }

  std::span<const T> values_;
  unsigned width_;
  uint8_t* to_;
  std::size_t done_ = 0;  // encoded values
};

template <typename T>
void EncodeRuns(std::span<const T> values, int width, PageBytes& to) {
  const auto bits = static_cast<std::size_t>(width);
  // Each run is shorter than the groups it replaces, or a byte a group of constants.
  const std::size_t groups = (values.size() + kGroup - 1) / kGroup;
  uint8_t* const begin = to.Room(groups * std::max<std::size_t>(bits, 6) + kMaxVarint + kSlack);
  const uint8_t* const end = RunEncoder<T>(values, static_cast<unsigned>(width), begin).Encode();
  to.Advance(static_cast<std::size_t>(end - begin));
}

constexpr std::size_t kBlock = 256;  // differences
constexpr std::size_t kPart = 64;    // of a block, with a width of its own
constexpr std::size_t kParts = kBlock / kPart;

uint64_t ZigZag(int64_t number) {
  return static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
}

uint8_t* PackPart(const uint64_t* values, unsigned width, uint8_t* to) {
  if (width > 16) return PackSlowly(values, kPart, width, to);
  std::array<uint16_t, kPart> narrow;
  for (std::size_t i = 0; i < kPart; ++i) narrow[i] = static_cast<uint16_t>(values[i]);
  return PackGroups(narrow.data(), kPart / kGroup, width, to);
}

// Appends `count` differences of values that begin with `values`.
uint8_t* AppendBlock(const int64_t* values, std::size_t count, uint8_t* to) {
  std::array<uint64_t, kBlock> deltas;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (std::size_t i = 0; i < count; ++i) {
    deltas[i] = static_cast<uint64_t>(values[i + 1]) - static_cast<uint64_t>(values[i]);
    least = std::min(least, static_cast<int64_t>(deltas[i]));
  }
  for (std::size_t i = 0; i < count; ++i) deltas[i] -= static_cast<uint64_t>(least);
  std::fill(deltas.begin() + static_cast<std::ptrdiff_t>(count), deltas.end(), 0);
  to = AppendVarint(ZigZag(least), to);
  uint8_t* const widths = to;
  to += kParts;
  for (std::size_t part = 0; part < kParts; ++part) {
    const uint64_t* const begin = deltas.data() + part * kPart;
    uint64_t bits = 0;
    for (std::size_t i = 0; i < kPart; ++i) bits |= begin[i];
    const auto width = static_cast<unsigned>(std::bit_width(bits));
    widths[part] = static_cast<uint8_t>(width);
    // Parts without values have no bytes.
    if (part * kPart < count && width > 0) to = PackPart(begin, width, to);
  }
  return to;
}

// Transposes eight words as a matrix of bytes.
void Transpose(std::array<uint64_t, 8>& rows) {
  const auto swap = [&](std::size_t distance, unsigned bits, uint64_t mask) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if ((i & distance) != 0) continue;
      const uint64_t moved = (rows[i] >> bits ^ rows[i + distance]) & mask;
      rows[i] ^= moved << bits;
      rows[i + distance] ^= moved;
    }
  };
  swap(4, 32, 0x0000'0000'ffff'ffffu);
  swap(2, 16, 0x0000'ffff'0000'ffffu);
  swap(1, 8, 0x00ff'00ff'00ff'00ffu);
}

}  // namespace

void AppendRuns(std::span<const uint8_t> values, int width, PageBytes& to) {
  EncodeRuns(values, width, to);
}

void AppendRuns(std::span<const uint16_t> values, int width, PageBytes& to) {
  EncodeRuns(values, width, to);
}

void AppendRuns(std::span<const uint32_t> values, int width, PageBytes& to) {
  EncodeRuns(values, width, to);
}

void AppendBits(std::span<const uint8_t> values, PageBytes& to) {
  const std::size_t whole = values.size() / kGroup;
  const std::size_t rest = values.size() % kGroup;
  uint8_t* const begin = to.Room(whole + 1);
  uint8_t* end = PackGroups(values.data(), whole, 1, begin);
  if (rest > 0) {
    std::array<uint8_t, kGroup> last{};
    std::ranges::copy(values.last(rest), last.begin());
    end = PackGroups(last.data(), 1, 1, end);
  }
  to.Advance(static_cast<std::size_t>(end - begin));
}

void AppendDeltas(std::span<const int64_t> values, PageBytes& to) {
  const std::size_t blocks = values.size() / kBlock + 1;
  uint8_t* const begin =
      to.Room(4 * kMaxVarint + blocks * (kMaxVarint + kParts + kBlock * 8) + kSlack);
  uint8_t* end = AppendVarint(kBlock, begin);
  end = AppendVarint(kParts, end);
  end = AppendVarint(values.size(), end);
  end = AppendVarint(values.empty() ? 0 : ZigZag(values[0]), end);
  for (std::size_t first = 0; first + 1 < values.size(); first += kBlock) {
    const std::size_t count = std::min(kBlock, values.size() - 1 - first);
    end = AppendBlock(values.data() + first, count, end);
  }
  to.Advance(static_cast<std::size_t>(end - begin));
}

void AppendSplit(const uint8_t* values, std::size_t count, PageBytes& to) {
  constexpr std::size_t kBytes = sizeof(uint64_t);
  uint8_t* const begin = to.Room(count * kBytes);
  std::size_t i = 0;
  for (; i + kBytes <= count; i += kBytes) {
    std::array<uint64_t, kBytes> rows;
    std::memcpy(rows.data(), values + i * kBytes, sizeof rows);
    Transpose(rows);
    for (std::size_t byte = 0; byte < kBytes; ++byte) Store(rows[byte], begin + byte * count + i);
  }
  for (; i < count; ++i) {
    for (std::size_t byte = 0; byte < kBytes; ++byte) {
      begin[byte * count + i] = values[i * kBytes + byte];
    }
  }
  to.Advance(count * kBytes);
}

}  // namespace reveza::fraudgen
