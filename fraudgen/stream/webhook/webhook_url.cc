#include "fraudgen/stream/webhook/webhook_url.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

#include "common/base/parse_number.h"

namespace reveza::fraudgen {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

bool IsPort(std::string_view text) {
  const auto port = ParseNumber<uint16_t>(text);
  return port && *port != 0;
}

// Accepts HOST, HOST:PORT and [IPV6]:PORT.
bool IsServer(std::string_view text) {
  const std::size_t bracket = text.starts_with('[') ? text.find(']') : 0;
  if (bracket == std::string_view::npos) return false;
  const std::size_t colon = text.find(':', bracket);
  const std::string_view host = text.substr(0, colon);
  const bool port_is_valid = colon == std::string_view::npos || IsPort(text.substr(colon + 1));
  return !host.empty() && port_is_valid && host.find_first_of(" @\t") == std::string_view::npos;
}

}  // namespace

Result<WebhookUrl> ParseWebhookUrl(std::string_view url) {
  const std::size_t scheme = url.starts_with("http://")    ? sizeof("http://") - 1
                             : url.starts_with("https://") ? sizeof("https://") - 1
                                                           : 0;
  const std::size_t end = std::min(url.find_first_of("/?#", scheme), url.size());
  if (scheme == 0 || !IsServer(url.substr(scheme, end - scheme))) {
    return InvalidArgument(
        "--webhook-url: '{}' is invalid; expected a URL such as http://localhost:8080/events", url);
  }
  const std::string_view rest = url.substr(end, url.find('#') - end);
  return WebhookUrl{.server = std::string(url.substr(0, end)),
                    .path = fmt::format("{}{}", rest.starts_with('/') ? "" : "/", rest)};
}

bool IsTransient(int status) {
  return status == 408 || status == 425 || status == 429 || status >= 500;
}

milliseconds BackoffBefore(int retry, std::string_view retry_after) {
  if (const auto wanted = ParseNumber<int>(retry_after); wanted && *wanted > 0) {
    return std::min<milliseconds>(seconds(*wanted), seconds(60));
  }
  const int doublings = std::min(retry - 1, 6);
  return std::min<milliseconds>(milliseconds(100) * (1 << doublings), seconds(5));
}

}  // namespace reveza::fraudgen
