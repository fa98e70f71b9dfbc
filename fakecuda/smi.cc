// nvidia-smi --query-gpu=uuid,memory.free --format=csv,noheader,nounits, for the fake devices; it
// answers nothing else.
#include <nvml.h>

#include <cstdio>
#include <cstring>

int main(int argc, char** argv) {
  if (argc != 3 || std::strcmp(argv[1], "--query-gpu=uuid,memory.free") != 0 ||
      std::strcmp(argv[2], "--format=csv,noheader,nounits") != 0) {
    std::fprintf(stderr, "nvidia-smi (fakecuda): only the query of free memory is known\n");
    return 2;
  }
  if (nvmlInit_v2() != NVML_SUCCESS) {
    std::printf("Failed to initialize NVML: Driver Not Loaded\n");
    return 9;
  }
  unsigned count = 0;
  nvmlDeviceGetCount_v2(&count);
  for (unsigned index = 0; index < count; ++index) {
    nvmlDevice_t device;
    nvmlDeviceGetHandleByIndex_v2(index, &device);
    char uuid[NVML_DEVICE_UUID_V2_BUFFER_SIZE];
    nvmlDeviceGetUUID(device, uuid, sizeof uuid);
    nvmlMemory_t memory;
    nvmlDeviceGetMemoryInfo(device, &memory);
    std::printf("%s, %llu\n", uuid, memory.free >> 20);
  }
  return 0;
}
