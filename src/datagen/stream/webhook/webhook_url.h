// A web address in the two parts that a client needs, and what its answers mean. Pure.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/error.h"

namespace reveza::datagen {

struct WebhookUrl {
  std::string server;  // http://host:port
  std::string path;    // /path?query
};

Result<WebhookUrl> ParseWebhookUrl(std::string_view url);

// Whether the same request may fare better later: the server is busy, or has a fault.
bool IsPassing(int status);

// How long before the n-th repetition, from 1: a tenth of a second, doubled each time, five seconds
// at most; or what the server asks for in Retry-After (whole seconds), up to a minute.
std::chrono::milliseconds PauseBefore(int repetition, std::string_view retry_after);

}  // namespace reveza::datagen
