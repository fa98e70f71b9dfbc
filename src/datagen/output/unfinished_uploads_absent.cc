#include "datagen/output/unfinished_uploads.h"

namespace reveza::datagen {

Result<std::vector<UnfinishedUpload>> ListUnfinished(const StoreServer&, std::string_view) {
  return std::vector<UnfinishedUpload>();
}

Status AbortUnfinished(const StoreServer&, const UnfinishedUpload&) { return {}; }

}  // namespace reveza::datagen
