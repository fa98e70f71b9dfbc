#include "platform/machine_load.h"

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace reveza::platform {

namespace fs = std::filesystem;

std::optional<CpuTicks> ReadCpuTicks(const fs::path& root) {
  std::ifstream file(root / "proc/stat");
  CpuTicks ticks;
  bool found = false;
  for (std::string line; std::getline(file, line) && line.starts_with("cpu");) {
    std::istringstream words(line);
    std::string name;
    words >> name;
    if (name != "cpu") {
      ++ticks.cores;
      continue;
    }
    // user nice system idle iowait irq softirq steal; guests are in user and nice already.
    std::vector<std::uint64_t> fields;
    for (std::uint64_t value = 0; fields.size() < 8 && words >> value;) fields.push_back(value);
    if (fields.size() < 5) return std::nullopt;
    for (std::size_t i = 0; i < fields.size(); ++i) {
      (i == 3 || i == 4 ? ticks.idle : ticks.busy) += fields[i];
    }
    found = true;
  }
  return found && ticks.cores > 0 ? std::optional(ticks) : std::nullopt;
}

std::optional<std::array<double, 3>> ReadLoad(const fs::path& root) {
  std::ifstream file(root / "proc/loadavg");
  std::array<double, 3> load{};
  if (!(file >> load[0] >> load[1] >> load[2])) return std::nullopt;
  return load;
}

std::optional<MachineMemory> ReadMachineMemory(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::optional<Bytes> total;
  std::optional<Bytes> available;
  MachineMemory memory;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    Bytes kibibytes = 0;
    if (!(words >> key >> kibibytes)) continue;
    if (key == "MemTotal:") total = kibibytes * kKiB;
    if (key == "MemAvailable:") available = kibibytes * kKiB;
    if (key == "SwapTotal:") memory.swap_total = kibibytes * kKiB;
    if (key == "SwapFree:") memory.swap_free = kibibytes * kKiB;
  }
  if (!total || !available) return std::nullopt;
  memory.total = *total;
  memory.available = *available;
  return memory;
}

}  // namespace reveza::platform
