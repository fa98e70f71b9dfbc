// The agent: rounds of the placement of a program larger than the card, each behind a gate that is
// closed for it, while the queue is drained.
#include <algorithm>
#include <optional>

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/agent.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/gate_wait.h"
#include "reveza/gpu/interpose/rdma.h"

namespace reveza::interpose {
namespace {

// Between two rounds, at least, while they move something; doubled by each that does not.
constexpr std::int64_t kMinIntervalUs = 100'000;
constexpr std::int64_t kMaxIntervalUs = 3'200'000;
// Rounds take at most a fifth of the time, and a fiftieth once so many in a row have moved nothing.
constexpr std::int64_t kCostFactor = 4;
constexpr std::int64_t kQuietCostFactor = 49;
constexpr int kRoundsUntilQuiet = 10;
// For threads that are in a call, and for the queue, which is bounded.
constexpr std::int64_t kDrainLimitUs = 200'000;
// Fewer say nothing about the progress.
constexpr std::uint64_t kMinSubmissions = 8;
// Between two requests for room on the card, as long as they bring nothing.
constexpr std::int64_t kMinAskIntervalUs = 1'000'000;
constexpr std::int64_t kMaxAskIntervalUs = 60'000'000;
// So many rounds in a row before the program is told that it does not fit.
constexpr int kRoundsUntilNotice = 3;

Bytes RoundDownToGranularity(Bytes bytes) {
  return bytes / swap::kGranularity * swap::kGranularity;
}

double InGib(Bytes bytes) { return static_cast<double>(bytes) / static_cast<double>(kGiB); }

}  // namespace

void Agent::BeginPeriod() {
  period_began_us_ = NowMicroseconds();
  period_submissions_ = Gate::Submissions();
}

// Returns whether a round is due, and the work of the program can be stopped for it.
bool Agent::RoundIsDue() {
  if (!client_.larger_than_card() || gate_ != GateState::kOpen) return false;
  Bytes on_host = 0;
  for (const Gpu& gpu : gpus_) on_host += client_.ledger_.GetUsage(gpu.ordinal).on_host;
  if ((on_host > 0) != places_) {
    places_ = on_host > 0;
    Gate::SetBounded(Bounded());
    BeginPeriod();
    quiet_rounds_ = 0;
  }
  const std::int64_t now = NowMicroseconds();
  if (!places_ || now < next_round_us_ || now - period_began_us_ < kMinIntervalUs) return false;
  next_round_us_ = now + kMinIntervalUs;
  // Nothing to gain for a program that does nothing.
  if (Gate::Submissions() == period_submissions_) {
    BeginPeriod();
    return false;
  }
  // As before an eviction: what moves must not be registered with another device.
  if (!client_.swapping_disabled() && MayBeRegisteredForRdma("")) {
    client_.DisableSwapping("GPUDirect RDMA through nvidia-peermem");
  }
  return !client_.swapping_disabled() && !CaptureInProgress() &&
         !client_.host_waits_.Pending(HostWaits::Kind::kValue);
}

void Agent::ContinuePlacement() {
  if (!RoundIsDue()) return;
  const bool drained = Gate::Close(kDrainLimitUs) && !CaptureInProgress() && Drain(kDrainLimitUs);
  const std::int64_t drained_at = NowMicroseconds();
  bool moved = false;
  bool unmapped = false;
  if (drained) {
    const std::uint64_t submissions = Gate::Submissions() - period_submissions_;
    std::optional<double> progress;
    if (submissions >= kMinSubmissions) {
      progress =
          static_cast<double>(submissions) / static_cast<double>(drained_at - period_began_us_);
    }
    for (Gpu& gpu : gpus_) {
      const swap::RoundReport report = client_.placement_.Round(gpu.ordinal, progress);
      moved = moved || report.promoted + report.demoted > 0;
      unmapped = unmapped || report.unmapped;
      ReportRound(gpu, report);
      if (report.promoted > 0) ask_interval_us_ = 0;
      AskForRoom(gpu);
    }
  }
  quiet_rounds_ = moved ? 0 : quiet_rounds_ + 1;
  const bool quiet = quiet_rounds_ >= kRoundsUntilQuiet;
  round_interval_us_ =
      quiet ? std::clamp(2 * round_interval_us_, kMinIntervalUs, kMaxIntervalUs) : kMinIntervalUs;
  const std::int64_t now = NowMicroseconds();
  next_round_us_ = now + std::max(round_interval_us_,
                                  (quiet ? kQuietCostFactor : kCostFactor) * (now - drained_at));
  BeginPeriod();
  if (unmapped) {
    gate_ = GateState::kOpening;
    return;
  }
  Gate::Open(Bounded());
  // Threads that arrived meanwhile are not waiting for a time slice.
  client_.at_gate_.store(false, std::memory_order_release);
}

// Asks the daemon for what the budget leaves to the program, because it has freed memory or was
// refused it before. The answer is spare credit, which the next round fills.
void Agent::AskForRoom(const Gpu& gpu) {
  const std::int64_t now = NowMicroseconds();
  const swap::MemoryUsage usage = client_.ledger_.GetUsage(gpu.ordinal);
  const Bytes need = usage.Need() + usage.spare;
  const Bytes budget = client_.ledger_.Budget(gpu.ordinal);
  const Bytes room = budget > need ? RoundDownToGranularity(budget - need) : 0;
  const Bytes bytes = std::min({usage.on_host, room, swap::Placement::kMaxExchange});
  if (!gpu.admitted || bytes == 0 || now < next_ask_us_) return;
  ask_interval_us_ = std::clamp(2 * ask_interval_us_, kMinAskIntervalUs, kMaxAskIntervalUs);
  next_ask_us_ = now + ask_interval_us_;
  MutexLock lock(client_.requests_mutex_);
  // No thread waits for the answer.
  connection_.Send(wire::GrowthRequested{.request = client_.next_request_++,
                                         .gpu = gpu.index,
                                         .kind = wire::GrowthKind::kSwappable,
                                         .bytes = bytes});
}

// Tells the daemon, and, once, the program.
void Agent::ReportRound(Gpu& gpu, const swap::RoundReport& report) {
  const swap::MemoryUsage usage = client_.ledger_.GetUsage(gpu.ordinal);
  if (report.read_on_host > 0 && report.reading_us > 0) {
    link_bytes_per_us_ =
        static_cast<double>(report.read_on_host) / static_cast<double>(report.reading_us);
  }
  const double pass_us =
      link_bytes_per_us_ > 0 ? static_cast<double>(report.hot) / link_bytes_per_us_ : 0;
  gpu.on_host = {.gpu = gpu.index,
                 .full = report.full ? 1u : 0u,
                 .bytes = usage.on_host,
                 .hot = std::min(report.hot, usage.on_host),
                 .promoted = report.promoted,
                 .demoted = report.demoted,
                 .pass_us = static_cast<std::uint64_t>(pass_us)};
  if (gpu.admitted) connection_.Send(gpu.on_host);
  full_rounds_ = report.full ? full_rounds_ + 1 : 0;
  if (full_rounds_ != kRoundsUntilNotice || warned_full_) return;
  warned_full_ = true;
  PrintNotice(
      "what this program changes all the time does not fit on the card: %.2f GiB of it are among "
      "the"
      " %.2f GiB in memory of the host, and each pass over them takes about %.0f ms over the link",
      InGib(report.hot), InGib(usage.on_host), pass_us / 1000);
}

void Agent::ReportOnHost(Gpu& gpu, Bytes bytes) {
  if (bytes == gpu.on_host.bytes) return;
  gpu.on_host.gpu = gpu.index;
  gpu.on_host.bytes = bytes;
  gpu.on_host.hot = std::min(gpu.on_host.hot, bytes);
  gpu.on_host.promoted = gpu.on_host.demoted = 0;
  connection_.Send(gpu.on_host);
}

}  // namespace reveza::interpose
