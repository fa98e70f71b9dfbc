// Replays a captured graph with all kinds of nodes that hold addresses: kernels on two streams
// joined by events, copies to and from pinned host memory, a copy on the device, a memset.
#include "reveza/cli/demo_worker/client.h"

namespace reveza::clients {
namespace {

class Graph {
 public:
  Graph(const Session& session, const Options& options)
      : session_(session), driver_(session.driver()), bytes_(options.bytes / 4 / 16 * 16) {
    a_ = session.Allocate(bytes_);
    b_ = session.Allocate(bytes_);
    c_ = session.Allocate(bytes_);
    REVEZA_CHECK(driver_, cuMemAllocHost(&host_, kHostBytes));
    REVEZA_CHECK(driver_, cuStreamCreate(&main_, CU_STREAM_NON_BLOCKING));
    REVEZA_CHECK(driver_, cuStreamCreate(&side_, CU_STREAM_NON_BLOCKING));
    REVEZA_CHECK(driver_, cuEventCreate(&fork_, CU_EVENT_DISABLE_TIMING));
    REVEZA_CHECK(driver_, cuEventCreate(&join_, CU_EVENT_DISABLE_TIMING));
    session.Fill(a_, bytes_, options.seed, main_);
    session.Fill(b_, bytes_, options.seed + 1, main_);
    session.Fill(c_, bytes_, options.seed + 2, main_);
    REVEZA_CHECK(driver_, cuStreamSynchronize(main_));
    Capture(options);
  }

  void Launch() const { REVEZA_CHECK(driver_, cuGraphLaunch(graph_, main_)); }
  void Spin(std::uint64_t milliseconds) const { session_.Spin(milliseconds, main_); }
  void Wait() const { REVEZA_CHECK(driver_, cuStreamSynchronize(main_)); }

  std::uint64_t Hash() const {
    Wait();
    std::uint64_t hash = session_.Hash(a_, bytes_, main_);
    hash = Combine(hash, session_.Hash(b_, bytes_, main_));
    hash = Combine(hash, session_.Hash(c_, bytes_, main_));
    return Combine(hash, HashOfBytes(host_, kHostBytes));
  }

  void Close() {
    REVEZA_CHECK(driver_, cuGraphExecDestroy(graph_));
    REVEZA_CHECK(driver_, cuEventDestroy(fork_));
    REVEZA_CHECK(driver_, cuEventDestroy(join_));
    REVEZA_CHECK(driver_, cuStreamDestroy(main_));
    REVEZA_CHECK(driver_, cuStreamDestroy(side_));
    REVEZA_CHECK(driver_, cuMemFreeHost(host_));
    for (const CUdeviceptr memory : {a_, b_, c_}) session_.Free(memory);
  }

 private:
  static constexpr std::uint64_t kHostBytes = 64 << 10;

  void Capture(const Options& options) {
    REVEZA_CHECK(driver_, cuStreamBeginCapture(main_, CU_STREAM_CAPTURE_MODE_GLOBAL));
    session_.Step(a_, bytes_, options.seed, main_);
    REVEZA_CHECK(driver_, cuEventRecord(fork_, main_));
    REVEZA_CHECK(driver_, cuStreamWaitEvent(side_, fork_, 0));
    session_.Step(c_, bytes_, options.seed + 7, side_);
    REVEZA_CHECK(driver_, cuMemcpyDtoHAsync(host_, a_, kHostBytes, main_));
    REVEZA_CHECK(driver_, cuMemcpyHtoDAsync(b_, host_, kHostBytes, main_));
    REVEZA_CHECK(driver_, cuEventRecord(join_, side_));
    REVEZA_CHECK(driver_, cuStreamWaitEvent(main_, join_, 0));
    REVEZA_CHECK(driver_, cuMemcpyDtoDAsync(b_ + bytes_ / 2, c_ + bytes_ / 4, bytes_ / 4, main_));
    REVEZA_CHECK(driver_, cuMemsetD32Async(a_, 0x5eed, 1024, main_));
    session_.Add(b_, bytes_, 3, main_);
    CUgraph captured = nullptr;
    REVEZA_CHECK(driver_, cuStreamEndCapture(main_, &captured));
    REVEZA_CHECK(driver_, cuGraphInstantiateWithFlags(&graph_, captured, 0));
    REVEZA_CHECK(driver_, cuGraphDestroy(captured));
  }

  const Session& session_;
  const Driver& driver_;
  const std::uint64_t bytes_;
  CUdeviceptr a_ = 0, b_ = 0, c_ = 0;
  void* host_ = nullptr;
  CUstream main_ = nullptr, side_ = nullptr;
  CUevent fork_ = nullptr, join_ = nullptr;
  CUgraphExec graph_ = nullptr;
};

int Main(const Options& options) {
  if (options.bytes < (1 << 20)) Die("--bytes must be 1MiB or more");
  Session session(options);
  StepRun run(options);
  Graph graph(session, options);
  while (run.Next()) {
    graph.Launch();
    if (options.step_ms > 0) graph.Spin(options.step_ms);
    if (run.step() % 5 == 0) graph.Wait();
  }
  const std::uint64_t hash = graph.Hash();
  graph.Close();
  return run.Finish(hash);
}

}  // namespace
}  // namespace reveza::clients

int main(int argc, char** argv) {
  return reveza::clients::Main(reveza::clients::OptionsOrExit(argc, argv, "graph"));
}
