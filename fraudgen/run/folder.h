// A folder as the destination of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fraudgen/output/destination.h"

namespace reveza::fraudgen {

class Folder final : public Destination {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  Status Prepare() override;
  Result<std::vector<std::string>> List(std::string_view folder) override;
  Result<std::optional<StoredFile>> Stat(std::string_view name) override;
  Result<std::unique_ptr<ByteSource>> Open(std::string_view name) override;
  void RemovePartial(std::string_view name) override;
  Result<std::unique_ptr<ByteSink>> Create(std::string_view name) override;
  // Concurrent writes do not make a disk faster.
  std::size_t FinishConcurrency(std::size_t) const override { return 1; }
  std::string PathOf(std::string_view name) const override;

 private:
  Status CreateParents(std::string_view name);

  std::filesystem::path path_;
};

}  // namespace reveza::fraudgen
