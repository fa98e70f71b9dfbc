// The collectives of a job's ranks: the n-th runs once every rank has submitted it, after the
// (n - 1)-th. Until it ends it occupies the GPU of each rank that has submitted it.
//
// Not thread-safe; part of a World.
#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "reveza/gpu/scheduler/scheduler.h"

namespace reveza::simulator {

class World;

class Collectives {
 public:
  explicit Collectives(World& world) : world_(world) {}

  // Adds a rank, whose collectives take about `step`. All ranks of a job join before the first
  // submits.
  void Join(scheduler::ClientId rank, scheduler::Time step);
  // Removes a rank that died or exited: the others do not wait for it.
  void Leave(scheduler::ClientId rank);
  // The rank has its contexts. Calls Client::Begin() of each rank when all have: ranks find each
  // other before one waits for another on the GPU.
  void Arrive(scheduler::ClientId rank);
  // Submits the rank's next collective. Calls Client::FinishCollective() of each rank when it ends,
  // never before this function returns.
  void Submit(scheduler::ClientId rank);

 private:
  void BeginIfAllArrived();
  void RunComplete();

  World& world_;
  std::map<scheduler::ClientId, std::uint64_t> submitted_;
  std::set<scheduler::ClientId> arrived_;
  bool begun_ = false;
  std::uint64_t started_ = 0;
  scheduler::Time step_{0};
  scheduler::Time busy_until_{0};
};

}  // namespace reveza::simulator
