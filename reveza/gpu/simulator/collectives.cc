#include "reveza/gpu/simulator/collectives.h"

#include <algorithm>

#include "reveza/gpu/simulator/client.h"
#include "reveza/gpu/simulator/world.h"

namespace reveza::simulator {

void Collectives::Join(scheduler::ClientId rank, scheduler::Time step) {
  submitted_[rank] = 0;
  step_ = step;
}

void Collectives::Leave(scheduler::ClientId rank) {
  if (submitted_.erase(rank) == 0) return;
  BeginIfAllArrived();
  RunComplete();
}

void Collectives::Arrive(scheduler::ClientId rank) {
  arrived_.insert(rank);
  BeginIfAllArrived();
}

void Collectives::BeginIfAllArrived() {
  const auto has_arrived = [this](const auto& rank) { return arrived_.contains(rank.first); };
  if (begun_ || !std::ranges::all_of(submitted_, has_arrived)) return;
  begun_ = true;
  for (const auto& [rank, submitted] : submitted_) {
    world_.ScheduleFor(world_.now(), rank, [](Client& one) { one.Begin(); });
  }
}

void Collectives::Submit(scheduler::ClientId rank) {
  ++submitted_.at(rank);
  RunComplete();
}

void Collectives::RunComplete() {
  const auto is_complete = [this](const auto& rank) { return rank.second > started_; };
  while (!submitted_.empty() && std::ranges::all_of(submitted_, is_complete)) {
    ++started_;
    const Time length = world_.RandomTime(step_ / 2, step_ * 3 / 2);
    busy_until_ = std::max(busy_until_, world_.now()) + length;
    for (const auto& [rank, submitted] : submitted_) {
      world_.ScheduleFor(busy_until_, rank,
                         [length](Client& one) { one.FinishCollective(length); });
    }
  }
}

}  // namespace reveza::simulator
