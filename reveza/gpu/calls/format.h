// The file of recorded driver calls. The recorder writes it and the reader reads it; README.md
// describes the layout. Also compiled into libreveza_calls.so, which has no C++ runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace reveza::calls {

inline constexpr char kMagic[8] = {'R', 'V', 'Z', 'C', 'A', 'L', 'L', 'S'};
inline constexpr std::uint32_t kVersion = 1;

// Start of the file; the tables follow, and the blocks from `header_bytes` on. Little-endian.
struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // a multiple of kPage
  std::uint32_t table_bytes;
  std::uint32_t pid;
};

inline constexpr std::uint32_t kPage = 4096;
inline constexpr std::uint32_t kBlockMagic = 0x4b4c4252;  // "RBLK"
inline constexpr std::uint32_t kMaxBlock = 1 << 26;

// Start of a block, which holds records of one thread. `used` is stored after each record, so a
// process may end at any point.
struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t bytes;   // of the whole block, a multiple of kPage
  std::uint32_t thread;  // number of the thread, in the order of first calls
  std::uint32_t used;    // bytes of records
};

// What a value means to a replayer.
enum class Class : std::uint8_t { kInteger, kFloat, kHandle, kAddress, kPointer, kStruct };
inline constexpr std::uint8_t kClasses = 6;

// How a parameter is recorded.
enum class Mode : std::uint8_t {
  kIgnored,  // not recorded
  kValue,
  kText,     // the characters that it points to
  kRead,     // the elements that it points to
  kWritten,  // the same, if the call succeeds
  kLaunch,   // the bytes of a kernel's parameters
};
inline constexpr std::uint8_t kModes = 6;

inline constexpr std::uint32_t kNoCount = 0xffff;

// A member of a struct that is no plain number. If `count` is the offset of another member, it
// points to as many elements of `type`, which are recorded after the struct.
struct FieldRow {
  std::uint32_t offset;
  std::uint32_t type;
  std::uint32_t count;
};

struct TypeRow {
  const char* name;
  Class kind;
  std::uint32_t bytes;
  std::span<const FieldRow> fields;
};

struct ParameterRow {
  Mode mode;
  std::uint32_t type;
  int count;  // the parameter that counts the elements, or -1: one. kLaunch: that of `extra`
};

// Where a call stands in the order of all: where it begins, or where it returns, if it makes
// something that others use or waits for what they do.
enum class Place : std::uint8_t { kEntry, kReturn };

struct CallRow {
  const char* name;
  std::span<const ParameterRow> parameters;
  Place place;
  bool only_success;  // not recorded if it fails
};

// Limits of what is recorded of one parameter.
inline constexpr std::size_t kMaxText = 4096;
inline constexpr std::size_t kMaxElements = 4096;
inline constexpr std::size_t kMaxLaunchBytes = 32768;

}  // namespace reveza::calls
