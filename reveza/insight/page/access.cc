#include "reveza/insight/page/access.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace reveza::page {
namespace {

bool IsAddress(const std::string& text) {
  std::array<char, sizeof(in6_addr)> address;
  return inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

// Returns the host without its port and brackets.
std::string WithoutPort(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(1, host.find(']') - 1));
  return std::string(host.substr(0, host.find(':')));
}

}  // namespace

Result<std::string> NewToken() {
  std::array<std::uint8_t, 16> bytes;
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    return Fail(Error::Code::kUnavailable, "cannot make a token: {}", std::strerror(errno));
  }
  return fmt::format("{:02x}", fmt::join(bytes, ""));
}

bool SameToken(std::string_view given, std::string_view token) {
  unsigned different = given.size() != token.size() ? 1 : 0;
  if (token.empty()) return false;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const char expected = token[i % token.size()];
    different |= static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(expected);
  }
  return different == 0;
}

bool IsTrustedHost(std::string_view host, std::span<const std::string> names) {
  const std::string name = WithoutPort(host);
  if (name.empty()) return false;
  return name == "localhost" || IsAddress(name) || std::ranges::find(names, name) != names.end();
}

int Refusal(const RequestHead& head, const Access& access, bool is_public) {
  if (!IsTrustedHost(head.host, access.names)) return 421;
  if (is_public) return 0;
  constexpr std::string_view kScheme = "Bearer ";
  if (!head.authorization.starts_with(kScheme) ||
      !SameToken(head.authorization.substr(kScheme.size()), access.token)) {
    return 401;
  }
  if (head.method == "GET") return 0;
  const std::string own = fmt::format("{}://{}", access.tls ? "https" : "http", head.host);
  if (head.origin != own) return 403;
  return head.content_type.starts_with("application/json") ? 0 : 415;
}

}  // namespace reveza::page
