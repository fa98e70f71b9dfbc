// Modules, functions and launches.
#include <cstring>
#include <fstream>

#include "fakecuda/graph.h"
#include "fakecuda/kernels.h"
#include "generated/fakecuda/calls.h"

namespace fakecuda {
namespace {

// Reads the parameters of a launch; nullptr if they are incomplete.
std::shared_ptr<Arguments> ReadArguments(const Kernel& kernel, void** parameters, void** extra) {
  std::shared_ptr<Arguments> arguments;
  if (extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (void** at = extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&bytes, at[1], sizeof bytes);
    }
    arguments = std::make_shared<Arguments>(kernel, buffer, bytes);
  } else {
    arguments = std::make_shared<Arguments>(kernel, parameters);
  }
  return arguments->complete() ? arguments : nullptr;
}

}  // namespace

namespace calls {

CUresult cuModuleLoadData(Current& current, State& state, CUmodule* module, const void* image) {
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  RETURN_IF_ERROR(CheckUnsafeCall(state));
  *module = state.modules.Add(std::make_shared<Module>(Module{current.context}));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoad(Current& current, State& state, CUmodule* module, const char* path) {
  if (path == nullptr || !std::ifstream(path).good()) return CUDA_ERROR_FILE_NOT_FOUND;
  return calls::cuModuleLoadData(current, state, module, path);
}

CUresult cuModuleUnload(Current&, State& state, CUmodule module) {
  if (state.modules.Find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state.modules.Remove(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(Current&, State& state, CUfunction* function, CUmodule module,
                             const char* name) {
  if (state.modules.Find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [number, known] : state.functions.all()) {
    if (known->module == module && std::strcmp(known->kernel->name, name) == 0) {
      *function = reinterpret_cast<CUfunction>(number);
      return CUDA_SUCCESS;
    }
  }
  const Kernel* kernel = FindKernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *function = state.functions.Add(std::make_shared<Function>(Function{kernel, module}));
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(State& state, CUfunction handle, std::size_t index, std::size_t* offset,
                            std::size_t* bytes) {
  const std::shared_ptr<Function> function = state.functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const std::vector<std::size_t>& sizes = function->kernel->parameter_sizes;
  if (index >= sizes.size() || offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *offset = function->kernel->Offsets()[index];
  if (bytes != nullptr) *bytes = sizes[index];
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(Current& current, State& state, CUfunction handle, unsigned grid_x,
                        unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                        unsigned block_z, unsigned, CUstream stream_handle, void** parameters,
                        void** extra) {
  std::shared_ptr<Stream> stream;
  RETURN_IF_ERROR(FindStream(current, stream_handle, &stream));
  const std::shared_ptr<Function> function = state.functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const unsigned long long threads = 1ull * block_x * block_y * block_z;
  if (threads == 0 || threads > 1024 || grid_x == 0 || grid_y == 0 || grid_z == 0 ||
      grid_y > 65535 || grid_z > 65535) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Kernel& kernel = *function->kernel;
  const std::shared_ptr<Arguments> arguments = ReadArguments(kernel, parameters, extra);
  if (arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
  // The driver loads code lazily and allocates its memory at the first launch.
  Context& context = *stream->context;
  if (state.options.lazy_bytes > 0 && !context.loaded_functions.contains(&kernel)) {
    if (!state.card->AddContextBytes(context.device, state.options.lazy_bytes)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context.bytes += state.options.lazy_bytes;
    context.loaded_functions.insert(&kernel);
  }
  const auto run = [&kernel, arguments](Execution& execution) {
    return kernel.run(execution, *arguments);
  };
  return Issue(current.lock, *stream, {.engine = Engine::kCompute, .run = run});
}

CUresult cuLaunchKernelEx(Current& current, State& state, const CUlaunchConfig* config,
                          CUfunction function, void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return calls::cuLaunchKernel(current, state, function, config->gridDimX, config->gridDimY,
                               config->gridDimZ, config->blockDimX, config->blockDimY,
                               config->blockDimZ, config->sharedMemBytes, config->hStream,
                               parameters, extra);
}

}  // namespace calls
}  // namespace fakecuda
