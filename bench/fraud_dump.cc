// Writes the tables of the coherent model as CSV files:
//   fraud_dump FOLDER ROWS SEED DIFFICULTY [FRAUD_BILLIONTHS [CUSTOMERS [ROWS_PER_BLOCK]]]
// Difficulty is in thousandths. FOLDER is there already; with - the rows are made and thrown away.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>

#include "datagen/coherent/coherent_model.h"
#include "datagen/output/file_sink.h"
#include "datagen/output/table_writer.h"

namespace reveza::datagen {
namespace {

struct File {
  std::unique_ptr<FileSink> sink;
  std::unique_ptr<TableWriter> writer;
};

class Files : public BatchSink {
 public:
  explicit Files(std::string folder) : folder_(std::move(folder)) {}

  Status Put(const Batch& batch) override {
    if (folder_ == "-") return {};
    File& file = files_[batch.table().name];
    if (file.sink == nullptr) {
      const std::string name(batch.table().name);
      Result<FileSink> sink = FileSink::Create(folder_ + "/" + name + ".csv");
      if (!sink) return std::unexpected(sink.error());
      file.sink = std::make_unique<FileSink>(std::move(*sink));
      const TableOptions options = {.format = Format::kCsv};
      auto writer = MakeTableWriter(options, batch.table(), *file.sink);
      if (!writer) return std::unexpected(writer.error());
      file.writer = std::move(*writer);
    }
    return file.writer->Write(batch);
  }

  Status Finish() {
    for (auto& [name, file] : files_) {
      if (const Status status = file.writer->Finish(); !status) return status;
      if (const Status status = file.sink->Finish(); !status) return status;
    }
    return {};
  }

 private:
  std::string folder_;
  std::map<std::string_view, File> files_;
};

Status Dump(const std::string& folder, const coherent::Parameters& parameters) {
  const auto model = coherent::CoherentModel::Make(parameters);
  if (!model) return std::unexpected(model.error());
  Files files(folder);
  for (uint64_t block = 0; block < (*model)->blocks(); ++block) {
    const Status status = (*model)->Make(block, (*model)->tables(), files);
    if (!status) return status;
  }
  return files.Finish();
}

int Main(int count, char** words) {
  if (count < 5) {
    std::fputs("fraud_dump FOLDER ROWS SEED DIFFICULTY [FRAUDS [CUSTOMERS [ROWS_PER_BLOCK]]]\n",
               stderr);
    return 2;
  }
  const auto number = [&](int i) { return std::strtoull(words[i], nullptr, 10); };
  coherent::Parameters parameters;
  parameters.rows = number(2);
  parameters.seed = number(3);
  parameters.difficulty = static_cast<uint32_t>(number(4));
  if (count > 5) parameters.frauds.billionths = number(5);
  if (count > 6) parameters.customers = number(6);
  if (count > 7) parameters.rows_per_block = number(7);
  const Status status = Dump(words[1], parameters);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}

}  // namespace
}  // namespace reveza::datagen

int main(int count, char** words) { return reveza::datagen::Main(count, words); }
