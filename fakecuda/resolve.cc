// Finding entries by name, and the names of results.
#include <cstring>

#include "call.h"
#include "calls.h"
#include "entries.h"
#include "state.h"

namespace fakecuda {
namespace {

const char* ResultText(CUresult result) {
  for (const ResultName* at = kResultNames; at->name != nullptr; ++at) {
    if (at->result == static_cast<int>(result)) return at->name;
  }
  return nullptr;
}

// The newest entry of that name which the asked version knows. `*known` tells whether there is
// one of any version.
const Entry* FindEntry(const char* name, int version, bool per_thread, bool* known) {
  const Entry* best = nullptr;
  const Entry* best_twin = nullptr;
  for (int i = 0; i < kEntryCount; ++i) {
    const Entry& entry = kEntries[i];
    if (std::strcmp(entry.base, name) != 0) continue;
    *known = true;
    if (entry.version > version) continue;
    const Entry*& found = entry.per_thread ? best_twin : best;
    if (found == nullptr || entry.version >= found->version) found = &entry;
  }
  return per_thread && best_twin != nullptr ? best_twin : best;
}

CUresult Resolve(const char* name, void** function, int version, cuuint64_t flags,
                 CUdriverProcAddressQueryResult* status) {
  if (name == nullptr || *name == '\0' || function == nullptr ||
      flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  bool known = false;
  const bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
  const Entry* entry = FindEntry(name, version, per_thread, &known);
  *function = entry == nullptr ? nullptr : entry->function;
  if (status != nullptr) {
    *status = entry != nullptr ? CU_GET_PROC_ADDRESS_SUCCESS
              : known          ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                               : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  }
  return entry != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

}  // namespace

namespace calls {

CUresult cuGetProcAddress_v2(const char* name, void** function, int version, cuuint64_t flags,
                             CUdriverProcAddressQueryResult* status) {
  return Resolve(name, function, version, flags, status);
}

CUresult cuGetProcAddress(const char* name, void** function, int version, cuuint64_t flags) {
  return Resolve(name, function, version, flags, nullptr);
}

CUresult cuGetExportTable(const void** table, const CUuuid*) {
  if (table != nullptr) *table = nullptr;
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetErrorName(CUresult result, const char** text) {
  if (text == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *text = ResultText(result);
  return *text == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult cuGetErrorString(CUresult result, const char** text) {
  return calls::cuGetErrorName(result, text);
}

}  // namespace calls
}  // namespace fakecuda
