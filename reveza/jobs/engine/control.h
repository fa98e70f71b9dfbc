// The control socket of a runner: one JSON object per line in each direction. docs/jobs.md lists
// the requests. Not thread-safe; belongs to the runner's loop.
#pragma once

#include <poll.h>

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "common/base/unique_fd.h"

namespace reveza::jobs {

// Returns $XDG_RUNTIME_DIR/reveza/jobs/ID.sock, or a path beside the daemon's socket in
// /tmp/reveza-<uid>.
std::filesystem::path ControlSocket(const std::string& id);

class ControlServer {
 public:
  using Handler = std::function<nlohmann::json(const nlohmann::json& request)>;

  // Listens at `path`, replacing a stale socket. Creates its folder, accessible to the user only.
  static Result<ControlServer> Listen(const std::filesystem::path& path, Handler handler);
  ControlServer(ControlServer&&) noexcept = default;
  ControlServer& operator=(ControlServer&&) = delete;
  // Removes the socket.
  ~ControlServer();

  // Appends the descriptors to poll; Handle() then takes the polled entries, starting at `first`.
  void AddTo(std::vector<pollfd>& descriptors);
  void Handle(const pollfd* first);

 private:
  static constexpr std::size_t kMaxClients = 16;
  static constexpr std::size_t kMaxRequestBytes = 65536;
  struct Client {
    UniqueFd socket;
    std::string read;
    std::string unsent;
  };

  ControlServer(UniqueFd listener, std::filesystem::path path, Handler handler)
      : listener_(std::move(listener)), path_(std::move(path)), handler_(std::move(handler)) {}
  void Accept();
  // Returns false if the client is to be dropped.
  bool Serve(Client& client);

  UniqueFd listener_;
  std::filesystem::path path_;
  Handler handler_;
  std::vector<Client> clients_;
  bool accept_paused_ = false;  // for one poll, after accept() failed for lack of descriptors
};

// Sends a request to the runner of a job and returns its answer. kUnavailable: the job has no
// runner. kInternal: no answer in time; the request may still be carried out.
Result<nlohmann::json> QueryRunner(const std::string& id, const nlohmann::json& request);

}  // namespace reveza::jobs
