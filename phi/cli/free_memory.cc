#include "phi/cli/free_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "common/base/units.h"
#include "common/platform/machine.h"

namespace reveza::phi {
namespace {

std::optional<Bytes> FreeAddresses() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  Bytes pages = 0;
  if (!(std::ifstream("/proc/self/statm") >> pages)) return std::nullopt;
  const Bytes taken = pages * static_cast<Bytes>(sysconf(_SC_PAGESIZE));
  return limit.rlim_cur - std::min<Bytes>(limit.rlim_cur, taken);
}

}  // namespace

std::optional<Bytes> FreeMemory() {
  const auto memory = platform::MemoryHeadroom();
  const auto addresses = FreeAddresses();
  if (memory && addresses) return std::min(*memory, *addresses);
  return memory ? memory : addresses;
}

Status CheckSearches(int variables, const WindowOptions& options, int threads,
                     std::optional<Bytes> available) {
  const Bytes each = SearchBytes(variables, options);
  const Bytes needed = each * static_cast<Bytes>(std::max(1, threads));
  if (!available || needed <= *available) return {};
  return Fail(Error::Code::kExhausted,
              "an exhaustive search of {} variables needs {} of memory{}, and {} are free; use "
              "{}fewer variables, or --mip queyranne",
              variables, FormatBytes(needed),
              threads > 1 ? fmt::format(" ({} threads, {} each)", threads, FormatBytes(each)) : "",
              FormatBytes(*available),
              threads > 1 && each <= *available ? "fewer --threads, " : "");
}

}  // namespace reveza::phi
