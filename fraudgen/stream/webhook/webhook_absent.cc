#include "fraudgen/stream/webhook/webhook_sink.h"

namespace reveza::fraudgen {

bool HaveWebhook() { return false; }

Result<std::unique_ptr<EventSink>> MakeWebhookSink(const WebhookOptions&, StreamClock&, Stop&) {
  return Fail(Error::Code::kUnavailable,
              "built without cpp-httplib, which webhook streams require; use stdout, or run "
              "tools/setup.sh and rebuild");
}

}  // namespace reveza::fraudgen
