// The agent: what the application's threads ask for, passed on to the daemon, and its answers.
#include <cstring>

#include "interpose/agent.h"
#include "interpose/driver_calls.h"
#include "interpose/gate.h"

namespace reveza::interpose {

void Agent::ServeRequests() {
  if (!connection_.is_open()) {
    AnswerAllAlone();
    return;
  }
  if (!welcomed_) return;
  SendContexts();
  SendGrowth();
  if (gate_ != GateState::kOpen && !gate_wanted_sent_ &&
      client_.at_gate_.load(std::memory_order_acquire)) {
    gate_wanted_sent_ = connection_.Send(wire::GateWanted{});
  }
}

void Agent::SendContexts() {
  swap::MutexLock lock(client_.requests_mutex_);
  for (ContextRequest* request : client_.contexts_wanted_) {
    if (request->sent) continue;
    Gpu* gpu = FindGpu(request->ordinal);
    // A new daemon that has not answered Resumed yet: that answer is not for this request.
    if (gpu != nullptr && gpu->granted && !gpu->admitted) continue;
    if (gpu == nullptr) {
      gpus_.push_back(Gpu{});
      gpu = &gpus_.back();
      gpu->ordinal = request->ordinal;
      gpu->uuid = request->uuid;
      gpu->total = request->total;
    }
    wire::ContextWanted wanted{};
    memcpy(wanted.uuid, request->uuid.bytes, sizeof(wanted.uuid));
    wanted.total = request->total;
    request->sent = connection_.Send(wanted);
  }
  for (const auto& [ordinal, made] : client_.made_) {
    Gpu* gpu = FindGpu(ordinal);
    if (gpu == nullptr || !gpu->admitted) continue;
    wire::ContextMade message{};
    message.gpu = gpu->number;
    message.overhead = made == 0 ? 0 : client_.ledger_.GetBooks(ordinal).context;
    connection_.Send(message);
  }
  client_.made_.clear();
}

// A little more than was asked for, so that small allocations do not each ask.
Bytes Agent::WorthAsking(const GrowthRequest& request, const Gpu& gpu) const {
  const swap::Books books = client_.ledger_.GetBooks(request.ordinal);
  const bool room = books.Need() + books.spare + gpu.granule <= client_.ledger_.Budget(gpu.ordinal);
  return request.bytes < gpu.granule && room && !request.exact ? gpu.granule : request.bytes;
}

void Agent::SendGrowth() {
  swap::MutexLock lock(client_.requests_mutex_);
  std::vector<GrowthRequest*> later;  // a new daemon has not answered Resumed yet
  for (GrowthRequest* request : client_.growth_wanted_) {
    Gpu* gpu = FindGpu(request->ordinal);
    if (gpu != nullptr && !gpu->admitted) {
      later.push_back(request);
      continue;
    }
    if (gpu == nullptr) {
      request->answer = Answer::kRefused;
      request->answered = true;
      client_.answered_.NotifyAll();
      continue;
    }
    wire::GrowthWanted wanted{};
    wanted.request = request->number;
    wanted.gpu = gpu->number;
    wanted.kind = request->kind;
    request->asked = wanted.bytes = WorthAsking(*request, *gpu);
    // What was freed before counts: the daemon may refuse by what it knows. Spare credit is kept,
    // for the request is for what it lacks beyond it.
    if (client_.books_changed_.load(std::memory_order_acquire)) SendAccount(*gpu, 0);
    request->sent = connection_.Send(wanted);
    client_.growth_sent_.push_back(request);
  }
  client_.growth_wanted_ = later;
}

void Agent::OnGrowthAnswer(const wire::GrowthAnswer& answer) {
  if (Gpu* gpu = FindNumber(answer.gpu); gpu != nullptr && answer.credit > 0) {
    client_.ledger_.AddCredit(gpu->ordinal, answer.credit);
  }
  swap::MutexLock lock(client_.requests_mutex_);
  for (std::size_t i = 0; i < client_.growth_sent_.size(); ++i) {
    GrowthRequest* request = client_.growth_sent_[i];
    if (request->number != answer.request) continue;
    client_.growth_sent_.erase(client_.growth_sent_.begin() + static_cast<std::ptrdiff_t>(i));
    if (answer.answer == wire::Growth::kRefused && request->asked > request->bytes) {
      request->exact = true;
      client_.growth_wanted_.push_back(request);
      return client_.Wake();
    }
    request->answer = answer.answer == wire::Growth::kGranted   ? Answer::kGranted
                      : answer.answer == wire::Growth::kRefused ? Answer::kRefused
                                                                : Answer::kLater;
    if (request->answer == Answer::kLater && request->kind == wire::GrowthKind::kSwappable) {
      client_.ledger_.Permit(request->ordinal, request->asked);
    }
    request->answered = true;
    client_.answered_.NotifyAll();
    return;
  }
}

void Agent::OnAdmitted(const wire::ContextAdmitted& admitted) {
  for (Gpu& gpu : gpus_) {
    if (memcmp(gpu.uuid.bytes, admitted.uuid, sizeof(admitted.uuid)) != 0) continue;
    if (gpus_.size() == 1 && client_.ContextOf(gpu.ordinal) == nullptr &&
        gate_ == GateState::kOpen) {
      // From here on the daemon says when; who joins a job that has its turn was told already.
      // Nobody can be inside before the first context.
      if (!told_to_open_) {
        Gate::Close(1'000'000);
        gate_ = GateState::kClosed;
      }
      client_.ledger_.SetResidency(told_to_open_ ? swap::Residency::kIn : swap::Residency::kOut);
    }
    gpu.number = admitted.gpu;
    gpu.granule = admitted.granule < swap::kGranularity
                      ? swap::kGranularity
                      : RoundUp(admitted.granule, swap::kGranularity);
    gpu.admitted = gpu.granted = true;
    swap::MutexLock lock(client_.requests_mutex_);
    for (std::size_t i = 0; i < client_.contexts_wanted_.size(); ++i) {
      ContextRequest* request = client_.contexts_wanted_[i];
      if (request->ordinal != gpu.ordinal || !request->sent) continue;
      request->budget = admitted.budget;
      request->credit = admitted.credit;
      request->answered = true;
      client_.contexts_wanted_.erase(client_.contexts_wanted_.begin() +
                                     static_cast<std::ptrdiff_t>(i));
      client_.answered_.NotifyAll();
      return;
    }
    if (admitted.credit > 0) client_.ledger_.SetContextBytes(gpu.ordinal, admitted.credit);
    return;
  }
}

}  // namespace reveza::interpose
