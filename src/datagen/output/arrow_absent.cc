#include "datagen/output/arrow_writer.h"

namespace reveza::datagen {

bool HaveArrow() { return false; }
std::string_view ArrowVersion() { return {}; }
std::string_view ZstdVersion() { return {}; }

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions&, const Table&, ByteSink&) {
  return Fail(Error::Code::kUnavailable,
              "this program was built without Arrow, so it writes no Parquet and no Arrow files; "
              "take jsonl, json, csv or tsv, or build it again after tools/setup.sh");
}

}  // namespace reveza::datagen
