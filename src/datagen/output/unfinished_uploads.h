// Uploads of many parts that were begun and neither finished nor given up: what a killed run leaves
// in a bucket. They have no name there, but take room. A build without cpp-httplib sees none.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "datagen/output/s3_signature.h"

namespace reveza::datagen {

struct UnfinishedUpload {
  std::string key = {};
  std::string id = {};

  friend bool operator==(const UnfinishedUpload&, const UnfinishedUpload&) = default;
};

struct StoreServer {
  std::string host = {};  // host, or host:port
  bool tls = true;
  std::string region = {};
  std::string bucket = {};
  S3Keys keys = {};
};

// Of all keys that begin with `prefix`.
Result<std::vector<UnfinishedUpload>> ListUnfinished(const StoreServer& server,
                                                     std::string_view prefix);
Status AbortUnfinished(const StoreServer& server, const UnfinishedUpload& upload);

// One answer to the question for them.
struct UploadsPage {
  std::vector<UnfinishedUpload> uploads = {};
  // Where the next one begins; without a key this was the last.
  UnfinishedUpload next = {};
};
UploadsPage ParseUploadsPage(std::string_view xml);

}  // namespace reveza::datagen
