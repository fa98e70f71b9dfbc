// Sends events to a Kafka topic: value = record, key = customer, header event_id = identifier. In
// builds without librdkafka, MakeKafkaSink returns kUnavailable.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/base/error.h"
#include "fraudgen/stream/event.h"

namespace reveza::fraudgen {

struct KafkaOptions {
  std::string servers = "localhost:9092";
  std::string topic = "transactions";
  // librdkafka properties, which override the defaults: compression.type, sasl.username.
  std::vector<std::pair<std::string, std::string>> properties = {};
  // Maximum wait for the first response.
  std::chrono::milliseconds connect_timeout = std::chrono::seconds(15);
  // Maximum wait for acknowledgements after a stop request.
  std::chrono::milliseconds flush_timeout = std::chrono::seconds(10);
};

bool HaveKafka();

// Connects and verifies that the topic exists. `stop` must outlive the sink.
Result<std::unique_ptr<EventSink>> MakeKafkaSink(const KafkaOptions& options, Stop& stop);

}  // namespace reveza::fraudgen
