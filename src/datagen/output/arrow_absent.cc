#include "datagen/output/arrow_writer.h"
#include "datagen/output/object_store.h"

namespace reveza::datagen {

bool HaveArrow() { return false; }
std::string_view ArrowVersion() { return {}; }
std::string_view ZstdVersion() { return {}; }

Result<std::unique_ptr<TableWriter>> MakeArrowWriter(const TableOptions&, const Table&, ByteSink&) {
  return Fail(Error::Code::kUnavailable,
              "this program was built without Arrow, so it writes no Parquet and no Arrow files; "
              "take jsonl, json, csv or tsv, or build it again after tools/setup.sh");
}

void ReleaseWriterMemory() {}

Result<std::unique_ptr<StoreSession>> StoreSession::Begin(const StoreAddress&) {
  return Fail(Error::Code::kUnavailable,
              "this program was built without Arrow, so it writes to no bucket; write to a folder, "
              "or build it again after tools/setup.sh");
}

}  // namespace reveza::datagen
