#include "reveza/gpu/daemon/mps_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>
#include <vector>

#include "common/base/exec_arguments.h"
#include "common/base/parse_number.h"
#include "common/platform/process.h"
#include "common/platform/text_file.h"

extern char** environ;

namespace reveza::daemon {
namespace {

namespace fs = std::filesystem;

constexpr const char* kProgram = "nvidia-cuda-mps-control";

// Returns the environment of the command. Settings of the program that started this daemon are not
// for all programs of the user.
std::vector<std::string> CommandEnvironment(const fs::path& folder) {
  constexpr std::string_view kLeftOut[] = {"CUDA_MPS_", "CUDA_VISIBLE_DEVICES=", "LD_PRELOAD="};
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    bool left_out = false;
    for (const std::string_view prefix : kLeftOut) left_out |= variable.starts_with(prefix);
    if (!left_out) variables.emplace_back(variable);
  }
  variables.push_back("CUDA_MPS_PIPE_DIRECTORY=" + folder.string());
  variables.push_back("CUDA_MPS_LOG_DIRECTORY=" + (folder / "log").string());
  return variables;
}

// Becomes the user, if this is root; async-signal-safe.
bool BecomeUser(const MpsUser& user) {
  if (geteuid() != 0 || user.uid == 0) return true;
  return setgroups(1, &user.gid) == 0 && setgid(user.gid) == 0 && setuid(user.uid) == 0;
}

struct Exec {
  const char* program;
  char* const* arguments;
  char* const* environment;
  const MpsUser& user;
  int input;
  int output;
};

[[noreturn]] void ExecChild(const Exec& exec) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  [[maybe_unused]] const int moved = chdir("/");
  if (dup2(exec.input, STDIN_FILENO) >= 0 && dup2(exec.output, STDOUT_FILENO) >= 0 &&
      dup2(exec.output, STDERR_FILENO) >= 0 && BecomeUser(exec.user)) {
    execve(exec.program, exec.arguments, exec.environment);
  }
  _exit(127);
}

bool IsPrivateFolder(const fs::path& folder, uid_t uid) {
  struct stat found{};
  return lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == uid &&
         (found.st_mode & 077) == 0;
}

Status MakePrivateFolder(const fs::path& folder, const MpsUser& user) {
  if (mkdir(folder.c_str(), 0700) == 0 && geteuid() == 0 && user.uid != 0 &&
      lchown(folder.c_str(), user.uid, user.gid) != 0) {
    return Fail(Error::Code::kPermission,
                fmt::format("cannot give {} to user {}", folder.string(), user.uid));
  }
  if (IsPrivateFolder(folder, user.uid)) return {};
  return Fail(Error::Code::kPermission,
              fmt::format("{} is not a folder of user {} that is closed to others", folder.string(),
                          user.uid));
}

}  // namespace

Result<MpsCommand> MpsCommand::Start(const fs::path& program, const MpsUser& user,
                                     const fs::path& folder, const std::string& input) {
  auto in = MakePipe();
  auto out = MakePipe();
  if (!in || !out) return Fail(Error::Code::kExhausted, "too many open files");
  // Commands are shorter than the buffer of a pipe.
  if (write(in->writer.get(), input.data(), input.size()) != static_cast<ssize_t>(input.size())) {
    return Fail(Error::Code::kExhausted, "cannot write to a pipe");
  }
  in->writer.Reset();
  std::vector<std::string> words = {kProgram};
  if (input.empty()) words.emplace_back("-d");
  std::vector<std::string> variables = CommandEnvironment(folder);
  const auto arguments = ExecArguments(words);
  const auto environment = ExecArguments(variables);
  const std::string path = program.string();
  MpsCommand command;
  command.pid_ = fork();
  if (command.pid_ == 0) {
    ExecChild({path.c_str(), arguments.data(), environment.data(), user, in->reader.get(),
               out->writer.get()});
  }
  if (command.pid_ < 0) {
    command.pid_ = 0;
    return Fail(Error::Code::kExhausted, fmt::format("cannot fork: {}", std::strerror(errno)));
  }
  command.output_ = std::move(out->reader);
  ASSIGN_OR_RETURN(command.process_, platform::OpenProcess(command.pid_));
  return command;
}

MpsCommand::~MpsCommand() {
  if (!process_ && !output_) return;  // moved from, or finished
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

// What there is now: a control daemon may keep the pipe open.
std::string MpsCommand::Output() const {
  fcntl(output_.get(), F_SETFL, O_NONBLOCK);
  char text[300];
  const ssize_t got = read(output_.get(), text, sizeof text);
  std::string line(text, got > 0 ? static_cast<std::size_t>(got) : 0);
  return line.substr(0, line.find('\n'));
}

std::optional<std::string> MpsCommand::Finish() {
  int status = 0;
  waitpid(pid_, &status, 0);
  const std::string said = Output();
  process_.Reset();
  output_.Reset();
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return std::nullopt;
  if (!said.empty()) return fmt::format("{} said: {}", kProgram, said);
  if (WIFSIGNALED(status)) {
    return fmt::format("{} was ended by signal {}", kProgram, WTERMSIG(status));
  }
  return fmt::format("{} failed with status {}", kProgram, WEXITSTATUS(status));
}

Result<fs::path> FindMpsControl() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const fs::path program = fs::path(folder) / kProgram;
    if (folder.starts_with('/') && access(program.c_str(), X_OK) == 0) return program;
  }
  return Fail(
      Error::Code::kNotFound,
      fmt::format("the daemon finds no {} in its PATH; it comes with NVIDIA's driver", kProgram));
}

Status PrepareMpsFolder(const fs::path& folder, const MpsUser& user) {
  RETURN_IF_ERROR(MakePrivateFolder(folder, user));
  return MakePrivateFolder(folder / "log", user);
}

Result<MpsDaemon> FindMpsDaemon(const fs::path& folder, std::optional<uid_t> uid) {
  const auto none = [&] {
    return Fail(Error::Code::kNotFound,
                fmt::format("no MPS control daemon at {}", folder.string()));
  };
  const auto text = platform::ReadText(folder / fmt::format("{}.pid", kProgram));
  if (!text) return none();
  const auto pid = ParseNumber<pid_t>(text->substr(0, text->find_first_of("\n ")));
  if (!pid || *pid <= 1) return none();
  MpsDaemon daemon{.pid = *pid, .process = {}};
  auto process = platform::OpenProcess(*pid);
  if (!process) return none();
  daemon.process = std::move(*process);
  // It may have ended without its parent having noticed.
  pollfd ended{daemon.process.get(), POLLIN, 0};
  if (poll(&ended, 1, 0) == 1) return none();
  // The number may have been given to another process.
  struct stat owner{};
  const fs::path entry = fmt::format("/proc/{}", *pid);
  if (stat(entry.c_str(), &owner) != 0 || owner.st_uid != uid.value_or(owner.st_uid)) return none();
  const auto name = platform::ReadText(entry / "comm");
  if (!name || !name->starts_with("nvidia-cuda-mps")) return none();
  return daemon;
}

}  // namespace reveza::daemon
