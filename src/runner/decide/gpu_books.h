// What the daemon that shares the GPUs has in its books, for admission: what it may give of each,
// and what it has given. Pure functions.
#pragma once

#include <sys/types.h>

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "base/bytes.h"
#include "runner/decide/admission.h"

namespace reveza::runner {

struct GpuBooks {
  // Of the GPUs on which it has had clients: `total` is the budget, `used` what was given of it and
  // what programs outside have.
  std::vector<GpuMemory> gpus;
  std::optional<Bytes> budget;     // of each other GPU, where somebody has set it
  std::map<pid_t, Bytes> clients;  // all that each has, on the GPU or moved out of it
};

// Of what `reveza status --json` shows; what is missing or of another kind is left out.
// `pids_are_ours`: the daemon counts processes as we do; if not, its clients are left out.
GpuBooks ReadGpuBooks(const nlohmann::json& status, bool pids_are_ours);

// What is free by the books where they have the GPU, else by what `seen` says. Nothing: neither
// says anything.
std::optional<std::vector<GpuMemory>> WithBooks(std::optional<std::vector<GpuMemory>> seen,
                                                const GpuBooks& books);

}  // namespace reveza::runner
