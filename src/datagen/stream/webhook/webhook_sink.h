// Events to whoever has a web address: one request an event, or one for each few of them. What is
// not answered well is sent again, later and later, with the same Idempotency-Key. Whoever includes
// this needs no library for it; where there was none when this was built, making a sink is an error
// that says so.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "datagen/stream/event_sink.h"
#include "datagen/stream/streamer.h"

namespace reveza::datagen {

struct WebhookOptions {
  std::string url;
  std::string method = "POST";  // or PUT, or PATCH
  // More than one: a JSON array.
  std::size_t events_at_once = 1;
  std::vector<std::pair<std::string, std::string>> headers = {};
  // For an answer.
  std::chrono::milliseconds timeout = std::chrono::seconds(10);
  // How long it is tried before the first answer that is well, and after each.
  std::chrono::milliseconds patience = std::chrono::seconds(60);
};

bool HaveWebhook();

// All must outlive the sink.
Result<std::unique_ptr<EventSink>> MakeWebhookSink(const WebhookOptions& options,
                                                   StreamClock& clock, Stop& stop);

}  // namespace reveza::datagen
