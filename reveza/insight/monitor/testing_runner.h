// Test double for a job runner: a socket that answers each request by a function.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "common/base/unique_fd.h"

namespace reveza::monitor {

class TestingRunner {
 public:
  // Returns the raw response to a request line. Empty: closes the connection.
  using Answer = std::function<std::string(const std::string& request)>;

  // Without an answer it listens but never accepts.
  TestingRunner(const std::filesystem::path& path, Answer answer) : answer_(std::move(answer)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    listener_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    int ends[2];
    if (bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        listen(listener_.get(), 16) != 0 || pipe(ends) != 0) {
      std::abort();
    }
    stop_read_.Reset(ends[0]);
    stop_write_.Reset(ends[1]);
    if (answer_) thread_ = std::thread([this] { Serve(); });
  }
  ~TestingRunner() {
    stop_write_.Reset();
    if (thread_.joinable()) thread_.join();
  }
  TestingRunner(const TestingRunner&) = delete;
  TestingRunner& operator=(const TestingRunner&) = delete;

 private:
  void Serve() {
    for (;;) {
      pollfd events[2] = {{listener_.get(), POLLIN, 0}, {stop_read_.get(), POLLIN, 0}};
      if (poll(events, 2, -1) <= 0) continue;
      if (events[1].revents != 0) return;
      const UniqueFd connection(accept(listener_.get(), nullptr, nullptr));
      std::string request;
      char byte = 0;
      while (read(connection.get(), &byte, 1) == 1 && byte != '\n') request += byte;
      const std::string text = answer_(request);
      for (std::size_t sent = 0; sent < text.size();) {
        const ssize_t part =
            send(connection.get(), text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
        if (part <= 0) break;
        sent += static_cast<std::size_t>(part);
      }
    }
  }

  Answer answer_;
  UniqueFd listener_, stop_read_, stop_write_;
  std::thread thread_;
};

}  // namespace reveza::monitor
