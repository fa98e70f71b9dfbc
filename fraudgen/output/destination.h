// Where the files of a run are stored: a folder or a bucket. Thread-safe, except that two threads
// must not create the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/output/byte_stream.h"

namespace reveza::fraudgen {

struct StoredFile {
  uint64_t bytes = 0;
  std::string etag = {};  // entity tag in object stores; empty in a folder
};

class Destination {
 public:
  virtual ~Destination() = default;

  // Creates the destination if needed and verifies that it is writable.
  virtual Status Prepare() = 0;
  // Returns the names of complete files in the destination or a folder of it (type=PIX), not
  // recursively, in any order.
  virtual Result<std::vector<std::string>> List(std::string_view folder) = 0;
  virtual Result<std::optional<StoredFile>> Stat(std::string_view name) = 0;
  // kNotFound: the file does not exist.
  virtual Result<std::unique_ptr<ByteSource>> Open(std::string_view name) = 0;
  // Removes partial files that interrupted runs left behind.
  virtual void RemovePartial(std::string_view name) = 0;
  virtual Result<std::unique_ptr<ByteSink>> Create(std::string_view name) = 0;
  // Returns how many files to finish concurrently while `threads` threads make files: more than one
  // where latency dominates.
  virtual std::size_t FinishConcurrency(std::size_t threads) const = 0;
  // Returns the path or URL of a file or, with an empty name, of the destination, for messages.
  virtual std::string PathOf(std::string_view name) const = 0;

  // Returns the content of a small file; nullopt if it does not exist.
  Result<std::optional<std::string>> ReadSmall(std::string_view name);
  // Returns the hash of an existing file, as HashingSink computes it.
  Result<std::string> HashOf(std::string_view name);
  // Writes a small file atomically.
  Status WriteSmall(std::string_view name, std::string_view text);
};

}  // namespace reveza::fraudgen
