// A folder as the destination of a run.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "datagen/run/destination.h"

namespace reveza::datagen {

class Folder final : public Destination {
 public:
  explicit Folder(std::filesystem::path path) : path_(std::move(path)) {}

  Status Prepare() override;
  Result<std::vector<std::string>> List(std::string_view folder) override;
  Result<std::optional<std::string>> ReadSmall(std::string_view name) override;
  Result<std::optional<StoredFile>> Look(std::string_view name) override;
  Result<std::string> HashOf(std::string_view name) override;
  Result<std::unique_ptr<ByteSource>> Open(std::string_view name) override;
  void Clean(std::string_view name) override;
  Result<std::unique_ptr<ByteSink>> Create(std::string_view name) override;
  // A disk that is written to at two places is no faster.
  std::size_t FinishedAtATime(std::size_t) const override { return 1; }
  std::string PathOf(std::string_view name) const override;

 private:
  Status MakeFolderOf(std::string_view name);

  std::filesystem::path path_;
};

}  // namespace reveza::datagen
