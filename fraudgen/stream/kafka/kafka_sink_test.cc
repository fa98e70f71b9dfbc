#include "fraudgen/stream/kafka/kafka_sink.h"

#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>
#include <librdkafka/rdkafka_mock.h>

#include <array>
#include <map>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "fraudgen/stream/testing_events.h"

namespace reveza::fraudgen {
namespace kafka_sink_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr int kPartitions = 4;
constexpr int kBrokers = 3;
constexpr int16_t kProduceRequest = 0;
constexpr const char* kTopic = "payments";

struct Received {
  std::string id = {};
  std::string key = {};
  std::string value = {};
  int32_t partition = 0;
};

// An in-process mock cluster with a consumer.
class Cluster {
 public:
  Cluster() {
    std::array<char, 512> text{};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set_log_cb(conf, nullptr);
    owner_ = rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size());
    servers_ = rd_kafka_mock_cluster_new(owner_, kBrokers);
    rd_kafka_mock_topic_create(servers_, kTopic, kPartitions, kBrokers);
  }
  ~Cluster() {
    rd_kafka_mock_cluster_destroy(servers_);
    rd_kafka_destroy(owner_);
  }
  Cluster(const Cluster&) = delete;
  Cluster& operator=(const Cluster&) = delete;

  std::string addresses() const { return rd_kafka_mock_cluster_bootstraps(servers_); }
  void SetDown(bool down) {
    for (int32_t broker = 1; broker <= kBrokers; ++broker) {
      if (down) {
        rd_kafka_mock_broker_set_down(servers_, broker);
      } else {
        rd_kafka_mock_broker_set_up(servers_, broker);
      }
    }
  }
  void FailProduce(std::vector<rd_kafka_resp_err_t> errors) {
    rd_kafka_mock_push_request_errors_array(servers_, kProduceRequest, errors.size(),
                                            errors.data());
  }

  // Consumes from the beginning until `wanted` distinct events arrived.
  std::vector<Received> ReadAll(std::size_t wanted) const {
    std::array<char, 512> text{};
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    rd_kafka_conf_set(conf, "bootstrap.servers", addresses().c_str(), text.data(), text.size());
    rd_kafka_conf_set(conf, "group.id", "readers", text.data(), text.size());
    rd_kafka_t* reader = rd_kafka_new(RD_KAFKA_CONSUMER, conf, text.data(), text.size());
    rd_kafka_topic_partition_list_t* all = rd_kafka_topic_partition_list_new(kPartitions);
    for (int32_t partition = 0; partition < kPartitions; ++partition) {
      rd_kafka_topic_partition_list_add(all, kTopic, partition)->offset = RD_KAFKA_OFFSET_BEGINNING;
    }
    rd_kafka_assign(reader, all);
    rd_kafka_topic_partition_list_destroy(all);
    std::vector<Received> received;
    std::set<std::string> ids;
    // Generous, for busy machines.
    for (int polls = 0; ids.size() < wanted && polls < 600; ++polls) {
      while (rd_kafka_message_t* message = rd_kafka_consumer_poll(reader, 100)) {
        if (message->err == RD_KAFKA_RESP_ERR_NO_ERROR) {
          received.push_back(From(message));
          ids.insert(received.back().id);
        }
        rd_kafka_message_destroy(message);
      }
    }
    rd_kafka_consumer_close(reader);
    rd_kafka_destroy(reader);
    return received;
  }

 private:
  static Received From(const rd_kafka_message_t* message) {
    Received received = {
        .key = std::string(static_cast<const char*>(message->key), message->key_len),
        .value = std::string(static_cast<const char*>(message->payload), message->len),
        .partition = message->partition};
    rd_kafka_headers_t* headers = nullptr;
    const void* value = nullptr;
    std::size_t size = 0;
    if (rd_kafka_message_headers(message, &headers) == RD_KAFKA_RESP_ERR_NO_ERROR &&
        rd_kafka_header_get_last(headers, "event_id", &value, &size) ==
            RD_KAFKA_RESP_ERR_NO_ERROR) {
      received.id.assign(static_cast<const char*>(value), size);
    }
    return received;
  }

  rd_kafka_t* owner_ = nullptr;
  rd_kafka_mock_cluster_t* servers_ = nullptr;
};

std::vector<TestingEvent> Payments(std::size_t count) {
  std::vector<TestingEvent> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back({.time = static_cast<int64_t>(i),
                      .id = "TXN_" + std::to_string(1'000'000 + i),
                      .key = "CUST_" + std::to_string(i % 17)});
  }
  return events;
}

std::vector<Event> EventsOf(const EventBatch& batch) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < batch.size(); ++i) events.push_back(batch.At(i));
  return events;
}

class KafkaSinkTest : public testing::Test {
 protected:
  KafkaOptions Options() const { return {.servers = cluster_.addresses(), .topic = kTopic}; }
  std::unique_ptr<EventSink> Sink(const KafkaOptions& options) {
    auto sink = MakeKafkaSink(options, stop_);
    EXPECT_TRUE(sink) << sink.error().message;
    return sink ? *std::move(sink) : nullptr;
  }
  // All events arrived, those of a customer in order in one partition.
  void ExpectAll(std::size_t count) const {
    const std::vector<Received> received = cluster_.ReadAll(count);
    std::map<std::string, std::string> last_of_key;
    std::map<std::string, int32_t> partition_of_key;
    std::set<std::string> ids;
    for (const Received& each : received) {
      ids.insert(each.id);
      EXPECT_EQ(each.value, "{\"id\":\"" + each.id + "\"}");
      EXPECT_GT(each.id, last_of_key[each.key]) << "in order, no duplicates";
      last_of_key[each.key] = each.id;
      EXPECT_EQ(partition_of_key.try_emplace(each.key, each.partition).first->second,
                each.partition);
    }
    EXPECT_EQ(ids.size(), count);
    EXPECT_EQ(last_of_key.size(), std::min<std::size_t>(count, 17));
  }

  Cluster cluster_;
  TestingStop stop_;
};

TEST_F(KafkaSinkTest, DeliversInOrderOfEachCustomer) {
  const auto batch = TestingBatch(Payments(3'000));
  const auto sink = Sink(Options());
  ASSERT_NE(sink, nullptr);
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 3'000u);
  ASSERT_TRUE(sink->Flush());
  EXPECT_EQ(sink->acknowledged(), 3'000u);
  ExpectAll(3'000);
}

TEST_F(KafkaSinkTest, ResendsAfterTransientErrors) {
  const auto batch = TestingBatch(Payments(2'000));
  const auto sink = Sink(Options());
  ASSERT_NE(sink, nullptr);
  cluster_.FailProduce({RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
                        RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
                        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 2'000u);
  ASSERT_TRUE(sink->Flush());
  EXPECT_EQ(sink->acknowledged(), 2'000u);
  ExpectAll(2'000);
}

TEST_F(KafkaSinkTest, SurvivesServerRestart) {
  const auto batch = TestingBatch(Payments(2'000));
  const std::vector<Event> events = EventsOf(*batch);
  const auto sink = Sink(Options());
  ASSERT_NE(sink, nullptr);
  ASSERT_EQ(sink->Send(std::span(events).first(1'000)), 1'000u);
  cluster_.SetDown(true);
  ASSERT_EQ(sink->Send(std::span(events).subspan(1'000)), 1'000u);
  cluster_.SetDown(false);
  ASSERT_TRUE(sink->Flush());
  EXPECT_EQ(sink->acknowledged(), 2'000u);
  ExpectAll(2'000);
}

TEST_F(KafkaSinkTest, BlocksOnFullQueue) {
  const auto batch = TestingBatch(Payments(3'000));
  KafkaOptions options = Options();
  options.properties = {{"queue.buffering.max.messages", "50"}};
  const auto sink = Sink(options);
  ASSERT_NE(sink, nullptr);
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 3'000u);
  EXPECT_GE(sink->acknowledged(), 3'000u - 50u);
  ASSERT_TRUE(sink->Flush());
  ExpectAll(3'000);
}

TEST_F(KafkaSinkTest, StopInterruptsWaitForServers) {
  const auto batch = TestingBatch(Payments(3'000));
  KafkaOptions options = Options();
  options.properties = {{"queue.buffering.max.messages", "50"}};
  options.flush_timeout = milliseconds(200);
  const auto sink = Sink(options);
  ASSERT_NE(sink, nullptr);
  cluster_.SetDown(true);
  stop_.requested = true;
  EXPECT_EQ(sink->Send(EventsOf(*batch)), 50u);
  EXPECT_TRUE(sink->Flush());
  EXPECT_LT(sink->acknowledged(), 50u);
}

TEST_F(KafkaSinkTest, ReportsUndeliverableEvents) {
  const auto batch = TestingBatch(Payments(10));
  KafkaOptions options = Options();
  options.properties = {{"message.timeout.ms", "500"}};
  const auto sink = Sink(options);
  ASSERT_NE(sink, nullptr);
  cluster_.SetDown(true);
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 10u);
  const Status flushed = sink->Flush();
  ASSERT_FALSE(flushed);
  EXPECT_NE(flushed.error().message.find("did not accept all events: "), std::string::npos);
  EXPECT_FALSE(sink->Send(EventsOf(*batch))) << "error is permanent";
}

TEST(KafkaSinkErrorsTest, UnreachableServerIsUnavailable) {
  TestingStop stop;
  const auto sink = MakeKafkaSink({.servers = "127.0.0.1:1", .connect_timeout = seconds(1)}, stop);
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(sink.error().message.starts_with("no response from Kafka at 127.0.0.1:1 ("))
      << sink.error().message;
}

TEST(KafkaSinkErrorsTest, StopInterruptsConnect) {
  TestingStop stop;
  stop.requested = true;
  EXPECT_FALSE(MakeKafkaSink({.servers = "127.0.0.1:1", .connect_timeout = seconds(600)}, stop));
}

TEST(KafkaSinkErrorsTest, RejectsInvalidProperties) {
  TestingStop stop;
  const auto unknown = MakeKafkaSink({.properties = {{"compresion.type", "lz4"}}}, stop);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Error::Code::kInvalidArgument);
  EXPECT_TRUE(unknown.error().message.starts_with("--kafka-option compresion.type=lz4: "));
  // Delivery requires acknowledgements.
  const auto careless = MakeKafkaSink({.properties = {{"acks", "0"}}}, stop);
  ASSERT_FALSE(careless);
  EXPECT_EQ(careless.error().code, Error::Code::kInvalidArgument) << careless.error().message;
}

}  // namespace kafka_sink_test
}  // namespace reveza::fraudgen
