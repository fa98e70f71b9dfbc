// fakecuda-stat [--json]: memory use and counters of the fake devices of FAKECUDA_DIR.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "fakecuda/card.h"
#include "fakecuda/entries.h"
#include "fakecuda/options.h"

namespace fakecuda {
namespace {

nlohmann::json Describe(const CardState& card) {
  nlohmann::json all = {{"host", {{"used", card.host_used}, {"peak", card.host_peak}}},
                        {"bytes_to_device", card.to_device},
                        {"bytes_from_device", card.from_device},
                        {"bytes_on_device", card.on_device},
                        {"devices", nlohmann::json::array()},
                        {"processes", nlohmann::json::array()},
                        {"calls", nlohmann::json::object()}};
  for (int device = 0; device < card.devices; ++device) {
    all["devices"].push_back({{"memory", card.memory[device]},
                              {"used", card.used[device]},
                              {"peak", card.peak[device]}});
  }
  for (const ProcessSlot& process : card.processes) {
    if (process.pid == 0) continue;
    nlohmann::json one = {{"pid", process.pid},
                          {"calls", process.calls},
                          {"on_host", process.on_host},
                          {"faults", process.faults},
                          {"bytes_to_device", process.to_device},
                          {"bytes_from_device", process.from_device},
                          {"devices", nlohmann::json::array()}};
    for (int device = 0; device < card.devices; ++device) {
      one["devices"].push_back({{"allocated", process.allocated[device]},
                                {"managed", process.managed[device]},
                                {"contexts", process.context_bytes[device]},
                                {"used", process.Used(device)},
                                {"peak", process.peak[device]}});
    }
    all["processes"].push_back(one);
  }
  for (int i = 0; i < kEntryNameCount; ++i) {
    if (card.counters[i] != 0) all["calls"][kEntryNames[i]] = card.counters[i];
  }
  return all;
}

void Print(const nlohmann::json& all) {
  const auto mebibytes = [](const nlohmann::json& bytes) {
    return static_cast<double>(bytes.get<std::uint64_t>()) / 1048576;
  };
  int number = 0;
  for (const auto& device : all["devices"]) {
    std::printf("device %d: %.1f of %.1f MiB used, peak %.1f MiB\n", number++,
                mebibytes(device["used"]), mebibytes(device["memory"]), mebibytes(device["peak"]));
  }
  std::printf("copied: %.1f MiB to devices, %.1f MiB from devices\n",
              mebibytes(all["bytes_to_device"]), mebibytes(all["bytes_from_device"]));
  for (const auto& process : all["processes"]) {
    std::printf("process %d: %llu calls", process["pid"].get<int>(),
                process["calls"].get<unsigned long long>());
    number = 0;
    for (const auto& device : process["devices"]) {
      std::printf(", device %d: %.1f MiB", number++, mebibytes(device["used"]));
    }
    std::printf("\n");
  }
  for (const auto& [name, calls] : all["calls"].items()) {
    std::printf("%10llu %s\n", calls.get<unsigned long long>(), name.c_str());
  }
}

int Main(int argc, char** argv) {
  const bool json = argc == 2 && std::strcmp(argv[1], "--json") == 0;
  if (argc > 1 && !json) {
    std::fprintf(
        stderr,
        "usage: fakecuda-stat [--json]    (prints memory use and counters of FAKECUDA_DIR)\n");
    return 2;
  }
  const Options options = Options::FromEnvironment();
  const std::unique_ptr<Card> card = Card::Open(options, true);
  if (card == nullptr) {
    std::fprintf(stderr, "fakecuda-stat: no devices in %s\n", options.directory.c_str());
    return 1;
  }
  const nlohmann::json all = Describe(*card->Snapshot());
  if (json) {
    std::printf("%s\n", all.dump(2).c_str());
  } else {
    Print(all);
  }
  return 0;
}

}  // namespace
}  // namespace fakecuda

int main(int argc, char** argv) { return fakecuda::Main(argc, argv); }
