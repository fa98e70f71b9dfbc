// Prints docs/fraud-schema.md.
#include <cstdio>

#include "fraudgen/schema/schema.h"

int main() {
  const std::string text = reveza::fraudgen::SchemaDocument();
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  return written && std::fflush(stdout) == 0 ? 0 : 1;
}
