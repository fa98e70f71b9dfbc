#include "fraudgen/output/c_data.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace reveza::fraudgen {
namespace {

constexpr int64_t kNullable = 2;  // CSchema::flags

// What a CSchema or a CArray points to: its children and its dictionary, released with it unless
// the reader has taken them.
template <typename Structure>
struct Owned {
  std::vector<std::unique_ptr<Structure>> children;
  std::vector<Structure*> pointers;
  std::unique_ptr<Structure> dictionary;

  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    for (Structure* child : pointers) Release(child);
    Release(dictionary.get());
  }

  Structure& AddChild() {
    children.push_back(std::make_unique<Structure>());
    pointers.push_back(children.back().get());
    return *children.back();
  }

 private:
  static void Release(Structure* structure) {
    if (structure != nullptr && structure->release != nullptr) structure->release(structure);
  }
};

struct OwnedSchema : Owned<CSchema> {
  std::string format, name, metadata;
};

struct OwnedArray : Owned<CArray> {
  ColumnBuffers values;
  std::array<const void*, 3> buffers = {};
};

template <typename Structure, typename OwnedStructure>
void Release(Structure* structure) {
  delete static_cast<OwnedStructure*>(structure->private_data);
  structure->release = nullptr;
}

// Makes `to` point to what it owns.
void Finish(std::unique_ptr<OwnedSchema> owned, int64_t flags, CSchema& to) {
  to = {.format = owned->format.c_str(),
        .name = owned->name.c_str(),
        .metadata = owned->metadata.empty() ? nullptr : owned->metadata.data(),
        .flags = flags,
        .n_children = static_cast<int64_t>(owned->pointers.size()),
        .children = owned->pointers.data(),
        .dictionary = owned->dictionary.get(),
        .release = Release<CSchema, OwnedSchema>,
        .private_data = nullptr};
  to.private_data = owned.release();
}

void Finish(std::unique_ptr<OwnedArray> owned, std::size_t rows, int64_t nulls, int64_t buffers,
            CArray& to) {
  to = {.length = static_cast<int64_t>(rows),
        .null_count = nulls,
        .offset = 0,
        .n_buffers = buffers,
        .n_children = static_cast<int64_t>(owned->pointers.size()),
        .buffers = owned->buffers.data(),
        .children = owned->pointers.data(),
        .dictionary = owned->dictionary.get(),
        .release = Release<CArray, OwnedArray>,
        .private_data = nullptr};
  to.private_data = owned.release();
}

std::string FormatOf(const Column& column, ColumnForm form) {
  switch (form) {
    case ColumnForm::kText:
      return "u";
    case ColumnForm::kCodes:
      return "s";
    case ColumnForm::kFlags:
      return "b";
    case ColumnForm::kWhole:
      return column.type == ColumnType::kTimestamp ? "tsu:" : "l";
    case ColumnForm::kDecimal128:
      return fmt::format("d:{},{}", kDecimalDigits, column.decimal_places);
    case ColumnForm::kFloat:
      return "g";
    case ColumnForm::kDays:
      return "tdD";
  }
  return "";
}

// Returns one pair of key and value: the number of pairs, then each text after its length.
std::string MetadataOf(std::string_view key, std::string_view value) {
  std::string bytes;
  const auto add = [&](std::size_t number) {
    const auto word = static_cast<int32_t>(number);
    bytes.append(reinterpret_cast<const char*>(&word), sizeof word);
  };
  add(1);
  for (const std::string_view text : {key, value}) {
    add(text.size());
    bytes += text;
  }
  return bytes;
}

void ExportField(const Column& column, Money money, CSchema& to) {
  const ColumnForm form = FormOf(column, money);
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = FormatOf(column, form);
  owned->name = FlatName(column);
  if (const auto note = NoteOf(column, money))
    owned->metadata = MetadataOf(note->first, note->second);
  if (form == ColumnForm::kCodes) {
    auto texts = std::make_unique<OwnedSchema>();
    texts->format = "u";
    owned->dictionary = std::make_unique<CSchema>();
    Finish(std::move(texts), kNullable, *owned->dictionary);
  }
  Finish(std::move(owned), column.nullable == Nullable::kYes ? kNullable : 0, to);
}

void ExportTexts(std::span<const std::string_view> texts, CArray& to) {
  auto owned = std::make_unique<OwnedArray>();
  for (const std::string_view text : texts) {
    owned->values.bytes += text;
    owned->values.offsets.push_back(static_cast<int32_t>(owned->values.bytes.size()));
  }
  owned->buffers = {nullptr, owned->values.offsets.data(), owned->values.bytes.data()};
  Finish(std::move(owned), texts.size(), 0, 3, to);
}

void ExportColumn(const Column& column, Money money, ColumnBuffers values, std::size_t rows,
                  CArray& to) {
  const ColumnForm form = FormOf(column, money);
  auto owned = std::make_unique<OwnedArray>();
  owned->values = std::move(values);
  const int64_t nulls = owned->values.Finish(column, form, rows);
  if (nulls > 0) owned->buffers[0] = owned->values.present_bits.data();
  if (form == ColumnForm::kFlags) {
    owned->buffers[1] = owned->values.flag_bits.data();
  } else {
    owned->values.Visit(form, [&](auto& of_rows) { owned->buffers[1] = of_rows.data(); });
  }
  if (form == ColumnForm::kText) owned->buffers[2] = owned->values.bytes.data();
  if (form == ColumnForm::kCodes) {
    owned->dictionary = std::make_unique<CArray>();
    ExportTexts(column.values, *owned->dictionary);
  }
  Finish(std::move(owned), rows, nulls, form == ColumnForm::kText ? 3 : 2, to);
}

}  // namespace

void ExportSchema(const CLayout& layout, CSchema& to) {
  auto owned = std::make_unique<OwnedSchema>();
  owned->format = "+s";
  for (const std::size_t index : layout.columns) {
    ExportField(layout.table->columns[index], layout.money, owned->AddChild());
  }
  Finish(std::move(owned), 0, to);
}

CRows::CRows(const CLayout& layout, std::size_t max_rows) : layout_(layout), max_rows_(max_rows) {
  Begin();
}

void CRows::Begin() {
  rows_ = 0;
  buffers_ = std::vector<ColumnBuffers>(layout_.columns.size());
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Column& column = layout_.table->columns[layout_.columns[i]];
    buffers_[i].Reserve(column, FormOf(column, layout_.money), max_rows_);
  }
}

void CRows::Append(const Batch& batch, std::size_t first, std::size_t count) {
  if (count == 0) return;
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const std::size_t index = layout_.columns[i];
    const Column& column = layout_.table->columns[index];
    buffers_[i].Append(column, FormOf(column, layout_.money), batch.column(index), first, count);
  }
  rows_ += count;
}

void CRows::Export(CArray& to) {
  auto owned = std::make_unique<OwnedArray>();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    const Column& column = layout_.table->columns[layout_.columns[i]];
    ExportColumn(column, layout_.money, std::move(buffers_[i]), rows_, owned->AddChild());
  }
  Finish(std::move(owned), rows_, 0, 1, to);
  Begin();
}

}  // namespace reveza::fraudgen
