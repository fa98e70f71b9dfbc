// Binds the driver by the dynamic linker, which resolves every call at program start.
#include "reveza/cli/demo_worker/driver.h"

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
