// Pages of 2 MiB: those that the kernel uses by itself (transparent), and those set aside by hand.
#include <fmt/format.h>

#include "base/units.h"
#include "doctor/checks.h"

namespace reveza::doctor {
namespace {

constexpr double kMuchAside = 0.1;
// Less than this is not worth a word.
constexpr Bytes kWorthwhile = kGiB;

Finding Make(Severity severity, std::string observed, std::string limit = "", std::string why = "",
             std::string fix = "") {
  return {.id = Id::kHugePages,
          .severity = severity,
          .sure = Sureness::kRead,
          .observed = std::move(observed),
          .limit = std::move(limit),
          .why = std::move(why),
          .fix = std::move(fix)};
}

// Set aside and used by nobody.
std::optional<Finding> Aside(const platform::CommitState& memory) {
  if (!memory.reserved_free || !memory.total || !memory.huge_page_size) return std::nullopt;
  const auto part = static_cast<double>(*memory.reserved_free) / static_cast<double>(*memory.total);
  if (part < kMuchAside) return std::nullopt;
  return Make(Severity::kWarning,
              fmt::format("{} are set aside in huge pages that nobody uses",
                          FormatBytes(*memory.reserved_free)),
              fmt::format("{} of memory in all", FormatBytes(*memory.total)),
              "only programs that ask for hugetlbfs get them; all others run out of memory that "
              "much earlier, and are killed while it is free",
              "sudo sysctl vm.nr_hugepages=0, or as many as are used (HugePages_Total minus "
              "HugePages_Free in /proc/meminfo)");
}

// How the kernel uses them by itself.
Finding Transparent(const platform::KernelLimits& kernel, const platform::CommitState& memory) {
  const std::string& mode = *kernel.huge_pages;
  std::string observed = "transparent huge pages: " + mode;
  if (kernel.huge_page_wait) observed += fmt::format(", waits for one: {}", *kernel.huge_page_wait);
  if (memory.huge_pages) {
    observed += fmt::format("; {} of memory are in them", FormatBytes(*memory.huge_pages));
  }
  if (mode == "always" && kernel.huge_page_wait == "always") {
    return Make(Severity::kNote, observed, "",
                "an allocation may stand still while the kernel moves memory about to make a huge "
                "page; sparse heaps and many stacks hold more memory than they use",
                "echo defer+madvise | sudo tee /sys/kernel/mm/transparent_hugepage/defrag");
  }
  if (mode == "always") {
    return Make(Severity::kNote, observed, "",
                "sparse heaps and many stacks may hold more memory than they use",
                "nothing while memory is enough; else: echo madvise | sudo tee "
                "/sys/kernel/mm/transparent_hugepage/enabled");
  }
  if (mode == "never") {
    return Make(Severity::kNote, observed, "",
                "large arrays are walked page by page of 4 KiB; pinning host memory for a GPU, and "
                "so what Reveza swaps, takes several times as long",
                "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled");
  }
  return Make(Severity::kFine, observed);
}

std::optional<Finding> OfProcess(const ProcessView& process, const std::filesystem::path& root) {
  if (process.use.huge_pages_allowed == false) {
    return Make(Severity::kNote,
                fmt::format("{} may have no transparent huge pages", Called(process)),
                "prctl(PR_SET_THP_DISABLE), which children inherit",
                "large arrays are walked page by page of 4 KiB, whatever the machine is set to",
                "find who sets it: the program, a wrapper, or its container's runtime");
  }
  const platform::ProcessPages pages = platform::ReadProcessPages(process.pid, root);
  if (!pages.resident || !pages.huge) return std::nullopt;
  const bool most = *pages.resident >= kWorthwhile && *pages.huge * 2 >= *pages.resident;
  return Make(most ? Severity::kNote : Severity::kFine,
              fmt::format("{} has {} of its {} in transparent huge pages", Called(process),
                          FormatBytes(*pages.huge), FormatBytes(*pages.resident)),
              "",
              most
                  ? "what it has touched of each counts whole: a sparse heap holds up to 512 times "
                    "what it uses"
                  : "",
              most ? "nothing while memory is enough; else MALLOC_ARENA_MAX=2, or "
                     "GLIBC_TUNABLES=glibc.malloc.hugetlb=0 where the allocator asks for them"
                   : "");
}

}  // namespace

Findings CheckHugePages(const Subject& subject) {
  Findings findings;
  const platform::CommitState memory = platform::ReadCommitState(subject.root);
  const platform::KernelLimits kernel = platform::ReadKernelLimits(subject.root);
  if (auto aside = Aside(memory)) findings.push_back(*std::move(aside));
  if (kernel.huge_pages) findings.push_back(Transparent(kernel, memory));
  // Of a command that has run there is nothing left to read.
  if (subject.pid == 0 || subject.seen) return findings;
  for (const ProcessView& process : Processes(subject)) {
    if (auto finding = OfProcess(process, subject.root)) findings.push_back(*std::move(finding));
  }
  return findings;
}

}  // namespace reveza::doctor
