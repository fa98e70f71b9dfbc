// Copies between devices.
//
// The driver copies memory of cuMemAlloc from and to any device, also without peer access. Memory
// that is mapped, as ours is, it copies only where the device of the current context has access, or
// where the call names the contexts of both sides (cuMemcpyPeer). What is here is called inside the
// gate, when the driver has refused a copy.
#pragma once

#include <cuda.h>

namespace reveza::interpose {

struct CopyContexts {
  CUcontext to = nullptr;
  CUcontext from = nullptr;
};

// Finds the contexts for cuMemcpyPeer. Returns false unless both sides are ours, of cuMemAlloc.
bool FindCopyContexts(CUdeviceptr to, CUdeviceptr from, CopyContexts* contexts);

// Gives the device of the current context access to all that cuMemAlloc returned. Returns whether
// it had none to some of it, so that the copy may succeed now.
bool GiveAccessForCopies();

}  // namespace reveza::interpose
