#include "fraudgen/stream/kafka/kafka_sink.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <string_view>

namespace reveza::fraudgen {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Interval of checks for a stop request.
constexpr int kWaitMilliseconds = 100;

struct ConfDeleter {
  void operator()(rd_kafka_conf_t* conf) const { rd_kafka_conf_destroy(conf); }
};
struct ProducerDeleter {
  void operator()(rd_kafka_t* producer) const { rd_kafka_destroy(producer); }
};
struct TopicDeleter {
  void operator()(rd_kafka_topic_t* topic) const { rd_kafka_topic_destroy(topic); }
};
using Conf = std::unique_ptr<rd_kafka_conf_t, ConfDeleter>;

// librdkafka resends unacknowledged events, in order within a partition, for at most
// message.timeout.ms. Send() blocks at its memory limit.
constexpr std::array<std::pair<const char*, const char*>, 6> kProperties = {{
    {"client.id", "fraudgen"},
    {"enable.idempotence", "true"},
    {"message.timeout.ms", "60000"},
    {"linger.ms", "5"},
    {"queue.buffering.max.messages", "100000"},
    {"queue.buffering.max.kbytes", "65536"},
}};

class KafkaSink final : public EventSink {
 public:
  KafkaSink(const KafkaOptions& options, Stop& stop) : options_(options), stop_(stop) {}
  ~KafkaSink() override {
    // Do not wait for events that failed finally.
    if (producer_ != nullptr) {
      rd_kafka_purge(producer_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
    }
  }
  KafkaSink(const KafkaSink&) = delete;
  KafkaSink& operator=(const KafkaSink&) = delete;

  Status Connect();
  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override;
  uint64_t acknowledged() const override { return acknowledged_; }

 private:
  static void OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* sink);
  static void OnError(rd_kafka_t*, int code, const char* reason, void* sink);

  Result<Conf> MakeConf();
  Status FindTopic();
  rd_kafka_resp_err_t Produce(const Event& event);
  Status Failed() const;

  KafkaOptions options_;
  Stop& stop_;
  std::unique_ptr<rd_kafka_t, ProducerDeleter> producer_;
  std::unique_ptr<rd_kafka_topic_t, TopicDeleter> topic_;
  uint64_t acknowledged_ = 0;
  std::string failure_;     // of the first failed event
  std::string last_error_;  // last error of the library
};

void KafkaSink::OnDelivery(rd_kafka_t*, const rd_kafka_message_t* message, void* sink) {
  auto& self = *static_cast<KafkaSink*>(sink);
  if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
    ++self.acknowledged_;
  } else if (self.failure_.empty() && message->err != RD_KAFKA_RESP_ERR__PURGE_QUEUE &&
             message->err != RD_KAFKA_RESP_ERR__PURGE_INFLIGHT) {
    self.failure_ = rd_kafka_err2str(message->err);
  }
}

void KafkaSink::OnError(rd_kafka_t* producer, int code, const char* reason, void* sink) {
  auto& self = *static_cast<KafkaSink*>(sink);
  self.last_error_ = reason;
  if (code != RD_KAFKA_RESP_ERR__FATAL || !self.failure_.empty()) return;
  std::array<char, 512> text{};
  rd_kafka_fatal_error(producer, text.data(), text.size());
  self.failure_ = text.data();
}

Result<Conf> KafkaSink::MakeConf() {
  Conf conf(rd_kafka_conf_new());
  std::array<char, 512> text{};
  for (const auto& [name, value] : kProperties) {
    rd_kafka_conf_set(conf.get(), name, value, text.data(), text.size());
  }
  rd_kafka_conf_set(conf.get(), "bootstrap.servers", options_.servers.c_str(), text.data(),
                    text.size());
  for (const auto& [name, value] : options_.properties) {
    if (rd_kafka_conf_set(conf.get(), name.c_str(), value.c_str(), text.data(), text.size()) !=
        RD_KAFKA_CONF_OK) {
      return InvalidArgument("--kafka-option {}={}: {}; see librdkafka's CONFIGURATION.md", name,
                             value, text.data());
    }
  }
  rd_kafka_conf_set_opaque(conf.get(), this);
  rd_kafka_conf_set_dr_msg_cb(conf.get(), &KafkaSink::OnDelivery);
  rd_kafka_conf_set_error_cb(conf.get(), &KafkaSink::OnError);
  // Disables logging; errors are returned.
  rd_kafka_conf_set_log_cb(conf.get(), nullptr);
  return conf;
}

Status KafkaSink::Connect() {
  ASSIGN_OR_RETURN(auto conf, MakeConf());
  std::array<char, 512> text{};
  // Ownership passes to the producer.
  rd_kafka_conf_t* const given = conf.release();
  producer_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, given, text.data(), text.size()));
  if (producer_ == nullptr) {
    rd_kafka_conf_destroy(given);
    return InvalidArgument("invalid Kafka configuration: {}", text.data());
  }
  topic_.reset(rd_kafka_topic_new(producer_.get(), options_.topic.c_str(), nullptr));
  if (topic_ == nullptr) {
    return InvalidArgument("invalid configuration of the Kafka topic '{}': {}", options_.topic,
                           rd_kafka_err2str(rd_kafka_last_error()));
  }
  return FindTopic();
}

// Retries, because auto-created topics take a moment.
Status KafkaSink::FindTopic() {
  const auto end = steady_clock::now() + options_.connect_timeout;
  bool answered = false;
  while (!stop_.Requested() && steady_clock::now() < end) {
    const rd_kafka_metadata_t* metadata = nullptr;
    const rd_kafka_resp_err_t error =
        rd_kafka_metadata(producer_.get(), 0, topic_.get(), &metadata, 10 * kWaitMilliseconds);
    rd_kafka_poll(producer_.get(), 0);
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) {
      if (last_error_.empty()) last_error_ = rd_kafka_err2str(error);
      continue;
    }
    answered = true;
    const bool found = metadata->topic_cnt == 1 &&
                       metadata->topics[0].err == RD_KAFKA_RESP_ERR_NO_ERROR &&
                       metadata->topics[0].partition_cnt > 0;
    rd_kafka_metadata_destroy(metadata);
    if (found) return {};
    rd_kafka_poll(producer_.get(), kWaitMilliseconds);
  }
  if (stop_.Requested()) return Fail(Error::Code::kUnavailable, "stopped before Kafka responded");
  if (answered) {
    return Fail(Error::Code::kNotFound,
                "Kafka at {} has no topic '{}'; create it, or choose another with --kafka-topic",
                options_.servers, options_.topic);
  }
  return Fail(Error::Code::kUnavailable, "no response from Kafka at {} ({}); check --kafka-server",
              options_.servers, last_error_);
}

Status KafkaSink::Failed() const {
  if (failure_.empty()) return {};
  return Fail(Error::Code::kUnavailable, "Kafka at {} did not accept all events: {}",
              options_.servers, failure_);
}

rd_kafka_resp_err_t KafkaSink::Produce(const Event& event) {
  const std::string_view value = event.record();
  // The API takes void* but copies the data.
  void* const key = event.key.empty() ? nullptr : const_cast<char*>(event.key.data());
  return rd_kafka_producev(
      producer_.get(), RD_KAFKA_V_RKT(topic_.get()), RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
      RD_KAFKA_V_KEY(key, event.key.size()),
      RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()),
      RD_KAFKA_V_HEADER("event_id", event.id.data(), event.id.size()), RD_KAFKA_V_END);
}

Result<std::size_t> KafkaSink::Send(std::span<const Event> events) {
  std::size_t sent = 0;
  while (sent < events.size()) {
    RETURN_IF_ERROR(Failed());
    const rd_kafka_resp_err_t error = Produce(events[sent]);
    if (error == RD_KAFKA_RESP_ERR_NO_ERROR) {
      ++sent;
    } else if (error == RD_KAFKA_RESP_ERR__QUEUE_FULL) {
      rd_kafka_poll(producer_.get(), kWaitMilliseconds);
      if (stop_.Requested()) break;
    } else {
      return Fail(Error::Code::kUnavailable, "Kafka at {} did not accept event {}: {}",
                  options_.servers, events[sent].id, rd_kafka_err2str(error));
    }
  }
  rd_kafka_poll(producer_.get(), 0);
  return sent;
}

Status KafkaSink::Flush() {
  steady_clock::time_point end = steady_clock::time_point::max();
  while (rd_kafka_outq_len(producer_.get()) > 0 && failure_.empty()) {
    if (stop_.Requested() && end == steady_clock::time_point::max()) {
      end = steady_clock::now() + options_.flush_timeout;
    }
    if (steady_clock::now() >= end) return {};
    rd_kafka_flush(producer_.get(), kWaitMilliseconds);
  }
  return Failed();
}

}  // namespace

bool HaveKafka() { return true; }

Result<std::unique_ptr<EventSink>> MakeKafkaSink(const KafkaOptions& options, Stop& stop) {
  auto sink = std::make_unique<KafkaSink>(options, stop);
  RETURN_IF_ERROR(sink->Connect());
  return sink;
}

}  // namespace reveza::fraudgen
