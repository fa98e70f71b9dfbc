// The books as status shows them.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

ClientView ViewOf(const Client& client);
JobView ViewOf(const Books& books, const Job& job);
GpuView ViewOf(const Books& books, GpuId id, const Gpu& gpu);

}  // namespace reveza::scheduler
