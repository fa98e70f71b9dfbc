// Runs a client program on a fake card of its own and reads what it says.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace reveza::clients {

struct Ended {
  int status = -1;  // exit status, or 128 + signal as a shell says it
  std::string output;
  std::string complaint;  // stderr

  // The text or number behind "key": in the JSON line; "" when there is none.
  std::string Field(const std::string& key) const;
};

using Settings = std::map<std::string, std::string>;

// A folder for one fake card; removed with everything in it.
class FakeCard {
 public:
  // `settings`: environment beside the defaults (256 MiB, unlimited link, one device).
  explicit FakeCard(Settings settings = {});
  ~FakeCard();
  FakeCard(const FakeCard&) = delete;
  FakeCard& operator=(const FakeCard&) = delete;

  Ended Run(const std::string& program, const std::vector<std::string>& arguments) const;

 private:
  std::string folder_;
  Settings settings_;
};

// Where a client's binary is.
std::string ClientPath(const std::string& name);

}  // namespace reveza::clients
