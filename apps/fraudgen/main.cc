// `fraudgen`: made-up Brazilian bank and ride data with labelled fraud. This file is its command
// line only.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "command_line/command_line.h"
#include "commands.h"
#include "exit_status.h"
#include "platform/standard_output.h"
#include "platform/text_file.h"
#include "typed_options.h"

namespace reveza::fraudgen {
namespace {

using datagen::AllSettings;
using datagen::Configuration;
using datagen::SettingInfo;
using datagen::SettingKind;

constexpr int kMostThreads = 1024;

struct Typed {
  std::map<std::string_view, std::string> settings;  // by key
  std::string config, shard, output, table, checked, reported, language = "en";
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool quiet = false, json = false, no_date_partition = false;
  datagen::StoreFlags store;
  StreamArguments stream;
};

constexpr std::string_view kFooter =
    "For example:  fraudgen --size 10GB --format parquet --output data/\n\n"
    "What is finished stays: after Ctrl-C, a crash or a full disk the same command goes on "
    "there.\n\n"
    "Where the Brazilian Fraud Data Generator meant something else:\n"
    "  (all)         --model classic has its tables and distributions\n"
    "  --size        true bytes of all files (it counted 500 a row), and GB is 10^9 (it was 2^30)\n"
    "  --seed        1 unless given (it drew one)\n"
    "  --end-date    a fixed day unless given (it took today)\n"
    "  --fraud-rate  exactly that share of the rows (it tossed a coin for each)\n"
    "  --workers     threads, which change no byte (they were processes)\n"
    "  --compression also for local files\n"
    "  --no-date-partition  the day in a bucket's keys is the last of the data (it was today)";

std::string FlagOf(std::string_view key) {
  std::string flag(key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

void AddSettings(CLI::App& app, Typed& typed) {
  const std::map<std::string_view, std::string> letters = {
      {"type", "-t,"},       {"size", "-s,"},      {"format", "-f,"},
      {"fraud_rate", "-r,"}, {"customers", "-c,"},
  };
  for (const SettingInfo& info : AllSettings()) {
    const auto letter = letters.find(info.key);
    const std::string name =
        (letter == letters.end() ? "" : letter->second) + "--" + FlagOf(info.key);
    std::string& value = typed.settings[info.key];
    if (info.kind == SettingKind::kValue) {
      app.add_option(name, value, std::string(info.meaning))->type_name("VALUE");
    } else if (info.key == "profiles") {
      app.add_flag_callback(
          "--no-profiles", [&value] { value = "false"; },
          "customers without behavioural profiles (classic)");
    } else {
      app.add_flag_callback(name, [&value] { value = "true"; }, std::string(info.meaning));
    }
  }
}

void AddStore(CLI::App& app, datagen::StoreFlags& store) {
  app.add_option("--s3-endpoint,--minio-endpoint", store.endpoint,
                 "of a bucket: http://host:port; else AWS_ENDPOINT_URL, MINIO_ENDPOINT or Amazon")
      ->type_name("URL");
  app.add_option("--s3-region", store.region, "of a bucket; else AWS_REGION")->type_name("NAME");
  app.add_option("--s3-access-key,--minio-access-key", store.access_key,
                 "else AWS_ACCESS_KEY_ID, MINIO_ACCESS_KEY, or what a profile has")
      ->type_name("KEY");
  app.add_option("--s3-secret-key,--minio-secret-key", store.secret_key,
                 "else AWS_SECRET_ACCESS_KEY or MINIO_SECRET_KEY, which others do not see")
      ->type_name("KEY");
  app.add_option("--s3-profile", store.profile, "whose keys to take from ~/.aws")
      ->type_name("NAME");
}

void AddStream(CLI::App& command, StreamArguments& stream) {
  command.add_option("-t,--target", stream.target, "where the events go: stdout, kafka or webhook")
      ->type_name("NAME")
      ->required();
  command.add_option("-r,--rate", stream.rate, "events a second; 10 unless --pace is given")
      ->type_name("R");
  command
      .add_option("--pace", stream.pace,
                  "as the timeline's own clock: real, x60 for sixty times as fast, or max")
      ->type_name("PACE");
  command.add_option("-n,--max-events", stream.max_events, "no more than so many")->type_name("N");
  command.add_flag("--pretty", stream.pretty, "stdout: each event over many lines");
  command
      .add_option("--defects-key", stream.defects_key,
                  "with --defects: the file for what is wrong with which event")
      ->type_name("FILE");
  command
      .add_option("--kafka-server", stream.kafka_server,
                  "kafka: host:port of some of its servers, with commas; else localhost:9092")
      ->type_name("SERVERS");
  command.add_option("--kafka-topic", stream.kafka_topic, "kafka: else transactions, or rides")
      ->type_name("NAME");
  command
      .add_option("--kafka-key", stream.key,
                  "kafka: whose events stay in order: customer (the default), event or none")
      ->type_name("KEY");
  command
      .add_option("--kafka-option", stream.kafka_options,
                  "kafka: any setting of librdkafka, such as compression.type=lz4; again for more")
      ->type_name("NAME=VALUE")
      ->expected(1)
      ->take_all();
  command.add_option("--webhook-url", stream.webhook_url, "webhook: the address")->type_name("URL");
  command
      .add_option("--webhook-method", stream.webhook_method,
                  "webhook: POST (the default), PUT or PATCH")
      ->type_name("METHOD");
  command
      .add_option("--webhook-batch", stream.webhook_batch,
                  "webhook: up to so many events in a request, as a JSON array; else one, alone")
      ->type_name("N");
  command
      .add_option("--webhook-header", stream.webhook_headers,
                  "webhook: in each request, such as 'Authorization: Bearer x'; again for more")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
}

void AddReport(CLI::App& app, Typed& typed) {
  CLI::App* report = app.add_subcommand("report", "Write one page of pictures about a data set");
  report->add_option("FOLDER", typed.reported, "where it is")->required();
  report->add_option("--language", typed.language, "en or pt; the page can change it too")
      ->type_name("NAME");
}

void AddAll(CLI::App& app, Typed& typed) {
  app.add_option("-o,--output", typed.output,
                 "folder, s3://bucket/prefix, minio://bucket/prefix, or - for standard output (one "
                 "table); `output` unless given")
      ->type_name("PLACE");
  app.add_option("--table", typed.table, "with --output -: which table")->type_name("NAME");
  AddSettings(app, typed);
  AddStore(app, typed.store);
  app.add_flag("--no-date-partition", typed.no_date_partition,
               "in a bucket: no YYYY/MM/DD behind the prefix");
  app.add_option("-w,--workers,--threads", typed.threads, "threads; each takes about 80 MB")
      ->type_name("N");
  app.add_option("--shard", typed.shard, "make part I of N only, such as 3/8; all into one folder")
      ->type_name("I/N");
  app.add_option("--config", typed.config, "a file of settings; see `fraudgen config`")
      ->type_name("FILE");
  app.add_flag("-q,--quiet", typed.quiet, "say nothing but errors");
  app.add_flag("--json", typed.json, "the summary, a plan or a check as JSON");
  app.add_subcommand("plan", "Say what would be written: files, rows, bytes, time");
  app.add_subcommand("sample", "Show ten rows of each table");
  app.add_subcommand("config", "Show all settings as a file for --config");
  app.add_subcommand("schema", "Show what each column means");
  app.add_subcommand("version", "Show the version");
  app.add_subcommand("check", "Look at a data set: is it whole, is it true")
      ->add_option("PLACE", typed.checked,
                   "the folder, s3://bucket/prefix or minio://bucket/prefix")
      ->required();
  AddStream(*app.add_subcommand("stream", "Send the timeline, event by event, to whoever listens"),
            typed.stream);
  AddReport(app, typed);
  app.add_subcommand("demo", "See a data set made, checked, asked and drawn, in fifteen seconds");
  for (CLI::App* command : app.get_subcommands({})) {
    command->fallthrough();
    const std::string name = command->get_name();
    command->footer(name == "report" || name == "demo"
                        ? "-o FILE says where the page goes: report.html unless given"
                    : name == "check"
                        ? "It takes --json, --quiet and the --s3-... of fraudgen --help"
                        : "It takes the options of fraudgen; see fraudgen --help");
  }
  app.require_subcommand(0, 1);
}

int SayParseError(const CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  if (words.empty()) {
    // All that is converted here are counts.
    const bool count = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    return Say(kUsage, fmt::format("{}{}; see fraudgen --help", error.what(),
                                   count ? "; write a whole number" : ""));
  }
  for (const CLI::App* other : app.get_subcommands({})) {
    if (other->get_name() != words.front()) continue;
    return Say(kUsage, fmt::format("'{}' is a second command; write one", words.front()));
  }
  const bool option = words.front().starts_with('-');
  return Say(kUsage,
             fmt::format("unknown {} '{}'{}; see fraudgen --help", option ? "option" : "command",
                         words.front(), command_line::DidYouMean(words.front(), app)));
}

// The settings of all layers; or, having said why not, the exit status.
std::optional<int> ReadSettings(const Typed& typed, datagen::Settings& settings,
                                bool& says_how_much) {
  Configuration configuration;
  if (!typed.config.empty()) {
    const auto text = platform::ReadText(typed.config);
    if (!text) {
      std::error_code unknown;
      const bool folder = std::filesystem::is_directory(typed.config, unknown);
      return Say(kConfiguration,
                 folder ? fmt::format("the configuration {} is a folder; name a file", typed.config)
                        : fmt::format("cannot read the configuration {0}; `fraudgen config > {0}` "
                                      "writes one",
                                      typed.config));
    }
    if (auto added = configuration.AddText(*text, typed.config); !added) {
      return Say(kConfiguration, added.error().message);
    }
  }
  for (const auto& [key, value] : typed.settings) {
    if (value.empty()) continue;
    if (auto added = configuration.AddFlag(key, value); !added) {
      return Say(kUsage, added.error().message);
    }
  }
  if (auto checked = configuration.Check(); !checked) return Say(kUsage, checked.error().message);
  settings = configuration.settings();
  says_how_much = configuration.SaysHowMuch();
  return std::nullopt;
}

int Dispatch(const CLI::App& app, const Typed& typed) {
  if (auto checked = CheckTyped(app); !checked) return Say(checked.error());
  if (app.got_subcommand("version")) return ShowVersion();
  if (app.got_subcommand("schema")) return ShowSchema();
  RunArguments arguments;
  StreamArguments stream = typed.stream;
  if (const auto wrong = ReadSettings(typed, arguments.settings, stream.says_how_much)) {
    return *wrong;
  }
  if (!typed.shard.empty()) {
    const auto shard = datagen::ParseShard(typed.shard);
    if (!shard) return Say(kUsage, "--shard: " + shard.error().message);
    arguments.shard = *shard;
  }
  if (typed.threads < 1 || typed.threads > kMostThreads) {
    return Say(kUsage, fmt::format("--threads: {} is not right; write a number from 1 to {}",
                                   typed.threads, kMostThreads));
  }
  const bool page = app.got_subcommand("report") || app.got_subcommand("demo");
  const std::string usual = page ? "report.html" : "output";
  arguments.output = typed.output.empty() ? usual : typed.output;
  arguments.table = typed.table;
  arguments.store = typed.store;
  arguments.date_partition = !typed.no_date_partition;
  arguments.threads = typed.threads;
  arguments.quiet = typed.quiet;
  arguments.json = typed.json;
  if (app.got_subcommand("check")) return CheckData(arguments, typed.checked);
  if (app.got_subcommand("report")) {
    return WriteReport(arguments, typed.reported, typed.language);
  }
  if (app.got_subcommand("demo")) return Demo(arguments);
  if (app.got_subcommand("config")) return ShowConfiguration(arguments);
  if (app.got_subcommand("plan")) return ShowPlan(arguments);
  if (app.got_subcommand("sample")) return ShowSample(arguments);
  if (app.got_subcommand("stream")) return Stream(arguments, stream);
  return Generate(arguments);
}

int Ended(const std::function<int()>& command) {
  const auto status = command_line::Guarded(command, "take fewer --threads");
  return status ? *status : Say(status.error());
}

int Main(int argc, char** argv) {
  CLI::App app("Made-up Brazilian bank and ride data with labelled fraud, as fast as the disk.",
               "fraudgen");
  app.set_version_flag("-v,--version", "fraudgen " REVEZA_VERSION);
  app.footer(std::string(kFooter));
  Typed typed;
  AddAll(app, typed);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream shown;
      app.exit(error, shown);
      return Ended([&] {
        const auto written = platform::WriteStandardOutput(shown.str());
        return written ? static_cast<int>(kDone) : Say(written.error());
      });
    }
    return SayParseError(app, error);
  }
  return Ended([&] { return Dispatch(app, typed); });
}

}  // namespace
}  // namespace reveza::fraudgen

int main(int argc, char** argv) {
  reveza::platform::HoldStandardPlaces();
  // A file beyond the limit of this user is told by the write.
  std::signal(SIGXFSZ, SIG_IGN);
  return reveza::fraudgen::Main(argc, argv);
}
