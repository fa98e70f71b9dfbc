#include "reveza/gpu/interpose/peer_copies.h"

#include "generated/interpose/driver_calls.h"
#include "reveza/gpu/interpose/captures.h"
#include "reveza/gpu/interpose/client.h"

namespace reveza::interpose {

bool FindCopyContexts(CUdeviceptr to, CUdeviceptr from, CopyContexts* contexts) {
  Client* client = Client::Get();
  if (client == nullptr) return false;
  const auto owner_of = [&](CUdeviceptr address) -> CUcontext {
    swap::AddressInfo info;
    const bool ours = client->ledger().Find(address, &info);
    const bool allocated = ours && info.kind != swap::Block::Kind::kHandle && info.pool == nullptr;
    return allocated ? info.owner : nullptr;
  };
  contexts->to = owner_of(to);
  contexts->from = owner_of(from);
  return contexts->to != nullptr && contexts->from != nullptr;
}

bool GiveAccessForCopies() {
  Client* client = Client::Get();
  CUdevice device = 0;
  if (client == nullptr || Real().cuCtxGetDevice(&device) != CUDA_SUCCESS) return false;
  const RelaxedCapture relaxed;
  bool given = false;
  for (const int owner : client->ledger().DevicesWithoutPeer(device)) {
    int possible = 0;
    if (Real().cuDeviceCanAccessPeer(&possible, device, owner) == CUDA_SUCCESS && possible != 0 &&
        client->ledger().SetPeer(owner, device, true) == CUDA_SUCCESS) {
      given = true;
    }
  }
  return given;
}

}  // namespace reveza::interpose
