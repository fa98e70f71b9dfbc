// Runs against testing/mini_cuda.cc, or the driver named by REVEZA_TEST_LIBCUDA (the real one, on a
// machine with a GPU).
#include "reveza/gpu/interpose/real_driver.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "reveza/gpu/interpose/entries.h"

namespace reveza::interpose {
namespace real_driver_test {

void* OpenDriver() {
  const char* library = getenv("REVEZA_TEST_LIBCUDA");
  return dlopen(library != nullptr ? library : REVEZA_TEST_MINI_CUDA, RTLD_NOW | RTLD_LOCAL);
}

class RealDriverTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    driver_ = OpenDriver();
    ASSERT_NE(driver_, nullptr) << dlerror();
  }
  void TearDown() override { dlclose(driver_); }
  void* driver_ = nullptr;
};

TEST_F(RealDriverTest, ContainsTheDriversExports) {
  ASSERT_TRUE(DriverIsLoaded());
  int present = 0;
  for (const Entry& entry : Entries()) {
    void* expected = RealDlsym()(driver_, entry.symbol);
    EXPECT_EQ(AddressOf(entry), expected) << entry.symbol;
    present += expected != nullptr;
  }
  EXPECT_GT(present, 10);
  EXPECT_EQ(reinterpret_cast<void*>(Real().cuLaunchKernel), RealDlsym()(driver_, "cuLaunchKernel"));
}

TEST_F(RealDriverTest, IsInDriverChecksTheMapping) {
  EXPECT_TRUE(IsInDriver(RealDlsym()(driver_, "cuInit")));
  EXPECT_FALSE(IsInDriver(reinterpret_cast<void*>(&::cuMemcpy)));
  EXPECT_FALSE(IsInDriver(reinterpret_cast<void*>(&getenv)));
  EXPECT_FALSE(IsInDriver(nullptr));
}

// The resolver compares addresses, which requires that cuGetProcAddress returns only addresses of
// the driver's exported entries.
TEST_F(RealDriverTest, EntriesAreTheDriversOwn) {
  ASSERT_TRUE(DriverIsLoaded());
  int answers = 0;
  for (const Entry& entry : Entries()) {
    const std::string base(entry.Base());
    for (int version : {11000, 12000, 12050, 13000, 13050}) {
      for (cuuint64_t flags : {cuuint64_t{CU_GET_PROC_ADDRESS_DEFAULT},
                               cuuint64_t{CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM}}) {
        void* answer = nullptr;
        CUdriverProcAddressQueryResult status;
        if (Real().cuGetProcAddress_v2(base.c_str(), &answer, version, flags, &status) !=
                CUDA_SUCCESS ||
            answer == nullptr) {
          continue;
        }
        ++answers;
        const Entry* found = FindEntryAt(answer, base, flags != CU_GET_PROC_ADDRESS_DEFAULT);
        ASSERT_NE(found, nullptr) << base << " " << version << " " << flags;
        EXPECT_EQ(found->Base(), base) << version << " " << flags;
      }
    }
  }
  EXPECT_GT(answers, 50);
}

TEST_F(RealDriverTest, IsFoundConcurrently) {
  EXPECT_EXIT(
      {
        std::atomic<int> ready = 0;
        std::atomic<int> wrong = 0;
        {
          std::vector<std::jthread> threads(8);
          for (std::jthread& thread : threads) {
            thread = std::jthread([&] {
              ++ready;
              while (ready < 8) std::this_thread::yield();
              if (Real().cuInit == nullptr || Real().cuLaunchKernel == nullptr) ++wrong;
            });
          }
        }
        _exit(wrong);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(RealDriverTest, IsFoundInAForkedChild) {
  EXPECT_EXIT(
      {
        const pid_t child = fork();
        if (child == 0) _exit(Real().cuInit != nullptr ? 0 : 1);
        int status = -1;
        waitpid(child, &status, 0);
        _exit(status == 0 && Real().cuInit != nullptr ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(RealDriverTest, IsDisabledByOneOnly) {
  for (const char* value : {"0", "", "10", "yes"}) {
    EXPECT_EXIT((setenv("REVEZA_DISABLE", value, 1), Real(), _exit(IsDisabled() ? 1 : 0)),
                testing::ExitedWithCode(0), "")
        << value;
  }
  EXPECT_EXIT((setenv("REVEZA_DISABLE", "1", 1), Real(), _exit(IsDisabled() ? 0 : 1)),
              testing::ExitedWithCode(0), "");
}

TEST(RealDlsym, IsNotOurs) {
  Dl_info info;
  ASSERT_NE(dladdr(reinterpret_cast<void*>(RealDlsym()), &info), 0);
  EXPECT_NE(std::string(info.dli_fname).find("libc.so"), std::string::npos) << info.dli_fname;
}

}  // namespace real_driver_test
}  // namespace reveza::interpose
