// A bucket as the destination of a run: what a folder's files would be called, behind a prefix.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "datagen/civil_time.h"
#include "datagen/output/object_store.h"
#include "datagen/run/destination.h"

namespace reveza::datagen {

// The prefix with a day behind it: PREFIX/YYYY/MM/DD.
std::string PrefixOfDay(std::string_view prefix, CivilDate day);

class Bucket final : public Destination {
 public:
  // `store` must outlive it. `address.prefix` is what stands before the names.
  Bucket(ObjectStore& store, StoreAddress address);

  // Asks the first time only.
  Status Prepare() override;
  Result<std::vector<std::string>> List(std::string_view folder) override;
  Result<std::optional<std::string>> ReadSmall(std::string_view name) override;
  Result<std::optional<StoredFile>> Look(std::string_view name) override;
  Result<std::string> HashOf(std::string_view name) override;
  Result<std::unique_ptr<ByteSource>> Open(std::string_view name) override;
  // Aborts the uploads of this file that were under way when Prepare looked. What cannot be aborted
  // stays: it is in nobody's way, and the bucket's life cycle may take it.
  void Clean(std::string_view name) override;
  Result<std::unique_ptr<ByteSink>> Create(std::string_view name) override;
  // Each takes four requests at least, one after another, and a part's memory; beside one that is
  // large the small ones go on.
  std::size_t FinishedAtATime(std::size_t threads) const override {
    return std::max<std::size_t>(2, threads);
  }
  std::string PathOf(std::string_view name) const override;

 private:
  std::string KeyOf(std::string_view name) const;

  ObjectStore& store_;
  const StoreAddress address_;
  // Only Prepare writes these two.
  bool prepared_ = false;
  std::vector<UnfinishedUpload> unfinished_;
};

}  // namespace reveza::datagen
