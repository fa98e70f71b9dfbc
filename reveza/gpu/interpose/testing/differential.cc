#include "reveza/gpu/interpose/testing/differential.h"

#include <dlfcn.h>

#include <cstdlib>
#include <optional>

#include "common/platform/testing_directory.h"
#include "reveza/gpu/interpose/entries.h"
#include "reveza/gpu/interpose/gate.h"
#include "reveza/gpu/interpose/real_driver.h"

namespace reveza::interpose::testing {
namespace {

// Fake GPUs and a daemon for all tests of the process.
class SharedEnvironment : public ::testing::Environment {
 public:
  void SetUp() override {
    directory.emplace();
    setenv("FAKECUDA_DIR", (*directory / "cards").c_str(), 0);
    // Never destroyed: the client uses it until the process exits.
    daemon = new ScriptedDaemon(*directory / "daemon.sock", kBudget);
  }
  void TearDown() override { directory.reset(); }

  std::optional<platform::TestingDirectory> directory;
  ScriptedDaemon* daemon = nullptr;
};

void ExpectSame(const Pass& pass, const Pass& direct, const char* mode) {
  ASSERT_EQ(pass.lines().size(), direct.lines().size()) << mode;
  for (std::size_t i = 0; i < direct.lines().size(); ++i) {
    EXPECT_EQ(mode + pass.lines()[i], mode + direct.lines()[i]);
  }
}

SharedEnvironment* const environment =
    static_cast<SharedEnvironment*>(::testing::AddGlobalTestEnvironment(new SharedEnvironment));

}  // namespace

CUresult Pass::Note(const char* what, CUresult result) {
  lines_.push_back(std::string(what) + " returns " + std::to_string(static_cast<int>(result)));
  return result;
}

void Pass::Note(const char* what, std::uint64_t value) {
  lines_.push_back(std::string(what) + " is " + std::to_string(value));
}

void Pass::NoteAddress(const char* what, CUdeviceptr address) {
  std::string text = address == 0 ? "0" : "unknown address";
  for (std::size_t i = 0; i < known_.size(); ++i) {
    if (address - known_[i].base < known_[i].size) {
      text = "#" + std::to_string(i) + " + " + std::to_string(address - known_[i].base);
    }
  }
  lines_.push_back(std::string(what) + " is " + text);
}

void Pass::SwapOut() {
  if (mode_ != Mode::kLibrarySwappedOut) return;
  daemon_.SetAutoOpen(false);
  EXPECT_FALSE(daemon_.CloseGate());
  EXPECT_EQ(daemon_.Evict().failure, wire::EvictFailure::kNone);
  EXPECT_EQ(Client::Get()->ledger().GetUsage(0).resident, 0u);
  daemon_.SetAutoOpen(true);
}

void Pass::AwaitSwapIn() {
  if (mode_ == Mode::kLibrarySwappedOut) const GateScope wait_until_it_is_open;
}

CUdeviceptr Pass::Allocate(Bytes size) {
  CUdeviceptr address = 0;
  EXPECT_EQ(cuda.cuMemAlloc_v2(&address, size), CUDA_SUCCESS);
  AddKnownRange(address, size);
  return address;
}

void Pass::Fill(CUdeviceptr address, unsigned value, std::size_t words) {
  EXPECT_EQ(cuda.cuMemsetD32_v2(address, value, words), CUDA_SUCCESS);
}

void Pass::NoteWord(const char* what, CUdeviceptr address) {
  unsigned word = 0;
  Note(what, cuda.cuMemcpyDtoH_v2(&word, address, sizeof(word)));
  Note(what, word);
}

CUmemAllocationProp Pass::Properties() {
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  return properties;
}

CUmemAccessDesc Pass::ReadWrite() {
  CUmemAccessDesc access{};
  access.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

ScriptedDaemon& DifferentialTest::daemon() { return *environment->daemon; }

const DriverCalls& DifferentialTest::Direct() { return Real(); }

const DriverCalls& DifferentialTest::Through() {
  static const DriverCalls calls = [] {
    DriverCalls found;
    void* driver = dlopen("libcuda.so.1", RTLD_NOW);
    for (const Entry& entry : Entries()) {
      *reinterpret_cast<void**>(reinterpret_cast<char*>(&found) + entry.offset) =
          dlsym(driver, entry.symbol);
    }
    return found;
  }();
  return calls;
}

void DifferentialTest::SetUp() {
  daemon().SetAutoOpen(true);
  daemon().AnswerGrowth(wire::Growth::kGranted);
  ASSERT_NE(Through().cuInit, nullptr) << "no driver";
  ASSERT_EQ(Through().cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuDevicePrimaryCtxRetain(&context_, 0), CUDA_SUCCESS);
  ASSERT_EQ(Through().cuCtxSetCurrent(context_), CUDA_SUCCESS);
  ASSERT_NE(Client::Get(), nullptr);
  const GateScope wait_until_it_is_open;
}

void DifferentialTest::TearDown() {
  if (Client::Get() == nullptr) return;
  EXPECT_EQ(Through().cuCtxSynchronize(), CUDA_SUCCESS);  // pools give back what they keep
  EXPECT_EQ(usage().resident + usage().swapped + usage().pinned, 0u) << "memory leaked by the test";
  EXPECT_EQ(Through().cuCtxSetCurrent(nullptr), CUDA_SUCCESS);
}

void DifferentialTest::Compare(void (*scenario)(Pass& pass)) {
  Pass direct(Pass::Mode::kDriver, Direct(), daemon());
  scenario(direct);
  ASSERT_FALSE(direct.lines().empty());
  Pass through(Pass::Mode::kLibrary, Through(), daemon());
  scenario(through);
  ExpectSame(through, direct, "through the library: ");
  Pass swapped(Pass::Mode::kLibrarySwappedOut, Through(), daemon());
  swapped.SwapOut();
  scenario(swapped);
  ExpectSame(swapped, direct, "swapped out: ");
}

}  // namespace reveza::interpose::testing
