#include "reveza/gpu/interpose/contexts.h"

#include <algorithm>

namespace reveza::interpose {

Contexts::Live* Contexts::Find(CUcontext context) {
  const auto found = std::ranges::find(live_, context, &Live::context);
  return found == live_.end() ? nullptr : &*found;
}

bool Contexts::Add(int ordinal, CUcontext context, bool primary) {
  MutexLock lock(mutex_);
  if (Find(context) != nullptr) return false;
  live_.push_back({.ordinal = ordinal, .context = context, .primary = primary});
  return true;
}

CUcontext Contexts::OwnerOf(int ordinal, CUcontext context) const {
  MutexLock lock(mutex_);
  CUcontext owner = context;
  for (const Live& live : live_) {
    if (live.context == context) return context;
    if (live.primary && live.ordinal == ordinal) owner = live.context;
  }
  return owner;
}

std::vector<CUcontext> Contexts::All() const {
  MutexLock lock(mutex_);
  std::vector<CUcontext> contexts;
  for (const Live& live : live_) contexts.push_back(live.context);
  return contexts;
}

CUcontext Contexts::Of(int ordinal) const {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(live_, ordinal, &Live::ordinal);
  return found == live_.end() ? nullptr : found->context;
}

int Contexts::CountOf(int ordinal) const {
  MutexLock lock(mutex_);
  return static_cast<int>(std::ranges::count(live_, ordinal, &Live::ordinal));
}

void Contexts::AddReference(CUcontext context) {
  MutexLock lock(mutex_);
  if (Live* live = Find(context)) ++live->references;
}

bool Contexts::RemoveReference(CUcontext context) {
  MutexLock lock(mutex_);
  Live* live = Find(context);
  if (live == nullptr || live->references == 1) return false;
  --live->references;
  return true;
}

Contexts::Held Contexts::Hold(const std::vector<int>& ordinals) {
  const auto wanted = [&](const Live& live) {
    return std::ranges::find(ordinals, live.ordinal) != ordinals.end();
  };
  MutexLock lock(mutex_);
  while (
      std::ranges::any_of(live_, [&](const Live& live) { return live.ending && wanted(live); })) {
    changed_.Wait(mutex_);
  }
  std::vector<CUcontext> contexts;
  for (Live& live : live_) {
    if (!wanted(live)) continue;
    ++live.holders;
    contexts.push_back(live.context);
  }
  return {*this, std::move(contexts)};
}

Contexts::Held Contexts::HoldOne(CUcontext context) {
  MutexLock lock(mutex_);
  Live* live = Find(context);
  if (live == nullptr || live->ending) return {*this, {}};
  ++live->holders;
  return {*this, {context}};
}

Contexts::Held Contexts::HoldAny() {
  MutexLock lock(mutex_);
  const auto found = std::ranges::find(live_, false, &Live::ending);
  if (found == live_.end()) return {*this, {}};
  ++found->holders;
  return {*this, {found->context}};
}

void Contexts::Release(const std::vector<CUcontext>& contexts) {
  MutexLock lock(mutex_);
  for (const CUcontext context : contexts) --Find(context)->holders;
  changed_.NotifyAll();
}

std::optional<int> Contexts::BeginEnd(CUcontext context) {
  MutexLock lock(mutex_);
  // Looked up after each wait: others come and go, and move it.
  Live* live = Find(context);
  while (live != nullptr && live->ending) {
    changed_.Wait(mutex_);
    live = Find(context);
  }
  if (live == nullptr) return std::nullopt;
  live->ending = true;
  while (live->holders > 0) {
    changed_.Wait(mutex_);
    live = Find(context);
  }
  return live->ordinal;
}

void Contexts::Remove(CUcontext context) {
  MutexLock lock(mutex_);
  std::erase_if(live_, [&](const Live& live) { return live.context == context; });
  changed_.NotifyAll();
}

void Contexts::Keep(CUcontext context) {
  MutexLock lock(mutex_);
  if (Live* live = Find(context)) live->ending = false;
  changed_.NotifyAll();
}

}  // namespace reveza::interpose
