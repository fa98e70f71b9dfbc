// Reads arbitrary files of recorded driver calls. What is read must be within the tables of the
// file.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "reveza/gpu/calls/reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace reveza::calls;
  const auto recording =
      CallRecording::Parse(std::string(reinterpret_cast<const char*>(data), size));
  if (!recording) return 0;
  std::uint64_t last = 0;
  for (const Record& record : recording->records()) {
    if (record.call >= recording->calls().size() || record.sequence < last) std::abort();
    last = record.sequence;
    if (!record.has_values) continue;
    const auto values = recording->Values(record);
    if (values.size() != recording->calls()[record.call].parameters.size()) std::abort();
  }
  return 0;
}
