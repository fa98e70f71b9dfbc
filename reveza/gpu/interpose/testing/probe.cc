// A program that resolves driver functions in one of several modes and prints which library each
// came from. Run with and without libreveza.so. With REVEZA_TEST_LINKED it is linked against the
// driver and calls it directly; with REVEZA_TEST_OLD_DLSYM it uses the older version of dlsym.
#include <cuda.h>
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#ifdef REVEZA_TEST_OLD_DLSYM
asm(".symver dlsym, dlsym@GLIBC_2.2.5");
#endif

namespace {

// Returns the name of the library that a function belongs to.
std::string Owner(void* function) {
  Dl_info info;
  if (function == nullptr) return "nothing";
  if (dladdr(function, &info) == 0) return "nobody";
  const char* slash = strrchr(info.dli_fname, '/');
  return slash != nullptr ? slash + 1 : info.dli_fname;
}

void Print(const char* what, void* function) { printf("%s: %s\n", what, Owner(function).c_str()); }

void PrintSubmissions() {
  auto submissions =
      reinterpret_cast<unsigned long (*)()>(dlsym(RTLD_DEFAULT, "revezaTestSubmissions"));
  printf("gate: %lu\n", submissions != nullptr ? submissions() : 0);
}

int Handle(const char* library, int flags) {
  void* driver = dlopen(library, flags);
  if (driver == nullptr) {
    printf("%s\n", dlerror());
    return 1;
  }
  for (const char* name :
       {"cuMemcpy", "cuMemAlloc_v2", "cuMemAlloc", "cuInit", "cuGetProcAddress"}) {
    Print(name, dlsym(driver, name));
  }
  auto copy = reinterpret_cast<decltype(&cuMemcpy)>(dlsym(driver, "cuMemcpy"));
  printf("copy: %d\n", copy(0, 0, 0));
  auto last = reinterpret_cast<const char* (*)()>(dlsym(driver, "miniLastCall"));
  printf("driver: %s\n", last());
  PrintSubmissions();
  return 0;
}

int Plugin(const char* library) {
  void* plugin = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (plugin == nullptr) {
    printf("%s\n", dlerror());
    return 1;
  }
  using Find = void* (*)(const char*);
  auto next = reinterpret_cast<Find>(dlsym(plugin, "pluginFindNext"));
  auto global = reinterpret_cast<Find>(dlsym(plugin, "pluginFindDefault"));
  for (const char* name : {"layered", "cuLayered", "cuBaseOnly", "cuNever", "malloc"}) {
    Print((std::string("handle ") + name).c_str(), dlsym(plugin, name));
    Print((std::string("next ") + name).c_str(), next(name));
    Print((std::string("default ") + name).c_str(), global(name));
    Print((std::string("main default ") + name).c_str(), dlsym(RTLD_DEFAULT, name));
    Print((std::string("main next ") + name).c_str(), dlsym(RTLD_NEXT, name));
  }
  return 0;
}

// Probes for CUDA in a program without it.
int Without() {
  void* self = dlopen(nullptr, RTLD_NOW);
  for (const char* name : {"cuInit", "cuMemcpy", "cuGetProcAddress", "curl", "cu", "c", ""}) {
    dlerror();
    Print(name, dlsym(RTLD_DEFAULT, name));
    printf("error: %s\n", dlerror() != nullptr ? "yes" : "no");
    Print(name, dlsym(self, name));
    printf("error: %s\n", dlerror() != nullptr ? "yes" : "no");
  }
  return 0;
}

int ForkAndExec(const char* program, const char* library) {
  const pid_t child = fork();
  if (child == 0) {
    execl(program, program, "handle", library, static_cast<char*>(nullptr));
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  printf("child: %d\n", status);
  return Handle(library, RTLD_NOW);
}

#ifdef REVEZA_TEST_LINKED
int Linked() {
  printf("copy: %d\n", cuMemcpy(0, 0, 0));
  PrintSubmissions();
  Print("default", dlsym(RTLD_DEFAULT, "cuMemcpy"));
  Print("default unwrapped", dlsym(RTLD_DEFAULT, "cuCtxGetCurrent"));
  return 0;
}
#endif

}  // namespace

int main(int argc, char** argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "without") return Without();
#ifdef REVEZA_TEST_LINKED
  if (mode == "linked") return Linked();
#endif
  if (argc < 3) return 2;
  if (mode == "handle") return Handle(argv[2], RTLD_NOW | RTLD_LOCAL);
  if (mode == "deepbind") return Handle(argv[2], RTLD_NOW | RTLD_DEEPBIND);
  if (mode == "plugin") return Plugin(argv[2]);
  if (mode == "fork") return ForkAndExec(argv[0], argv[2]);
  return 2;
}
