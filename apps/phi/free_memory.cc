#include "free_memory.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "base/units.h"
#include "platform/host_memory.h"

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
                     std::optional<Bytes> room) {
  const Bytes each = SearchBytes(variables, options);
  const Bytes wanted = each * static_cast<Bytes>(std::max(1, threads));
  if (!room || wanted <= *room) return {};
  return Fail(
      Error::Code::kExhausted,
      fmt::format(
          "an exhaustive search of {} variables needs {} of memory{}, and {} are "
          "free; take {}fewer variables, or --mip queyranne",
          variables, FormatBytes(wanted),
          threads > 1 ? fmt::format(" ({} threads, {} each)", threads, FormatBytes(each)) : "",
          FormatBytes(*room), threads > 1 && each <= *room ? "fewer --threads, " : ""));
}

}  // namespace reveza::phi
