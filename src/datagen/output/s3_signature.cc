#include "datagen/output/s3_signature.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <array>
#include <ctime>
#include <span>

namespace reveza::datagen {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";

using Digest = std::array<unsigned char, 32>;

std::string Hex(const Digest& digest) {
  std::string text;
  for (const unsigned char byte : digest) text += fmt::format("{:02x}", byte);
  return text;
}

Digest Sha256(std::string_view text) {
  Digest digest{};
  EVP_Digest(text.data(), text.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  return digest;
}

Digest Hmac(std::string_view key, std::string_view text) {
  Digest digest{};
  unsigned int size = digest.size();
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  return digest;
}

Digest Hmac(const Digest& key, std::string_view text) {
  return Hmac(std::string_view(reinterpret_cast<const char*>(key.data()), key.size()), text);
}

bool IsPlain(char byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
         (byte >= '0' && byte <= '9') || std::string_view("-._~").contains(byte);
}

std::string Escaped(std::string_view text, std::string_view also_plain) {
  std::string escaped;
  for (const char byte : text) {
    if (IsPlain(byte) || also_plain.contains(byte)) {
      escaped += byte;
    } else {
      escaped += fmt::format("%{:02X}", static_cast<unsigned char>(byte));
    }
  }
  return escaped;
}

std::string EscapedQuery(const S3Request& request) {
  std::string text;
  for (const auto& [name, value] : request.query) {
    if (!text.empty()) text += '&';
    text += Escaped(name, "") + '=' + Escaped(value, "");
  }
  return text;
}

}  // namespace

std::string S3Request::Target() const {
  const std::string text = EscapedQuery(*this);
  return Escaped(path, "/") + (text.empty() ? "" : "?") + text;
}

std::map<std::string, std::string> SignedHeaders(const S3Request& request, const S3Keys& keys,
                                                 std::string_view region,
                                                 std::chrono::sys_seconds now) {
  const std::tm time = fmt::gmtime(std::chrono::system_clock::to_time_t(now));
  const std::string second = fmt::format("{:%Y%m%dT%H%M%SZ}", time);
  const std::string day = fmt::format("{:%Y%m%d}", time);
  const std::string body = Hex(Sha256(""));
  std::map<std::string, std::string> headers = {
      {"host", request.host}, {"x-amz-content-sha256", body}, {"x-amz-date", second}};
  if (!keys.session_token.empty()) headers["x-amz-security-token"] = keys.session_token;

  std::string lines;
  std::string names;
  for (const auto& [name, value] : headers) {
    lines += fmt::format("{}:{}\n", name, value);
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical =
      fmt::format("{}\n{}\n{}\n{}\n{}\n{}", request.method, Escaped(request.path, "/"),
                  EscapedQuery(request), lines, names, body);
  const std::string scope = fmt::format("{}/{}/s3/aws4_request", day, region);
  const std::string text =
      fmt::format("{}\n{}\n{}\n{}", kAlgorithm, second, scope, Hex(Sha256(canonical)));
  Digest key = Hmac("AWS4" + keys.secret_key, day);
  for (const std::string_view part :
       {region, std::string_view("s3"), std::string_view("aws4_request")}) {
    key = Hmac(key, part);
  }
  headers["Authorization"] =
      fmt::format("{} Credential={}/{},SignedHeaders={},Signature={}", kAlgorithm, keys.access_key,
                  scope, names, Hex(Hmac(key, text)));
  return headers;
}

}  // namespace reveza::datagen
