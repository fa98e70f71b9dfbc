#include "runner/engine/worker_pool.h"

#include <fmt/format.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace reveza::runner {
namespace {

// In words, of a child that is ending or dead; it is no zombie afterwards.
std::string HowItEnded(pid_t pid) {
  constexpr int kLongest = 1000;  // ms
  const UniqueFd descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{descriptor.get(), POLLIN, 0};
  if (descriptor) poll(&end, 1, kLongest);
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return "went away";
  if (WIFSIGNALED(status)) return fmt::format("was killed by signal {}", WTERMSIG(status));
  return fmt::format("ended with status {}", WEXITSTATUS(status));
}

}  // namespace

std::size_t WorkerPool::FreeSlot() {
  const auto free = std::ranges::find_if(slots_, [](const Slot& slot) { return !slot.active; });
  if (free != slots_.end()) return static_cast<std::size_t>(free - slots_.begin());
  slots_.emplace_back();
  return slots_.size() - 1;
}

Status WorkerPool::Start(std::size_t slot, const StartRequest& request, Active active) {
  auto& one = slots_[slot];
  if (!one.worker) {
    auto worker = Worker::Start(supervisor_, folder_.NewRecord());
    if (!worker) return std::unexpected(worker.error());
    one.worker = std::move(*worker);
  }
  one.active = std::move(active);
  if (one.worker) one.worker->Send(PackStart(request));
  return {};
}

void WorkerPool::Tell(std::size_t slot, FrameKind what) {
  auto& worker = slots_[slot].worker;
  if (worker) worker->Send(PackFrame(what));
}

WorkerPool::Remains WorkerPool::Bury(std::size_t slot) {
  auto& one = slots_[slot];
  one.active.reset();
  if (!one.worker) return {};
  Remains remains{one.worker->record(), HowItEnded(one.worker->pid())};
  one.worker.reset();
  return remains;
}

void WorkerPool::AddTo(std::vector<pollfd>& descriptors) const {
  for (const auto& slot : slots_) {
    const short events = slot.worker && slot.worker->wants_to_write() ? POLLIN | POLLOUT : POLLIN;
    descriptors.push_back({slot.worker ? slot.worker->descriptor() : -1, events, 0});
  }
}

std::vector<WorkerPool::News> WorkerPool::Handle(const pollfd* first) {
  std::vector<News> all;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    auto& worker = slots_[i].worker;
    if (first[i].revents == 0 || !worker) continue;
    if ((first[i].revents & POLLOUT) != 0) worker->Flush();
    News news{i, {}, false};
    news.gone = !worker->Receive(news.frames);
    if (news.gone || !news.frames.empty()) all.push_back(std::move(news));
  }
  return all;
}

unsigned WorkerPool::active() const {
  return static_cast<unsigned>(
      std::ranges::count_if(slots_, [](const Slot& slot) { return slot.active.has_value(); }));
}

}  // namespace reveza::runner
