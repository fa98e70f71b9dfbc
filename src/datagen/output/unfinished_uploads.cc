#include "datagen/output/unfinished_uploads.h"

#include <fmt/format.h>
#include <httplib.h>

#include <array>
#include <chrono>
#include <optional>
#include <utility>

namespace reveza::datagen {
namespace {

constexpr auto kConnectPatience = std::chrono::seconds(5);
constexpr auto kPatience = std::chrono::seconds(20);
// A thousand uploads each: more than that is not what a run of ours left.
constexpr int kMostPages = 100;

Result<std::string> Send(const StoreServer& server, const S3Request& request, int expected) {
  httplib::Client client(fmt::format("{}://{}", server.tls ? "https" : "http", server.host));
  client.set_connection_timeout(kConnectPatience);
  client.set_read_timeout(kPatience);
  client.set_write_timeout(kPatience);
  client.set_url_encode(false);
  httplib::Request sent;
  sent.method = request.method;
  sent.path = request.Target();
  const auto now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
  for (const auto& [name, value] : SignedHeaders(request, server.keys, server.region, now)) {
    sent.set_header(name == "host" ? "Host" : name, value);
  }
  const httplib::Result result = client.send(sent);
  if (!result) return Fail(Error::Code::kUnavailable, httplib::to_string(result.error()));
  if (result->status != expected) {
    return Fail(Error::Code::kUnavailable, fmt::format("status {}", result->status));
  }
  return result->body;
}

// What stands between <name> and </name>, and goes on behind it.
std::optional<std::string_view> Take(std::string_view& xml, std::string_view name) {
  const std::string open = fmt::format("<{}>", name);
  const std::string close = fmt::format("</{}>", name);
  const std::size_t begin = xml.find(open);
  if (begin == std::string_view::npos) return std::nullopt;
  const std::size_t end = xml.find(close, begin);
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view inside = xml.substr(begin + open.size(), end - begin - open.size());
  xml.remove_prefix(end + close.size());
  return inside;
}

std::string TextOf(std::string_view xml, std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, char>, 7> kEscapes = {{{"&amp;", '&'},
                                                                                 {"&lt;", '<'},
                                                                                 {"&gt;", '>'},
                                                                                 {"&quot;", '"'},
                                                                                 {"&apos;", '\''},
                                                                                 {"&#34;", '"'},
                                                                                 {"&#39;", '\''}}};
  std::string_view rest = Take(xml, name).value_or(std::string_view());
  std::string text;
  while (!rest.empty()) {
    const auto* const escape = std::ranges::find_if(
        kEscapes, [&](const auto& each) { return rest.starts_with(each.first); });
    text += escape == kEscapes.end() ? rest.front() : escape->second;
    rest.remove_prefix(escape == kEscapes.end() ? 1 : escape->first.size());
  }
  return text;
}

}  // namespace

UploadsPage ParseUploadsPage(std::string_view xml) {
  UploadsPage page;
  if (TextOf(xml, "IsTruncated") == "true") {
    page.next = {.key = TextOf(xml, "NextKeyMarker"), .id = TextOf(xml, "NextUploadIdMarker")};
  }
  while (const auto upload = Take(xml, "Upload")) {
    page.uploads.push_back({.key = TextOf(*upload, "Key"), .id = TextOf(*upload, "UploadId")});
  }
  return page;
}

Result<std::vector<UnfinishedUpload>> ListUnfinished(const StoreServer& server,
                                                     std::string_view prefix) {
  std::vector<UnfinishedUpload> all;
  UnfinishedUpload from;
  for (int pages = 0; pages < kMostPages; ++pages) {
    S3Request request = {.method = "GET", .host = server.host, .path = '/' + server.bucket};
    if (!from.key.empty()) request.query.emplace_back("key-marker", from.key);
    request.query.emplace_back("prefix", prefix);
    if (!from.key.empty()) request.query.emplace_back("upload-id-marker", from.id);
    request.query.emplace_back("uploads", "");
    const auto body = Send(server, request, 200);
    if (!body) return std::unexpected(body.error());
    UploadsPage page = ParseUploadsPage(*body);
    std::ranges::move(page.uploads, std::back_inserter(all));
    if (page.next.key.empty()) break;
    from = std::move(page.next);
  }
  return all;
}

Status AbortUnfinished(const StoreServer& server, const UnfinishedUpload& upload) {
  const auto done = Send(server,
                         {.method = "DELETE",
                          .host = server.host,
                          .path = fmt::format("/{}/{}", server.bucket, upload.key),
                          .query = {{"uploadId", upload.id}}},
                         204);
  if (!done) return std::unexpected(done.error());
  return {};
}

}  // namespace reveza::datagen
