// `reveza-web`: serves a page that shows the data of `reveza top` in a browser.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

#include "common/base/parse_number.h"
#include "common/cli/command_line.h"
#include "common/platform/machine.h"
#include "reveza/cli/reveza/exit_status.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza/web_options.h"
#include "reveza/cli/reveza_web/sampler.h"
#include "reveza/cli/reveza_web/server.h"
#include "reveza/insight/page/access.h"
#include "reveza/insight/page/feed.h"

namespace reveza::cli {
namespace {

struct Address {
  std::string host;  // without brackets
  int port = 0;
};

CommandResult<Address> ParseAddress(const std::string& text) {
  const auto colon = text.rfind(':');
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  const auto port = colon == std::string::npos
                        ? std::nullopt
                        : ParseNumber<std::uint16_t>(std::string_view(text).substr(colon + 1));
  if (host.empty() || !port) {
    return Failure(kUsage, "--listen: '{}' is invalid; write ADDRESS:PORT, e.g. {}", text,
                   WebArguments().listen);
  }
  return Address{std::move(host), *port};
}

bool IsLoopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Returns the name under which a browser reaches the address.
std::string UrlHost(const std::string& host) {
  if (host == "0.0.0.0" || host == "::") return platform::HostName();
  return host.contains(':') ? fmt::format("[{}]", host) : host;
}

CommandResult<int> Serve(const daemon::Settings& settings, const WebArguments& arguments) {
  ASSIGN_OR_RETURN(const Address address, ParseAddress(arguments.listen));
  const auto token = page::NewToken();
  if (!token) return Failure(kFailed, "{}", token.error().message);
  // Inherited by all threads, so that only this one receives the signals.
  sigset_t stop_signals;
  sigemptyset(&stop_signals);
  sigaddset(&stop_signals, SIGINT);
  sigaddset(&stop_signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop_signals, nullptr);

  page::Feed feed;
  ASSIGN_OR_RETURN(
      const auto server,
      WebServer::Make({.access = {.token = *token, .names = {platform::HostName(), address.host}},
                       .certificate = arguments.certificate,
                       .key = arguments.key},
                      settings, feed));
  const int port = server->Listen(address.host, address.port);
  if (port == 0) {
    return Failure(kFailed,
                   "cannot listen at {}; choose another address with --listen ADDRESS:PORT",
                   arguments.listen);
  }
  const bool secure = !arguments.certificate.empty();
  if (!secure && !IsLoopback(address.host)) {
    fmt::print(stderr,
               "reveza: warning: without --certificate, others on the network can read the token "
               "and change what programs may use\n");
  }
  const Sampler sampler(settings, feed);
  std::jthread serving([&server] { server->Serve(); });
  fmt::print("reveza: open {}://{}:{}/#token={}\n", secure ? "https" : "http",
             UrlHost(address.host), port, *token);
  std::fflush(stdout);
  int signal = 0;
  sigwait(&stop_signals, &signal);
  server->Stop();
  return kDone;
}

CommandResult<int> Main(int argc, char** argv) {
  CLI::App app("", "reveza web");
  WebArguments arguments;
  DeclareWeb(app, arguments);
  if (const auto status = command_line::Parse(kProgram, app, argc, argv)) return *status;
  ASSIGN_OR_RETURN(const auto configuration, LoadConfiguration({{"socket", arguments.socket}}));
  return Serve(configuration.settings(), arguments);
}

}  // namespace
}  // namespace reveza::cli

int main(int argc, char** argv) {
  return reveza::command_line::Run(reveza::cli::kProgram,
                                   [=] { return ReportError(reveza::cli::Main(argc, argv)); });
}
