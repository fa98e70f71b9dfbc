// Reads a file of recorded driver calls, of which every byte may be wrong.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/base/error.h"
#include "reveza/gpu/calls/format.h"

namespace reveza::calls {

struct Field {
  std::uint32_t offset;
  std::uint32_t type;
  std::uint32_t count;  // see FieldRow
};

struct Type {
  std::string name;
  Class kind;
  std::uint32_t bytes;
  std::vector<Field> fields;
};

struct Parameter {
  Mode mode;
  std::uint32_t type;
  int count;  // see ParameterRow
};

struct Call {
  std::string name;
  std::vector<Parameter> parameters;
};

struct Record {
  std::uint64_t sequence;
  std::uint32_t thread;
  std::uint32_t call;
  std::uint32_t result;
  bool has_values;                         // false: they were too large
  std::span<const unsigned char> encoded;  // see CallRecording::Values
};

// A parameter of a recorded call.
struct Value {
  bool present = false;                // false: ignored, or a null pointer
  std::uint64_t number = 0;            // kValue
  std::string bytes;                   // kText; kLaunch; the structs of kRead and kWritten
  std::vector<std::uint64_t> numbers;  // other elements of kRead and kWritten
  std::vector<Value> members;          // arrays that the structs point to, in order
};

class CallRecording {
 public:
  // Reads the contents of a file. A file that was cut is read up to its last whole record.
  static Result<CallRecording> Parse(std::string contents);

  CallRecording(CallRecording&&) = default;
  CallRecording& operator=(CallRecording&&) = default;

  const std::string& program() const { return program_; }
  std::uint32_t pid() const { return pid_; }
  bool is_cut() const { return cut_; }
  const std::vector<Type>& types() const { return types_; }
  const std::vector<Call>& calls() const { return calls_; }
  // In the order of the calls of the process.
  const std::vector<Record>& records() const { return records_; }

  // Returns the parameters of a record of this recording that has values.
  std::vector<Value> Values(const Record& record) const;

 private:
  class Decoder;

  CallRecording() = default;
  Status ReadTables(Decoder& in);
  Status ReadBlocks(std::size_t offset);
  Status ReadBlock(std::size_t offset, const BlockHeader& header);
  Status ReadRecord(Decoder& in, std::size_t at, Record* record);
  bool ReadValues(Decoder& in, const Call& call, std::vector<Value>* values) const;
  bool ReadElements(Decoder& in, const Type& type, int depth, Value* value) const;

  std::vector<unsigned char> contents_;
  std::string program_;
  std::uint32_t pid_ = 0;
  bool cut_ = false;
  std::vector<Type> types_;
  std::vector<Call> calls_;
  std::vector<Record> records_;
};

}  // namespace reveza::calls
