// How much memory a block takes while its payments are made: the most bytes that are taken at a
// time, as operator new is asked for them. One thread.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <span>

#include "datagen/coherent/coherent_model.h"
#include "datagen/schema_coherent.h"

namespace {

struct Taken {
  std::size_t now = 0;
  std::size_t most = 0;
};
Taken& AllTaken() {
  static Taken taken;
  return taken;
}

// In front of each piece, its size.
constexpr std::size_t kBefore = alignof(std::max_align_t);

void* Take(std::size_t size) {
  auto* const piece = static_cast<char*>(std::malloc(size + kBefore));
  if (piece == nullptr) std::abort();
  *reinterpret_cast<std::size_t*>(piece) = size;
  Taken& taken = AllTaken();
  taken.now += size;
  taken.most = std::max(taken.most, taken.now);
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
// The analyzer takes what is to be freed for freed.
// NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
void operator delete(void* bytes, std::size_t /*size*/) noexcept { GiveBack(bytes); }

namespace reveza::datagen::coherent {
namespace {

constexpr uint64_t kRowsOfCustomer = 805;  // in the year, about as many as usual

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
  AllTaken().most = before;
  EXPECT_TRUE((*model)->Make(0, std::span(&wanted, 1), sink));
  EXPECT_EQ(sink.rows, parameters.rows);
  return AllTaken().most - before;
}

// A stream has all customers in memory, so this is what it costs to have more of them: their
// states, the events of a month and the frauds of all the year.
TEST(CoherentMemory, ACustomerTakesLittle) {
  const std::size_t few = MostBytes(100);
  const std::size_t more = MostBytes(300);
  RecordProperty("bytes_of_customer", static_cast<int>((more - few) / 200));
  ASSERT_GT(more, few);
  EXPECT_LT((more - few) / 200, 3'250u);
}

}  // namespace
}  // namespace reveza::datagen::coherent
