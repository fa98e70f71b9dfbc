// Direct ELF binding: the dynamic linker resolves every call when the program starts.
#include "driver.h"

namespace reveza::clients {

Resolve Driver::Default() { return Resolve::kDirect; }

Driver LinkedDriver();

Driver LinkedDriver() {
  Driver driver;
#define REVEZA_BIND(name) driver.name = &::name;
  REVEZA_CLIENT_CALLS(REVEZA_BIND)
#undef REVEZA_BIND
  return driver;
}

}  // namespace reveza::clients
