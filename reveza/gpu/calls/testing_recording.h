// Composes recordings of a few made-up calls, for tests.
#pragma once

#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "reveza/gpu/calls/encoder.h"
#include "reveza/gpu/calls/format.h"

namespace reveza::calls::testing {

class RecordingBuilder {
 public:
  RecordingBuilder() {
    unsigned char tables[512];
    Encoder out(tables, sizeof tables);
    WriteTables(out);
    FileHeader header{.magic = {},
                      .version = kVersion,
                      .header_bytes = kPage,
                      .table_bytes = static_cast<std::uint32_t>(out.size()),
                      .pid = 1};
    std::memcpy(header.magic, kMagic, sizeof kMagic);
    contents_.append(reinterpret_cast<const char*>(&header), sizeof header);
    contents_.append(reinterpret_cast<const char*>(tables), out.size());
    contents_.resize(kPage);
  }

  // Appends the records of a thread with their places in the order.
  void AddBlock(std::uint32_t thread,
                const std::vector<std::pair<std::uint64_t, std::string>>& records) {
    unsigned char bytes[kPage];
    Encoder out(bytes, sizeof bytes);
    std::uint64_t last = 0;
    for (const auto& [sequence, record] : records) {
      out.Number(record.size());
      out.Number(sequence - last);
      for (const char c : record) out.Byte(static_cast<unsigned char>(c));
      last = sequence;
    }
    const BlockHeader header{kBlockMagic, kPage, thread, static_cast<std::uint32_t>(out.size())};
    const std::size_t begin = contents_.size();
    contents_.append(reinterpret_cast<const char*>(&header), sizeof header);
    contents_.append(reinterpret_cast<const char*>(bytes), out.size());
    contents_.resize(begin + kPage);
  }
  void AddUnwrittenPages(std::size_t pages) { contents_.resize(contents_.size() + pages * kPage); }

  // Records.
  static std::string Allocation(std::uint64_t address, std::uint64_t bytes) {
    return Record(0, [&](Encoder& out) {
      out.Number(2);  // one element
      out.Number(address);
      out.Number(bytes);
    });
  }
  static std::string Named(std::string_view name) {
    return Record(1, [&](Encoder& out) {
      out.Number(1);
      out.Text(name);
    });
  }
  static std::string Copy(std::uint64_t from, std::uint64_t bytes) {
    return Record(2, [&](Encoder& out) {
      const std::uint64_t words[] = {0, from, bytes};
      out.Number(2);
      out.Words(words, sizeof words);
      out.Number(0);  // the array that its first member points to
    });
  }
  static std::string Launch(std::uint64_t function, const std::vector<std::uint64_t>& parameters) {
    return Record(3, [&](Encoder& out) {
      out.Number(function);
      out.Number(parameters.size() * 8);
      out.Words(parameters.data(), parameters.size() * 8);
    });
  }

  const std::string& contents() const { return contents_; }

 private:
  static void WriteTables(Encoder& out) {
    out.Text("builder");
    out.Number(3);
    WriteType(out, "CUdeviceptr", Class::kAddress, 8);
    out.Number(0);
    WriteType(out, "size_t", Class::kInteger, 8);
    out.Number(0);
    WriteType(out, "Copy", Class::kStruct, 24);
    out.Number(2);
    for (const std::uint64_t number : {0, 1, 8}) out.Number(number);  // counted by the next
    for (const std::uint64_t number : {8u, 0u, kNoCount}) out.Number(number);
    out.Number(4);
    WriteCall(out, "cuAllocate", {{Mode::kWritten, 0, -1}, {Mode::kValue, 1, -1}});
    WriteCall(out, "unknown", {{Mode::kText, 1, -1}});
    WriteCall(out, "cuCopy", {{Mode::kRead, 2, -1}});
    WriteCall(out, "cuLaunch", {{Mode::kValue, 1, -1}, {Mode::kLaunch, 1, -1}});
  }
  static void WriteType(Encoder& out, const char* name, Class kind, std::uint64_t bytes) {
    out.Text(name);
    out.Byte(static_cast<unsigned char>(kind));
    out.Number(bytes);
  }
  static void WriteCall(Encoder& out, const char* name,
                        const std::vector<ParameterRow>& parameters) {
    out.Text(name);
    out.Number(parameters.size());
    for (const ParameterRow& parameter : parameters) {
      out.Byte(static_cast<unsigned char>(parameter.mode));
      out.Number(parameter.type);
      out.Number(static_cast<std::uint64_t>(parameter.count) + 1);
    }
  }
  template <typename Write>
  static std::string Record(std::uint64_t call, Write write) {
    unsigned char bytes[512];
    Encoder out(bytes, sizeof bytes);
    out.Number(call);
    out.Number(0);
    out.Byte(1);
    write(out);
    return {reinterpret_cast<const char*>(bytes), out.size()};
  }

  std::string contents_;
};

}  // namespace reveza::calls::testing
