// The socket at which a runner answers while it works: one JSON object a line, each way.
// docs/jobs.md has the requests. Thread-safety: none; the runner's loop.
#pragma once

#include <poll.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/unique_fd.h"

namespace reveza::runner {

// $XDG_RUNTIME_DIR/reveza/jobs/ID.sock, or beside the daemon's socket in /tmp/reveza-<uid>.
std::filesystem::path ControlSocket(const std::string& id);

class Control {
 public:
  using Answer = std::function<nlohmann::json(const nlohmann::json& request)>;

  // Listens at `path`, in place of a runner that is gone. The folder is made, closed to others.
  static Result<Control> Listen(const std::filesystem::path& path, Answer answer);
  Control(Control&&) noexcept = default;
  Control& operator=(Control&&) = delete;
  // Removes the socket.
  ~Control();

  // To poll, and then to handle: of those that were added, from `first` on.
  void AddTo(std::vector<pollfd>& descriptors);
  void Handle(const pollfd* first);

 private:
  static constexpr std::size_t kMostClients = 16;
  static constexpr std::size_t kLongestRequest = 65536;
  struct Client {
    UniqueFd socket;
    std::string read;
    std::string unsent;
  };

  Control(UniqueFd listener, std::filesystem::path path, Answer answer)
      : listener_(std::move(listener)), path_(std::move(path)), answer_(std::move(answer)) {}
  void Accept();
  // False: done with it.
  bool Serve(Client& client);

  UniqueFd listener_;
  std::filesystem::path path_;
  Answer answer_;
  std::vector<Client> clients_;
  bool deaf_ = false;  // for one wait: there is no descriptor for who knocks
};

// For those who ask: the answer of the runner of a job. kUnavailable: none works on it. kInternal:
// it does not answer, and may still do what it was told.
Result<nlohmann::json> AskRunner(const std::string& id, const nlohmann::json& request);

}  // namespace reveza::runner
