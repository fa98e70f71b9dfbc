// Against the examples of Amazon's documentation of Signature Version 4 for S3.
#include "datagen/output/s3_signature.h"

#include <gtest/gtest.h>

namespace reveza::datagen {
namespace {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kDay = std::chrono::sys_days(2013y / 5 / 24);
const S3Keys kKeys = {.access_key = "AKIAIOSFODNN7EXAMPLE",
                      .secret_key = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"};

S3Request Asked(std::vector<std::pair<std::string, std::string>> query) {
  return {.method = "GET",
          .host = "examplebucket.s3.amazonaws.com",
          .path = "/",
          .query = std::move(query)};
}

TEST(S3SignatureTest, IsThatOfAmazonsExamples) {
  auto headers = SignedHeaders(Asked({{"lifecycle", ""}}), kKeys, "us-east-1", kDay);
  EXPECT_EQ(headers["x-amz-date"], "20130524T000000Z");
  EXPECT_EQ(headers["Authorization"],
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request,"
            "SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature="
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543");
  headers = SignedHeaders(Asked({{"max-keys", "2"}, {"prefix", "J"}}), kKeys, "us-east-1", kDay);
  EXPECT_TRUE(headers["Authorization"].ends_with(
      "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"))
      << headers["Authorization"];
}

TEST(S3SignatureTest, ASessionsTokenIsSignedToo) {
  S3Keys keys = kKeys;
  keys.session_token = "token";
  auto headers = SignedHeaders(Asked({}), keys, "us-east-1", kDay);
  EXPECT_EQ(headers["x-amz-security-token"], "token");
  EXPECT_TRUE(headers["Authorization"].contains("x-amz-date;x-amz-security-token,"));
}

TEST(S3SignatureTest, WhatIsNotPlainIsEscaped) {
  S3Request request = Asked({{"prefix", "a b/é&="}});
  request.path = "/bucket/a b+c/d";
  EXPECT_EQ(request.Target(), "/bucket/a%20b%2Bc/d?prefix=a%20b%2F%C3%A9%26%3D");
}

}  // namespace
}  // namespace reveza::datagen
