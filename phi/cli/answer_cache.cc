#include "phi/cli/answer_cache.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <system_error>
#include <utility>

#include "common/base/read_file.h"
#include "common/platform/output_file.h"

namespace reveza::phi {
namespace {

// What an entry begins with: a line that names the format, the checksum of the rest, and the
// lengths of question and answer.
std::string HeadOf(std::string_view question, std::string_view answer) {
  const std::string all = std::string(question) + std::string(answer);
  return fmt::format("reveza phi answer 1\n{:016x} {} {}\n", XXH3_64bits(all.data(), all.size()),
                     question.size(), answer.size());
}

}  // namespace

Result<AnswerCache> AnswerCache::Open(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || !std::filesystem::is_directory(folder, error)) {
    return InvalidArgument("--cache: cannot use the folder {}: {}", folder.string(),
                           error ? error.message() : "it is a file");
  }
  return AnswerCache(folder);
}

std::filesystem::path AnswerCache::PathOf(std::string_view question) const {
  const XXH128_hash_t hash = XXH3_128bits(question.data(), question.size());
  return folder_ / fmt::format("{:016x}{:016x}.phi", hash.high64, hash.low64);
}

Result<std::optional<std::string>> AnswerCache::Find(std::string_view question) const {
  const std::filesystem::path path = PathOf(question);
  auto bytes = ReadFile(path, kMaxUserFile);
  if (!bytes && bytes.error().code == Error::Code::kNotFound) return std::nullopt;
  if (!bytes) return std::unexpected(bytes.error());
  const std::size_t at = bytes->find(question);
  if (at != std::string::npos) {
    std::string answer = bytes->substr(at + question.size());
    if (std::string_view(*bytes).substr(0, at) == HeadOf(question, answer)) return answer;
  }
  return Fail(Error::Code::kUnavailable, "{} is damaged", path.string());
}

Status AnswerCache::Store(std::string_view question, std::string_view answer) const {
  ASSIGN_OR_RETURN(auto file, platform::OutputFile::Create(PathOf(question)));
  RETURN_IF_ERROR(file.Append(HeadOf(question, answer)));
  RETURN_IF_ERROR(file.Append(question));
  RETURN_IF_ERROR(file.Append(answer));
  return file.Finish();
}

}  // namespace reveza::phi
