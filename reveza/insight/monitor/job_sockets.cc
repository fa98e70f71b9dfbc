#include "reveza/insight/monitor/job_sockets.h"

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

#include "common/base/unique_fd.h"
#include "common/platform/process.h"
#include "common/platform/text_file.h"
#include "reveza/insight/monitor/json_fields.h"

namespace reveza::monitor {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::uint64_t kStatusVersion = 1;

// A non-blocking exchange: connect, send the request, receive one line.
class Exchange {
 public:
  Exchange(fs::path socket, std::string request)
      : socket_(std::move(socket)), request_(std::move(request)) {
    Connect();
  }

  bool done() const { return answer_.has_value(); }
  pollfd PollEvents() const {
    return {fd_.get(), static_cast<short>(sent_ < request_.size() ? POLLOUT : POLLIN), 0};
  }

  // Continues when the descriptor is ready.
  void Advance() {
    if (sent_ < request_.size()) {
      Send();
    } else {
      Receive();
    }
  }

  void TimeOut(milliseconds limit) {
    Finish(Fail(Error::Code::kUnavailable, "the runner at {} did not respond within {} ms",
                socket_.string(), limit.count()));
  }

  JobAnswer Take() && {
    auto line =
        std::move(answer_).value_or(Fail(Error::Code::kInternal, "the exchange was not run"));
    return {std::move(socket_), std::move(line), peer_};
  }

 private:
  void Finish(Result<std::string> answer) {
    answer_ = std::move(answer);
    fd_.Reset();
  }
  void FinishWithErrno(const char* doing) {
    const bool stale = errno == ECONNREFUSED || errno == ENOENT;
    Finish(Fail(stale ? Error::Code::kNotFound : Error::Code::kUnavailable, "cannot {} {}: {}",
                doing, socket_.string(), std::strerror(errno)));
  }

  void Connect() {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string path = socket_.string();
    if (path.size() >= sizeof(address.sun_path)) {
      errno = ENAMETOOLONG;
      return FinishWithErrno("connect to");
    }
    std::memcpy(address.sun_path, path.data(), path.size());
    fd_.Reset(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    // A full backlog fails immediately with EAGAIN.
    if (!fd_ || connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address))) {
      return FinishWithErrno("connect to");
    }
    if (const auto who = platform::PeerCredentials(fd_.get())) peer_ = who->pid;
  }

  void Send() {
    const ssize_t sent = send(fd_.get(), request_.data() + sent_, request_.size() - sent_,
                              MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      sent_ += static_cast<std::size_t>(sent);
    } else if (errno != EAGAIN && errno != EINTR) {
      FinishWithErrno("write to");
    }
  }

  void Receive() {
    std::array<char, 16 * 1024> part;
    const ssize_t got = recv(fd_.get(), part.data(), part.size(), MSG_DONTWAIT);
    if (got < 0) {
      if (errno != EAGAIN && errno != EINTR) FinishWithErrno("read from");
      return;
    }
    const std::string_view piece(part.data(), static_cast<std::size_t>(got));
    const auto end = piece.find('\n');
    text_.append(piece.substr(0, end));
    if (end != std::string_view::npos) return Finish(std::move(text_));
    if (got == 0) {
      return Finish(Fail(Error::Code::kUnavailable, "the runner at {} closed the connection",
                         socket_.string()));
    }
    if (text_.size() > kMaxJobAnswer) {
      Finish(Fail(Error::Code::kIncompatible, "the response of the runner at {} exceeds {} bytes",
                  socket_.string(), kMaxJobAnswer));
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

void RunExchanges(std::vector<Exchange>& exchanges, milliseconds limit) {
  const auto end = steady_clock::now() + limit;
  for (;;) {
    std::vector<pollfd> wanted;
    std::vector<Exchange*> open;
    for (auto& exchange : exchanges) {
      if (exchange.done()) continue;
      wanted.push_back(exchange.PollEvents());
      open.push_back(&exchange);
    }
    if (open.empty()) return;
    const auto left = std::chrono::duration_cast<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) {
      for (auto* exchange : open) exchange->TimeOut(limit);
      return;
    }
    if (poll(wanted.data(), wanted.size(), static_cast<int>(left.count())) <= 0) continue;
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (wanted[i].revents != 0) open[i]->Advance();
    }
  }
}

Step ParseStep(const json& entry, bool same_pid_namespace) {
  Step step;
  step.number = CountAt(entry, "step").value_or(0);
  step.label = TextAt(entry, "label");
  step.attempt = CountAt(entry, "attempt");
  step.pid = same_pid_namespace ? PidAt(entry, "pid") : 0;
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

Job ParseJob(const json& status, bool same_pid_namespace) {
  Job job;
  job.id = TextAt(status, "id");
  job.name = TextAt(status, "name");
  job.state = TextAt(status, "state");
  job.pid = same_pid_namespace ? PidAt(status, "pid") : 0;
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
    if (entry.is_object()) job.running.push_back(ParseStep(entry, same_pid_namespace));
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

std::vector<JobAnswer> QueryJobSockets(std::span<const fs::path> sockets, std::string_view request,
                                       milliseconds limit) {
  const std::string line = json{{"request", request}}.dump() + "\n";
  std::vector<Exchange> exchanges;
  exchanges.reserve(sockets.size());
  for (const auto& socket : sockets) exchanges.emplace_back(socket, line);
  RunExchanges(exchanges, limit);
  std::vector<JobAnswer> answers;
  answers.reserve(exchanges.size());
  for (auto& exchange : exchanges) answers.push_back(std::move(exchange).Take());
  return answers;
}

Result<Job> ParseJobStatus(const JobAnswer& answer) {
  if (!answer.line) return std::unexpected(answer.line.error());
  const auto invalid = [&](std::string_view what) {
    return Fail(Error::Code::kIncompatible, "the runner at {} {}", answer.socket.string(), what);
  };
  const json status = json::parse(*answer.line, nullptr, false);
  if (status.is_discarded() || !status.is_object()) return invalid("sent invalid JSON");
  if (const std::string error = TextAt(status, "error"); !error.empty()) {
    return invalid("reports: " + error);
  }
  const auto version = CountAt(status, "version");
  if (!version) return invalid("sent no version");
  if (*version != kStatusVersion) {
    return invalid(fmt::format("uses protocol version {}; this program requires {}", *version,
                               kStatusVersion));
  }
  if (TextAt(status, "id").empty()) return invalid("sent no job id");
  const pid_t pid = PidAt(status, "pid");
  Job job = ParseJob(status, pid != 0 && pid == answer.peer);
  job.socket = answer.socket.string();
  return job;
}

Status SendJobRequest(const fs::path& socket, std::string_view request, milliseconds limit) {
  const std::array<fs::path, 1> one = {socket};
  const auto answers = QueryJobSockets(one, request, limit);
  const auto& line = answers.front().line;
  if (!line) return std::unexpected(line.error());
  const json response = json::parse(*line, nullptr, false);
  if (!response.is_discarded() && FlagAt(response, "ok").value_or(false)) return {};
  const std::string error = response.is_discarded() ? "" : TextAt(response, "error");
  return Fail(Error::Code::kUnavailable,
              error.empty() ? fmt::format("the runner at {} did not confirm the request to {}",
                                          socket.string(), request)
                            : error);
}

}  // namespace reveza::monitor
