#include "platform/process_threads.h"

#include <string>
#include <string_view>
#include <system_error>

#include "platform/text_file.h"

namespace reveza::platform {
namespace {

// Behind the name: state is the 1st word, utime and stime the 12th and 13th. See proc(5).
std::optional<ThreadState> ParseStat(std::string_view text) {
  const auto name = text.rfind(')');
  if (name == std::string_view::npos) return std::nullopt;
  const auto words = Words(text.substr(name + 1));
  if (words.size() < 13) return std::nullopt;
  const auto user = ToNumber(words[11]);
  const auto system = ToNumber(words[12]);
  if (!user || !system) return std::nullopt;
  ThreadState state;
  state.state = words[0].front();
  state.ticks = *user + *system;
  return state;
}

}  // namespace

std::vector<ThreadState> ReadThreads(pid_t pid, bool with_waits, std::size_t most,
                                     const std::filesystem::path& root) {
  std::vector<ThreadState> threads;
  std::error_code error;
  const auto folder = ProcessFolder(pid, root) / "task";
  for (std::filesystem::directory_iterator entry(folder, error), end;
       !error && entry != end && threads.size() < most; entry.increment(error)) {
    const auto number = ToNumber(entry->path().filename().string());
    const auto text = ReadText(entry->path() / "stat");
    auto thread = text ? ParseStat(*text) : std::nullopt;
    if (!number || !thread) continue;
    thread->thread = static_cast<pid_t>(*number);
    if (with_waits) {
      const auto status = ReadText(entry->path() / "status");
      if (status) thread->waits = NumberOfKey(*status, "voluntary_ctxt_switches:");
    }
    threads.push_back(*thread);
  }
  return threads;
}

}  // namespace reveza::platform
