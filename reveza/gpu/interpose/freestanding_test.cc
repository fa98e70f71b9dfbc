// Tests freestanding.cc, which replaces parts of the C++ runtime in this program.
#include <cxxabi.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <thread>
#include <vector>

namespace freestanding_test {

TEST(FreestandingDeathTest, ThrowingFunctionsDieWithOneLine) {
  std::vector<int> numbers(3);
  volatile std::size_t index = 5;
  EXPECT_DEATH(numbers[0] = numbers.at(index), "^reveza: [^\n]*vector[^\n]*\n$");
  volatile std::size_t size = SIZE_MAX / 2;
  EXPECT_DEATH(numbers.reserve(size), "^reveza: [^\n]*\n$");
  EXPECT_DEATH(abi::__cxa_pure_virtual(), "^reveza: pure virtual function called\n$");
}

TEST(FreestandingDeathTest, OutOfMemoryDiesWithOneLine) {
  volatile std::size_t size = SIZE_MAX / 4;
  EXPECT_DEATH(static_cast<void>(::operator new(size)), "^reveza: out of host memory\n$");
  EXPECT_DEATH(static_cast<void>(::operator new(size, std::align_val_t(4096))),
               "^reveza: out of host memory\n$");
}

TEST(Freestanding, AllocatesAndAligns) {
  // volatile: compilers warn about a literal zero.
  volatile std::size_t none = 0;
  EXPECT_NE(std::unique_ptr<char[]>(new char[none]), nullptr);
  struct alignas(4096) Page {
    char bytes[4096];
  };
  const auto page = std::make_unique<Page>();
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(page.get()) % 4096, 0u);
  volatile std::size_t size = SIZE_MAX / 4;
  EXPECT_EQ(::operator new(size, std::nothrow), nullptr);
}

TEST(Freestanding, StaticGuardAdmitsOneThread) {
  for (int round = 0; round < 100; ++round) {
    abi::__guard guard = 0;
    int value = 0;  // what the guard protects
    std::atomic<int> initialisers = 0, right = 0;
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (abi::__cxa_guard_acquire(&guard) != 0) {
          ++initialisers;
          value = 42;
          abi::__cxa_guard_release(&guard);
        }
        if (value == 42) ++right;
      });
    }
    threads.clear();
    EXPECT_EQ(initialisers, 1);
    EXPECT_EQ(right, 4);
  }
}

}  // namespace freestanding_test
