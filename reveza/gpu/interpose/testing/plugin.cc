// A plugin loaded with RTLD_LOCAL, as Python does, and the private library it depends on. Built
// twice; REVEZA_TEST_BASE selects the dependency.
#include <dlfcn.h>

#define PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))

#ifdef REVEZA_TEST_BASE
PLUGIN_EXPORT const char* layered() { return "base"; }
PLUGIN_EXPORT const char* cuLayered() { return "base"; }
PLUGIN_EXPORT const char* cuBaseOnly() { return "base"; }
PLUGIN_EXPORT int baseIsLoaded() { return 1; }
#else
extern "C" int baseIsLoaded();
PLUGIN_EXPORT const char* layered() { return "plugin"; }
PLUGIN_EXPORT const char* cuLayered() { return "plugin"; }
PLUGIN_EXPORT void* pluginFindNext(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  // Prevents a tail call: the caller of dlsym must be this library.
  asm volatile("" : : "r"(found) : "memory");
  return found;
}
PLUGIN_EXPORT void* pluginFindDefault(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  asm volatile("" : : "r"(found) : "memory");
  return baseIsLoaded() != 0 ? found : nullptr;
}
#endif
