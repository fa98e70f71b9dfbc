#include "datagen/stream/kafka/kafka_sink.h"

namespace reveza::datagen {

bool HaveKafka() { return false; }

Result<std::unique_ptr<EventSink>> MakeKafkaSink(const KafkaOptions&, Stop&) {
  return Fail(Error::Code::kUnavailable,
              "this program was built without librdkafka, so it sends nothing to Kafka; send to "
              "stdout, or build it again after tools/setup.sh");
}

}  // namespace reveza::datagen
