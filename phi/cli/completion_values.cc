// What `phi` completes beyond its options: columns of a file, measures, networks.
#include <string>
#include <string_view>
#include <vector>

#include "phi/cli/commands.h"
#include "phi/discrete/network_file.h"
#include "phi/measures/measures.h"
#include "phi/series/series_table.h"

namespace reveza::phi {

std::vector<command_line::Candidate> CompletionValues(std::string_view kind,
                                                      const command_line::Typed& typed) {
  std::vector<command_line::Candidate> candidates;
  if (kind == "COLUMN" && !typed.positionals.empty()) {
    for (const std::string& name : ColumnNames(typed.positionals.front())) {
      candidates.push_back({name});
    }
  } else if (kind == "MEASURE") {
    for (const Measure measure : kAllMeasures) candidates.push_back({std::string(NameOf(measure))});
    if (typed.command.get_name() == "run") candidates.push_back({"phi_legacy"});
    candidates.push_back({"all"});
  } else if (kind == "NETWORK") {
    for (const BuiltInNetworkInfo& network : BuiltInNetworks()) {
      candidates.push_back({std::string(network.name), std::string(network.meaning)});
    }
  }
  return candidates;
}

}  // namespace reveza::phi
