#include "fraudgen/stream/webhook/webhook_sink.h"

#include <fmt/format.h>
#include <httplib.h>

#include <algorithm>
#include <optional>
#include <string_view>

#include "fraudgen/stream/webhook/webhook_url.h"

namespace reveza::fraudgen {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMaxShownOfAnswer = 200;

// Returns the start of a response on one line.
std::string Shown(std::string_view body) {
  std::string text(body.substr(0, kMaxShownOfAnswer));
  std::ranges::replace_if(
      text, [](char byte) { return static_cast<unsigned char>(byte) < ' '; }, ' ');
  return text;
}

class WebhookSink final : public EventSink {
 public:
  WebhookSink(const WebhookOptions& options, const WebhookUrl& url, StreamClock& clock, Stop& stop)
      : options_(options), url_(url), clock_(clock), stop_(stop), client_(url.server) {
    client_.set_keep_alive(true);
    client_.set_tcp_nodelay(true);
    client_.set_connection_timeout(options.timeout);
    client_.set_read_timeout(options.timeout);
    client_.set_write_timeout(options.timeout);
    for (const auto& [name, value] : options.headers) headers_.emplace(name, value);
  }

  Result<std::size_t> Send(std::span<const Event> events) override;
  Status Flush() override { return failure_ ? Status(std::unexpected(*failure_)) : Status(); }
  uint64_t acknowledged() const override { return acknowledged_; }
  uint64_t resent() const override { return resent_; }
  bool is_valid() const { return client_.is_valid(); }

 private:
  // The result of an attempt.
  struct Answer {
    bool taken = false;
    bool passing = true;
    std::string reason = {};
    std::string retry_after = {};
  };

  // Returns false after a stop request.
  Result<bool> SendOne(std::span<const Event> events);
  Answer Attempt();
  void WriteRequest(std::span<const Event> events);

  WebhookOptions options_;
  WebhookUrl url_;
  StreamClock& clock_;
  Stop& stop_;
  httplib::Client client_;
  httplib::Headers headers_;
  httplib::Request request_;
  uint64_t acknowledged_ = 0;
  uint64_t resent_ = 0;
  std::optional<Error> failure_;
};

void WebhookSink::WriteRequest(std::span<const Event> events) {
  request_ = {};
  request_.method = options_.method;
  request_.path = url_.path;
  request_.headers = headers_;
  request_.set_header("Content-Type", "application/json");
  std::string key(events.front().id);
  if (options_.batch_size == 1) {
    request_.body = events.front().record();
  } else {
    key += fmt::format(":{}", events.size());
    for (const Event& event : events) {
      request_.body += request_.body.empty() ? '[' : ',';
      request_.body += event.record();
    }
    request_.body += ']';
  }
  request_.set_header("Idempotency-Key", key);
}

WebhookSink::Answer WebhookSink::Attempt() {
  // Copied, because the client adds headers.
  httplib::Request request = request_;
  const httplib::Result result = client_.send(request);
  if (!result) return {.reason = httplib::to_string(result.error())};
  const int status = result->status;
  if (status >= 200 && status < 300) return {.taken = true};
  if (status >= 300 && status < 400) {
    return {.passing = false,
            .reason = fmt::format("status {} redirects to '{}'; use that URL", status,
                                  result->get_header_value("Location"))};
  }
  return {.passing = IsTransient(status),
          .reason = fmt::format("status {} {}", status, Shown(result->body)),
          .retry_after = result->get_header_value("Retry-After")};
}

Result<bool> WebhookSink::SendOne(std::span<const Event> events) {
  WriteRequest(events);
  const nanoseconds begin = clock_.Now();
  for (int repetition = 1;; ++repetition) {
    const Answer answer = Attempt();
    if (answer.taken) {
      acknowledged_ += events.size();
      return true;
    }
    if (!answer.passing) {
      return InvalidArgument("{} rejected event {}: {}", options_.url, events.front().id,
                             answer.reason);
    }
    const nanoseconds now = clock_.Now();
    const auto pause = BackoffBefore(repetition, answer.retry_after);
    if (now + pause - begin > options_.retry_timeout) {
      return Fail(Error::Code::kUnavailable, "{} did not accept event {} for {} s: {}",
                  options_.url, events.front().id,
                  std::chrono::duration_cast<std::chrono::seconds>(options_.retry_timeout).count(),
                  answer.reason);
    }
    while (!stop_.Requested() && clock_.Now() < now + pause) clock_.WaitUntil(now + pause);
    if (stop_.Requested()) return false;
    resent_ += events.size();
  }
}

Result<std::size_t> WebhookSink::Send(std::span<const Event> events) {
  if (failure_) return std::unexpected(*failure_);
  std::size_t sent = 0;
  while (sent < events.size() && !stop_.Requested()) {
    const std::size_t count = std::min(options_.batch_size, events.size() - sent);
    const auto taken = SendOne(events.subspan(sent, count));
    if (!taken) {
      failure_ = taken.error();
      return sent > 0 ? Result<std::size_t>(sent) : std::unexpected(*failure_);
    }
    if (!*taken) break;
    sent += count;
  }
  return sent;
}

}  // namespace

bool HaveWebhook() { return true; }

Result<std::unique_ptr<EventSink>> MakeWebhookSink(const WebhookOptions& options,
                                                   StreamClock& clock, Stop& stop) {
  ASSIGN_OR_RETURN(const auto url, ParseWebhookUrl(options.url));
  auto sink = std::make_unique<WebhookSink>(options, url, clock, stop);
  if (!sink->is_valid()) {
    return InvalidArgument(
        "--webhook-url: '{}' is not supported; https requires a build with OpenSSL", options.url);
  }
  return sink;
}

}  // namespace reveza::fraudgen
