// `systemctl stop`, scancel and the like send SIGTERM to all processes of a job: steps, supervisors
// and the runner, in any order. A step that exits because of it, perhaps with status 0, has not
// finished, but neither the exit nor the runner tells it from one that has. The supervisor's own
// SIGTERM does, if it is waited for.
//
// Thread-safe.
#pragma once

#include <signal.h>

#include <cstdint>

namespace reveza::jobs {

// The longest time between the SIGTERM of a step and that of its supervisor.
inline constexpr std::int64_t kTerminationSpread = 100'000'000;

// Returns how long to wait for the supervisor's own SIGTERM before the exit of a step that ran for
// so long is judged: at most a twentieth of its time, as its worker is idle meanwhile. 0: it cannot
// have exited because of a SIGTERM, or was too brief. `zombie`: what waitid() says of it.
std::int64_t DoubtAfterExit(const siginfo_t& zombie, std::int64_t ran);

}  // namespace reveza::jobs
