// The extension module phi._native, of which python/phi makes the package.
#include "phi/python/arrays.h"

NB_MODULE(_native, module) {
  reveza::phi::AddMeasures(module);
  reveza::phi::AddMultiplets(module);
  reveza::phi::AddDiscrete(module);
  reveza::phi::AddIit4(module);
  reveza::phi::AddCycles(module);
}
