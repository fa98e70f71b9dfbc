// The job that this process belongs to. Libc only.
#pragma once

#include <cstdint>

namespace reveza::interpose {

// Returns the number of the job, never 0:
// - REVEZA_JOB, which all processes of one `reveza run` share;
// - for the processes of a notebook kernel below that `reveza run`, a number of their own, so that
//   kernels take turns. A kernel is a session whose leader was started by the notebook server
//   itself, which passes its pid as JPY_PARENT_PID (jupyter_client does so for every language);
// - without REVEZA_JOB, a unique number.
std::uint64_t JobOfThisProcess();

}  // namespace reveza::interpose
