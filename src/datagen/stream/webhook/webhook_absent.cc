#include "datagen/stream/webhook/webhook_sink.h"

namespace reveza::datagen {

bool HaveWebhook() { return false; }

Result<std::unique_ptr<EventSink>> MakeWebhookSink(const WebhookOptions&, StreamClock&, Stop&) {
  return Fail(Error::Code::kUnavailable,
              "this program was built without cpp-httplib, so it sends nothing to web addresses; "
              "send to stdout, or build it again after tools/setup.sh");
}

}  // namespace reveza::datagen
