#include "reveza/gpu/swap/placement.h"

#include <time.h>

#include <algorithm>
#include <utility>

#include "reveza/gpu/swap/physical.h"

namespace reveza::swap {
namespace {

constexpr unsigned kColdAfter = 2;          // looks in a row without a change
constexpr std::uint32_t kMaxBackoff = 256;  // rounds

std::int64_t Microseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000;
}

bool IsCold(const Piece& piece) { return piece.use.unchanged >= kColdAfter; }
// Neither cold nor known to change.
bool IsUndecided(const Piece& piece) { return !piece.use.changed && !IsCold(piece); }

}  // namespace

template <typename Visit>
void Placement::ForEach(DeviceMemory& device, Visit visit) {
  for (const auto& block : device.blocks) {
    if (block->pinned || block->being_freed) continue;
    for (Piece& piece : block->pieces) {
      const bool here = piece.OnHost() || piece.credit;
      if (here && !piece.moving && !piece.on_host && DirectAddress(*block, piece) != 0) {
        visit(Place{block.get(), &piece});
      }
    }
  }
}

// ---- looking ----

void Placement::Look(DeviceMemory& device, RoundReport* report) {
  Places on_gpu, on_host;
  ForEach(device,
          [&](Place place) { (place.piece->OnHost() ? on_host : on_gpu).push_back(place); });
  std::int64_t began = 0;
  for (auto [places, limit] : {std::pair{&on_gpu, kMaxLookOnGpu}, {&on_host, kMaxLookOnHost}}) {
    std::ranges::sort(*places, {}, [](const Place& p) { return p.piece->use.looked; });
    Bytes bytes = 0;
    std::size_t count = 0;
    while (count < places->size() && bytes < limit) bytes += (*places)[count++].piece->size;
    places->resize(count);
    began = Microseconds();
    LookAt(device, *places);
    report->read_on_host = bytes;  // of the host, which is last
  }
  report->reading_us = Microseconds() - began;
}

void Placement::LookAt(DeviceMemory& device, const Places& places) {
  for (std::size_t begin = 0; begin < places.size(); begin += Fingerprinter::kMaxPieces) {
    const std::size_t count = std::min(places.size() - begin, Fingerprinter::kMaxPieces);
    Fingerprinter::Range ranges[Fingerprinter::kMaxPieces];
    Fingerprint seen[Fingerprinter::kMaxPieces];
    for (std::size_t i = 0; i < count; ++i) {
      const auto& [block, piece] = places[begin + i];
      ranges[i] = {DirectAddress(*block, *piece), piece->size};
    }
    if (!fingerprinter_.Compute(device.fingerprint_kernel, ranges, count, seen)) return;
    for (std::size_t i = 0; i < count; ++i) {
      Use& use = places[begin + i].piece->use;
      use.changed = use.seen && *use.seen != seen[i];
      use.unchanged = use.seen && !use.changed ? use.unchanged + 1 : 0;
      use.seen = seen[i];
      use.looked = round_;
    }
  }
}

// ---- moving ----

CUresult Placement::CopyTo(DeviceMemory& device, CUmemGenericAllocationHandle to, const Place& from,
                           CUdeviceptr address) {
  const auto& [block, piece] = from;
  CUresult result = ledger_.EnsureStream(device);
  if (result == CUDA_SUCCESS && device.staging == 0) {
    result = driver_.AddressReserve(&device.staging, kPieceSize, kGranularity, 0, 0);
  }
  if (result != CUDA_SUCCESS) return result;
  result = driver_.Map(device.staging, piece->size, 0, to, 0);
  if (result != CUDA_SUCCESS) return result;
  const CUmemAccessDesc own = OwnAccess(*block);
  result = driver_.SetAccess(device.staging, piece->size, &own, 1);
  if (result == CUDA_SUCCESS) {
    result = driver_.CopyOnDevice(device.staging, address, piece->size, device.stream);
    const CUresult done = driver_.StreamSynchronize(device.stream);
    if (result == CUDA_SUCCESS) result = done;
  }
  CUresult unmapped = driver_.Unmap(device.staging, piece->size);
  if (unmapped != CUDA_SUCCESS) unmapped = driver_.Unmap(device.staging, piece->size);
  return result == CUDA_SUCCESS ? unmapped : result;
}

bool Placement::MayMove(const DeviceMemory& device, const Piece& piece) const {
  if (!piece.OnHost()) return true;
  if (device.Count().Need() + piece.size > device.budget) return false;
  return ledger_.residency_ == Residency::kUnmanaged || device.spare >= piece.size;
}

bool Placement::Move(DeviceMemory& device, Place place, RoundReport* report) {
  auto& [block, piece] = place;
  const CUdeviceptr address = DirectAddress(*block, *piece);
  if (address == 0 || !MayMove(device, *piece)) return false;
  const bool to_host = !piece->OnHost();
  int node = to_host ? device.host_node : -1;
  CUmemGenericAllocationHandle other = 0;
  const auto create = [&] { return Create(driver_, *block, node, piece->size, &other); };
  const CUresult made = to_host ? ledger_.arena_.TakeBeside(piece->size, create) : create();
  if (made != CUDA_SUCCESS) return false;
  bool moved = CopyTo(device, other, place, address) == CUDA_SUCCESS;
  if (moved && UnmapEverywhere(driver_, *block, *piece) == CUDA_SUCCESS) {
    std::swap(piece->handle, other);
    std::swap(piece->host_node, node);
    moved = Materialise(driver_, *block, *piece) == CUDA_SUCCESS;
    if (!moved) {
      std::swap(piece->handle, other);
      std::swap(piece->host_node, node);
      report->unmapped = Materialise(driver_, *block, *piece) != CUDA_SUCCESS || report->unmapped;
    }
  } else {
    moved = false;
  }
  const bool released =
      driver_.Release(other) == CUDA_SUCCESS || driver_.Release(other) == CUDA_SUCCESS;
  if (!moved) return false;
  (to_host ? report->demoted : report->promoted) += piece->size;
  piece->credit = !to_host;
  if (to_host) {
    // What it was when it was swapped out is not needed any more.
    piece->slot.Reset();
    piece->of_slot.reset();
  }
  if (ledger_.residency_ == Residency::kUnmanaged) return true;
  if (!to_host) device.spare -= piece->size;
  // What could not be released still takes its memory.
  if (to_host && released) device.spare += piece->size;
  return true;
}

// ---- deciding ----

bool Placement::MadeWorse(std::optional<double> progress) {
  const Trial trial = std::exchange(trial_, {});
  const std::optional<double> before = std::exchange(before_, progress);
  if (trial.number == 0 || !before || !progress) return false;
  if (*progress < *before * (1 - kTolerance)) {
    trial_ = trial;
    before_ = before;
    return true;
  }
  if (!trial.blind) return false;
  const bool better = *progress > *before * (1 + kTolerance);
  blind_wait_ = better ? 1 : std::min(2 * blind_wait_, kMaxBackoff);
  next_blind_ = round_ + blind_wait_;
  return false;
}

void Placement::Undo(DeviceMemory& device, RoundReport* report) {
  Places back;
  ForEach(device, [&](Place place) {
    if (place.piece->use.exchange == trial_.number) back.push_back(place);
  });
  const Bytes before = report->promoted + report->demoted;
  // First those that make room.
  for (const bool on_host : {false, true}) {
    for (const Place& place : back) {
      Use& use = place.piece->use;
      if (place.piece->OnHost() != on_host || use.keep_until > round_) continue;
      if (!Move(device, place, report)) continue;
      use.keep_until = round_ + use.backoff;
      use.backoff = std::min(2 * use.backoff, kMaxBackoff);
    }
  }
  report->undone = report->promoted + report->demoted - before;
  if (trial_.blind) {
    blind_wait_ = std::min(2 * blind_wait_, kMaxBackoff);
    next_blind_ = round_ + blind_wait_;
  }
  trial_ = {};
}

// Memory that was freed, or granted, takes what is on the host; what has changed first.
void Placement::FillSpare(DeviceMemory& device, RoundReport* report) {
  Places on_host;
  ForEach(device, [&](Place place) {
    if (place.piece->OnHost()) on_host.push_back(place);
  });
  std::ranges::sort(on_host, {}, [](const Place& p) { return !p.piece->use.changed; });
  for (const Place& place : on_host) {
    if (report->promoted >= max_exchange_) return;
    if (MayMove(device, *place.piece)) Move(device, place, report);
  }
}

void Placement::Exchange(DeviceMemory& device, RoundReport* report) {
  Places hot, unchanged, cold;
  bool undecided = false;
  ForEach(device, [&](Place place) {
    const Use& use = place.piece->use;
    const bool free = use.keep_until <= round_;
    if (!place.piece->OnHost()) {
      undecided = undecided || IsUndecided(*place.piece);
      if (free && IsCold(*place.piece)) cold.push_back(place);
      return;
    }
    if (free && use.changed) hot.push_back(place);
    if (free && IsCold(*place.piece)) unchanged.push_back(place);
  });
  report->full = cold.empty() && !undecided;
  const bool blind = hot.empty() && round_ >= next_blind_;
  const Places& in = blind ? unchanged : hot;
  if (in.empty() || cold.empty()) return;
  // Those that have stayed the longest, in turn.
  std::ranges::sort(cold, {}, [](const Place& p) { return p.piece->use.exchange; });
  trial_ = {++exchanges_, blind};
  const Bytes before = report->promoted + report->demoted;
  Bytes bytes = 0;
  for (std::size_t i = 0, c = 0; i < in.size() && bytes < max_exchange_; ++i) {
    bool room = MayMove(device, *in[i].piece);
    for (; !room && c < cold.size(); ++c) {
      if (!Move(device, cold[c], report)) continue;
      cold[c].piece->use.exchange = trial_.number;
      room = MayMove(device, *in[i].piece);
    }
    if (!room || !Move(device, in[i], report)) break;
    in[i].piece->use.exchange = trial_.number;
    bytes += in[i].piece->size;
  }
  if (report->promoted + report->demoted > before) return;
  trial_ = {};
  if (blind) next_blind_ = round_ + blind_wait_;
}

RoundReport Placement::Round(int ordinal, std::optional<double> progress) {
  RoundReport report;
  MutexLock lock(ledger_.mutex_);
  DeviceMemory* device = ledger_.Device(ordinal);
  if (device == nullptr || device->context == nullptr || device->host_node < 0) return report;
  CurrentContext current(driver_, device->context);
  ++round_;
  if (MadeWorse(progress)) {
    Undo(*device, &report);
    return report;
  }
  Look(*device, &report);
  FillSpare(*device, &report);
  Exchange(*device, &report);
  ForEach(*device, [&](Place place) {
    if (place.piece->OnHost() && place.piece->use.changed) report.hot += place.piece->size;
  });
  report.full = report.full && report.hot > 0;
  return report;
}

}  // namespace reveza::swap
