#include "reveza/gpu/usage/recorder.h"

#include <pthread.h>
#include <signal.h>

#include <chrono>
#include <utility>
#include <vector>

namespace reveza::usage {

Recorder::Recorder(std::filesystem::path file, Logger logger)
    : file_(std::move(file)), logger_(std::move(logger)) {
  // Signals are for the other threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread([this] { Run(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Recorder::~Recorder() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  changed_.NotifyOne();
  thread_.join();
}

void Recorder::Add(const Usage& usage) {
  const Hour now = std::chrono::floor<std::chrono::hours>(std::chrono::system_clock::now());
  {
    const MutexLock lock(mutex_);
    AddPending(now, usage);
    fresh_ = true;
  }
  changed_.NotifyOne();
}

void Recorder::AddPending(Hour hour, const Usage& usage) {
  Usage& sum = pending_[{hour, usage.job}];
  Counters counters = sum.counters;
  counters += usage.counters;
  sum = usage;
  sum.counters = counters;
}

void Recorder::Run() {
  for (bool stopping = false; !stopping;) {
    Pending pending;
    {
      MutexLock lock(mutex_);
      while (!fresh_ && !stopping_) changed_.Wait(mutex_);
      stopping = stopping_;
      fresh_ = false;
      pending = std::exchange(pending_, {});
    }
    pending = Write(std::move(pending));
    const MutexLock lock(mutex_);
    for (const auto& [key, usage] : pending) AddPending(key.first, usage);
  }
}

Recorder::Pending Recorder::Write(Pending pending) {
  if (pending.empty()) return {};
  const auto write = [&]() -> Status {
    if (!store_) {
      ASSIGN_OR_RETURN(store_, Store::Open(file_));
    }
    std::vector<HourlyUsage> usages;
    usages.reserve(pending.size());
    for (const auto& [key, usage] : pending) usages.push_back({key.first, usage});
    return store_->Add(usages);
  };
  const auto written = write();
  if (written) {
    failed_ = false;
    return {};
  }
  store_.reset();
  ++failures_;
  if (!std::exchange(failed_, true)) {
    logger_->warn("usage is not recorded at present: {}", written.error().message);
  }
  return pending;
}

}  // namespace reveza::usage
