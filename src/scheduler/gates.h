// The state machine of a handover: gates that close and open, for all clients of a job together.
//
//   kOut -- Enter --> kEntering -- all resident: OpenGates --> kIn -- Leave --> kLeaving
//     ^                                                         ^                  |
//     |                                                         +-- drain failed --+  (by
//     kEntering)
//     +------------------------------- all gates closed ---------------------------+
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// Lets a job come in: it gets room from now on, and its gates open when all of it is resident.
void Enter(Books& books, Job& job);
// Closes a job's gates, or gives up its entering. Its memory stays until it is evicted.
void Leave(Books& books, Job& job);
// Answers of clients. False: the serial is not the one under way.
bool GateHasClosed(Books& books, Client& client, std::uint32_t serial);
bool DrainHasFailed(Books& books, Client& client, std::uint32_t serial);
// A client that lived before the scheduler did has an open gate.
void GateFoundOpen(Books& books, Client& client);
// Ends a leaving whose clients have all answered (or died).
void SettleLeaving(Books& books, Job& job);
// Opens the gates of jobs whose memory is all there. True: some job's phase has changed.
bool OpenGates(Books& books);

}  // namespace reveza::scheduler
