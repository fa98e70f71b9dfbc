// What running clients are told about those that wait, and what all are told to prepare.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// Whether another job waits for room on a GPU of this one.
bool Contended(const Books& books, const Job& job);
// Tells running clients when somebody begins or ceases to wait.
void TellContention(Books& books);
// As soon as not everything fits: have the host memory ready before it is needed.
void TellArenas(Books& books);

}  // namespace reveza::scheduler
