// Work on streams.
#include <algorithm>
#include <atomic>

#include "tests/random_programs/world.h"

namespace reveza::random_programs {

bool World::MayAccess(const Storage& storage, int context) const {
  const int device = contexts_[context].device;
  if (storage.device < 0 || storage.device == device) return true;
  // Through peer access of this context to one of the memory's device.
  return storage.type == Type::kNative &&
         std::ranges::any_of(contexts_[context].peers,
                             [&](int peer) { return contexts_[peer].device == storage.device; });
}

// Orders work on the buffer after earlier work on its memory. Returns false if the work would be
// undefined behaviour. `whole`: all of it is written, so it need not have been before.
bool World::Ready(int buffer, int stream, bool by_kernel, bool whole) {
  const std::shared_ptr<Storage>& storage = buffers_[buffer].storage;
  const Stream* user = Usable(stream);
  if (storage == nullptr || user == nullptr) return false;
  const bool captured = user->capture >= 0;
  if (!storage->written && (!whole || captured)) return false;
  if (captured && storage->type == Type::kPool) return false;
  const bool remote = storage->device >= 0 && storage->device != contexts_[user->context].device;
  if (remote && (captured || storage->type != Type::kNative)) return false;
  if (by_kernel && !MayAccess(*storage, user->context)) return false;
  if (!Order(storage, stream)) return false;
  storage->written = true;
  Enter(user->context);
  return true;
}

void World::Memset(int buffer, int stream, int value, int part) {
  // The driver refuses what a kernel could not write.
  if (!Ready(buffer, stream, true, part % 3 == 0)) return;
  const auto& [storage, address] = buffers_[buffer];
  const std::size_t half = storage->bytes / 2;
  Note(driver_.cuMemsetD8Async(part % 3 == 2 ? address + half : address,
                               static_cast<unsigned char>(value),
                               part % 3 == 0 ? storage->bytes : half, streams_[stream].handle));
}

void World::Launch(int stream, CUfunction function, std::vector<void*> arguments) {
  if (function == nullptr) return;
  Note(driver_.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, streams_[stream].handle,
                              arguments.data(), nullptr));
}

void World::Kernel(Kind kind, int buffer, int stream, int value) {
  if (!Ready(buffer, stream, true, kind == Kind::kFill)) return;
  const Context& context = contexts_[streams_[stream].context];
  CUdeviceptr address = buffers_[buffer].address;
  std::size_t words = buffers_[buffer].storage->bytes / 4;
  auto operand = static_cast<unsigned>(value);
  Launch(stream,
         kind == Kind::kFill  ? context.fill
         : kind == Kind::kAdd ? context.add
                              : context.step,
         {&address, &words, &operand});
}

void World::Copy(int to, int from, int stream, bool by_kernel) {
  const auto target = buffers_[to].storage;
  const auto source = buffers_[from].storage;
  if (target == nullptr || source == nullptr || target == source || !source->written ||
      !target->written || !Ready(from, stream, by_kernel) || !Ready(to, stream, by_kernel)) {
    return;
  }
  std::size_t bytes = std::min(target->bytes, source->bytes);
  CUdeviceptr to_address = buffers_[to].address;
  CUdeviceptr from_address = buffers_[from].address;
  const CUstream handle = streams_[stream].handle;
  if (by_kernel) {
    std::size_t words = bytes / 4;
    Launch(stream, contexts_[streams_[stream].context].copy, {&to_address, &from_address, &words});
  } else if (target->type == Type::kHost && source->type != Type::kHost) {
    Note(driver_.cuMemcpyDtoHAsync(reinterpret_cast<void*>(to_address), from_address, bytes,
                                   handle));
  } else if (source->type == Type::kHost && target->type != Type::kHost) {
    Note(driver_.cuMemcpyHtoDAsync(to_address, reinterpret_cast<const void*>(from_address), bytes,
                                   handle));
  } else if (source->type == Type::kHost) {
    Note(driver_.cuMemcpyAsync(to_address, from_address, bytes, handle));
  } else {
    Note(driver_.cuMemcpyDtoDAsync(to_address, from_address, bytes, handle));
  }
}

void World::Spin(int stream, int microseconds) {
  const Stream* used = Usable(stream);
  if (used == nullptr) return;
  Enter(used->context);
  auto nanoseconds = static_cast<unsigned long long>(microseconds) * 1000;
  Launch(stream, contexts_[used->context].spin, {&nanoseconds});
}

void World::HostCall(int stream, int value) {
  const Stream* used = Usable(stream);
  if (used == nullptr) return;
  Enter(used->context);
  auto call = std::make_unique<HostCallData>(host_sum_.get(), value);
  const auto add = [](void* data) {
    const auto* one = static_cast<HostCallData*>(data);
    one->sum->fetch_add(one->value);
  };
  Note(driver_.cuLaunchHostFunc(used->handle, add, call.get()));
  host_calls_.push_back(std::move(call));
}

int World::Contend(std::size_t bytes, const std::function<bool()>& more) {
  CUdeviceptr memory[kMaxDevices] = {};
  for (int device = 0; device < devices_; ++device) {
    Enter(device);
    if (!Must(driver_.cuMemAlloc(&memory[device], bytes), "alloc") ||
        !Must(driver_.cuMemsetD8Async(memory[device], 0, bytes, nullptr), "memset")) {
      return 1;
    }
  }
  CUstream stream = nullptr;
  for (unsigned round = 1; more(); ++round) {
    for (int device = 0; device < devices_; ++device) {
      Enter(device);
      // A word of each megabyte, then some time on the device.
      unsigned long long nanoseconds = 500'000;
      void* arguments[] = {&nanoseconds};
      Must(driver_.cuLaunchKernel(contexts_[device].spin, 1, 1, 1, 32, 1, 1, 0, stream, arguments,
                                  nullptr),
           "spin");
      for (std::size_t at = 0; at < bytes; at += std::size_t{1} << 20) {
        unsigned word = 0;
        if (!Must(driver_.cuMemcpyDtoH(&word, memory[device] + at, sizeof word), "read") ||
            word != round - 1) {
          return 1;
        }
        CUdeviceptr address = memory[device] + at;
        std::size_t words = 1;
        unsigned one = 1;
        void* add[] = {&address, &words, &one};
        Must(driver_.cuLaunchKernel(contexts_[device].add, 1, 1, 1, 32, 1, 1, 0, stream, add,
                                    nullptr),
             "add");
      }
      Must(driver_.cuStreamSynchronize(stream), "sync");
    }
  }
  return 0;
}

}  // namespace reveza::random_programs
