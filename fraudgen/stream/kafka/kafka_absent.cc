#include "fraudgen/stream/kafka/kafka_sink.h"

namespace reveza::fraudgen {

bool HaveKafka() { return false; }

Result<std::unique_ptr<EventSink>> MakeKafkaSink(const KafkaOptions&, Stop&) {
  return Fail(Error::Code::kUnavailable,
              "built without librdkafka, which Kafka streams require; use stdout, or run "
              "tools/setup.sh and rebuild");
}

}  // namespace reveza::fraudgen
