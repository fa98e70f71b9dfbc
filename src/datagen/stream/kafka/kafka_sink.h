// Events to a topic of Kafka: the record is the value, the customer the key, and the identifier is
// in the header event_id. Whoever includes this needs no library of Kafka's; where there was none
// when this was built, making a sink is an error that says so.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "datagen/stream/event_sink.h"

namespace reveza::datagen {

struct KafkaOptions {
  std::string servers = "localhost:9092";
  std::string topic = "transactions";
  // Anything else that librdkafka knows, over what is set here: compression.type, sasl.username.
  std::vector<std::pair<std::string, std::string>> properties = {};
  // How long the servers may be silent before anything was sent.
  std::chrono::milliseconds patience = std::chrono::seconds(15);
  // How long Stop leaves them to confirm what is under way.
  std::chrono::milliseconds patience_at_end = std::chrono::seconds(10);
};

bool HaveKafka();

// Finds out that servers and topic are there. `stop` must outlive the sink.
Result<std::unique_ptr<EventSink>> MakeKafkaSink(const KafkaOptions& options, Stop& stop);

}  // namespace reveza::datagen
