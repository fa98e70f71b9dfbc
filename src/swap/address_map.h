// Which block is mapped at an address. Ranges never overlap (the driver sees to it).
// Thread-safety: none; the ledger locks.
#pragma once

#include <cuda.h>

#include <algorithm>
#include <vector>

#include "base/bytes.h"

namespace reveza::swap {

struct Block;

class AddressMap {
 public:
  struct Entry {
    CUdeviceptr address = 0;
    Bytes size = 0;
    Block* block = nullptr;
  };

  void Add(CUdeviceptr address, Bytes size, Block* block) {
    entries_.insert(LowerBound(address), Entry{address, size, block});
  }

  void Remove(CUdeviceptr address) {
    const auto at = LowerBound(address);
    if (at != entries_.end() && at->address == address) entries_.erase(at);
  }

  // The range that contains `address`, or null.
  const Entry* Find(CUdeviceptr address) const {
    auto at = std::upper_bound(entries_.begin(), entries_.end(), address,
                               [](CUdeviceptr a, const Entry& entry) { return a < entry.address; });
    if (at == entries_.begin()) return nullptr;
    --at;
    return address - at->address < at->size ? &*at : nullptr;
  }

  // All ranges that touch [address, address + size), by address.
  std::vector<Entry> Within(CUdeviceptr address, Bytes size) const {
    std::vector<Entry> found;
    auto at = std::upper_bound(entries_.begin(), entries_.end(), address,
                               [](CUdeviceptr a, const Entry& entry) { return a < entry.address; });
    if (at != entries_.begin() && address - std::prev(at)->address < std::prev(at)->size) --at;
    for (; at != entries_.end() && at->address < address + size; ++at) found.push_back(*at);
    return found;
  }

  std::size_t size() const { return entries_.size(); }

 private:
  std::vector<Entry>::iterator LowerBound(CUdeviceptr address) {
    return std::lower_bound(entries_.begin(), entries_.end(), address,
                            [](const Entry& entry, CUdeviceptr a) { return entry.address < a; });
  }

  std::vector<Entry> entries_;  // by address
};

}  // namespace reveza::swap
