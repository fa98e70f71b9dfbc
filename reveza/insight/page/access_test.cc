#include "reveza/insight/page/access.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace reveza::page {
namespace access_test {

const Access kAccess{.token = "0123456789abcdef", .names = {"gpu1"}};

RequestHead Valid(std::string_view method) {
  return {.method = method,
          .host = "127.0.0.1:9788",
          .origin = method == "POST" ? "http://127.0.0.1:9788" : "",
          .authorization = "Bearer 0123456789abcdef",
          .content_type = method == "POST" ? "application/json" : ""};
}

TEST(Token, IsRandomAndLong) {
  const auto first = NewToken();
  const auto second = NewToken();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->size(), 32u);
  EXPECT_EQ(first->find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_NE(*first, *second);
}

TEST(Token, IsComparedAsAWhole) {
  EXPECT_TRUE(SameToken("abcd", "abcd"));
  for (const char* wrong : {"", "a", "abc", "abce", "bbcd", "abcda", "abcdabcd"}) {
    EXPECT_FALSE(SameToken(wrong, "abcd")) << wrong;
  }
  EXPECT_FALSE(SameToken("", "")) << "an empty token admits nobody";
}

TEST(Host, IsAnAddressOrThisMachine) {
  for (const char* host : {"127.0.0.1", "127.0.0.1:80", "localhost", "localhost:9788", "[::1]:9788",
                           "[fe80::1]", "192.0.2.7:1", "gpu1", "gpu1:9788"}) {
    EXPECT_TRUE(IsTrustedHost(host, kAccess.names)) << host;
  }
  for (const char* host :
       {"", "evil.example", "evil.example:9788", "127.0.0.1.evil.example", "localhost.evil.example",
        "[evil]", "gpu1.evil.example", "1.2.3", "gpu2:9788"}) {
    EXPECT_FALSE(IsTrustedHost(host, kAccess.names)) << host;
  }
  EXPECT_FALSE(IsTrustedHost("", std::vector<std::string>{""})) << "a machine without a name";
}

TEST(Refusal, AdmitsWhoHasTheToken) {
  EXPECT_EQ(Refusal(Valid("GET"), kAccess, false), 0);
  EXPECT_EQ(Refusal(Valid("POST"), kAccess, false), 0);
}

TEST(Refusal, ChecksTheHostFirstAndAlways) {
  RequestHead head = Valid("GET");
  head.host = "evil.example";
  EXPECT_EQ(Refusal(head, kAccess, false), 421);
  EXPECT_EQ(Refusal(head, kAccess, true), 421);
}

TEST(Refusal, WantsTheTokenForData) {
  for (const char* wrong :
       {"", "Bearer ", "Bearer 0123456789abcdee", "0123456789abcdef", "Basic 0123456789abcdef"}) {
    RequestHead head = Valid("GET");
    head.authorization = wrong;
    EXPECT_EQ(Refusal(head, kAccess, false), 401) << wrong;
    EXPECT_EQ(Refusal(head, kAccess, true), 0) << wrong;
  }
}

TEST(Refusal, ChangesComeFromThePage) {
  for (const char* origin :
       {"", "null", "http://evil.example", "https://127.0.0.1:9788", "http://127.0.0.1:80"}) {
    RequestHead head = Valid("POST");
    head.origin = origin;
    EXPECT_EQ(Refusal(head, kAccess, false), 403) << origin;
  }
  RequestHead secure = Valid("POST");
  secure.origin = "https://127.0.0.1:9788";
  EXPECT_EQ(Refusal(secure, {.token = kAccess.token, .names = {}, .tls = true}, false), 0);
  RequestHead form = Valid("POST");
  form.content_type = "application/x-www-form-urlencoded";
  EXPECT_EQ(Refusal(form, kAccess, false), 415);
}

TEST(Headers, LetThePageLoadNothingFromElsewhere) {
  std::string policy;
  for (const Header& header : kHeaders) {
    if (std::string_view(header.name) == "Content-Security-Policy") policy = header.value;
  }
  EXPECT_TRUE(policy.starts_with("default-src 'none'")) << policy;
  for (const char* loose : {"unsafe", "http:", "https:", "data:", "blob:", "*"}) {
    EXPECT_FALSE(policy.contains(loose)) << policy;
  }
}

}  // namespace access_test
}  // namespace reveza::page
