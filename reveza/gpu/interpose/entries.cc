#include "reveza/gpu/interpose/entries.h"

#include <algorithm>
#include <array>

#include "generated/interpose/driver_calls.h"

// Another library with wrappers of its own defines it.
#ifndef REVEZA_DRIVER_ENTRIES
#define REVEZA_DRIVER_ENTRIES "generated/interpose/driver_entries.inc"
#endif

namespace reveza::interpose {
namespace {

#define REVEZA_ENTRY(name, base, wrapper, per_thread, passes) \
  Entry{#name, wrapper, offsetof(DriverCalls, name), sizeof #base - 1, per_thread, passes},
#define REVEZA_WRAPPED(name, base, per_thread) \
  REVEZA_ENTRY(name, base, reinterpret_cast<void*>(&::name), per_thread, false)
#define REVEZA_GUARDED(name, base, per_thread) \
  REVEZA_ENTRY(name, base, reinterpret_cast<void*>(&::name), per_thread, true)
#define REVEZA_PASSED(name, base, per_thread) REVEZA_ENTRY(name, base, nullptr, per_thread, true)
#define REVEZA_EXTERN(name)
#define REVEZA_PASSED_FAMILY(prefix)
// Not constexpr because of the casts to void*, but still initialised statically (preload_test
// checks that the library has no constructors).
const Entry kEntries[] = {
#include REVEZA_DRIVER_ENTRIES
};
#undef REVEZA_WRAPPED
#undef REVEZA_GUARDED
#undef REVEZA_PASSED
#undef REVEZA_EXTERN
#undef REVEZA_PASSED_FAMILY

#define REVEZA_WRAPPED(name, base, per_thread)
#define REVEZA_GUARDED(name, base, per_thread)
#define REVEZA_PASSED(name, base, per_thread)
#define REVEZA_EXTERN(name) std::string_view(#name),
#define REVEZA_PASSED_FAMILY(prefix)
constexpr std::string_view kExternNames[] = {
#include REVEZA_DRIVER_ENTRIES
};
#undef REVEZA_EXTERN
#undef REVEZA_PASSED_FAMILY

#define REVEZA_EXTERN(name)
#define REVEZA_PASSED_FAMILY(prefix) std::string_view(#prefix),
constexpr std::string_view kPassedFamilies[] = {
#include REVEZA_DRIVER_ENTRIES
};
#undef REVEZA_WRAPPED
#undef REVEZA_GUARDED
#undef REVEZA_PASSED
#undef REVEZA_EXTERN
#undef REVEZA_PASSED_FAMILY

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::span<const Entry> Entries() { return kEntries; }

std::span<const Entry> EntriesOf(std::string_view base) {
  auto [first, last] = std::ranges::equal_range(kEntries, base, {}, &Entry::Base);
  return {first, last};
}

const Entry* FindEntry(std::string_view name) {
  for (const Entry& entry : EntriesOf(BaseOf(name))) {
    if (entry.Name() == name) return &entry;
  }
  return nullptr;
}

const Entry* FindEntryAt(const void* address, std::string_view base, bool per_thread) {
  const Entry* found = nullptr;
  int best = -1;
  for (const Entry& entry : EntriesOf(base)) {
    if (AddressOf(entry) != address) continue;
    const int score = (entry.wrapper != nullptr ? 2 : 0) + (entry.per_thread == per_thread ? 1 : 0);
    if (score <= best) continue;
    best = score;
    found = &entry;
  }
  if (found != nullptr) return found;
  for (const Entry& entry : kEntries) {
    if (AddressOf(entry) == address) return &entry;
  }
  return nullptr;
}

void* AddressOf(const Entry& entry) {
  return *reinterpret_cast<void* const*>(reinterpret_cast<const char*>(&Real()) + entry.offset);
}

bool IsExternCall(std::string_view name) {
  return std::ranges::binary_search(kExternNames, BaseOf(name));
}

bool IsPassed(std::string_view name) {
  const auto versions = EntriesOf(BaseOf(name));
  if (!versions.empty()) return std::ranges::all_of(versions, &Entry::passes);
  return IsExternCall(name) || std::ranges::any_of(kPassedFamilies, [&](std::string_view prefix) {
           return name.starts_with(prefix);
         });
}

std::string_view BaseOf(std::string_view name) {
  if (name.ends_with("_ptsz") || name.ends_with("_ptds")) name.remove_suffix(5);
  std::size_t end = name.size();
  while (end > 0 && IsDigit(name[end - 1])) --end;
  if (end < name.size() && name.substr(0, end).ends_with("_v"))
    name.remove_suffix(name.size() - end + 2);
  return name;
}

bool LooksLikeDriverCall(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

}  // namespace reveza::interpose
