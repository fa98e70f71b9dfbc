// Who may use the page: a token that only its URL has, the names under which the server is reached
// (against DNS rebinding), and the origin of what changes something (against forged requests).
// Pure functions, except for NewToken().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/error.h"

namespace reveza::page {

// Returns 128 random bits in hexadecimal. Fails if the kernel gives none.
Result<std::string> NewToken();

// Returns whether the texts are equal, in a time that only depends on the length of `given`.
bool SameToken(std::string_view given, std::string_view token);

struct Access {
  std::string token;
  // Under which the server is reached, beside addresses and localhost: no other site can make a
  // browser believe that its own name is one of these.
  std::vector<std::string> names;
  bool tls = false;
};

// What a request says of itself; headers that are absent are empty.
struct RequestHead {
  std::string_view method;
  std::string_view host;
  std::string_view origin;
  std::string_view authorization;
  std::string_view content_type;
};

// Returns whether a Host header names this server: an address, localhost or one of the names.
bool IsTrustedHost(std::string_view host, std::span<const std::string> names);

// Returns 0 if the request may be served, else the HTTP status that refuses it: 421 for the wrong
// host, 401 for the wrong token, 403 for another origin, 415 for a change that is not JSON.
// `is_public`: pages and scripts, which contain no data.
int Refusal(const RequestHead& head, const Access& access, bool is_public);

// The headers of every answer: what the page may load, and who may embed it.
struct Header {
  const char* name;
  const char* value;
};
inline constexpr Header kHeaders[] = {
    {"Content-Security-Policy",
     "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; "
     "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
     "require-trusted-types-for 'script'"},
    {"X-Content-Type-Options", "nosniff"},
    {"X-Frame-Options", "DENY"},
    {"Referrer-Policy", "no-referrer"},
    {"Cross-Origin-Resource-Policy", "same-origin"},
    // With plain same-origin the page could not talk to the window of Perfetto that it opens.
    {"Cross-Origin-Opener-Policy", "same-origin-allow-popups"},
    {"Cache-Control", "no-store"},
};

}  // namespace reveza::page
