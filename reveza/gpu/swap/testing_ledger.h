// Fixture for tests of the ledger: one fake GPU with a budget of kLedgerBudget and an open gate.
#pragma once

#include <gtest/gtest.h>

#include "reveza/gpu/swap/ledger.h"
#include "reveza/gpu/swap/testing_driver.h"

namespace reveza::swap::testing {

inline constexpr Bytes kLedgerBudget = 512 * kMiB;

class LedgerTest : public ::testing::Test {
 protected:
  LedgerTest() {
    ledger_.AddDevice(0, gpu_.context(), kLedgerBudget, 0);
    ledger_.SetResidency(Residency::kIn);
  }

  CUdeviceptr MustAllocate(Bytes size) {
    CUdeviceptr address = 0;
    const Reply reply = ledger_.Allocate(0, gpu_.context(), size, &address);
    EXPECT_EQ(reply.outcome, Outcome::kDone) << reply.error;
    return address;
  }

  static CUmemAllocationProp Properties() {
    CUmemAllocationProp properties{};
    properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    return properties;
  }

  CUmemGenericAllocationHandle MustCreate(Bytes size) {
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_EQ(ledger_.CreateHandle(size, Properties(), &handle).outcome, Outcome::kDone);
    return handle;
  }

  CUdeviceptr Reserve(Bytes size) {
    CUdeviceptr address = 0;
    EXPECT_EQ(gpu_.driver().AddressReserve(&address, size, kGranularity, 0, 0), CUDA_SUCCESS);
    return address;
  }

  Reply Allow(CUdeviceptr address, Bytes size, CUmemAccess_flags flags) {
    CUmemAccessDesc access{};
    access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    access.flags = flags;
    return ledger_.SetAccess(address, size, &access, 1);
  }

  TestingDriver gpu_{kLedgerBudget};
  HostArena arena_{gpu_.driver(), 4 * kGiB};
  Ledger ledger_{gpu_.driver(), arena_};
};

}  // namespace reveza::swap::testing
