#include "stream_plan.h"

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "datagen/stream/webhook/webhook_url.h"
#include "models.h"

namespace reveza::fraudgen {
namespace {

// As the original.
constexpr std::string_view kDefaultRate = "10";

std::unexpected<Error> Wrong(std::string message) {
  return Fail(Error::Code::kInvalidArgument, std::move(message));
}

Status CheckRows(const RunArguments& arguments, const std::string& defects_key) {
  const datagen::Settings& settings = arguments.settings;
  if (settings.type == datagen::Rows::kOfBoth) {
    return Wrong("a stream is of one table: --type transactions or --type rides");
  }
  if (settings.format != datagen::Format::kJsonLines) {
    return Wrong("events are lines of JSON; leave --format away");
  }
  if (settings.defects.Any() && defects_key.empty()) {
    return Wrong(
        "--defects needs --defects-key FILE: where to write what is wrong with which event");
  }
  if (!settings.defects.Any() && !defects_key.empty()) {
    return Wrong("--defects-key is for --defects");
  }
  if (arguments.shard.count > 1) return Wrong("--shard is for files; a stream is whole");
  return {};
}

Result<datagen::Schedule> ScheduleOf(const StreamArguments& stream) {
  if (!stream.rate.empty() && !stream.pace.empty()) {
    return Wrong("--rate and --pace both say how fast; leave one of them");
  }
  if (!stream.pace.empty()) return datagen::Schedule::ParsePace(stream.pace);
  return datagen::Schedule::ParseRate(stream.rate.empty() ? kDefaultRate : stream.rate);
}

Status CheckEvents(const StreamArguments& stream) {
  const int64_t most = stream.max_events.value_or(0);
  if (most >= 0) return {};
  return Wrong(fmt::format(
      "--max-events: {} is not right; write a whole number from 0, or leave it away for all",
      most));
}

Result<StreamTarget> TargetOf(const StreamArguments& stream) {
  const bool out = stream.target == "stdout";
  const bool kafka = stream.target == "kafka";
  const bool webhook = stream.target == "webhook";
  if (!out && !kafka && !webhook) {
    return Wrong(
        fmt::format("--target: '{}' is not right; write stdout, kafka or webhook", stream.target));
  }
  if (stream.pretty && !out) return Wrong("--pretty is for --target stdout");
  if (webhook && stream.webhook_url.empty()) {
    return Wrong("--target webhook needs --webhook-url, such as http://localhost:8080/events");
  }
  if (out) return StreamTarget::kStdout;
  return kafka ? StreamTarget::kKafka : StreamTarget::kWebhook;
}

Result<datagen::EventKey> KeyOf(const StreamArguments& stream) {
  if (stream.key == "customer") return datagen::EventKey::kCustomer;
  if (stream.key == "event") return datagen::EventKey::kRow;
  if (stream.key == "none") return datagen::EventKey::kNone;
  return Wrong(
      fmt::format("--kafka-key: '{}' is not right; write customer, event or none", stream.key));
}

Result<datagen::KafkaOptions> KafkaOf(const RunArguments& arguments,
                                      const StreamArguments& stream) {
  datagen::KafkaOptions options{.servers = stream.kafka_server, .topic = stream.kafka_topic};
  if (options.topic.empty()) options.topic = MainTable(arguments.settings);
  for (const std::string& text : stream.kafka_options) {
    const std::size_t equals = text.find('=');
    if (equals == 0 || equals == std::string::npos) {
      return Wrong(fmt::format(
          "--kafka-option: '{}' is not right; write NAME=VALUE, such as compression.type=lz4",
          text));
    }
    options.properties.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return options;
}

Result<datagen::WebhookOptions> WebhookOf(const StreamArguments& stream) {
  constexpr int64_t kMostEventsAtOnce = 1'000;
  datagen::WebhookOptions options{.url = stream.webhook_url,
                                  .method = stream.webhook_method,
                                  .events_at_once = static_cast<std::size_t>(stream.webhook_batch)};
  if (options.method != "POST" && options.method != "PUT" && options.method != "PATCH") {
    return Wrong(fmt::format("--webhook-method: '{}' is not right; write POST, PUT or PATCH",
                             options.method));
  }
  if (stream.webhook_batch < 1 || stream.webhook_batch > kMostEventsAtOnce) {
    return Wrong(fmt::format("--webhook-batch: {} is not right; write a number from 1 to {}",
                             stream.webhook_batch, kMostEventsAtOnce));
  }
  for (const std::string& text : stream.webhook_headers) {
    const std::size_t colon = text.find(':');
    if (colon == 0 || colon == std::string::npos || text.find_first_of("\r\n") != text.npos) {
      return Wrong(fmt::format(
          "--webhook-header: '{}' is not right; write such as 'Authorization: Bearer x'", text));
    }
    const std::size_t value = text.find_first_not_of(' ', colon + 1);
    options.headers.emplace_back(text.substr(0, colon),
                                 value == std::string::npos ? "" : text.substr(value));
  }
  // Said here, before the data are looked at.
  if (const auto url = datagen::ParseWebhookUrl(options.url); !url) {
    return std::unexpected(url.error());
  }
  return options;
}

}  // namespace

Result<StreamPlan> PlanOf(const RunArguments& arguments, const StreamArguments& stream) {
  if (const Status checked = CheckRows(arguments, stream.defects_key); !checked) {
    return std::unexpected(checked.error());
  }
  if (const Status events = CheckEvents(stream); !events) return std::unexpected(events.error());
  StreamPlan plan;
  const auto target = TargetOf(stream);
  if (!target) return std::unexpected(target.error());
  plan.target = *target;
  const auto schedule = ScheduleOf(stream);
  if (!schedule) return std::unexpected(schedule.error());
  plan.schedule = *schedule;
  const auto key = KeyOf(stream);
  if (!key) return std::unexpected(key.error());
  plan.key = *key;
  if (plan.target == StreamTarget::kKafka) {
    const auto kafka = KafkaOf(arguments, stream);
    if (!kafka) return std::unexpected(kafka.error());
    plan.kafka = *kafka;
  }
  if (plan.target == StreamTarget::kWebhook) {
    const auto webhook = WebhookOf(stream);
    if (!webhook) return std::unexpected(webhook.error());
    plan.webhook = *webhook;
  }
  return plan;
}

}  // namespace reveza::fraudgen
