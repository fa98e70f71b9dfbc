// Text of JSON documents that may contain invalid UTF-8. Needs no JSON header itself.
#pragma once

#include <string>

namespace reveza {

// Replaces invalid UTF-8 by U+FFFD. One line unless `indent` is given.
template <typename Json>
std::string JsonText(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace reveza
