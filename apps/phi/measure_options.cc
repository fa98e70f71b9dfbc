#include "measure_options.h"

#include <fmt/format.h>

#include <utility>

namespace reveza::phi {

void AddMeasureChoice(CLI::App& options, MeasureChoice& choice) {
  options
      .add_option("-m,--measure", choice.measures,
                  "i, mi, si, wms, phi_r, phi_g, phi_star, with commas between; all unless given "
                  "(phi_r with two parts only)")
      ->type_name("NAMES");
  auto* const partition =
      options
          .add_option("-p,--partition", choice.partition,
                      "parts of variables by number or name: '0,1|2,3'; atomic, each alone, unless "
                      "given (phi_r: the minimum bipartition)")
          ->type_name("PARTS");
  auto* const minimum = options
                            .add_option("--mip", choice.minimum,
                                        "each measure at its minimum information bipartition: "
                                        "exhaustive (24 variables at most) or queyranne")
                            ->type_name("METHOD")
                            ->excludes(partition);
  options
      .add_flag("--normalised", choice.normalised,
                "minimise value / least entropy of a part, which depends on units")
      ->needs(minimum);
}

void AddExtraOptions(CLI::App& options, std::string& complexes, std::string& granger) {
  options.add_option("--complexes", complexes, "complexes too, by mi, si or wms")
      ->type_name("MEASURE");
  options
      .add_option("--granger", granger,
                  "Granger causality and transfer entropy too: pair, or conditional on all others")
      ->type_name("KIND");
}

Result<WindowOptions> WindowOptionsOf(const MeasureChoice& choice, int variables,
                                      const Names& names) {
  WindowOptions options;
  auto measures = MeasuresOf(choice.measures);
  if (!measures) return std::unexpected(measures.error());
  options.measures = *std::move(measures);
  if (variables < 2) {
    return Fail(Error::Code::kInvalidArgument,
                fmt::format("{} variable has no parts; integration takes two at least", variables));
  }
  if (!choice.partition.empty()) {
    auto partition = ParsePartition(choice.partition, variables, names);
    if (!partition) return std::unexpected(partition.error());
    options.partition = *std::move(partition);
    // Of two parts only: among all measures it is not named.
    if (choice.measures == "all" && options.partition->parts().size() != 2) {
      std::erase(options.measures, Measure::kPhiR);
    }
  }
  if (!choice.minimum.empty()) {
    const auto method = SearchMethodOf(choice.minimum);
    if (!method) return std::unexpected(method.error());
    options.minimum = SearchOptions{.method = *method, .normalised = choice.normalised};
  }
  return options;
}

Status AddExtras(const GaussianModel& model, const std::string& complexes,
                 const std::string& granger, std::optional<std::int64_t> samples,
                 const Names& names, Json& document, std::string& text) {
  if (!complexes.empty()) {
    const auto measure = MeasureOf(complexes);
    if (!measure) return std::unexpected(measure.error());
    const auto found = ComplexesOf(model, *measure);
    if (!found) return std::unexpected(found.error());
    document["complexes"] = {{"measure", NameOf(*measure)}, {"found", JsonOf(*found, names)}};
    text += '\n' + TextOf(*found, *measure, names);
  }
  if (granger.empty()) return {};
  if (granger != "pair" && granger != "conditional") {
    return Fail(
        Error::Code::kInvalidArgument,
        fmt::format("there is no Granger causality '{}'; there are pair and conditional", granger));
  }
  const Granger found =
      GrangerOf(model, granger == "pair" ? GrangerKind::kPair : GrangerKind::kConditional, samples);
  document["granger"] = JsonOf(found, names);
  document["granger"]["kind"] = granger;
  text += '\n' + TextOf(found, names);
  return {};
}

}  // namespace reveza::phi
