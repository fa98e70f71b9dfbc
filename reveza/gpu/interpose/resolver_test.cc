// Tests the resolver linked into this program, on testing/mini_cuda.cc; preload_test.cc tests it as
// a preloaded library. Tests that need a process without a loaded driver run in a process of their
// own.
#include "reveza/gpu/interpose/resolver.h"

#include <cuda.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "reveza/gpu/interpose/entries.h"
#include "reveza/gpu/interpose/real_driver.h"

extern "C" unsigned long revezaTestSubmissions();
extern "C" const char* revezaTestLastUnknownCall();

namespace reveza::interpose {
namespace resolver_test {

void* OpenDriver() { return dlopen(REVEZA_TEST_MINI_CUDA, RTLD_NOW | RTLD_LOCAL); }

template <typename F>
void* Address(F* function) {
  return reinterpret_cast<void*>(function);
}

class ResolverTest : public testing::Test {
 protected:
  void SetUp() override {
    driver_ = OpenDriver();
    ASSERT_NE(driver_, nullptr) << dlerror();
  }
  void TearDown() override { dlclose(driver_); }

  void* Real(const char* name) { return RealDlsym()(driver_, name); }
  std::string LastCall() {
    return reinterpret_cast<const char* (*)()>(dlsym(driver_, "miniLastCall"))();
  }

  // A thunk that reaches the driver's `name` and passes no gate.
  void ExpectPassed(void* found, const char* name) {
    EXPECT_NE(found, Real(name));
    const unsigned long before = revezaTestSubmissions();
    reinterpret_cast<CUresult (*)(void*, void*)>(found)(nullptr, nullptr);
    EXPECT_EQ(LastCall(), name);
    EXPECT_EQ(revezaTestSubmissions(), before);
  }

  void* driver_ = nullptr;
};

// Calls cuGetProcAddress_v2, resolved with dlsym as programs do.
struct Asked {
  CUresult result;
  void* function;
  CUdriverProcAddressQueryResult status;
};

Asked Ask(void* driver, const char* symbol, int version, cuuint64_t flags = 0) {
  Asked asked{CUDA_ERROR_UNKNOWN, nullptr, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND};
  auto get =
      reinterpret_cast<decltype(&::cuGetProcAddress_v2)>(dlsym(driver, "cuGetProcAddress_v2"));
  asked.result = get(symbol, &asked.function, version, flags, &asked.status);
  return asked;
}

TEST_F(ResolverTest, DlsymReturnsWrappersForExactlyTheWrappedEntries) {
  EXPECT_EQ(dlsym(driver_, "cuMemAlloc_v2"), Address(&::cuMemAlloc_v2));
  EXPECT_EQ(dlsym(driver_, "cuLaunchKernel"), Address(&::cuLaunchKernel));
  EXPECT_EQ(dlsym(driver_, "cuLaunchKernel_ptsz"), Address(&::cuLaunchKernel_ptsz));
  EXPECT_EQ(dlsym(driver_, "cuGetProcAddress"), Address(&::cuGetProcAddress));
  EXPECT_EQ(dlsym(driver_, "cuMemAlloc"), Real("cuMemAlloc"));
  EXPECT_EQ(dlsym(driver_, "cuInit"), Real("cuInit"));
  EXPECT_NE(dlsym(driver_, "cuProfilerStart"), Real("cuProfilerStart")) << "a thunk";
  EXPECT_EQ(dlsym(driver_, "miniLastCall"), Real("miniLastCall"));
}

TEST_F(ResolverTest, CallsMissingInTheDriverAreNotFound) {
  dlerror();
  EXPECT_EQ(dlsym(driver_, "cuGraphLaunch"), nullptr);
  const char* error = dlerror();
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(error).find("cuGraphLaunch"), std::string::npos) << error;
  EXPECT_EQ(::cuGraphLaunch(nullptr, nullptr), CUDA_ERROR_NOT_FOUND);
  // Although RTLD_DEFAULT finds our wrapper.
  EXPECT_EQ(dlsym(RTLD_DEFAULT, "cuGraphLaunch"), nullptr);
  EXPECT_NE(dlerror(), nullptr);
}

TEST_F(ResolverTest, FoundSymbolLeavesNoDlerror) {
  EXPECT_EQ(dlsym(driver_, "cuGraphLaunch"), nullptr);
  EXPECT_NE(dlsym(driver_, "cuLaunchKernel"), nullptr);
  EXPECT_EQ(dlerror(), nullptr);
}

TEST_F(ResolverTest, CallReachesTheDriverThroughTheGate) {
  const unsigned long before = revezaTestSubmissions();
  ASSERT_EQ(::cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr),
            CUDA_SUCCESS);
  EXPECT_EQ(LastCall(), "cuLaunchKernel");
  EXPECT_EQ(revezaTestSubmissions(), before + 1);
  ASSERT_EQ(::cuMemcpy_ptds(0, 0, 0), CUDA_SUCCESS);
  EXPECT_EQ(LastCall(), "cuMemcpy_ptds");
  EXPECT_EQ(revezaTestSubmissions(), before + 2);
}

TEST_F(ResolverTest, GetProcAddressHonoursVersionAndFlags) {
  EXPECT_EQ(Ask(driver_, "cuMemAlloc", 12000).function, Address(&::cuMemAlloc_v2));
  EXPECT_EQ(Ask(driver_, "cuMemAlloc", 3000).function, Real("cuMemAlloc"));
  EXPECT_EQ(Ask(driver_, "cuMemcpy", 12000).function, Address(&::cuMemcpy));
  EXPECT_EQ(Ask(driver_, "cuMemcpy", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function,
            Address(&::cuMemcpy_ptds));
  EXPECT_EQ(
      Ask(driver_, "cuLaunchKernel", 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM).function,
      Address(&::cuLaunchKernel_ptsz));
  EXPECT_EQ(Ask(driver_, "cuCtxGetCurrent", 12000).function, Real("cuCtxGetCurrent"));
  EXPECT_EQ(Ask(driver_, "cuProfilerStart", 12000).function, dlsym(driver_, "cuProfilerStart"));
}

TEST_F(ResolverTest, WrappedNameIsPreferredForASharedAddress) {
  ASSERT_EQ(Real("cuMemcpyAtoH"), Real("cuMemcpyAtoH_v2"));
  EXPECT_EQ(dlsym(driver_, "cuMemcpyAtoH_v2"), Address(&::cuMemcpyAtoH_v2));
  EXPECT_EQ(Ask(driver_, "cuMemcpyAtoH", 12000).function, Address(&::cuMemcpyAtoH_v2));
}

TEST_F(ResolverTest, GetProcAddressPreservesStatusAndErrors) {
  EXPECT_EQ(Ask(driver_, "cuMemAlloc", 12000).status, CU_GET_PROC_ADDRESS_SUCCESS);
  const Asked early = Ask(driver_, "cuLaunchKernel", 1000);
  EXPECT_EQ(early.function, nullptr);
  EXPECT_EQ(early.status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
  EXPECT_EQ(Ask(driver_, "cuNever", 12000).status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  void* function = nullptr;
  EXPECT_EQ(::cuGetProcAddress("cuNever", &function, 12000, 0), CUDA_ERROR_NOT_FOUND);
  EXPECT_EQ(::cuGetProcAddress("cuMemAlloc", &function, 12000, 0), CUDA_SUCCESS);
  EXPECT_EQ(function, Address(&::cuMemAlloc_v2));
}

TEST_F(ResolverTest, GetProcAddressResolvesToItsWrapper) {
  EXPECT_EQ(Ask(driver_, "cuGetProcAddress", 12000).function, Address(&::cuGetProcAddress_v2));
  EXPECT_EQ(Ask(driver_, "cuGetProcAddress", 11030).function, Address(&::cuGetProcAddress));
}

using FutureCall = double (*)(int, double, long, double, void*, double, int, double, int, double,
                              int, double, int, double, int, double, double, long);

TEST_F(ResolverTest, UnknownCallPassesTheGateWithItsArguments) {
  void* found = dlsym(driver_, "cuFutureCall");
  ASSERT_NE(found, nullptr);
  EXPECT_NE(found, Real("cuFutureCall"));
  EXPECT_EQ(Ask(driver_, "cuFutureCall", 99000).function, found) << "one thunk per function";
  const unsigned long before = revezaTestSubmissions();
  const double through =
      reinterpret_cast<FutureCall>(found)(1, 2.5, 3, 4.25, reinterpret_cast<void*>(5), 6.5, 7, 8.75,
                                          9, 10.5, 11, 12.25, 13, 14.5, 15, 16.75, 17.5, 18);
  const double direct = reinterpret_cast<FutureCall>(Real("cuFutureCall"))(
      1, 2.5, 3, 4.25, reinterpret_cast<void*>(5), 6.5, 7, 8.75, 9, 10.5, 11, 12.25, 13, 14.5, 15,
      16.75, 17.5, 18);
  EXPECT_EQ(through, direct);
  EXPECT_EQ(revezaTestSubmissions(), before + 1);
  EXPECT_STREQ(revezaTestLastUnknownCall(), "cuFutureCall");
}

TEST_F(ResolverTest, NewerVersionOfAWrappedCallIsUnknown) {
  void* newer = Ask(driver_, "cuMemAlloc", 99000).function;
  EXPECT_NE(newer, Real("cuMemAlloc_v9"));
  EXPECT_NE(newer, Address(&::cuMemAlloc_v2));
  reinterpret_cast<CUresult (*)(CUdeviceptr*, size_t, int)>(newer)(nullptr, 0, 0);
  EXPECT_EQ(LastCall(), "cuMemAlloc_v9");
  EXPECT_STREQ(revezaTestLastUnknownCall(), "cuMemAlloc");
  // A newer version of a passed call is passed.
  ExpectPassed(Ask(driver_, "cuStreamQuery", 99000).function, "cuStreamQuery_v9");
}

TEST_F(ResolverTest, CallsOfNewerHeadersAreKnown) {
  EXPECT_EQ(dlsym(driver_, "cuStreamBeginRecaptureToGraph"),
            Address(&::cuStreamBeginRecaptureToGraph));
  EXPECT_EQ(dlsym(driver_, "cuGraphNodeGetLocalId"), Address(&::cuGraphNodeGetLocalId));
}

TEST_F(ResolverTest, UnknownQueryIsPassedUnlessItIsOfMemory) {
  ExpectPassed(dlsym(driver_, "cuStreamGetFuture"), "cuStreamGetFuture");
  EXPECT_NE(dlsym(driver_, "cuMemGetFuture"), Real("cuMemGetFuture"));
}

TEST_F(ResolverTest, WrapperIsReturnedUnchanged) {
  EXPECT_EQ(ReplaceSymbol("cuMemAlloc_v2", Address(&::cuMemAlloc_v2)), Address(&::cuMemAlloc_v2));
  EXPECT_EQ(ReplaceProcAddress(nullptr, nullptr, false), nullptr);
}

TEST_F(ResolverTest, FunctionOfAnotherLibraryIsReturnedUnchanged) {
  static int elsewhere;
  EXPECT_EQ(ReplaceSymbol("cuMemAlloc_v2", &elsewhere), &elsewhere);
  EXPECT_EQ(ReplaceSymbol("cuFutureCall", &elsewhere), &elsewhere);
}

// ---- each in a process of its own ----

class FreshProcess : public testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

// Exits with the number of the check if it fails.
#define CHECK_NUMBER(number, condition) \
  if (!(condition)) _exit(number)

TEST_F(FreshProcess, NoCudaWithoutADriver) {
  EXPECT_EXIT(
      {
        CHECK_NUMBER(1, dlsym(RTLD_DEFAULT, "cuMemAlloc_v2") == nullptr);
        CHECK_NUMBER(2, dlerror() != nullptr);
        CHECK_NUMBER(3, ::cuLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr) ==
                            CUDA_ERROR_NOT_FOUND);
        void* function = nullptr;
        CHECK_NUMBER(4, ::cuGetProcAddress("cuInit", &function, 12000, 0) == CUDA_ERROR_NOT_FOUND);
        CHECK_NUMBER(5, dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY) == nullptr);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, LateDriverIsFoundByTheFirstCall) {
  EXPECT_EXIT(
      {
        CHECK_NUMBER(1, ::cuMemcpy(0, 0, 0) == CUDA_ERROR_NOT_FOUND);
        void* driver = OpenDriver();
        CHECK_NUMBER(2, driver != nullptr);
        CHECK_NUMBER(3, ::cuMemcpy(0, 0, 0) == CUDA_SUCCESS);
        // The driver is loaded, though not in the scope of RTLD_DEFAULT; our wrapper is.
        CHECK_NUMBER(4, dlsym(RTLD_DEFAULT, "cuMemcpy") == Address(&::cuMemcpy));
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, ClosedDriverStaysLoaded) {
  EXPECT_EXIT(
      {
        void* driver = OpenDriver();
        void* first = dlsym(driver, "cuCtxGetCurrent");
        CHECK_NUMBER(1, first != nullptr);
        dlclose(driver);
        CHECK_NUMBER(2, ::cuMemcpy(0, 0, 0) == CUDA_SUCCESS);
        driver = OpenDriver();
        CHECK_NUMBER(3, dlsym(driver, "cuCtxGetCurrent") == first);
        CHECK_NUMBER(4, dlsym(driver, "cuMemcpy") == Address(&::cuMemcpy));
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(FreshProcess, DisabledReturnsDriverFunctions) {
  EXPECT_EXIT(
      {
        setenv("REVEZA_DISABLE", "1", 1);
        void* driver = OpenDriver();
        CHECK_NUMBER(1, dlsym(driver, "cuMemcpy") == RealDlsym()(driver, "cuMemcpy"));
        CHECK_NUMBER(2, Ask(driver, "cuMemcpy", 12000).function == RealDlsym()(driver, "cuMemcpy"));
        CHECK_NUMBER(3, dlsym(driver, "cuFutureCall") == RealDlsym()(driver, "cuFutureCall"));
        CHECK_NUMBER(4, ::cuMemcpy(0, 0, 0) == CUDA_SUCCESS);
        CHECK_NUMBER(5, revezaTestSubmissions() == 0);
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace resolver_test
}  // namespace reveza::interpose
