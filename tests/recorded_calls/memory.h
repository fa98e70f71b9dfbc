// The memory of a recorded program, and what it must hold in the replay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace reveza::recorded_calls {

// A stream of the replay. Streams are the same if their keys are.
struct Stream {
  std::uint64_t handle = 0;
  std::uint64_t context = 0;
  bool per_thread = false;  // the entry called is a per-thread variant
  std::uint64_t key[3] = {};
  bool operator==(const Stream& other) const {
    return std::equal(std::begin(key), std::end(key), std::begin(other.key));
  }
};

// A point in a stream: the last use of some memory.
struct Mark {
  Stream stream;
  std::uint64_t event = 0;
  std::uint64_t capture = 0;  // in which it was recorded; 0: none
  ~Mark();
};

// Bytes that one or several regions map.
struct Storage {
  std::vector<unsigned char> bytes;
  std::vector<bool> known;  // the replay has written the byte, so it must be what `bytes` says
  std::shared_ptr<Mark> last, last_captured;
  bool freed = false;
  explicit Storage(std::size_t size) : bytes(size), known(size) {}
};

enum class Place { kDevice, kMapped, kHost };

struct Region {
  std::uint64_t recorded = 0;  // address in the recorded program
  std::uint64_t recorded_bytes = 0;
  std::uint64_t address = 0;  // in the replay
  std::uint64_t bytes = 0;
  Place place = Place::kDevice;
  std::uint64_t context = 0;
  std::shared_ptr<Storage> storage;
};

// Part of a region, in bytes of the replay.
struct Range {
  std::shared_ptr<Region> region;
  std::uint64_t offset = 0;
  std::uint64_t bytes = 0;
  std::uint64_t address() const { return region->address + offset; }
  Storage& storage() const { return *region->storage; }
};

class Memory {
 public:
  // Sizes and offsets within a region are divided by `scale`.
  explicit Memory(std::uint64_t scale) : scale_(scale) {}

  std::uint64_t Scaled(std::uint64_t bytes) const;
  // Returns the region that it made; those that it overlaps are forgotten.
  std::shared_ptr<Region> Add(Region region);
  std::shared_ptr<Region> Find(std::uint64_t recorded) const;
  // Returns the range of at most `bytes` recorded bytes; without a region if there is none.
  Range At(std::uint64_t recorded, std::uint64_t bytes) const;
  // Forgets a region. Its storage counts as freed when no region has it.
  void Remove(const std::shared_ptr<Region>& region);
  std::vector<std::shared_ptr<Region>> Within(std::uint64_t recorded, std::uint64_t bytes) const;
  std::vector<std::shared_ptr<Region>> All() const;

 private:
  std::uint64_t scale_;
  std::map<std::uint64_t, std::shared_ptr<Region>> regions_;  // by address in the recording
};

// What work does to the bytes of ranges.
void FillBytes(const Range& to, std::uint64_t value, unsigned element);
void StepWords(const Range& range, std::uint32_t seed);
void CopyBytes(const Range& to, const Range& from);
void WriteBytes(const Range& to, const unsigned char* from);
void ForgetBytes(const Range& range);
bool IsKnown(const Range& range);

}  // namespace reveza::recorded_calls
