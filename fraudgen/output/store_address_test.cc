#include "fraudgen/output/store_address.h"

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace reveza::fraudgen {
namespace store_address_test {

using Variables = std::map<std::string, std::string>;

Result<StoreAddress> Parse(std::string_view url, const StoreFlags& flags = {},
                           const Variables& variables = {}) {
  return ParseStoreAddress(url, flags, [&](const char* name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    if (found == variables.end()) return std::nullopt;
    return found->second;
  });
}

std::string ErrorOf(const Result<StoreAddress>& address) {
  return address ? "no error" : address.error().message;
}

TEST(StoreAddress, DetectsUrls) {
  EXPECT_TRUE(IsStoreUrl("s3://bucket"));
  EXPECT_TRUE(IsStoreUrl("minio://bucket/prefix"));
  EXPECT_FALSE(IsStoreUrl("s3/bucket"));
  EXPECT_FALSE(IsStoreUrl("data"));
}

TEST(StoreAddress, ParsesBucketAndPrefix) {
  const auto address = Parse("s3://my.bucket-1/some/where/");
  ASSERT_TRUE(address) << ErrorOf(address);
  EXPECT_EQ(address->bucket, "my.bucket-1");
  EXPECT_EQ(address->prefix, "some/where");
  EXPECT_EQ(address->Url(), "s3://my.bucket-1/some/where");
  EXPECT_EQ(Parse("s3://bucket/")->Url(), "s3://bucket");
  EXPECT_EQ(Parse("minio://bucket/a")->Url(), "s3://bucket/a");
}

TEST(StoreAddress, RejectsInvalidBuckets) {
  for (const char* url : {"s3://", "s3:///prefix", "s3://Bucket", "s3://ab", "s3://a_bucket/x",
                          "s3://-bucket", "s3://bucket."}) {
    EXPECT_TRUE(ErrorOf(Parse(url)).contains("has no valid bucket")) << url << ErrorOf(Parse(url));
  }
  EXPECT_TRUE(ErrorOf(Parse("s3://bucket//a")).contains("single slashes"));
  EXPECT_TRUE(ErrorOf(Parse("s3://bucket/a//b")).contains("single slashes"));
}

TEST(StoreAddress, DefaultsToAmazon) {
  const auto address = Parse("s3://bucket");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->endpoint, "");
  EXPECT_TRUE(address->tls);
  EXPECT_EQ(address->region, "");
  EXPECT_EQ(address->access_key, "");
}

TEST(StoreAddress, MinioDefaultsToLocalhost) {
  const auto address = Parse("minio://bucket");
  ASSERT_TRUE(address);
  EXPECT_EQ(address->endpoint, "localhost:9000");
  EXPECT_FALSE(address->tls);
  EXPECT_EQ(address->region, "us-east-1");
  EXPECT_EQ(address->access_key, "minioadmin");
  EXPECT_EQ(address->secret_key, "minioadmin");
}

TEST(StoreAddress, FlagsOverrideVariables) {
  Variables variables = {{"MINIO_ENDPOINT", "http://minio:9000"},
                         {"MINIO_ROOT_USER", "minio-user"},
                         {"MINIO_ROOT_PASSWORD", "minio-secret"}};
  EXPECT_EQ(Parse("s3://bucket", {}, variables)->endpoint, "minio:9000");
  EXPECT_EQ(Parse("s3://bucket", {}, variables)->access_key, "minio-user");
  variables.insert({{"AWS_ENDPOINT_URL", "https://aws.example"},
                    {"AWS_ACCESS_KEY_ID", "aws-user"},
                    {"AWS_SECRET_ACCESS_KEY", "aws-secret"},
                    {"AWS_SESSION_TOKEN", "aws-token"},
                    {"AWS_REGION", "sa-east-1"}});
  const auto amazon = Parse("s3://bucket", {}, variables);
  EXPECT_EQ(amazon->endpoint, "aws.example");
  EXPECT_TRUE(amazon->tls);
  EXPECT_EQ(amazon->secret_key, "aws-secret");
  EXPECT_EQ(amazon->session_token, "aws-token");
  EXPECT_EQ(amazon->region, "sa-east-1");
  EXPECT_EQ(Parse("minio://bucket", {}, variables)->access_key, "minio-user");
  const StoreFlags flags = {.endpoint = "http://127.0.0.1:7070/",
                            .region = "eu-west-1",
                            .access_key = "flag-user",
                            .secret_key = "flag-secret",
                            .profile = ""};
  const auto flagged = Parse("minio://bucket", flags, variables);
  EXPECT_EQ(flagged->endpoint, "127.0.0.1:7070");
  EXPECT_FALSE(flagged->tls);
  EXPECT_EQ(flagged->access_key, "flag-user");
  EXPECT_EQ(flagged->session_token, "");
  EXPECT_EQ(flagged->region, "eu-west-1");
}

TEST(StoreAddress, IgnoresEmptyVariables) {
  EXPECT_EQ(Parse("minio://bucket", {}, {{"MINIO_ENDPOINT", ""}})->endpoint, "localhost:9000");
}

TEST(StoreAddress, ProfileReplacesKeys) {
  const auto address = Parse("s3://bucket", {.profile = "bank"},
                             {{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "b"}});
  ASSERT_TRUE(address);
  EXPECT_EQ(address->profile, "bank");
  EXPECT_EQ(address->access_key, "");
  EXPECT_EQ(Parse("s3://bucket", {},
                  {{"AWS_PROFILE", "bank"}, {"MINIO_ROOT_USER", "a"}, {"MINIO_ROOT_PASSWORD", "b"}})
                ->access_key,
            "");
  EXPECT_TRUE(ErrorOf(Parse("s3://bucket", {.access_key = "a", .secret_key = "b", .profile = "c"}))
                  .contains("exclude each other"));
}

TEST(StoreAddress, RejectsIncompleteKeys) {
  EXPECT_EQ(ErrorOf(Parse("s3://bucket", {.access_key = "a"})),
            "only the first of --s3-access-key and --s3-secret-key is set; set both or neither");
  EXPECT_TRUE(ErrorOf(Parse("s3://bucket", {}, {{"AWS_SECRET_ACCESS_KEY", "b"}}))
                  .contains("only the second"));
}

TEST(StoreAddress, RejectsInvalidEndpoints) {
  for (const char* endpoint : {"http://", "http://host/path", "user@host", "a b"}) {
    EXPECT_TRUE(
        ErrorOf(Parse("s3://bucket", {.endpoint = endpoint})).contains("is not an endpoint"))
        << endpoint;
  }
}

}  // namespace store_address_test
}  // namespace reveza::fraudgen
