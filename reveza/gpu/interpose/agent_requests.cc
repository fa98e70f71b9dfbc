// The agent: requests of the application's threads, and the daemon's answers.
#include <algorithm>
#include <cstring>

#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"

namespace reveza::interpose {

void Agent::ServeRequests() {
  if (!connection_.is_open()) {
    GrantAllStandalone();
    return;
  }
  if (!welcomed_) return;
  SendHints();
  {
    // Under one lock: the daemon measures a new context before it allows memory beside it, which
    // another thread may have requested since.
    MutexLock lock(client_.requests_mutex_);
    SendContexts();
    SendGrowth();
  }
  if (gate_ != GateState::kOpen && !gate_request_sent_ &&
      client_.at_gate_.load(std::memory_order_acquire)) {
    gate_request_sent_ = connection_.Send(wire::GateRequested{});
  }
}

void Agent::SendHints() {
  if (client_.yields_.exchange(false, std::memory_order_acq_rel)) connection_.Send(wire::Yield{});
  const bool holds = client_.holds_.load(std::memory_order_acquire) > 0;
  if (holds == holds_sent_) return;
  holds_sent_ = holds;
  connection_.Send(wire::Hold{.on = holds ? 1u : 0u});
}

void Agent::SendContexts() {
  // A context may take the room of one that has ended.
  if (!client_.context_requests_.empty() && client_.usage_changed_.load(std::memory_order_acquire))
    ReportUsage();
  // A failure first: until it is known, the daemon takes another request for the same.
  for (const auto& [ordinal, created] : client_.created_) {
    Gpu* gpu = FindGpu(ordinal);
    if (gpu == nullptr || !gpu->admitted) continue;
    const Bytes overhead = created ? client_.ledger_.GetUsage(ordinal).context : 0;
    connection_.Send(wire::ContextCreated{.gpu = gpu->index, .overhead = overhead});
  }
  client_.created_.clear();
  for (ContextRequest* request : client_.context_requests_) {
    if (request->sent) continue;
    Gpu* gpu = FindGpu(request->ordinal);
    // Resumed is not answered yet; its answer must not be taken for the answer to this request.
    if (gpu != nullptr && gpu->granted && !gpu->admitted) continue;
    if (gpu == nullptr) AddGpu(*request);
    wire::ContextRequested message{};
    memcpy(message.uuid, request->uuid.bytes, sizeof(message.uuid));
    message.total = request->total;
    request->sent = connection_.Send(message);
  }
}

// Rounds small requests up to the granule, to avoid one request per small allocation. Not where the
// GPU becomes full: what is needed may fit where the rounded size would wait for others.
Bytes Agent::RequestSize(const GrowthRequest& request, const Gpu& gpu) const {
  const swap::MemoryUsage usage = client_.ledger_.GetUsage(request.ordinal);
  const Bytes ample = client_.ledger_.Budget(gpu.ordinal) / 4 * 3;
  const bool room = usage.Need() + usage.spare + gpu.granule <= ample;
  return request.bytes < gpu.granule && room && !request.exact ? gpu.granule : request.bytes;
}

// Takes the spare credit that a swap-in does not need.
Bytes Agent::TakeExcess(int ordinal) {
  swap::Ledger& ledger = client_.ledger_;
  return ledger.TakeSpare(ordinal, ledger.GetUsage(ordinal).swapped + ledger.Promised(ordinal));
}

void Agent::SendGrowth() {
  std::vector<GrowthRequest*> deferred;  // until Resumed is answered
  for (GrowthRequest* request : client_.growth_requests_) {
    Gpu* gpu = FindGpu(request->ordinal);
    if (gpu != nullptr && !gpu->admitted) {
      deferred.push_back(request);
      continue;
    }
    if (gpu == nullptr) {
      request->answer = wire::Growth::kRefused;
      request->answered = true;
      client_.answered_.NotifyAll();
      continue;
    }
    request->asked = RequestSize(*request, *gpu);
    // Report freed memory first, since the daemon decides by the last report. With an open gate
    // spare credit is kept: the request asks for what is needed beyond it. Behind a closed one it
    // does not, and credit of freed memory would count twice.
    const Bytes returned = gate_ == GateState::kOpen ? 0 : TakeExcess(gpu->ordinal);
    if (returned > 0 || client_.usage_changed_.load(std::memory_order_acquire)) {
      SendAccount(*gpu, returned);
    }
    connection_.Send(wire::GrowthRequested{.request = request->number,
                                           .gpu = gpu->index,
                                           .kind = request->kind,
                                           .bytes = request->asked});
    client_.growth_sent_.push_back(request);
  }
  client_.growth_requests_ = deferred;
}

void Agent::Handle(const wire::GrowthAnswer& answer) {
  if (Gpu* gpu = FindIndex(answer.gpu); gpu != nullptr && answer.credit > 0) {
    client_.ledger_.AddCredit(gpu->ordinal, answer.credit);
  }
  MutexLock lock(client_.requests_mutex_);
  std::vector<GrowthRequest*>& sent = client_.growth_sent_;
  const auto found = std::ranges::find(sent, answer.request, &GrowthRequest::number);
  if (found == sent.end()) return;
  GrowthRequest* request = *found;
  sent.erase(found);
  if (answer.answer == wire::Growth::kRefused && request->asked > request->bytes) {
    request->exact = true;
    client_.growth_requests_.push_back(request);
    return client_.Wake();
  }
  request->answer = answer.answer;
  request->credit = answer.credit;
  client_.ledger_.Promise(request->ordinal, answer.credit);
  if (request->answer == wire::Growth::kLater && request->kind == wire::GrowthKind::kSwappable) {
    client_.ledger_.Permit(request->ordinal, request->asked);
  }
  request->answered = true;
  client_.answered_.NotifyAll();
}

void Agent::Handle(const wire::ContextAdmitted& admitted) {
  for (Gpu& gpu : gpus_) {
    if (memcmp(gpu.uuid.bytes, admitted.uuid, sizeof(admitted.uuid)) != 0) continue;
    const bool first = std::ranges::none_of(gpus_, &Gpu::granted);
    if (first && gate_ == GateState::kOpen) {
      // From here on the daemon controls the gate. If the job owns the slice already, OpenGate may
      // have arrived first. No thread can be inside before the first context.
      if (!open_ordered_) {
        Gate::Close(1'000'000);
        gate_ = GateState::kClosed;
      }
      client_.ledger_.SetResidency(open_ordered_ ? swap::Residency::kIn : swap::Residency::kOut);
    }
    gpu.index = admitted.gpu;
    gpu.granule = std::max(RoundUp(admitted.granule, swap::kGranularity), swap::kGranularity);
    gpu.admitted = gpu.granted = true;
    MutexLock lock(client_.requests_mutex_);
    std::vector<ContextRequest*>& requests = client_.context_requests_;
    const auto request = std::ranges::find_if(requests, [&](const ContextRequest* one) {
      return one->ordinal == gpu.ordinal && one->sent;
    });
    if (request != requests.end()) {
      (*request)->budget = admitted.budget;
      (*request)->credit = admitted.credit;
      (*request)->answered = true;
      requests.erase(request);
      return client_.answered_.NotifyAll();
    }
    if (admitted.credit > 0) client_.ledger_.SetContextBytes(gpu.ordinal, admitted.credit);
    return;
  }
}

void Agent::Handle(const wire::ContextRefused& refused) {
  MutexLock lock(client_.requests_mutex_);
  std::vector<ContextRequest*>& requests = client_.context_requests_;
  const auto request = std::ranges::find_if(requests, [&](const ContextRequest* one) {
    return one->sent && memcmp(one->uuid.bytes, refused.uuid, sizeof(refused.uuid)) == 0;
  });
  if (request == requests.end()) return;
  PrintNotice("no GPU context: %s", refused.text);
  (*request)->refused = (*request)->answered = true;
  const int ordinal = (*request)->ordinal;
  requests.erase(request);
  std::erase_if(gpus_, [&](const Gpu& gpu) { return gpu.ordinal == ordinal && !gpu.granted; });
  client_.answered_.NotifyAll();
}

}  // namespace reveza::interpose
