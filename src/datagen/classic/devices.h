// The rows of the classic table of devices. Immutable, so safe from any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "datagen/batch.h"
#include "datagen/classic/world.h"

namespace reveza::datagen::classic {

// The columns of kDevices, in their order.
enum class DeviceColumn : std::size_t {
  kDeviceId,
  kCustomerId,
  kType,
  kManufacturer,
  kModel,
  kOperatingSystem,
  kFingerprint,
  kFirstUse,
  kIsTrusted,
  kIsRooted,
};

class Devices {
 public:
  // The world must outlive it.
  explicit Devices(const World& world);

  // The devices of these owners, as many as the batch, which is of kDevices and has begun, has.
  void Fill(std::span<const Owner> owners, Batch& batch) const;

 private:
  // Each a field of random numbers; the row is the device's number.
  enum class Draw : uint32_t { kKind, kModel, kSystem, kPrintUpper, kPrintLower, kUse };
  static constexpr std::size_t kDraws = static_cast<std::size_t>(Draw::kUse) + 1;

  const FieldRandom& Random(Draw draw) const { return draws_[static_cast<std::size_t>(draw)]; }
  lists::DeviceKind KindOf(const Owner& owner, uint64_t number) const;

  const World& world_;
  std::vector<FieldRandom> draws_;
  WeightedChoice kinds_;
};

}  // namespace reveza::datagen::classic
