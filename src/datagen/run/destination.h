// Where a run's files go, and are read again: a folder, or a bucket. Safe from several threads, as
// long as no two make the same file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/byte_source.h"

namespace reveza::datagen {

struct StoredFile {
  uint64_t bytes = 0;
  std::string etag = {};  // what a store calls these bytes; empty in a folder
};

class Destination {
 public:
  virtual ~Destination() = default;

  // Makes it if it is not there, and says early if nothing can be written.
  virtual Status Prepare() = 0;
  // What has its final name in it, or in a folder of it (type=PIX), in any order; without what is
  // in folders further below.
  virtual Result<std::vector<std::string>> List(std::string_view folder) = 0;
  // A file that is not there is nothing.
  virtual Result<std::optional<std::string>> ReadSmall(std::string_view name) = 0;
  virtual Result<std::optional<StoredFile>> Look(std::string_view name) = 0;
  // Of all its bytes, as of HashingSink. The file is there.
  virtual Result<std::string> HashOf(std::string_view name) = 0;
  // kNotFound where it is not there.
  virtual Result<std::unique_ptr<ByteSource>> Open(std::string_view name) = 0;
  // Removes what dead runs left half-written of this file.
  virtual void Clean(std::string_view name) = 0;
  virtual Result<std::unique_ptr<ByteSink>> Create(std::string_view name) = 0;
  // How many files are best finished at the same time where so many threads make them: more than
  // one where answers take their time.
  virtual std::size_t FinishedAtATime(std::size_t threads) const = 0;
  // What a person calls the file, or, without a name, all of it.
  virtual std::string PathOf(std::string_view name) const = 0;
};

// Writes a small file whole, or not at all.
Status WriteSmall(Destination& destination, std::string_view name, std::string_view text);

}  // namespace reveza::datagen
