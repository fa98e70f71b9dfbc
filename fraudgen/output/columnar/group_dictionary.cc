#include "fraudgen/output/columnar/group_dictionary.h"

#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace reveza::fraudgen {
namespace {

constexpr std::size_t kMinSlots = 1024;
// Memory that is reserved but not used costs nothing; growing would copy it.
constexpr int64_t kMaxReservedRows = int64_t{1} << 20;
// Decimals below this are looked up without a hash: most amounts and scores.
constexpr std::size_t kSmall = std::size_t{1} << 16;
// Slots of later rows are prefetched, since those of many distinct values exceed the cache.
constexpr std::size_t kPrefetchRows = 16;

uint64_t HashOfNumber(uint64_t number) {
  const uint64_t bits = number * 0x9e37'79b9'7f4a'7c15u;
  return bits ^ bits >> 32;
}

uint64_t HashOfText(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

}  // namespace

GroupDictionary::GroupDictionary(const Column& column, int64_t max_rows)
    : column_(column), slots_(kMinSlots), offsets_(1, 0) {
  assert(column.type == ColumnType::kText || column.type == ColumnType::kDecimal);
  if (column.type == ColumnType::kDecimal) small_.assign(kSmall, kNone);
  indices_.reserve(static_cast<std::size_t>(std::min(max_rows, kMaxReservedRows)));
}

void GroupDictionary::Clear() {
  slots_.assign(slots_.size(), Slot{});
  hashed_ = 0;
  small_.assign(small_.size(), kNone);
  size_ = 0;
  numbers_.clear();
  by_text_ = false;
  offsets_.assign(1, 0);
  bytes_.clear();
  indices_.clear();
}

std::string_view GroupDictionary::TextAt(int32_t index) const {
  const auto at = static_cast<std::size_t>(index);
  const auto begin = static_cast<std::size_t>(offsets_[at]);
  return std::string_view(bytes_).substr(begin, static_cast<std::size_t>(offsets_[at + 1]) - begin);
}

void GroupDictionary::Resize(std::size_t slots) {
  slots_.assign(slots, Slot{});
  const std::size_t mask = slots - 1;
  for (int32_t index = 0; index < size_; ++index) {
    if (!by_text_ && numbers_[static_cast<std::size_t>(index)] < small_.size()) continue;
    const uint64_t hash = by_text_ ? HashOfText(TextAt(index))
                                   : HashOfNumber(numbers_[static_cast<std::size_t>(index)]);
    std::size_t at = hash & mask;
    while (slots_[at].index != kNone) at = (at + 1) & mask;
    slots_[at] = {.hash = static_cast<uint32_t>(hash >> 32), .index = index};
  }
}

void GroupDictionary::HashTexts() {
  by_text_ = true;
  Resize(slots_.size());
}

template <typename Equals, typename Add>
int32_t GroupDictionary::Find(uint64_t hash, const Equals& equals, const Add& add) {
  const std::size_t mask = slots_.size() - 1;
  const auto upper = static_cast<uint32_t>(hash >> 32);
  std::size_t at = hash & mask;
  for (; slots_[at].index != kNone; at = (at + 1) & mask) {
    if (slots_[at].hash == upper && equals(slots_[at].index)) return slots_[at].index;
  }
  slots_[at] = {.hash = upper, .index = size_};
  add();
  ++size_;
  if (2 * ++hashed_ > slots_.size()) Resize(2 * slots_.size());
  return size_ - 1;
}

int32_t GroupDictionary::IndexOfText(std::string_view text, uint64_t hash) {
  return Find(
      hash, [&](int32_t index) { return TextAt(index) == text; },
      [&] {
        bytes_ += text;
        offsets_.push_back(static_cast<int32_t>(bytes_.size()));
      });
}

void GroupDictionary::AppendNumbers(const ColumnValues& values, std::size_t first,
                                    std::size_t count) {
  int32_t* const indices = indices_.data() + indices_.size() - count;
  for (std::size_t i = 0; i < count; ++i) {
    if (indices[i] == kNone) continue;
    const auto number = static_cast<uint64_t>(values.numbers[first + i]);
    if (number < kSmall) {
      int32_t& index = small_[number];
      if (index == kNone) {
        index = size_++;
        numbers_.push_back(number);
      }
      indices[i] = index;
      continue;
    }
    indices[i] = Find(
        HashOfNumber(number),
        [&](int32_t index) { return numbers_[static_cast<std::size_t>(index)] == number; },
        [&] { numbers_.push_back(number); });
  }
}

void GroupDictionary::AppendKeys(const ColumnValues& values, std::size_t first, std::size_t count) {
  int32_t* const indices = indices_.data() + indices_.size() - count;
  const uint64_t* const keys = values.keys.data() + first;
  for (std::size_t i = 0; i < count; ++i) {
    if (const std::size_t later = i + kPrefetchRows; later < count) {
      __builtin_prefetch(&slots_[HashOfNumber(keys[later]) & (slots_.size() - 1)]);
    }
    if (indices[i] == kNone) continue;
    const uint64_t key = keys[i];
    indices[i] = Find(
        HashOfNumber(key),
        [&](int32_t index) { return numbers_[static_cast<std::size_t>(index)] == key; },
        [&] {
          numbers_.push_back(key);
          bytes_ += values.TextAt(first + i);
          offsets_.push_back(static_cast<int32_t>(bytes_.size()));
        });
  }
}

void GroupDictionary::AppendTexts(const ColumnValues& values, std::size_t first,
                                  std::size_t count) {
  if (!by_text_) HashTexts();
  int32_t* const indices = indices_.data() + indices_.size() - count;
  std::array<uint64_t, kPrefetchRows> hashes;
  for (std::size_t begin = 0; begin < count; begin += kPrefetchRows) {
    const std::size_t end = std::min(begin + kPrefetchRows, count);
    for (std::size_t i = begin; i < end; ++i) {
      if (indices[i] == kNone) continue;
      const uint64_t hash = HashOfText(values.TextAt(first + i));
      __builtin_prefetch(&slots_[hash & (slots_.size() - 1)]);
      hashes[i - begin] = hash;
    }
    for (std::size_t i = begin; i < end; ++i) {
      if (indices[i] == kNone) continue;
      indices[i] = IndexOfText(values.TextAt(first + i), hashes[i - begin]);
    }
  }
}

void GroupDictionary::Append(const ColumnValues& values, std::size_t first, std::size_t count) {
  const std::size_t before = indices_.size();
  indices_.resize(before + count);
  if (column_.nullable == Nullable::kYes) {
    for (std::size_t i = 0; i < count; ++i) {
      indices_[before + i] = values.present[first + i] == 0 ? kNone : 0;
    }
  }
  if (column_.type == ColumnType::kDecimal) {
    AppendNumbers(values, first, count);
  } else if (!by_text_ && values.HasKeys()) {
    AppendKeys(values, first, count);
  } else {
    AppendTexts(values, first, count);
  }
}

}  // namespace reveza::fraudgen
