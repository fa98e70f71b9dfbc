// The tables of the classic model, each filled a batch at a time. Immutable and thread-safe.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "fraudgen/model/classic/draws.h"
#include "fraudgen/model/classic/world.h"
#include "fraudgen/schema/batch.h"

namespace reveza::fraudgen::classic {

class TableRows {
 public:
  virtual ~TableRows() = default;

  // Fills `batch`, a begun batch of the table, with `rows`; those of customers and drivers must be
  // consecutive.
  virtual void Fill(const BatchRows& rows, Batch& batch) const = 0;
  // The key of the FraudBitmap, if the table has frauds.
  virtual uint64_t fraud_key() const { return 0; }
  // If the table has timestamps: writes those of consecutive rows from `first` to `times`.
  virtual void DrawTimes(uint64_t /*first*/, std::span<int64_t> /*times*/) const {}
};

// The world must outlive them.
std::unique_ptr<TableRows> MakeCustomers(const World& world);
std::unique_ptr<TableRows> MakeTransactions(const World& world);
std::unique_ptr<TableRows> MakeDrivers(const World& world);
std::unique_ptr<TableRows> MakeRides(const World& world);

class Devices {
 public:
  explicit Devices(const World& world);

  // Fills `batch`, a begun batch of kDevices, with the devices of `owners`.
  void Fill(std::span<const Owner> owners, Batch& batch) const;

 private:
  // Fields of random numbers, indexed by the device's number. Their order is part of the output.
  enum class Draw : uint32_t { kKind, kModel, kSystem, kPrintUpper, kPrintLower, kUse, kEnd };

  lists::DeviceKind KindOf(const Owner& owner, uint64_t number) const;

  const World& world_;
  Fields<Draw> random_;
  WeightedChoice kinds_;
};

// Returns the metres between two places (coordinates in millionths of a degree) by an
// equirectangular approximation; within a city the error is below 0.1 %.
int64_t MetresBetween(int64_t latitude, int64_t longitude, int64_t other_latitude,
                      int64_t other_longitude);

}  // namespace reveza::fraudgen::classic
