// Amazon's signature of a request, version 4, for those few requests that Arrow has no call for.
// Pure functions.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reveza::datagen {

struct S3Keys {
  std::string access_key = {};
  std::string secret_key = {};
  std::string session_token = {};
};

// Without a body.
struct S3Request {
  std::string method = {};
  std::string host = {};                                        // host:port, as the header says it
  std::string path = {};                                        // /bucket/key, as it is
  std::vector<std::pair<std::string, std::string>> query = {};  // as it is, in order of the names

  // What comes after the host: every byte that is not plain is escaped.
  std::string Target() const;
};

// The headers that make the request valid: Host is one of them.
std::map<std::string, std::string> SignedHeaders(const S3Request& request, const S3Keys& keys,
                                                 std::string_view region,
                                                 std::chrono::sys_seconds now);

}  // namespace reveza::datagen
