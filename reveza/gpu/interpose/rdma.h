// Memory of the GPU that a network card accesses (GPUDirect RDMA). Without dma-buf, nvidia-peermem
// resolves the addresses in the kernel when a program registers memory with ibv_reg_mr: the driver
// in the process is not asked, and after a swap the registration would refer to memory of others.
#pragma once

namespace reveza::interpose {

// Returns whether this process may have registered memory of a GPU that way: nvidia-peermem is
// loaded, and the process has a verbs device open. `root` is "" or, in tests, a directory with
// copies of /proc and /sys.
bool MayBeRegisteredForRdma(const char* root);

}  // namespace reveza::interpose
