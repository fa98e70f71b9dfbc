// Host memory: how much may be given out on the GPUs together, so that whoever must leave has
// somewhere to go.
//
// What all claim beyond the limit of a GPU, its overflow, is elsewhere at any time. Two states are
// safe, and growth and contexts are held back as long as they would lead out of both:
//
// - *rotation*: each client's part of the overflow, at most all it has, has room on the host. Then
//   every job can be brought in by moving others out.
// - *succession*: all that the younger jobs have has room on the host. Then the eldest gets the
//   whole card whatever it still asks for, and after it the next.
//
// Claims are those of the client's largest footprint so far: programs free memory and take it
// again. Beside an elder job whose largest footprint is still growing only succession is safe:
// nobody knows how far it goes.
//
// Thread-safety: none; part of a Scheduler.
#pragma once

#include "scheduler/books.h"

namespace reveza::scheduler {

// More memory that a client asks for.
struct Extra {
  ClientId client = 0;
  GpuId gpu = 0;
  Bytes swappable = 0;
  Bytes fixed = 0;
};

// Whether the client may have it with regard to host memory. Asks to be woken when time alone will
// change the answer.
bool HostAllows(Books& books, const Extra& extra);

// Whether no job has had more memory than ever before for a while. Asks to be woken then.
bool AllHaveSettled(Books& books);

// The host memory to prepare for a client: what of it may come to be elsewhere as things are; where
// host memory is ample all that it has, because preparing it takes longer than growing.
Bytes HostShare(const Books& books, const Client& client);

// The eldest job gets no host memory where there is too little for a rotation: the others need it
// to make room for the eldest.
bool KeepsItsPlace(const Books& books, const Job& job);

// Remembers the largest footprint.
void NotePeak(Books& books, GpuId gpu, Client& client, Bytes swappable);

}  // namespace reveza::scheduler
