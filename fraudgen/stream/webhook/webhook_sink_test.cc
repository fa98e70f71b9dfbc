#include "fraudgen/stream/webhook/webhook_sink.h"

#include <gtest/gtest.h>
#include <httplib.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "fraudgen/stream/testing_events.h"

namespace reveza::fraudgen {
namespace webhook_sink_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

// A clock that does not wait.
class QuickClock final : public StreamClock {
 public:
  std::chrono::nanoseconds Now() override { return now_; }
  void WaitUntil(std::chrono::nanoseconds time) override {
    pauses.push_back(std::chrono::duration_cast<milliseconds>(time - now_));
    now_ = time;
    if (on_wait) on_wait();
  }
  std::vector<milliseconds> pauses;
  std::function<void()> on_wait;

 private:
  std::chrono::nanoseconds now_{0};
};

struct Request {
  std::string method;
  std::string path;
  std::string body;
  std::string key;
  std::string type;
  std::string authorization;
};

// An in-process server that records requests and returns scripted responses.
class Server {
 public:
  using Answer = std::function<void(int request, httplib::Response& response)>;

  explicit Server(Answer answer) : answer_(std::move(answer)) {
    const auto handle = [this](const httplib::Request& request, httplib::Response& response) {
      int number = 0;
      {
        const std::scoped_lock lock(mutex_);
        number = static_cast<int>(requests_.size());
        requests_.push_back({request.method, request.target, request.body,
                             request.get_header_value("Idempotency-Key"),
                             request.get_header_value("Content-Type"),
                             request.get_header_value("Authorization")});
      }
      answer_(number, response);
    };
    server_.Post("/events", handle);
    server_.Put("/events", handle);
    server_.Patch("/events", handle);
    port_ = server_.bind_to_any_port("127.0.0.1");
    thread_ = std::jthread([this] { server_.listen_after_bind(); });
    while (!server_.is_running()) std::this_thread::yield();
  }
  ~Server() { server_.stop(); }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  std::string Url(const std::string& path = "/events") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  std::vector<Request> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  Answer answer_;
  mutable std::mutex mutex_;
  std::vector<Request> requests_;
  int port_ = 0;
  httplib::Server server_;
  std::jthread thread_;
};

void Well(int, httplib::Response& response) { response.status = 204; }

std::unique_ptr<EventBatch> Many(std::size_t count) {
  std::vector<TestingEvent> events;
  for (std::size_t i = 0; i < count; ++i) {
    events.push_back({.time = 1, .id = "T" + std::to_string(100 + i)});
  }
  return TestingBatch(events);
}

std::vector<Event> EventsOf(const EventBatch& batch) {
  std::vector<Event> events;
  for (std::size_t i = 0; i < batch.size(); ++i) events.push_back(batch.At(i));
  return events;
}

class WebhookSinkTest : public testing::Test {
 protected:
  std::unique_ptr<EventSink> Sink(const WebhookOptions& options) {
    auto sink = MakeWebhookSink(options, clock_, stop_);
    EXPECT_TRUE(sink) << sink.error().message;
    return sink ? *std::move(sink) : nullptr;
  }
  QuickClock clock_;
  TestingStop stop_;
};

TEST_F(WebhookSinkTest, SendsOneRequestPerEvent) {
  const Server server(Well);
  const auto batch = Many(3);
  const auto sink = Sink(
      {.url = server.Url("/events?source=test"), .headers = {{"Authorization", "Bearer secret"}}});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 3u);
  const std::vector<Request> requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const std::string id = "T" + std::to_string(100 + i);
    EXPECT_EQ(requests[i].method, "POST");
    EXPECT_EQ(requests[i].path, "/events?source=test");
    EXPECT_EQ(requests[i].body, "{\"id\":\"" + id + "\"}");
    EXPECT_EQ(requests[i].key, id);
    EXPECT_EQ(requests[i].type, "application/json");
    EXPECT_EQ(requests[i].authorization, "Bearer secret");
  }
  EXPECT_EQ(sink->acknowledged(), 3u);
  EXPECT_EQ(sink->resent(), 0u);
}

TEST_F(WebhookSinkTest, SendsBatchAsArray) {
  const Server server(Well);
  const auto batch = Many(7);
  const auto sink = Sink({.url = server.Url(), .method = "PUT", .batch_size = 3});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 7u);
  const std::vector<Request> requests = server.requests();
  ASSERT_EQ(requests.size(), 3u);
  EXPECT_EQ(requests[0].method, "PUT");
  EXPECT_EQ(requests[0].body, R"([{"id":"T100"},{"id":"T101"},{"id":"T102"}])");
  EXPECT_EQ(requests[0].key, "T100:3");
  EXPECT_EQ(requests[2].body, R"([{"id":"T106"}])");
  EXPECT_EQ(sink->acknowledged(), 7u);
}

TEST_F(WebhookSinkTest, SupportsPatch) {
  const Server server(Well);
  const auto batch = Many(1);
  ASSERT_EQ(Sink({.url = server.Url(), .method = "PATCH"})->Send(EventsOf(*batch)), 1u);
  EXPECT_EQ(server.requests().at(0).method, "PATCH");
}

TEST_F(WebhookSinkTest, RetriesTransientErrorsInOrder) {
  const Server server([](int request, httplib::Response& response) {
    // Two failures before each success; the second has Retry-After.
    response.status = request % 3 == 0 ? 503 : request % 3 == 1 ? 429 : 200;
    if (request % 3 == 1) response.set_header("Retry-After", "7");
  });
  const auto batch = Many(4);
  const auto sink = Sink({.url = server.Url()});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 4u);
  const std::vector<Request> requests = server.requests();
  ASSERT_EQ(requests.size(), 12u);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(requests[i].key, "T" + std::to_string(100 + i / 3));
    EXPECT_EQ(requests[i].body, requests[i - i % 3].body);
  }
  EXPECT_EQ(sink->acknowledged(), 4u);
  EXPECT_EQ(sink->resent(), 8u);
  ASSERT_EQ(clock_.pauses.size(), 8u);
  EXPECT_EQ(clock_.pauses[0], milliseconds(100));
  EXPECT_EQ(clock_.pauses[1], seconds(7));
}

TEST_F(WebhookSinkTest, RetriesAfterTimeout) {
  std::atomic<bool> ended = false;
  const Server server([&ended](int request, httplib::Response& response) {
    response.status = 200;
    if (request > 0) return;
    while (!ended) std::this_thread::sleep_for(milliseconds(5));
  });
  const auto batch = Many(2);
  const auto sink = Sink({.url = server.Url(), .timeout = milliseconds(300)});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 2u);
  ended = true;
  const std::vector<Request> requests = server.requests();
  ASSERT_GE(requests.size(), 3u);
  EXPECT_EQ(requests[1].key, "T100") << "at least once";
  EXPECT_EQ(requests.back().key, "T101");
  EXPECT_GE(sink->resent(), 1u);
}

TEST_F(WebhookSinkTest, Reconnects) {
  const Server server([](int request, httplib::Response& response) {
    response.status = 200;
    if (request % 2 != 0) return;
    // Announces more bytes than it sends.
    response.set_content_provider(
        1'000, "text/plain", [](std::size_t, std::size_t, httplib::DataSink&) { return false; });
  });
  const auto batch = Many(3);
  const auto sink = Sink({.url = server.Url()});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 3u);
  EXPECT_EQ(server.requests().size(), 6u);
  EXPECT_EQ(sink->resent(), 3u);
}

TEST_F(WebhookSinkTest, PermanentErrorEndsTheStream) {
  const Server server([](int request, httplib::Response& response) {
    response.status = request == 1 ? 422 : 200;
    response.set_content("amount\nis missing", "text/plain");
  });
  const auto batch = Many(3);
  const auto sink = Sink({.url = server.Url()});
  ASSERT_EQ(sink->Send(EventsOf(*batch)), 1u) << "the first was accepted";
  const auto sent = sink->Send(EventsOf(*batch));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().message,
            server.Url() + " rejected event T101: status 422 amount is missing");
  EXPECT_EQ(sink->acknowledged(), 1u);
  EXPECT_FALSE(sink->Flush());
  EXPECT_EQ(server.requests().size(), 2u) << "no requests after the rejected event";
  EXPECT_TRUE(clock_.pauses.empty());
}

TEST_F(WebhookSinkTest, DoesNotFollowRedirects) {
  const Server server([](int, httplib::Response& response) {
    response.status = 308;
    response.set_header("Location", "http://elsewhere/");
  });
  const auto batch = Many(1);
  const auto sent = Sink({.url = server.Url()})->Send(EventsOf(*batch));
  ASSERT_FALSE(sent);
  EXPECT_NE(sent.error().message.find("redirects to 'http://elsewhere/'"), std::string::npos);
}

TEST_F(WebhookSinkTest, GivesUpAfterRetryTimeout) {
  const auto batch = Many(1);
  // Nothing listens on port 1.
  const auto sink = Sink({.url = "http://127.0.0.1:1/", .retry_timeout = seconds(20)});
  const auto sent = sink->Send(EventsOf(*batch));
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(
      sent.error().message.starts_with("http://127.0.0.1:1/ did not accept event T100 for 20 s: "))
      << sent.error().message;
  EXPECT_EQ(clock_.pauses.size(), 8u) << "6.3 s of doubling, then twice five";
}

TEST_F(WebhookSinkTest, StopInterruptsBackoff) {
  const auto batch = Many(3);
  clock_.on_wait = [this] { stop_.requested = clock_.pauses.size() == 2; };
  const auto sink = Sink({.url = "http://127.0.0.1:1/"});
  EXPECT_EQ(sink->Send(EventsOf(*batch)), 0u);
  EXPECT_EQ(sink->acknowledged(), 0u);
}

TEST_F(WebhookSinkTest, RejectsInvalidUrl) {
  const auto sink = MakeWebhookSink({.url = "example.com/hook"}, clock_, stop_);
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().code, Error::Code::kInvalidArgument);
}

}  // namespace webhook_sink_test
}  // namespace reveza::fraudgen
