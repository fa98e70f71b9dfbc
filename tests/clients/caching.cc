// Caches freed memory, as the allocators of frameworks do. When an allocation fails, frees the
// caches and retries. Needs --bytes and the larger of two temporary blocks; with caches it needs
// both blocks.
#include <vector>

#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

class Cache {
 public:
  explicit Cache(const Session& session) : session_(session) {}
  ~Cache() { Empty(); }
  Cache(const Cache&) = delete;
  Cache& operator=(const Cache&) = delete;

  CUdeviceptr Take(std::uint64_t bytes) {
    for (std::size_t i = 0; i < free_.size(); ++i) {
      if (free_[i].bytes != bytes) continue;
      const CUdeviceptr memory = free_[i].memory;
      free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
      return memory;
    }
    CUdeviceptr memory = 0;
    if (session_.driver().cuMemAlloc(&memory, bytes) == CUDA_SUCCESS) return memory;
    Empty();
    ++retries_;
    REVEZA_CHECK(session_.driver(), cuMemAlloc(&memory, bytes));
    return memory;
  }
  void Give(CUdeviceptr memory, std::uint64_t bytes) { free_.push_back({memory, bytes}); }
  void Empty() {
    for (const Block& block : free_) session_.Free(block.memory);
    free_.clear();
  }
  std::uint64_t retries() const { return retries_; }

 private:
  struct Block {
    CUdeviceptr memory;
    std::uint64_t bytes;
  };

  const Session& session_;
  std::vector<Block> free_;
  std::uint64_t retries_ = 0;
};

int Main(const Options& options) {
  Session session(options);
  StepRun run(options);
  Cache cache(session);
  constexpr std::uint64_t kParts = 8;
  const std::uint64_t part = options.bytes / kParts / 16 * 16;
  const std::uint64_t larger = options.bytes / (kParts - 1) / 16 * 16;
  std::vector<CUdeviceptr> kept;
  for (std::uint64_t i = 0; i < kParts; ++i) {
    kept.push_back(session.Allocate(part));
    session.Fill(kept.back(), part, options.seed + static_cast<std::uint32_t>(i));
  }
  while (run.Next()) {
    const std::uint64_t bytes = run.step() % 4 == 0 ? larger : part;
    const CUdeviceptr memory = cache.Take(bytes);
    const CUdeviceptr used = kept[run.step() % kParts];
    session.Copy(memory, used, part);
    session.Add(memory, part, static_cast<std::uint32_t>(run.step()));
    session.Copy(used, memory, part);
    if (options.step_ms > 0) session.Spin(options.step_ms);
    session.Synchronize();
    cache.Give(memory, bytes);
  }
  cache.Empty();
  std::uint64_t hash = 0;
  for (const CUdeviceptr memory : kept) {
    hash = Combine(hash, session.Hash(memory, part));
    session.Free(memory);
  }
  run.Count("retries", cache.retries());
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "caching"));
}
