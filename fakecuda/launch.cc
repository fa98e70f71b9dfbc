// Modules, libraries, functions and launches.
#include "launch.h"

#include <array>
#include <cstring>
#include <fstream>

#include "calls.h"
#include "graph.h"
#include "kernels.h"

namespace fakecuda {

CUresult MakeLaunch(State& state, Context& context, CUfunction handle,
                    const CUDA_KERNEL_NODE_PARAMS& parameters, Operation* operation) {
  const std::shared_ptr<Function> function = state.functions.Find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const unsigned long long threads =
      1ull * parameters.blockDimX * parameters.blockDimY * parameters.blockDimZ;
  if (threads == 0 || threads > 1024 || parameters.gridDimX == 0 || parameters.gridDimY == 0 ||
      parameters.gridDimZ == 0 || parameters.gridDimY > 65535 || parameters.gridDimZ > 65535) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  const Kernel& kernel = *function->kernel;
  std::shared_ptr<Arguments> arguments;
  if (parameters.extra != nullptr) {
    const void* buffer = nullptr;
    std::size_t bytes = 0;
    for (void** at = parameters.extra; *at != CU_LAUNCH_PARAM_END; at += 2) {
      if (*at == CU_LAUNCH_PARAM_BUFFER_POINTER) buffer = at[1];
      if (*at == CU_LAUNCH_PARAM_BUFFER_SIZE) std::memcpy(&bytes, at[1], sizeof bytes);
    }
    arguments = std::make_shared<Arguments>(kernel, buffer, bytes);
  } else {
    arguments = std::make_shared<Arguments>(kernel, parameters.kernelParams);
  }
  if (!arguments->complete()) return CUDA_ERROR_INVALID_VALUE;
  // The driver loads code at its first use, and takes memory for it then.
  if (state.options.lazy_bytes > 0 && !context.loaded_functions.contains(&kernel)) {
    if (!state.card->AddContextBytes(context.device, state.options.lazy_bytes)) {
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    context.bytes += state.options.lazy_bytes;
    context.loaded_functions.insert(&kernel);
  }
  operation->engine = Engine::kCompute;
  operation->type = CU_GRAPH_NODE_TYPE_KERNEL;
  operation->kernel = parameters;
  operation->kernel.func = handle;
  operation->kernel.kernelParams = operation->kernel.extra = nullptr;
  operation->run = [&kernel, arguments](Execution& execution) {
    return kernel.run(execution, *arguments);
  };
  return CUDA_SUCCESS;
}

namespace {

CUresult Launch(CUstream handle, CUfunction function, const CUDA_KERNEL_NODE_PARAMS& parameters) {
  Current current = EnterContext();
  if (!current.ok()) return current.result;
  std::shared_ptr<Stream> stream;
  CUresult result = FindStream(current, handle, &stream);
  if (result != CUDA_SUCCESS) return result;
  Operation operation;
  result = MakeLaunch(State::Get(), *stream->context, function, parameters, &operation);
  if (result != CUDA_SUCCESS) return result;
  return Issue(current.lock, *stream, std::move(operation));
}

// Function, library and kernel handles are the same numbers, as they are for the real driver.
CUresult FindFunction(CUfunction* handle, CUmodule module, CUlibrary library, const char* name) {
  State& state = State::Get();
  if (handle == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& [number, function] : state.functions.all()) {
    if (function->module == module && function->library == library &&
        std::strcmp(function->kernel->name, name) == 0) {
      *handle = reinterpret_cast<CUfunction>(number);
      return CUDA_SUCCESS;
    }
  }
  const Kernel* kernel = FindKernel(name);
  if (kernel == nullptr) return CUDA_ERROR_NOT_FOUND;
  *handle = state.functions.Add(std::make_shared<Function>(Function{kernel, module, library}));
  return CUDA_SUCCESS;
}

}  // namespace

namespace calls {

CUresult cuModuleLoadData(CUmodule* module, const void* image) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (module == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult unsafe = CheckUnsafeCall(State::Get());
  if (unsafe != CUDA_SUCCESS) return unsafe;
  *module = State::Get().modules.Add(std::make_shared<Module>(Module{current.context}));
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return calls::cuModuleLoadData(module, image);
}

CUresult cuModuleLoadFatBinary(CUmodule* module, const void* image) {
  return calls::cuModuleLoadData(module, image);
}

CUresult cuModuleLoad(CUmodule* module, const char* path) {
  if (path == nullptr || !std::ifstream(path).good()) return CUDA_ERROR_FILE_NOT_FOUND;
  return calls::cuModuleLoadData(module, path);
}

CUresult cuModuleUnload(CUmodule module) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (State::Get().modules.Find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  State::Get().modules.Remove(module);
  return CUDA_SUCCESS;
}

CUresult cuModuleGetLoadingMode(CUmoduleLoadingMode* mode) {
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  if (State::Get().modules.Find(module) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FindFunction(function, module, nullptr, name);
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr*, size_t*, CUmodule module, const char*) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  return State::Get().modules.Find(module) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                      : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryLoadData(CUlibrary* library, const void* image, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**, unsigned) {
  if (library == nullptr || image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  State& state = State::Get();
  const StateLock lock(state.mutex);
  *library = state.libraries.Add(std::make_shared<Module>());
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadFromFile(CUlibrary* library, const char* path, CUjit_option*, void**,
                               unsigned, CUlibraryOption*, void**, unsigned) {
  if (path == nullptr || !std::ifstream(path).good()) return CUDA_ERROR_FILE_NOT_FOUND;
  return calls::cuLibraryLoadData(library, path, nullptr, nullptr, 0, nullptr, nullptr, 0);
}

CUresult cuLibraryUnload(CUlibrary library) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (state.libraries.Find(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  state.libraries.Remove(library);
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetKernel(CUkernel* kernel, CUlibrary library, const char* name) {
  State& state = State::Get();
  const StateLock lock(state.mutex);
  if (state.libraries.Find(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return FindFunction(reinterpret_cast<CUfunction*>(kernel), nullptr, library, name);
}

CUresult cuLibraryGetModule(CUmodule* module, CUlibrary library) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  State& state = State::Get();
  if (state.libraries.Find(library) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *module = state.modules.Add(std::make_shared<Module>(Module{current.context}));
  return CUDA_SUCCESS;
}

CUresult cuLibraryGetGlobal(CUdeviceptr*, size_t*, CUlibrary library, const char*) {
  const StateLock lock(State::Get().mutex);
  return State::Get().libraries.Find(library) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                         : CUDA_ERROR_NOT_FOUND;
}

CUresult cuLibraryGetManaged(CUdeviceptr* pointer, size_t* bytes, CUlibrary library,
                             const char* name) {
  return calls::cuLibraryGetGlobal(pointer, bytes, library, name);
}

CUresult cuKernelGetFunction(CUfunction* function, CUkernel kernel) {
  const Current current = EnterContext();
  if (!current.ok()) return current.result;
  *function = reinterpret_cast<CUfunction>(kernel);
  return State::Get().functions.Find(*function) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                           : CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  const StateLock lock(State::Get().mutex);
  if (State::Get().functions.Find(function) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *value = attribute == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024
           : attribute == CU_FUNC_ATTRIBUTE_NUM_REGS            ? 32
           : attribute == CU_FUNC_ATTRIBUTE_PTX_VERSION         ? 90
           : attribute == CU_FUNC_ATTRIBUTE_BINARY_VERSION      ? 90
                                                                : 0;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction function, CUfunction_attribute, int) {
  const StateLock lock(State::Get().mutex);
  return State::Get().functions.Find(function) == nullptr ? CUDA_ERROR_INVALID_HANDLE
                                                          : CUDA_SUCCESS;
}

CUresult cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return calls::cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX, 0);
}

CUresult cuFuncGetName(const char** name, CUfunction handle) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<Function> function = State::Get().functions.Find(handle);
  if (name == nullptr || function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->kernel->name;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetModule(CUmodule* module, CUfunction handle) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<Function> function = State::Get().functions.Find(handle);
  if (module == nullptr || function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *module = function->module;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetParamInfo(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  const StateLock lock(State::Get().mutex);
  const std::shared_ptr<Function> function = State::Get().functions.Find(handle);
  if (function == nullptr || index >= function->kernel->parameter_sizes.size()) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (offset != nullptr) *offset = function->kernel->Offsets()[index];
  if (size != nullptr) *size = function->kernel->parameter_sizes[index];
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* size) {
  return calls::cuFuncGetParamInfo(reinterpret_cast<CUfunction>(kernel), index, offset, size);
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction, int threads, size_t) {
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = threads > 1024 ? 0 : 2048 / threads;
  return CUDA_SUCCESS;
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function,
                                                              int threads, size_t shared,
                                                              unsigned) {
  return calls::cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                        unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared,
                        CUstream stream, void** parameters, void** extra) {
  return Launch(stream, function,
                {function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, parameters,
                 extra, nullptr, nullptr});
}

CUresult cuLaunchCooperativeKernel(CUfunction function, unsigned grid_x, unsigned grid_y,
                                   unsigned grid_z, unsigned block_x, unsigned block_y,
                                   unsigned block_z, unsigned shared, CUstream stream,
                                   void** parameters) {
  return calls::cuLaunchKernel(function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared,
                               stream, parameters, nullptr);
}

CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                          void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return calls::cuLaunchKernel(function, config->gridDimX, config->gridDimY, config->gridDimZ,
                               config->blockDimX, config->blockDimY, config->blockDimZ,
                               config->sharedMemBytes, config->hStream, parameters, extra);
}

}  // namespace calls
}  // namespace fakecuda
