// What `fraudgen stream` is told, checked as a whole before anything begins.
#pragma once

#include "base/error.h"
#include "commands.h"
#include "datagen/stream/event_table.h"
#include "datagen/stream/kafka/kafka_sink.h"
#include "datagen/stream/schedule.h"
#include "datagen/stream/webhook/webhook_sink.h"

namespace reveza::fraudgen {

enum class StreamTarget { kStdout, kKafka, kWebhook };

struct StreamPlan {
  StreamTarget target = StreamTarget::kStdout;
  datagen::Schedule schedule = datagen::Schedule::Max();
  datagen::EventKey key = datagen::EventKey::kCustomer;
  datagen::KafkaOptions kafka = {};      // of that target
  datagen::WebhookOptions webhook = {};  // of that target
};

// An error names the option and what would be right.
Result<StreamPlan> PlanOf(const RunArguments& arguments, const StreamArguments& stream);

}  // namespace reveza::fraudgen
