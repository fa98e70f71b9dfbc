// Buckets of objects that speak Amazon's S3, as fraudgen uses them. The library that does it may be
// missing from a build: then Begin gives an error that says so.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "datagen/output/byte_sink.h"
#include "datagen/output/byte_source.h"
#include "datagen/output/store_address.h"
#include "datagen/output/unfinished_uploads.h"

namespace reveza::datagen {

struct StoredObject {
  uint64_t bytes = 0;
  std::string etag;  // the store's name for these bytes, without quotes
};

// Safe from several threads; the sinks it gives are not. They and the sources must be gone before
// it.
class ObjectStore {
 public:
  // Parts of one size, as some stores want them, and of that size because Arrow has it. Arrow puts
  // each together and sends it.
  static constexpr std::size_t kPartBytes = std::size_t{10} << 20;
  // Meanwhile the pieces of the next one wait: as many as make a part, and one that is being
  // filled.
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  static constexpr std::size_t kPieces = kPartBytes / kPieceBytes + 1;
  // How many of all objects wait, beside the one of each that is being filled: no fewer than those
  // of a single object may.
  static std::size_t PiecesInAll() {
    return std::max<std::size_t>(kPieces - 1, 5 * std::thread::hardware_concurrency());
  }

  virtual ~ObjectStore() = default;

  // Of the names that begin with PREFIX/ what follows, up to the next slash. An error if there is
  // no such bucket, nobody answers, or the keys are wrong.
  virtual Result<std::vector<std::string>> List(std::string_view prefix) = 0;
  // An object that is not there is nothing.
  virtual Result<std::optional<StoredObject>> Head(std::string_view key) = 0;
  // Passes all its bytes on; false: it is not there.
  virtual Result<bool> Read(std::string_view key, ByteSink& to) = 0;
  // Its bytes, asked for as they are needed; kNotFound where it is not there.
  virtual Result<std::unique_ptr<ByteSource>> Open(std::string_view key) = 0;
  // Bytes that become an object when they are whole, in place of what had its name. In memory
  // are at most a part and kPieces of it, and of all objects together a part and a piece of each
  // and PiecesInAll.
  virtual Result<std::unique_ptr<ByteSink>> Create(std::string_view key) = 0;

  // Uploads to keys that begin with PREFIX/ which are under way, or were when whoever made them
  // died.
  virtual Result<std::vector<UnfinishedUpload>> Unfinished(std::string_view prefix) = 0;
  virtual Status Abort(const UnfinishedUpload& upload) = 0;
};

// The library below can be begun once in a process, and must be ended before the process is: so
// only one of these is ever made, by main, and goes after all that uses it.
class StoreSession {
 public:
  // Sets what the library reads from the environment, so it comes before other threads do.
  static Result<std::unique_ptr<StoreSession>> Begin(const StoreAddress& address);

  virtual ~StoreSession() = default;

  virtual Result<std::unique_ptr<ObjectStore>> Connect(const StoreAddress& address,
                                                       StorePatience patience) = 0;
};

}  // namespace reveza::datagen
