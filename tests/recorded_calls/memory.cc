#include "tests/recorded_calls/memory.h"

#include <algorithm>
#include <cstring>

#include "tests/recorded_calls/driver.h"

namespace reveza::recorded_calls {

namespace {

void SetKnown(const Range& range, bool known) {
  auto& all = range.storage().known;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(range.offset);
  std::fill(first, first + static_cast<std::ptrdiff_t>(range.bytes), known);
}

unsigned char* Bytes(const Range& range) { return range.storage().bytes.data() + range.offset; }

}  // namespace

Mark::~Mark() {
  if (event != 0) CallDriver("cuEventDestroy_v2", event);
}

std::uint64_t Memory::Scaled(std::uint64_t bytes) const {
  if (scale_ == 1 || bytes == 0) return bytes;
  return std::max<std::uint64_t>((bytes / scale_ + 7) / 8 * 8, 8);
}

std::shared_ptr<Region> Memory::Add(Region region) {
  for (const auto& old : Within(region.recorded, region.recorded_bytes)) Remove(old);
  auto added = std::make_shared<Region>(std::move(region));
  regions_[added->recorded] = added;
  return added;
}

std::shared_ptr<Region> Memory::Find(std::uint64_t recorded) const {
  auto after = regions_.upper_bound(recorded);
  if (after == regions_.begin()) return nullptr;
  const auto& region = std::prev(after)->second;
  return recorded - region->recorded < region->recorded_bytes ? region : nullptr;
}

Range Memory::At(std::uint64_t recorded, std::uint64_t bytes) const {
  Range range{.region = Find(recorded)};
  if (range.region == nullptr) return range;
  const std::uint64_t all = range.region->bytes;
  const std::uint64_t offset = recorded - range.region->recorded;
  // Offsets are multiples of 8 unless they are what they were, so that words stay words.
  range.offset = scale_ == 1 ? offset : std::min(offset / scale_ / 8 * 8, all / 8 * 8);
  if (range.offset == all && all >= 8) range.offset -= 8;
  range.bytes = std::min(Scaled(bytes), all - range.offset);
  return range;
}

void Memory::Remove(const std::shared_ptr<Region>& region) {
  const auto storage = region->storage;
  regions_.erase(region->recorded);
  const bool used = std::ranges::any_of(
      regions_, [&](const auto& other) { return other.second->storage == storage; });
  if (!used && region->place != Place::kMapped) storage->freed = true;
}

std::vector<std::shared_ptr<Region>> Memory::Within(std::uint64_t recorded,
                                                    std::uint64_t bytes) const {
  std::vector<std::shared_ptr<Region>> found;
  for (const auto& [at, region] : regions_) {
    if (at < recorded + bytes && recorded < at + region->recorded_bytes) found.push_back(region);
  }
  return found;
}

std::vector<std::shared_ptr<Region>> Memory::All() const {
  std::vector<std::shared_ptr<Region>> all;
  for (const auto& [at, region] : regions_) all.push_back(region);
  return all;
}

void FillBytes(const Range& to, std::uint64_t value, unsigned element) {
  for (std::uint64_t i = 0; i < to.bytes; ++i) {
    Bytes(to)[i] = static_cast<unsigned char>(value >> (i % element * 8));
  }
  SetKnown(to, true);
}

// As the kernel reveza_step does.
void StepWords(const Range& range, std::uint32_t seed) {
  for (std::uint32_t i = 0; i < range.bytes / 4; ++i) {
    std::uint32_t word = 0;
    std::memcpy(&word, Bytes(range) + i * 4, 4);
    word = word * 1664525u + 1013904223u + (seed ^ i);
    std::memcpy(Bytes(range) + i * 4, &word, 4);
  }
}

void CopyBytes(const Range& to, const Range& from) {
  std::memmove(Bytes(to), Bytes(from), to.bytes);
  const auto& source = from.storage().known;
  const std::vector<bool> known(
      source.begin() + static_cast<std::ptrdiff_t>(from.offset),
      source.begin() + static_cast<std::ptrdiff_t>(from.offset + to.bytes));
  std::copy(known.begin(), known.end(),
            to.storage().known.begin() + static_cast<std::ptrdiff_t>(to.offset));
}

void WriteBytes(const Range& to, const unsigned char* from) {
  std::memcpy(Bytes(to), from, to.bytes);
  SetKnown(to, true);
}

void ForgetBytes(const Range& range) { SetKnown(range, false); }

bool IsKnown(const Range& range) {
  const auto& all = range.storage().known;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(range.offset);
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(range.bytes),
                     [](bool known) { return known; });
}

}  // namespace reveza::recorded_calls
