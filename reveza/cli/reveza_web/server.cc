#include "reveza/cli/reveza_web/server.h"

#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <thread>
#include <utility>

#include "reveza/insight/page/assets.h"

namespace reveza::cli {
namespace {

using httplib::Request;
using httplib::Response;

constexpr std::size_t kMaxBody = 16 << 10;
constexpr std::size_t kThreads = 40;  // pages, and what they fetch meanwhile
constexpr std::chrono::milliseconds kHeartbeat{5'000};
constexpr int kWriteSeconds = 10;  // after which a page that does not read is dropped

const char* RefusalText(int status) {
  switch (status) {
    case 401:
      return "wrong token: open the URL that `reveza web` printed";
    case 403:
      return "only the page itself may change something";
    case 415:
      return "expected application/json";
    default:
      return "this server is not reached under that name: use its address, or localhost";
  }
}

}  // namespace

CommandResult<std::unique_ptr<WebServer>> WebServer::Make(WebServerOptions options,
                                                          const daemon::Settings& settings,
                                                          page::Feed& feed) {
  std::unique_ptr<httplib::Server> http;
  if (options.certificate.empty()) {
    http = std::make_unique<httplib::Server>();
  } else {
#ifdef CPPHTTPLIB_OPENSSL_SUPPORT
    http = std::make_unique<httplib::SSLServer>(options.certificate.c_str(), options.key.c_str());
    options.access.tls = true;
#else
    return Failure(kFailed,
                   "this build of `reveza web` has no TLS: build from source or install the Debian "
                   "package, or forward the port by ssh (docs/web.md)");
#endif
  }
  if (!http->is_valid()) {
    return Failure(kFailed, "cannot use the certificate {} with the key {}", options.certificate,
                   options.key);
  }
  return std::unique_ptr<WebServer>(
      new WebServer(std::move(http), std::move(options), settings, feed));
}

WebServer::WebServer(std::unique_ptr<httplib::Server> http, WebServerOptions options,
                     const daemon::Settings& settings, page::Feed& feed)
    : http_(std::move(http)), options_(std::move(options)), settings_(settings), feed_(feed) {
  httplib::Headers headers;
  for (const page::Header& header : page::kHeaders) headers.emplace(header.name, header.value);
  http_->set_default_headers(std::move(headers));
  http_->set_payload_max_length(kMaxBody);
  http_->set_write_timeout(kWriteSeconds);
  http_->set_tcp_nodelay(true);
  // By default SO_REUSEPORT is set, and a second server would get some connections of the first.
  http_->set_socket_options([](int socket) {
    const int on = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  });
  http_->new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
  AddAssets();
  Get("/api/stream", &WebServer::Stream);
  Get("/api/trace", &WebServer::Trace);
  Get("/api/jobs", &WebServer::Jobs);
  Get("/api/job", &WebServer::Job);
  Get("/api/log", &WebServer::Log);
  Get("/api/findings", &WebServer::Findings);
  Get("/api/explanation", &WebServer::Explanation);
  Get("/api/usage", &WebServer::Usage);
  Post("/api/program", &WebServer::ChangeProgram);
  Post("/api/job", &WebServer::ChangeJobState);
}

bool WebServer::Admit(const Request& request, Response& response, bool is_public) const {
  const std::string host = request.get_header_value("Host");
  const std::string origin = request.get_header_value("Origin");
  const std::string authorization = request.get_header_value("Authorization");
  const std::string type = request.get_header_value("Content-Type");
  const int status = page::Refusal({.method = request.method,
                                    .host = host,
                                    .origin = origin,
                                    .authorization = authorization,
                                    .content_type = type},
                                   options_.access, is_public);
  if (status == 0) return true;
  response.status = status;
  response.set_content(RefusalText(status), "text/plain");
  return false;
}

void WebServer::Get(const char* path, Handler handler) {
  http_->Get(path, [this, handler](const Request& request, Response& response) {
    if (Admit(request, response, false)) (this->*handler)(request, response);
  });
}

void WebServer::Post(const char* path, Handler handler) {
  http_->Post(path, [this, handler](const Request& request, Response& response) {
    if (Admit(request, response, false)) (this->*handler)(request, response);
  });
}

void WebServer::AddAssets() {
  for (const page::Asset& asset : page::Assets()) {
    // A pattern: the dot of a name is not any letter.
    std::string pattern;
    for (const char c : asset.path) pattern += c == '.' ? "\\." : std::string(1, c);
    http_->Get(pattern, [this, &asset](const Request& request, Response& response) {
      if (!Admit(request, response, true)) return;
      response.set_content(asset.text.data(), asset.text.size(), std::string(asset.type));
    });
  }
}

int WebServer::Listen(const std::string& address, int port) {
  if (port == 0) return std::max(0, http_->bind_to_any_port(address));
  return http_->bind_to_port(address, port) ? port : 0;
}

void WebServer::Serve() {
  http_->listen_after_bind();
  ended_ = true;
}

void WebServer::Stop() {
  feed_.Close();
  // Stopping a server that has not started yet does nothing.
  while (!http_->is_running() && !ended_) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  http_->stop();
}

void WebServer::Stream(const Request&, Response& response) {
  if (!feed_.Enter(kMaxPages)) {
    response.status = 503;
    response.set_content("too many pages are open", "text/plain");
    return;
  }
  response.set_chunked_content_provider(
      "text/event-stream",
      [this, place = page::Feed::Place()](std::size_t, httplib::DataSink& sink) mutable {
        const auto text = feed_.Next(place, kHeartbeat);
        if (!text) {
          sink.done();
          return true;
        }
        return sink.write(text->data(), text->size());
      },
      [this](bool) { feed_.Leave(); });
}

}  // namespace reveza::cli
