// Peak memory of generating a block: counts the bytes requested from operator new. Single-threaded.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>

#include "fraudgen/model/coherent/coherent_model.h"
#include "fraudgen/schema/schema_coherent.h"

namespace {

struct Taken {
  std::size_t now = 0;
  std::size_t max = 0;
};
Taken& AllTaken() {
  static Taken taken;
  return taken;
}

// Each allocation is preceded by its size.
constexpr std::size_t kBefore = alignof(std::max_align_t);

void* Take(std::size_t size) {
  auto* const piece = static_cast<char*>(std::malloc(size + kBefore));
  if (piece == nullptr) std::abort();
  *reinterpret_cast<std::size_t*>(piece) = size;
  Taken& taken = AllTaken();
  taken.now += size;
  taken.max = std::max(taken.max, taken.now);
  return piece + kBefore;
}

void GiveBack(void* bytes) {
  if (bytes == nullptr) return;
  char* const piece = static_cast<char*>(bytes) - kBefore;
  AllTaken().now -= *reinterpret_cast<std::size_t*>(piece);
  std::free(piece);
}

}  // namespace

void* operator new(std::size_t size) { return Take(size); }
void operator delete(void* bytes) noexcept { GiveBack(bytes); }
// The analyzer assumes that the memory was freed already.
// NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
void operator delete(void* bytes, std::size_t /*size*/) noexcept { GiveBack(bytes); }

namespace reveza::fraudgen::coherent {
namespace {

constexpr uint64_t kRowsOfCustomer = 805;  // per year, approximately the default

std::size_t MostBytes(uint64_t customers) {
  Parameters parameters;
  parameters.customers = customers;
  parameters.rows = parameters.rows_per_block = customers * kRowsOfCustomer;
  const auto model = CoherentModel::Make(parameters);
  if (!model || (*model)->blocks() != 1) return 0;
  class Counting : public BatchSink {
   public:
    Status Put(const Batch& batch) override {
      rows += batch.rows();
      return {};
    }
    uint64_t rows = 0;
  };
  Counting sink;
  const Table* const wanted = &kTransactions;
  const std::size_t before = AllTaken().now;
  AllTaken().max = before;
  EXPECT_TRUE((*model)->Make(0, std::span(&wanted, 1), sink));
  EXPECT_EQ(sink.rows, parameters.rows);
  return AllTaken().max - before;
}

// A stream keeps all customers in memory: their states, the events of a month and the frauds of the
// year.
TEST(CoherentMemory, MemoryPerCustomerIsBounded) {
  const std::size_t few = MostBytes(100);
  const std::size_t more = MostBytes(300);
  RecordProperty("bytes_of_customer", static_cast<int>((more - few) / 200));
  ASSERT_GT(more, few);
  EXPECT_LT((more - few) / 200, 3'350u);
}

}  // namespace
}  // namespace reveza::fraudgen::coherent
