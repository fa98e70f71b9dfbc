#include "monitor/job_sockets.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "base/unique_fd.h"
#include "monitor/json_fields.h"
#include "platform/list_folder.h"
#include "platform/process.h"

namespace reveza::monitor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kStatusVersion = 1;

// One conversation: connect, send the request, read up to the end of a line.
class Talk {
 public:
  Talk(fs::path socket, std::string request)
      : socket_(std::move(socket)), request_(std::move(request)) {
    Connect();
  }

  bool done() const { return answer_.has_value(); }
  pollfd Wanted() const {
    return {fd_.get(), static_cast<short>(sent_ < request_.size() ? POLLOUT : POLLIN), 0};
  }

  // Called when the descriptor is ready.
  void Go() {
    if (sent_ < request_.size()) {
      Send();
    } else {
      Receive();
    }
  }

  void TimeOut(milliseconds limit) {
    End(Fail(Error::Code::kUnavailable, fmt::format("the runner at {} does not answer within {} ms",
                                                    socket_.string(), limit.count())));
  }

  JobAnswer Take() && {
    auto line = std::move(answer_).value_or(Fail(Error::Code::kInternal, "nobody was asked"));
    return {std::move(socket_), std::move(line), peer_};
  }

 private:
  void End(Result<std::string> answer) {
    answer_ = std::move(answer);
    fd_.Reset();
  }
  void EndBadly(const char* doing) {
    const bool gone = errno == ECONNREFUSED || errno == ENOENT;
    End(Fail(gone ? Error::Code::kNotFound : Error::Code::kUnavailable,
             fmt::format("cannot {} {}: {}", doing, socket_.string(), std::strerror(errno))));
  }

  void Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket_.string();
    if (path.size() >= sizeof(address.sun_path)) {
      errno = ENAMETOOLONG;
      return EndBadly("connect to");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    fd_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // A full queue of a runner that does not accept any more is EAGAIN here, at once.
    if (!fd_ || connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address))) {
      return EndBadly("connect to");
    }
    if (const auto who = platform::PeerCredentials(fd_.get())) peer_ = who->pid;
  }

  void Send() {
    const ssize_t sent = send(fd_.get(), request_.data() + sent_, request_.size() - sent_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno != EAGAIN && errno != EINTR) {
      EndBadly("write to");
    }
  }

  void Receive() {
    std::array<char, 16 * 1024> part;
    const ssize_t got = recv(fd_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) EndBadly("read from");
      return;
    }
    const std::string_view piece(part.data(), static_cast<std::size_t>(got));
    const auto end = piece.find('\n');
    text_.append(piece.substr(0, end));
    if (end != std::string_view::npos) return End(std::move(text_));
    if (got == 0) {
      return End(Fail(Error::Code::kUnavailable,
                      fmt::format("the runner at {} hung up", socket_.string())));
    }
    if (text_.size() > kMostJobAnswer) {
      End(Fail(Error::Code::kIncompatible, fmt::format("the runner at {} says more than {} bytes",
                                                       socket_.string(), kMostJobAnswer)));
    }
  }

  fs::path socket_;
  std::string request_;
  std::size_t sent_ = 0;
  UniqueFd fd_;
  pid_t peer_ = 0;
  std::string text_;
  std::optional<Result<std::string>> answer_;
};

void Converse(std::vector<Talk>& talks, milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  for (;;) {
    std::vector<pollfd> wanted;
    std::vector<Talk*> open;
    for (auto& talk : talks) {
      if (talk.done()) continue;
      wanted.push_back(talk.Wanted());
      open.push_back(&talk);
    }
    if (open.empty()) return;
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) {
      for (auto* talk : open) talk->TimeOut(limit);
      return;
    }
    if (poll(wanted.data(), wanted.size(), static_cast<int>(left.count())) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (wanted[i].revents != 0) open[i]->Go();
    }
  }
}

Step ParseStep(const json& entry, bool pids_are_ours) {
  Step step;
  step.number = CountAt(entry, "step").value_or(0);
  step.label = TextAt(entry, "label");
  step.attempt = CountAt(entry, "attempt");
  step.pid = pids_are_ours ? PidAt(entry, "pid") : 0;
  step.state = TextAt(entry, "state");
  step.since = NumberAt(entry, "since");
  step.memory = CountAt(entry, "memory");
  step.peak = CountAt(entry, "peak");
  step.claim = CountAt(entry, "claim");
  step.gpu_memory = CountAt(entry, "gpu_memory");
  const json& cycle = ObjectAt(entry, "cycle");
  const auto done = CountAt(cycle, "done");
  const auto all = CountAt(cycle, "all");
  if (done && all) step.cycle = CycleCount{*done, *all};
  return step;
}

MetricSummary ParseMetric(const json& entry) {
  return {CountAt(entry, "count"), NumberAt(entry, "min"), NumberAt(entry, "mean"),
          NumberAt(entry, "max"), NumberAt(entry, "final")};
}

Job ParseJob(const json& status, bool pids_are_ours) {
  Job job;
  job.id = TextAt(status, "id");
  job.name = TextAt(status, "name");
  job.state = TextAt(status, "state");
  job.pid = pids_are_ours ? PidAt(status, "pid") : 0;
  job.began = NumberAt(status, "began");
  job.folder = TextAt(status, "folder");
  job.command = TextAt(status, "command");
  const json& steps = ObjectAt(status, "steps");
  job.steps = {CountAt(steps, "all"),     CountAt(steps, "done"),   CountAt(steps, "running"),
               CountAt(steps, "waiting"), CountAt(steps, "failed"), CountAt(steps, "held")};
  const json& workers = ObjectAt(status, "workers");
  job.workers = CountAt(workers, "now");
  job.best_workers = CountAt(workers, "best");
  job.workers_settled = FlagAt(workers, "settled");
  job.workers_reason = TextAt(workers, "reason");
  job.rate = NumberAt(status, "rate");
  const json& eta = ObjectAt(status, "eta");
  job.eta_p50_seconds = NumberAt(eta, "p50");
  job.eta_p90_seconds = NumberAt(eta, "p90");
  job.waiting = TextAt(status, "waiting");
  for (const auto& entry : ArrayAt(status, "running")) {
    if (entry.is_object()) job.running.push_back(ParseStep(entry, pids_are_ours));
  }
  for (const auto& [name, entry] : ObjectAt(status, "metrics").items()) {
    job.metrics[name] = ParseMetric(entry);
  }
  return job;
}

}  // namespace

Result<std::vector<fs::path>> JobSockets(const fs::path& folder) {
  auto sockets = platform::ListFolder(folder);
  if (!sockets && sockets.error().code == Error::Code::kNotFound) return std::vector<fs::path>();
  if (!sockets) return sockets;
  std::erase_if(*sockets, [](const fs::path& path) { return path.extension() != ".sock"; });
  return sockets;
}

std::vector<JobAnswer> AskJobs(std::span<const fs::path> sockets, std::string_view request,
                               milliseconds limit) {
  const std::string line = json{{"request", request}}.dump() + "\n";
  std::vector<Talk> talks;
  talks.reserve(sockets.size());
  for (const auto& socket : sockets) talks.emplace_back(socket, line);
  Converse(talks, limit);
  std::vector<JobAnswer> answers;
  answers.reserve(talks.size());
  for (auto& talk : talks) answers.push_back(std::move(talk).Take());
  return answers;
}

Result<Job> ParseJobStatus(const JobAnswer& answer) {
  if (!answer.line) return std::unexpected(answer.line.error());
  const auto wrong = [&](std::string_view what) {
    return Fail(Error::Code::kIncompatible,
                fmt::format("the runner at {} {}", answer.socket.string(), what));
  };
  const json status = json::parse(*answer.line, nullptr, false);
  if (status.is_discarded() || !status.is_object()) return wrong("does not answer with JSON");
  if (const std::string error = TextAt(status, "error"); !error.empty()) {
    return wrong("says: " + error);
  }
  const auto version = CountAt(status, "version");
  if (!version) return wrong("does not say its version");
  if (*version != kStatusVersion) {
    return wrong(
        fmt::format("answers in version {}; this program knows {}", *version, kStatusVersion));
  }
  if (TextAt(status, "id").empty()) return wrong("does not say which job it runs");
  const pid_t says = PidAt(status, "pid");
  Job job = ParseJob(status, says != 0 && says == answer.peer);
  job.socket = answer.socket.string();
  return job;
}

Status TellJob(const fs::path& socket, std::string_view request, milliseconds limit) {
  const std::array<fs::path, 1> one = {socket};
  const auto answers = AskJobs(one, request, limit);
  const auto& line = answers.front().line;
  if (!line) return std::unexpected(line.error());
  const json said = json::parse(*line, nullptr, false);
  if (!said.is_discarded() && FlagAt(said, "ok").value_or(false)) return {};
  const std::string error = said.is_discarded() ? "" : TextAt(said, "error");
  return Fail(Error::Code::kUnavailable,
              error.empty() ? fmt::format("the runner at {} does not say whether it will {}",
                                          socket.string(), request)
                            : error);
}

}  // namespace reveza::monitor
