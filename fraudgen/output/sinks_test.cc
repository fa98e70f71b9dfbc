#include "fraudgen/output/sinks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "common/base/unique_fd.h"
#include "common/platform/testing_directory.h"
#include "fraudgen/output/byte_stream.h"

namespace reveza::fraudgen {
namespace sinks_test {

std::string ContentOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(FileSink, KeepsOrderOfPieces) {
  const platform::TestingDirectory folder;
  auto sink = FileSink::Create(folder / "rows.csv");
  ASSERT_TRUE(sink) << sink.error().message;
  std::string expected;
  const auto append = [&](std::size_t size, char letter) {
    ASSERT_TRUE(sink->Append(std::string(size, letter)));
    expected.append(size, letter);
  };
  append(3, 'a');
  append(FileSink::kDirectBytes, 'b');
  append(FileSink::kDirectBytes - 1, 'c');
  for (int i = 0; i < 50; ++i) append(100'000, static_cast<char>('d' + i % 20));
  append(1, 'z');
  EXPECT_FALSE(std::filesystem::exists(folder / "rows.csv")) << "before Finish()";
  ASSERT_TRUE(sink->Finish());
  EXPECT_TRUE(ContentOf(folder / "rows.csv") == expected);
}

TEST(FileSource, ReadsAnyRange) {
  const platform::TestingDirectory folder;
  std::ofstream(folder / "rows") << "0123456789";
  const auto source = FileSource::Open(folder / "rows");
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->size(), 10u);
  std::string piece(4, ' ');
  EXPECT_EQ((*source)->ReadAt(3, piece), 4u);
  EXPECT_EQ(piece, "3456");
  EXPECT_EQ((*source)->ReadAt(8, piece), 2u);
  EXPECT_TRUE(piece.starts_with("89"));
  EXPECT_EQ((*source)->ReadAt(10, piece), 0u);
  EXPECT_EQ((*source)->ReadAt(99, piece), 0u);
  const auto nothing = FileSource::Open(folder / "nothing");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().code, Error::Code::kNotFound);
}

TEST(FileSink, LeavesNothingWithoutFinish) {
  const platform::TestingDirectory folder;
  {
    auto sink = FileSink::Create(folder / "rows.csv");
    ASSERT_TRUE(sink);
    ASSERT_TRUE(sink->Append(std::string(3 * FileSink::kBufferBytes, 'a')));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(FileSink, ErrorNamesPath) {
  const auto sink = FileSink::Create("/nonexistent/rows.csv");
  ASSERT_FALSE(sink);
  EXPECT_EQ(sink.error().code, Error::Code::kNotFound);
  EXPECT_NE(sink.error().message.find("/nonexistent/rows.csv"), std::string::npos);
}

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    out = UniqueFd(ends[0]);
    in = UniqueFd(ends[1]);
  }
  UniqueFd out;
  UniqueFd in;
};

TEST(StdoutSink, WritesAllToSlowReader) {
  Pipe pipe;
  ASSERT_EQ(fcntl(pipe.in.get(), F_SETFL, O_NONBLOCK), 0) << "as some parent processes do";
  const std::string sent(1'000'000, 'x');
  std::string got;
  std::thread reader([&] {
    char some[7'001];
    for (ssize_t size = 0; (size = read(pipe.out.get(), some, sizeof some)) > 0;) {
      got.append(some, static_cast<std::size_t>(size));
    }
  });
  StdoutSink sink(pipe.in.get());
  EXPECT_TRUE(sink.Append(sent));
  EXPECT_TRUE(sink.Finish());
  pipe.in = UniqueFd();
  reader.join();
  EXPECT_TRUE(got == sent);
  EXPECT_FALSE(sink.reader_gone());
}

TEST(StdoutSink, ClosedReaderIsError) {
  Pipe pipe;
  pipe.out = UniqueFd();
  const auto before = signal(SIGPIPE, SIG_IGN);
  StdoutSink sink(pipe.in.get());
  const auto appended = sink.Append("row\n");
  signal(SIGPIPE, before);
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, Error::Code::kUnavailable);
  EXPECT_TRUE(sink.reader_gone());
}

TEST(StdoutSink, ReportsFullDevice) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  StdoutSink sink(full.get());
  const auto appended = sink.Append("row\n");
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().code, Error::Code::kExhausted);
  EXPECT_FALSE(sink.reader_gone());
}

TEST(HashingSink, HashDoesNotDependOnPieces) {
  // The published XXH3-128 of the empty input.
  EXPECT_EQ(HashOf(""), "99aa06d3014798d86001c324468d497f");
  const std::string text(100'000, 'q');
  MemorySink memory;
  HashingSink sink(memory);
  EXPECT_EQ(sink.Hash(), HashOf(""));
  for (std::size_t begin = 0, size = 1; begin < text.size(); begin += size, size = 3 * size + 1) {
    ASSERT_TRUE(sink.Append(std::string_view(text).substr(begin, size)));
  }
  EXPECT_EQ(sink.bytes(), text.size());
  EXPECT_EQ(sink.Hash(), HashOf(text));
  EXPECT_TRUE(memory.bytes() == text);
  EXPECT_FALSE(memory.finished());
  EXPECT_TRUE(sink.Finish());
  EXPECT_TRUE(memory.finished());
  EXPECT_NE(HashOf(text), HashOf(text + "q"));
}

TEST(HashingSink, IgnoresRejectedBytes) {
  const UniqueFd full(open("/dev/full", O_WRONLY | O_CLOEXEC));
  StdoutSink device(full.get());
  HashingSink sink(device);
  EXPECT_FALSE(sink.Append("row\n"));
  EXPECT_EQ(sink.bytes(), 0u);
  EXPECT_EQ(sink.Hash(), HashOf(""));
}

}  // namespace sinks_test
}  // namespace reveza::fraudgen
