#include "tests/support/machine.h"

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>
#include <thread>

#include "reveza/gpu/wire/codec.h"
#include "reveza/gpu/wire/messages.h"

namespace reveza::testing {
namespace {

using nlohmann::json;
using std::chrono::seconds;

// Sends a status request to the daemon. Returns the reply, or "" if there is none within 5 s.
std::string Ask(const std::string& socket_path, std::uint16_t version) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path.c_str());
  const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  timeval limit{5, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  std::string text;
  char packet[wire::kMaxPacket];
  const std::size_t size = wire::Encode(wire::StatusRequest{}, packet, version);
  bool whole = false;
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      send(fd, packet, size, MSG_NOSIGNAL) == static_cast<ssize_t>(size)) {
    wire::Type type{};
    for (ssize_t got; !whole && (got = recv(fd, packet, sizeof(packet), 0)) > 0;) {
      if (wire::Validate(packet, static_cast<std::size_t>(got), &type) !=
              wire::DecodeError::kNone ||
          type != wire::Type::kText) {
        break;
      }
      const auto part = wire::View<wire::TextHeader>(packet);
      text.append(packet + wire::kPacketSize<wire::TextHeader>, part.bytes);
      whole = part.last != 0;
    }
  }
  close(fd);
  return whole ? text : "";
}

Environment CardEnvironment(const Machine::Options& options) {
  Environment environment = options.environment;
  environment.insert({"FAKECUDA_MEMORY", options.memory});
  environment.insert({"FAKECUDA_LINK", options.link});
  environment.insert({"FAKECUDA_DEVICES", std::to_string(options.devices)});
  return environment;
}

// Without NVML (FAKECUDA_NVML=none) the daemon cannot measure contexts. Its estimate is that of
// real cards, which would leave little of a simulated one.
std::vector<std::string> ContextEstimate(const Machine::Options& options) {
  const char* nvml = std::getenv("FAKECUDA_NVML");
  if (nvml == nullptr || std::string_view(nvml) == "full") return {};
  const auto context = options.environment.find("FAKECUDA_CONTEXT");
  return {"--context-estimate", context == options.environment.end() ? "2MiB" : context->second};
}

}  // namespace

Machine::Machine(Options options)
    : options_(std::move(options)),
      card_(CardEnvironment(options_)),
      daemon_program_(REVEZA_DAEMON),
      version_(wire::kVersion) {}

Machine::~Machine() {
  if (daemon_ != nullptr) daemon_->Signal(SIGTERM);
  if (daemon_ != nullptr) daemon_->Wait(seconds(10));
  daemon_.reset();
}

void Machine::UseDaemon(const std::string& program, std::uint16_t version) {
  daemon_program_ = program;
  version_ = version;
}

void Machine::StartDaemon(const std::string& configuration) {
  std::vector<std::string> command{daemon_program_, "--socket", socket()};
  for (const std::string& word : ContextEstimate(options_)) command.push_back(word);
  command.insert(command.end(), options_.daemon_arguments.begin(), options_.daemon_arguments.end());
  Environment environment = ProgramEnvironment();
  environment["REVEZA_CONFIG"] = configuration;
  daemon_ = std::make_unique<Process>(command, environment,
                                      folder() + "/daemon" + std::to_string(started_++));
  const auto until = std::chrono::steady_clock::now() + seconds(20);
  while (Ask(socket(), version_).empty()) {
    if (!daemon_->Running() || std::chrono::steady_clock::now() > until) {
      throw std::runtime_error("revezad does not respond: " + daemon_->ErrorOutput());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

Process Machine::Start(const std::string& program, const std::vector<std::string>& arguments,
                       const Environment& more, unsigned job) {
  const int number = ++started_;
  char job_text[24];
  std::snprintf(job_text, sizeof(job_text), "%016x", job != 0 ? job : 0x1000u + unsigned(number));
  Environment environment = ProgramEnvironment();
  environment.insert({"REVEZA_SOCKET", socket()});
  environment.insert({"REVEZA_JOB", job_text});
  environment.merge(Preload());
  for (const auto& [key, value] : more) environment[key] = value;
  std::vector<std::string> command{ClientPath(program)};
  command.insert(command.end(), arguments.begin(), arguments.end());
  command.push_back("--json");
  return Process(command, environment, folder() + "/client" + std::to_string(number));
}

ProcessResult Machine::RunNative(const std::string& program,
                                 const std::vector<std::string>& arguments) {
  Process process = Start(program, arguments, {{"LD_PRELOAD", ""}, {"REVEZA_DISABLE", "1"}});
  return process.Wait(seconds(120)).value_or(ProcessResult{});
}

json Machine::Status() const {
  const std::string text = Ask(socket(), version_);
  return text.empty() ? json() : json::parse(text, nullptr, false);
}

bool Machine::WaitFor(const std::function<bool(const json&)>& condition, seconds limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  for (;;) {
    const json status = Status();
    if (status.is_object() && condition(status)) return true;
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

json Machine::CardStatistics() const {
  Process process({REVEZA_FAKECUDA_STAT, "--json"}, ProgramEnvironment(), folder() + "/stat");
  const auto ended = process.Wait(seconds(20));
  return ended ? json::parse(ended->output, nullptr, false) : json();
}

std::uint64_t Machine::GpuBytesInUse() const {
  const json statistics = CardStatistics();
  if (!statistics.is_object()) return 0;  // no program has initialized fakecuda yet
  std::uint64_t sum = 0;
  for (const json& device : statistics["devices"]) sum += device["used"].get<std::uint64_t>();
  return sum;
}

std::uint64_t Machine::BytesCopiedFromGpus() const {
  const json statistics = CardStatistics();
  return statistics.is_object() ? statistics["bytes_from_device"].get<std::uint64_t>() : 0;
}

bool Machine::GpuIsEmpty(seconds limit) const {
  const auto until = std::chrono::steady_clock::now() + limit;
  while (GpuBytesInUse() != 0) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return true;
}

Environment Preload() {
  if constexpr (std::string_view(REVEZA_LIBRARY).empty()) return {};
  return {{"LD_PRELOAD", REVEZA_LIBRARY}};
}

json ClientOf(const json& status, pid_t pid) {
  for (const json& client : status["clients"]) {
    if (client["pid"] == pid) return client;
  }
  return {};
}

}  // namespace reveza::testing
