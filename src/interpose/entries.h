// Every entry of the driver that the table knows, with our wrapper where there is one.
// Thread-safety: constant data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reveza::interpose {

struct Entry {
  const char* symbol;        // as the driver exports it: cuMemcpyHtoD_v2_ptds
  void* wrapper;             // null: the program gets the driver's own
  std::uint16_t offset;      // of its pointer in DriverCalls
  std::uint8_t base_length;  // as cuGetProcAddress is asked: cuMemcpyHtoD
  bool per_thread;           // _ptsz, _ptds

  std::string_view Name() const { return symbol; }
  std::string_view Base() const { return {symbol, base_length}; }
};

// Sorted by base, then by name.
std::span<const Entry> Entries();
// All entries of one base name; empty: unknown.
std::span<const Entry> EntriesOf(std::string_view base);
// The entry of exactly this name, or null.
const Entry* FindEntry(std::string_view name);
// The wrapped or passed entry whose address in the driver is `address`, or null. Several may have
// one address: one of `base` goes first, of these a wrapped one, of these one with `per_thread`.
const Entry* FindEntryAt(const void* address, std::string_view base, bool per_thread);
// The driver's own address of `entry`; null if it has none, or there is no driver.
void* AddressOf(const Entry& entry);
// In none of our tables as a typed call, but known to be harmless (cuProfilerStart, cuGL...).
bool IsKnownElsewhere(std::string_view name);
// The base name of any entry name: without _ptsz, _ptds and _v2.
std::string_view BaseOf(std::string_view name);
// Whether a name can be a call of the driver: "cu" and a capital letter.
bool LooksLikeDriverCall(const char* name);

}  // namespace reveza::interpose
