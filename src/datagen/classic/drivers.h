// The rows of the classic table of drivers. Immutable, so safe from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "datagen/batch.h"
#include "datagen/classic/people.h"
#include "datagen/classic/world.h"
#include "datagen/cpf.h"
#include "datagen/lists/places.h"
#include "datagen/permutation.h"

namespace reveza::datagen::classic {

// The columns of kDrivers, in their order.
enum class DriverColumn : std::size_t {
  kDriverId,
  kName,
  kPhone,
  kEmail,
  kCpf,
  kCnhNumber,
  kCnhCategory,
  kCnhExpiration,
  kVehiclePlate,
  kVehicleBrand,
  kVehicleModel,
  kVehicleYear,
  kVehicleColor,
  kRating,
  kTripsCompleted,
  kRegistrationDate,
  kActiveApps,
  kOperatingState,
  kOperatingCity,
  kCategoriesEnabled,
  kIsActive,
};

// Which drivers work where. The drivers stand in an order in which those of a state are neighbours,
// so that one of them can be drawn without asking others.
class Fleet {
 public:
  Fleet(uint64_t key, uint64_t drivers);

  // The index into lists::kStates.
  uint32_t StateOf(uint64_t driver) const;
  // One of the drivers of the state; of all where it has none.
  uint64_t DriverIn(uint32_t state, uint64_t bits) const;

 private:
  Permutation order_;
  std::array<uint64_t, lists::kStates.size() + 1> first_{};  // place of each state's first driver
};

class Drivers {
 public:
  // The world must outlive it.
  explicit Drivers(const World& world);

  const Fleet& fleet() const { return fleet_; }

  // The drivers from `first` on, as many as the batch, which is of kDrivers and has begun, has.
  void Fill(uint64_t first, Batch& batch) const;

 private:
  // Each a field of random numbers.
  enum class Draw : uint32_t {
    kFleet,  // of the table, not of a row
    kName,
    kPhone,
    kPhoneDigits,
    kEmail,
    kRegion,
    kLicence,
    kLicenceUse,
    kPlate,
    kVehicle,
    kRating,
    kTrips,
    kRegistration,
    kApps,
    kActive,
  };
  static constexpr std::size_t kDraws = static_cast<std::size_t>(Draw::kActive) + 1;

  const FieldRandom& Random(Draw draw) const { return draws_[static_cast<std::size_t>(draw)]; }
  void FillPerson(uint64_t first, Batch& batch) const;
  void FillVehicle(uint64_t first, Batch& batch) const;
  void FillWork(uint64_t first, Batch& batch) const;

  const World& world_;
  People people_;
  CpfSequence cpfs_;
  Fleet fleet_;
  std::vector<FieldRandom> draws_;
  WeightedChoice licences_;
  WeightedChoice trips_;
  WeightedChoice app_counts_;
};

}  // namespace reveza::datagen::classic
