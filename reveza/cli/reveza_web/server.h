// The web server of `reveza web`: the files of the page, its data, and what it changes.
//
// docs/web.md lists the requests. Each page that is open holds one thread of the server, which
// writes to it as fast as it reads; one that does not read is dropped. Thread-safe after Listen().
#pragma once

#include <httplib.h>

#include <atomic>
#include <memory>
#include <semaphore>
#include <string>

#include "reveza/cli/reveza/exit_status.h"
#include "reveza/gpu/daemon/settings.h"
#include "reveza/insight/page/access.h"
#include "reveza/insight/page/feed.h"

namespace reveza::cli {

struct WebServerOptions {
  page::Access access;
  std::string certificate;  // of a file; empty: HTTP
  std::string key;
};

class WebServer {
 public:
  static constexpr std::size_t kMaxPages = 16;  // open at the same time

  // `settings` and `feed` must outlive the server. Fails if the certificate or key is not usable.
  static CommandResult<std::unique_ptr<WebServer>> Make(WebServerOptions options,
                                                        const daemon::Settings& settings,
                                                        page::Feed& feed);

  // Listens at an address; port 0: any. Returns the port, or 0 if that fails.
  int Listen(const std::string& address, int port);
  // Serves until Stop().
  void Serve();
  void Stop();

 private:
  using Handler = void (WebServer::*)(const httplib::Request& request, httplib::Response& response);

  WebServer(std::unique_ptr<httplib::Server> http, WebServerOptions options,
            const daemon::Settings& settings, page::Feed& feed);
  // Returns whether the request may be served; else it is answered.
  bool Admit(const httplib::Request& request, httplib::Response& response, bool is_public) const;
  void Get(const char* path, Handler handler);
  void Post(const char* path, Handler handler);
  void AddAssets();

  void Stream(const httplib::Request& request, httplib::Response& response);
  void Trace(const httplib::Request& request, httplib::Response& response);
  void Jobs(const httplib::Request& request, httplib::Response& response);
  void Job(const httplib::Request& request, httplib::Response& response);
  void Log(const httplib::Request& request, httplib::Response& response);
  void Findings(const httplib::Request& request, httplib::Response& response);
  void Explanation(const httplib::Request& request, httplib::Response& response);
  void Usage(const httplib::Request& request, httplib::Response& response);
  void ChangeProgram(const httplib::Request& request, httplib::Response& response);
  void ChangeJobState(const httplib::Request& request, httplib::Response& response);

  std::unique_ptr<httplib::Server> http_;
  WebServerOptions options_;
  const daemon::Settings& settings_;
  page::Feed& feed_;
  std::atomic<bool> ended_ = false;
  std::counting_semaphore<> tools_{4};  // processes at the same time
};

}  // namespace reveza::cli
