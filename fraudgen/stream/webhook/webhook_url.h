// Webhook URLs, retryable statuses and backoff. Pure functions.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "common/base/error.h"

namespace reveza::fraudgen {

struct WebhookUrl {
  std::string server;  // http://host:port
  std::string path;    // /path?query
};

Result<WebhookUrl> ParseWebhookUrl(std::string_view url);

// Returns true for statuses worth a retry: server busy or server error.
bool IsTransient(int status);

// Returns the pause before retry n (from 1): 0.1 s, doubled each time up to 5 s; or the server's
// Retry-After in whole seconds, up to a minute.
std::chrono::milliseconds BackoffBefore(int retry, std::string_view retry_after);

}  // namespace reveza::fraudgen
