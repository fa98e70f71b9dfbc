// All driver entries of the table (driver_calls.txt), with the wrapper if there is one. Immutable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace reveza::interpose {

struct Entry {
  const char* symbol;        // as the driver exports it: cuMemcpyHtoD_v2_ptds
  void* wrapper;             // null: passed to the driver
  std::uint16_t offset;      // of its pointer in DriverCalls
  std::uint8_t base_length;  // of the name as used with cuGetProcAddress: cuMemcpyHtoD
  bool per_thread;           // _ptsz, _ptds
  bool passes;               // calls the driver, with a wrapper or without

  std::string_view Name() const { return symbol; }
  std::string_view Base() const { return {symbol, base_length}; }
};

// Returns all entries, sorted by base name, then by name.
std::span<const Entry> Entries();
// Returns all entries of one base name; empty if unknown.
std::span<const Entry> EntriesOf(std::string_view base);
// Returns the entry of exactly this name, or null.
const Entry* FindEntry(std::string_view name);
// Returns the entry whose address in the driver is `address`, or null. If several share the
// address, prefers those of `base`, among them wrapped ones, among them those that match
// `per_thread`.
const Entry* FindEntryAt(const void* address, std::string_view base, bool per_thread);
// Returns the driver's own address of `entry`; null if the driver lacks it or is not loaded.
void* AddressOf(const Entry& entry);
// Returns whether the table lists the name as `extern`: passed, and not declared in cuda.h
// (cuProfilerStart, cuGL...).
bool IsExternCall(std::string_view name);
// Returns whether a call that is no entry, since it is newer than the table, is passed: all known
// versions of it are, or the table passes its family (cuStreamGet...), or it is extern.
bool IsPassed(std::string_view name);
// Returns the base name of an entry name, without _ptsz, _ptds and version.
std::string_view BaseOf(std::string_view name);
// Returns whether the name has the form of a driver call: "cu" and a capital letter.
bool LooksLikeDriverCall(const char* name);

}  // namespace reveza::interpose
