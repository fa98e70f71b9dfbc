#include "fraudgen/stream/webhook/webhook_url.h"

#include <gtest/gtest.h>

namespace reveza::fraudgen {
namespace webhook_url_test {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(WebhookUrlTest, SplitsServerAndPath) {
  const auto expect = [](std::string_view url, std::string_view server, std::string_view path) {
    const auto parts = ParseWebhookUrl(url);
    ASSERT_TRUE(parts) << url;
    EXPECT_EQ(parts->server, server);
    EXPECT_EQ(parts->path, path);
  };
  expect("http://localhost:8080/events", "http://localhost:8080", "/events");
  expect("https://example.com", "https://example.com", "/");
  expect("http://example.com?a=b/c", "http://example.com", "/?a=b/c");
  expect("http://[::1]:80/x?y=z#part", "http://[::1]:80", "/x?y=z");
  expect("http://10.0.0.1/a b", "http://10.0.0.1", "/a b");
}

TEST(WebhookUrlTest, RejectsInvalidUrls) {
  for (const char* url : {"", "localhost:8080", "ftp://example.com", "http://", "http:///path",
                          "http://host:0/", "http://host:65536/", "http://host:web/",
                          "http://host:/", "http://[::1/", "http://user@host/", "http://a b/"}) {
    const auto parts = ParseWebhookUrl(url);
    ASSERT_FALSE(parts) << url;
    EXPECT_TRUE(parts.error().message.starts_with("--webhook-url: '")) << parts.error().message;
  }
}

TEST(WebhookUrlTest, RetriesTransientStatusesOnly) {
  for (const int status : {408, 425, 429, 500, 502, 503, 504, 599})
    EXPECT_TRUE(IsTransient(status));
  for (const int status : {400, 401, 403, 404, 405, 410, 413, 422})
    EXPECT_FALSE(IsTransient(status));
}

TEST(WebhookUrlTest, BackoffDoublesUpToLimit) {
  EXPECT_EQ(BackoffBefore(1, ""), milliseconds(100));
  EXPECT_EQ(BackoffBefore(2, ""), milliseconds(200));
  EXPECT_EQ(BackoffBefore(6, ""), milliseconds(3'200));
  EXPECT_EQ(BackoffBefore(7, ""), seconds(5));
  EXPECT_EQ(BackoffBefore(1'000, ""), seconds(5));
  EXPECT_EQ(BackoffBefore(1, "3"), seconds(3));
  EXPECT_EQ(BackoffBefore(1, "86400"), seconds(60));
  EXPECT_EQ(BackoffBefore(1, "Fri, 31 Dec 1999 23:59:59 GMT"), milliseconds(100));
  EXPECT_EQ(BackoffBefore(1, "-1"), milliseconds(100));
}

}  // namespace webhook_url_test
}  // namespace reveza::fraudgen
