// Calls of a driver that is newer than our table. A program that asks for one gets a small
// function in front of it that waits at the gate, and says that the program must stay on the GPU
// from now on, since nobody knows what the call does with memory.
// Thread-safety: all functions from any thread.
#pragma once

#include <cstddef>

namespace reveza::interpose {

// Beyond this many different unknown calls a program gets the driver's own.
inline constexpr std::size_t kMaxUnknownCalls = 512;

// A function to hand out in place of `real`, which the program knows as `name`; the same for the
// same `real`. When all are taken: `real` itself, and the program stays on the GPU.
void* GateUnknownCall(void* real, const char* name);

// Told at each such call; keeps the program on the GPU. The client's part (client.h).
void OnUnknownCall(const char* name);

}  // namespace reveza::interpose
