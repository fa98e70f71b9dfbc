#include "fraudgen/output/store_address.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <utility>

namespace reveza::fraudgen {
namespace {

constexpr std::string_view kStore = "s3://";
constexpr std::string_view kMinio = "minio://";
constexpr const char* kMinioEndpoint = "http://localhost:9000";
constexpr const char* kMinioKey = "minioadmin";

bool IsBucketName(std::string_view name) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.';
  };
  return name.size() >= 3 && name.size() <= 63 && std::ranges::all_of(name, allowed) &&
         name.front() != '-' && name.front() != '.' && name.back() != '-' && name.back() != '.';
}

// Returns the first variable that is set and not empty.
std::string FirstOf(const Environment& environment, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    if (const auto value = environment(name); value && !value->empty()) return *value;
  }
  return {};
}

std::string Either(const std::string& one, const std::string& other) {
  return one.empty() ? other : one;
}

struct Keys {
  std::string access;
  std::string secret;
  std::string token;
  std::string from;  // for messages
};

Keys AmazonKeys(const Environment& environment) {
  return {.access = FirstOf(environment, {"AWS_ACCESS_KEY_ID"}),
          .secret = FirstOf(environment, {"AWS_SECRET_ACCESS_KEY"}),
          .token = FirstOf(environment, {"AWS_SESSION_TOKEN"}),
          .from = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"};
}

Keys MinioKeys(const Environment& environment) {
  return {.access = FirstOf(environment, {"MINIO_ROOT_USER", "MINIO_ACCESS_KEY"}),
          .secret = FirstOf(environment, {"MINIO_ROOT_PASSWORD", "MINIO_SECRET_KEY"}),
          .token = {},
          .from = "MINIO_ACCESS_KEY and MINIO_SECRET_KEY"};
}

bool Any(const Keys& keys) { return !keys.access.empty() || !keys.secret.empty(); }

Status SetKeys(const StoreFlags& flags, const Environment& environment, bool minio,
               StoreAddress& address) {
  const Keys by_flag = {.access = flags.access_key,
                        .secret = flags.secret_key,
                        .token = {},
                        .from = "--s3-access-key and --s3-secret-key"};
  if (!flags.profile.empty() && Any(by_flag)) {
    return InvalidArgument("--s3-profile and --s3-access-key exclude each other");
  }
  address.profile = flags.profile;
  if (!flags.profile.empty()) return {};
  const Keys amazon = AmazonKeys(environment);
  const Keys other = MinioKeys(environment);
  const bool profile = !FirstOf(environment, {"AWS_PROFILE"}).empty();
  Keys keys = by_flag;
  if (!Any(keys)) keys = minio ? other : amazon;
  if (!Any(keys) && (minio || !profile)) keys = minio ? amazon : other;
  if (!Any(keys) && minio && !profile) keys = {kMinioKey, kMinioKey, {}, {}};
  if (keys.access.empty() != keys.secret.empty()) {
    return InvalidArgument("only the {} of {} is set; set both or neither",
                           keys.access.empty() ? "second" : "first", keys.from);
  }
  address.access_key = std::move(keys.access);
  address.secret_key = std::move(keys.secret);
  address.session_token = std::move(keys.token);
  return {};
}

// http://host:port, https://host, host:port.
Status SetEndpoint(std::string_view text, StoreAddress& address) {
  const std::string all(text);
  if (text.starts_with("http://")) {
    address.tls = false;
    text.remove_prefix(7);
  } else if (text.starts_with("https://")) {
    text.remove_prefix(8);
  }
  while (text.ends_with('/')) text.remove_suffix(1);
  if (text.empty() || text.find_first_of("/@?# ") != std::string_view::npos) {
    return InvalidArgument("'{}' is not an endpoint; expected http://host:port or https://host",
                           all);
  }
  address.endpoint = text;
  return {};
}

Status SetPlace(std::string_view place, std::string_view url, StoreAddress& address) {
  while (place.ends_with('/')) place.remove_suffix(1);
  const std::size_t slash = place.find('/');
  address.bucket = place.substr(0, slash);
  if (slash != std::string_view::npos) address.prefix = place.substr(slash + 1);
  if (!IsBucketName(address.bucket)) {
    return InvalidArgument(
        "'{}' has no valid bucket; expected s3://bucket/prefix, the bucket with 3 to 63 lowercase "
        "letters, digits, - and .",
        url);
  }
  if (address.prefix.starts_with('/') || address.prefix.contains("//")) {
    return InvalidArgument("'{}' has an empty path segment; use single slashes", url);
  }
  return {};
}

}  // namespace

std::string StoreAddress::Url() const {
  return fmt::format("s3://{}{}{}", bucket, prefix.empty() ? "" : "/", prefix);
}

std::string PrefixOfDay(std::string_view prefix, CivilDate day) {
  return fmt::format("{}{}{:04}/{:02}/{:02}", prefix, prefix.empty() ? "" : "/", day.year,
                     day.month, day.day);
}

bool IsStoreUrl(std::string_view output) {
  return output.starts_with(kStore) || output.starts_with(kMinio);
}

std::optional<std::string> ProcessEnvironment(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) return std::nullopt;
  return value;
}

Result<StoreAddress> ParseStoreAddress(std::string_view url, const StoreFlags& flags,
                                       const Environment& environment) {
  StoreAddress address;
  const bool minio = url.starts_with(kMinio);
  const std::string_view place = url.substr(minio ? kMinio.size() : kStore.size());
  RETURN_IF_ERROR(SetPlace(place, url, address));
  std::string endpoint = flags.endpoint;
  const std::string amazon = FirstOf(environment, {"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  const std::string other = FirstOf(environment, {"MINIO_ENDPOINT"});
  endpoint = Either(endpoint, minio ? Either(other, amazon) : Either(amazon, other));
  if (endpoint.empty() && minio) endpoint = kMinioEndpoint;
  if (!endpoint.empty()) RETURN_IF_ERROR(SetEndpoint(endpoint, address));
  RETURN_IF_ERROR(SetKeys(flags, environment, minio, address));
  address.region = Either(flags.region, FirstOf(environment, {"AWS_REGION", "AWS_DEFAULT_REGION"}));
  // The default region of other implementations.
  if (address.region.empty() && !address.endpoint.empty()) address.region = "us-east-1";
  return address;
}

}  // namespace reveza::fraudgen
