// Makes recorded calls again. Handles and addresses are those that the driver gives this time;
// memory is filled with patterns that depend on the recording alone, which replace what kernels and
// the program's own data would be, and is compared with what it must hold.
//
// Work on the same memory is ordered by events as in the recording: a kernel that only read memory
// there changes it here.
//
// Not thread-safe: the calls of a recording are made one at a time, on the threads that made them.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reveza/gpu/calls/reader.h"
#include "tests/recorded_calls/memory.h"

namespace reveza::recorded_calls {

struct PlayOptions {
  std::uint64_t scale = 1;          // divides the sizes of memory
  std::uint64_t window = 64 << 10;  // bytes that a kernel changes at each address it is given
  std::uint64_t corrupt_at = 0;     // the call before which a byte is changed; 0: none
};

class Player {
 public:
  Player(const calls::CallRecording& recording, PlayOptions options);

  // Prepares the calling thread. Returns false before the driver is initialized.
  static bool PrepareThread();
  // Makes the call of a record, on the thread that replays that of the record.
  void Play(const calls::Record& record);
  // Compares all memory, and makes sure that there is a context of each device that was used:
  // without, Reveza's account is that of the first context until the process ends.
  void End();

  // What was played, skipped and found, without what depends on time or addresses.
  std::string Summary() const;
  std::uint64_t mismatches() const { return mismatches_; }

 private:
  using Handler = void (Player::*)();
  // What is done to memory, to be repeated at each launch of a graph.
  using Effect = std::function<void()>;
  struct CaptureLog {
    std::vector<Effect> effects;
    std::set<std::shared_ptr<Storage>> storages;
    Stream origin;
  };
  struct Kernels {
    std::uint64_t fill = 0, step = 0, spin = 0;
  };
  struct PendingRead {
    std::shared_ptr<Mark> mark;
    std::vector<unsigned char> bytes;
    std::shared_ptr<Storage> expected;
    std::uint64_t sequence;
  };
  struct HandleMemory {
    std::uint64_t handle = 0;
    std::uint64_t bytes = 0;
    std::shared_ptr<Storage> storage;
  };
  // The call being played.
  struct Current {
    const calls::Record* record = nullptr;
    const calls::Call* call = nullptr;
    std::vector<calls::Value> values;
    std::string base;    // without version and suffix
    std::string suffix;  // of the per-thread variant
  };

  // player.cc
  static const std::map<std::string, Handler, std::less<>>& Handlers();
  std::uint64_t Number(std::size_t index) const { return current_.values[index].number; }
  std::uint64_t Written(std::size_t index) const;
  bool Do(const std::vector<std::uint64_t>& words);
  bool DoEntry(const std::string& entry, const std::vector<std::uint64_t>& words);
  void Skip(const std::string& why);
  void Wrong(const std::string& what);
  bool Map(const std::string& type, std::uint64_t recorded, std::uint64_t* handle) const;
  void Bind(const std::string& type, std::uint64_t recorded, std::uint64_t handle);
  bool MapStruct(const calls::Type& type, unsigned char* bytes);
  const char* Argument(std::size_t index, std::string* buffer, std::uint64_t* word);
  const char* Elements(std::size_t index, std::string* buffer, std::uint64_t* word);
  void PlayGeneric();

  // player_contexts.cc
  void MakeContext();
  void SetCurrentContext();
  // Sets the context that the thread has set current before it was made.
  void SetAwaitedContext();
  void RetainPrimary();
  void EndContext();
  void EndPrimary();
  void PrepareContext(std::uint64_t context);
  void BeforeContextEnds(std::uint64_t context);
  void AfterContextEnded(std::uint64_t context);
  void CreateStream();
  void SkipCall() { Skip("not replayed"); }
  void LoadModule();
  void WaitForQuery();
  void ElapsedTime();
  void WaitAndCheck();
  void HostFunction();
  void StreamCallback();
  static std::uint64_t CurrentContext();

  // player_memory.cc
  void Allocate();
  void AllocatePitch();
  void AllocateManaged();
  void AllocateAsync();
  void AllocateHost();
  void RegisterHost();
  void UnregisterHost();
  void DevicePointer();
  void Free();
  void FreeAsync();
  void FreeHost();
  void Reserve();
  void CreateHandle();
  void RetainHandle();
  void ExportHandle();
  void ImportHandle();
  void ReleaseHandle();
  void MapHandle();
  void SetAccess();
  void Unmap();
  void Prefetch();
  std::shared_ptr<Region> AddRegion(std::uint64_t recorded, std::uint64_t recorded_bytes,
                                    std::uint64_t address, std::uint64_t bytes, Place place);
  const HandleMemory* FindHandle(std::uint64_t recorded) const;
  void CheckRegion(const Region& region);
  void Compare(const Storage& expected, std::uint64_t begin, const unsigned char* bytes,
               std::uint64_t count, const std::string& where);
  void CheckReads(bool wait);
  void Corrupt();

  // player_work.cc
  Stream StreamOf(std::uint64_t recorded);
  std::uint64_t CaptureOf(const Stream& stream) const;
  bool Order(const Stream& stream, const std::vector<std::shared_ptr<Storage>>& storages);
  void After(const Stream& stream, const std::vector<std::shared_ptr<Storage>>& storages,
             Effect effect);
  void Launch();
  void LaunchExtended();
  void LaunchKernels(std::uint64_t recorded_stream, const calls::Value& parameters, bool extended);
  bool LaunchOne(const Stream& stream, std::uint64_t function, std::vector<void*> parameters,
                 bool extended);
  void Fill();
  void FillRows();
  void FillRange(const Range& to, std::uint64_t value, unsigned element, std::uint64_t stream);
  void Copy();
  void CopyPeer();
  void CopyRanges(std::uint64_t to, std::uint64_t from, std::uint64_t bytes,
                  std::vector<std::uint64_t> words, std::size_t to_index, std::size_t from_index,
                  std::size_t bytes_index, std::uint64_t stream, bool synchronous);
  const unsigned char* PatternOf(std::uint64_t bytes);
  void WriteValue();
  void BeginCapture();
  void EndCapture();
  void Instantiate();
  void LaunchGraph();

  // player_boxes.cc
  void CopyBox();
  void CopyRows(const CUDA_MEMCPY3D& box, std::pair<std::uint64_t, std::uint64_t> pitches,
                std::pair<std::uint64_t, std::uint64_t> layers, const Range& to, const Range& from,
                bool flat);

  const calls::CallRecording& recording_;
  const PlayOptions options_;
  std::uint64_t corrupt_at_;
  Memory memory_;
  Current current_;
  std::map<std::string, std::map<std::uint64_t, std::uint64_t>, std::less<>> handles_;
  std::set<std::uint64_t> devices_;
  std::map<std::uint64_t, std::uint64_t> stream_contexts_;
  std::map<std::uint64_t, Kernels> kernels_;                 // by context
  std::map<std::uint64_t, std::uint64_t> primaries_;         // by device
  std::map<std::uint64_t, int> references_;                  // of primary contexts, by device
  std::map<std::uint64_t, std::uint64_t> awaited_contexts_;  // as recorded, by thread
  struct Reservation {
    std::uint64_t address = 0, bytes = 0;
  };
  std::map<std::uint64_t, Reservation> reservations_;  // by recorded address
  // By recorded handle. A driver may return the same one again for the same memory, which Reveza
  // does not, so each of them is released.
  std::map<std::uint64_t, std::vector<HandleMemory>> handle_memory_;
  struct Export {
    int file = -1;
    HandleMemory memory;
  };
  std::map<std::uint64_t, Export> exports_;                        // by recorded file descriptor
  std::map<std::uint64_t, std::shared_ptr<CaptureLog>> captures_;  // by the driver's number
  std::map<std::uint64_t, std::shared_ptr<CaptureLog>> graphs_, executables_;  // by recorded handle
  std::vector<PendingRead> reads_;
  std::vector<std::unique_ptr<std::vector<unsigned char>>> kept_;  // host memory that graphs use
  std::vector<unsigned char> pattern_;                             // what pageable memory holds
  std::map<std::string, std::uint64_t> skipped_;
  std::string failures_;
  std::uint64_t played_ = 0, launches_ = 0, checked_bytes_ = 0, mismatches_ = 0;
};

}  // namespace reveza::recorded_calls
