// Sends events to a URL, one or several per request. Failed requests are retried with exponential
// backoff and the same Idempotency-Key. In builds without cpp-httplib, MakeWebhookSink returns
// kUnavailable.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/stream/event.h"
#include "fraudgen/stream/streamer.h"

namespace reveza::fraudgen {

struct WebhookOptions {
  std::string url;
  std::string method = "POST";  // or PUT, or PATCH
  // Events per request; above 1, the body is a JSON array.
  std::size_t batch_size = 1;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // Timeout of a request.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  // Maximum time without a successful response.
  std::chrono::milliseconds retry_timeout = std::chrono::seconds(60);
};

bool HaveWebhook();

// All arguments must outlive the sink. kInvalidArgument: malformed or unsupported URL.
Result<std::unique_ptr<EventSink>> MakeWebhookSink(const WebhookOptions& options,
                                                   StreamClock& clock, Stop& stop);

}  // namespace reveza::fraudgen
