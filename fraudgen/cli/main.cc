// The command line of `fraudgen`, a generator of synthetic Brazilian bank and ride data with
// labelled fraud.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <csignal>
#include <expected>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include "common/cli/command_line.h"
#include "common/platform/text_file.h"
#include "common/version/version.h"
#include "fraudgen/cli/commands.h"

namespace reveza::fraudgen::cli {
namespace {

constexpr int kMaxThreads = 1024;

// The command line as typed.
struct CommandLine {
  std::map<std::string_view, std::string> settings;  // by key
  std::string config, shard, output, table, checked, reported, language = "en";
  int threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  bool quiet = false, json = false, no_date_partition = false;
  StoreFlags store;
  StreamArguments stream;
};

constexpr std::string_view kFooter =
    "Without a command, writes a data set. Interrupted runs (Ctrl-C, crash, full disk) resume "
    "when\n"
    "the same command is run again.\n\n"
    "Examples:\n"
    "  fraudgen --size 10GB --format parquet --output data/\n"
    "  fraudgen --rows 1000000 --model classic --format csv --output s3://bucket/prefix\n\n"
    "Differences from the Brazilian Fraud Data Generator:\n"
    "  (tables)      --model classic has its tables and distributions\n"
    "  --size        real bytes of all files (was 500 per row); GB is 10^9 (was 2^30)\n"
    "  --seed        default 1 (was random)\n"
    "  --end-date    fixed default (was today)\n"
    "  --fraud-rate  exact share of rows (was a probability per row)\n"
    "  --workers     threads, which do not affect the bytes (were processes)\n"
    "  --compression also applies to local files\n"
    "  --no-date-partition  the date in a bucket's keys is the last day of the data (was today)";

struct CommandHelp {
  std::string_view name;
  const char* description;
  const char* footer;
};

constexpr auto kCommands = std::to_array<CommandHelp>({
    {"plan", "Show what would be written: files, rows, bytes, time",
     "Accepts the options of fraudgen; see fraudgen --help.\n\n"
     "Example:  fraudgen plan --size 100GB --format parquet"},
    {"sample", "Print ten rows of each table",
     "Accepts the options of fraudgen; see fraudgen --help.\n\n"
     "Example:  fraudgen sample --model classic --type all"},
    {"config", "Print all settings as a file for --config",
     "Accepts the options of fraudgen; see fraudgen --help.\n\n"
     "Example:  fraudgen config --seed 7 > my.toml"},
    {"schema", "Print the documentation of all columns", "Example:  fraudgen schema > schema.md"},
    {"version", "Print the version and the libraries in this build", "Example:  fraudgen version"},
    {"check", "Validate a data set: files, keys, balances, distributions",
     "Accepts --json, --quiet and the --s3-... options of fraudgen --help. Exit status 1: errors\n"
     "found; 2: no readable data set.\n\n"
     "Example:  fraudgen check data/"},
    {"stream", "Send the data as events to standard output, Kafka or a webhook",
     "Accepts the data options of fraudgen; see fraudgen --help.\n\n"
     "Example:  fraudgen stream --target kafka --kafka-server localhost:9092 --pace x60"},
    {"report", "Write an HTML report with charts about a data set",
     "-o,--output FILE  default report.html; - for standard output. Also accepts --quiet.\n\n"
     "Example:  fraudgen report data/ --output report.html"},
    {"demo", "Generate, check, query and plot a small data set in about fifteen seconds",
     "-o,--output FILE  where the report is written (default report.html).\n\n"
     "Example:  fraudgen demo --output report.html"},
});

std::string FlagOf(std::string_view key) {
  std::string flag(key);
  std::ranges::replace(flag, '_', '-');
  return flag;
}

void AddSettings(CLI::App& app, CommandLine& typed) {
  const std::map<std::string_view, std::string> letters = {
      {"type", "-t,"},       {"size", "-s,"},      {"format", "-f,"},
      {"fraud_rate", "-r,"}, {"customers", "-c,"},
  };
  for (const auto& [info, parse, show] : AllSettings()) {
    const auto letter = letters.find(info.key);
    const std::string name =
        (letter == letters.end() ? "" : letter->second) + "--" + FlagOf(info.key);
    std::string& value = typed.settings[info.key];
    if (info.kind == SettingKind::kValue) {
      app.add_option(name, value, std::string(info.meaning))->type_name(std::string(info.type));
    } else if (info.key == "profiles") {
      app.add_flag_callback(
          "--no-profiles", [&value] { value = "false"; },
          "disable the behavioural profiles of customers (classic)");
    } else {
      app.add_flag_callback(name, [&value] { value = "true"; }, std::string(info.meaning));
    }
  }
}

void AddStore(CLI::App& app, StoreFlags& store) {
  AddOption(app, "--s3-endpoint,--minio-endpoint", store.endpoint, "URL",
            "S3 endpoint, http://host:port (default: AWS_ENDPOINT_URL, MINIO_ENDPOINT, or Amazon)");
  AddOption(app, "--s3-region", store.region, "NAME", "S3 region (default: AWS_REGION)");
  AddOption(app, "--s3-access-key,--minio-access-key", store.access_key, "KEY",
            "access key (default: AWS_ACCESS_KEY_ID, MINIO_ACCESS_KEY, or the profile)");
  AddOption(app, "--s3-secret-key,--minio-secret-key", store.secret_key, "KEY",
            "secret key, visible to other users; prefer AWS_SECRET_ACCESS_KEY or MINIO_SECRET_KEY");
  AddOption(app, "--s3-profile", store.profile, "NAME", "profile in ~/.aws with the keys");
}

void AddStream(CLI::App& command, StreamArguments& stream) {
  AddOption(command, "-t,--target", stream.target, "TARGET",
            "destination: stdout, kafka or webhook")
      ->required();
  AddOption(command, "-r,--rate", stream.rate, "N",
            "events per second (default 10, unless --pace)");
  AddOption(command, "--pace", stream.pace, "PACE",
            "follow the event times: real, accelerated such as x60, or max (no waiting)");
  AddOption(command, "-n,--max-events", stream.max_events, "N",
            "stop after N events (default: all)");
  command.add_flag("--pretty", stream.pretty, "stdout: indented JSON");
  AddOption(command, "--defects-key", stream.defects_key, "FILE",
            "file for the answer key of --defects: which event has which defect");
  AddOption(command, "--kafka-server", stream.kafka_server, "SERVERS",
            "kafka: bootstrap servers, host:port, comma-separated (default localhost:9092)");
  AddOption(command, "--kafka-topic", stream.kafka_topic, "NAME",
            "kafka: topic (default: the table, transactions or rides)");
  AddOption(command, "--kafka-key", stream.key, "KEY",
            "kafka: message key, which defines the ordering: customer, event or none (default "
            "customer)");
  AddOption(command, "--kafka-option", stream.kafka_options, "NAME=VALUE",
            "kafka: librdkafka property, such as compression.type=lz4; repeatable")
      ->expected(1)
      ->take_all();
  AddOption(command, "--webhook-url", stream.webhook_url, "URL", "webhook: URL");
  AddOption(command, "--webhook-method", stream.webhook_method, "METHOD",
            "webhook: POST, PUT or PATCH (default POST)");
  AddOption(command, "--webhook-batch", stream.webhook_batch, "N",
            "webhook: maximum events per request; above 1, the body is a JSON array (default 1)");
  AddOption(command, "--webhook-header", stream.webhook_headers, "HEADER",
            "webhook: request header, such as 'Authorization: Bearer x'; repeatable")
      ->expected(1)
      ->take_all();
}

void AddCommands(CLI::App& app, CommandLine& typed) {
  for (const CommandHelp& help : kCommands) {
    CLI::App* command = app.add_subcommand(std::string(help.name), help.description);
    command->fallthrough();
    command->footer(help.footer);
  }
  app.get_subcommand("check")
      ->add_option("PLACE", typed.checked, "folder, s3://bucket/prefix or minio://bucket/prefix")
      ->required();
  CLI::App* report = app.get_subcommand("report");
  report->add_option("FOLDER", typed.reported, "folder of the data set")->required();
  AddOption(*report, "--language", typed.language, "LANGUAGE",
            "initial language of the page, en or pt (default en)");
  AddStream(*app.get_subcommand("stream"), typed.stream);
  app.require_subcommand(0, 1);
}

void AddAll(CLI::App& app, CommandLine& typed) {
  AddOption(app, "-o,--output", typed.output, "PLACE",
            "folder, s3://bucket/prefix, minio://bucket/prefix, or - for one table on standard "
            "output (default output)");
  AddOption(app, "--table", typed.table, "NAME",
            "table for --output - (default: transactions, or rides)");
  AddSettings(app, typed);
  AddStore(app, typed.store);
  app.add_flag("--no-date-partition", typed.no_date_partition,
               "do not append YYYY/MM/DD to the prefix of a bucket");
  AddOption(app, "-w,--workers,--threads", typed.threads, "N",
            "worker threads, about 80 MB each (default: number of CPUs)");
  AddOption(app, "--shard", typed.shard, "I/N",
            "make only part I of N, such as 3/8; all parts may share one folder");
  AddOption(app, "--config", typed.config, "FILE", "settings file; `fraudgen config` prints one");
  app.add_flag("-q,--quiet", typed.quiet, "print errors only");
  app.add_flag("--json", typed.json, "print the summary, plan or check results as JSON");
  AddCommands(app, typed);
}

std::string DescribeParseError(const CLI::App& app, const CLI::ParseError& error) {
  const auto words = app.remaining(true);
  if (words.empty()) {
    // The only options that CLI11 converts are counts.
    const bool count = dynamic_cast<const CLI::ConversionError*>(&error) != nullptr;
    return fmt::format("{}{}; see fraudgen --help", error.what(),
                       count ? "; expected a whole number" : "");
  }
  for (const CLI::App* other : app.get_subcommands({})) {
    if (other->get_name() != words.front()) continue;
    return fmt::format("only one command is allowed, '{}' is a second one", words.front());
  }
  return command_line::DescribeParseError(app, error);
}

// An error that was reported already; the exit status.
using Reported = std::unexpected<int>;

std::expected<Settings, int> ReadSettings(const CommandLine& typed) {
  SettingsBuilder builder;
  if (!typed.config.empty()) {
    const auto text = platform::ReadText(typed.config);
    if (!text) {
      std::error_code ignored;
      const bool folder = std::filesystem::is_directory(typed.config, ignored);
      return Reported(ReportError(
          kConfiguration,
          folder ? fmt::format("the configuration {} is a folder; choose a file", typed.config)
                 : fmt::format("cannot read the configuration {0}; `fraudgen config > {0}` creates "
                               "one",
                               typed.config)));
    }
    if (auto added = builder.AddText(*text, typed.config); !added) {
      return Reported(ReportError(kConfiguration, added.error().message));
    }
  }
  for (const auto& [key, value] : typed.settings) {
    if (value.empty()) continue;
    if (auto added = builder.AddFlag(key, value); !added) {
      return Reported(ReportError(kUsage, added.error().message));
    }
  }
  auto settings = builder.Build();
  if (!settings) return Reported(ReportError(kUsage, settings.error().message));
  return *std::move(settings);
}

// Resolves the command line, the configuration file and defaults.
std::expected<RunArguments, int> Resolve(const CLI::App& app, const CommandLine& typed) {
  RunArguments arguments;
  auto settings = ReadSettings(typed);
  if (!settings) return Reported(settings.error());
  arguments.settings = *std::move(settings);
  if (!typed.shard.empty()) {
    const auto shard = ParseShard(typed.shard);
    if (!shard) return Reported(ReportError(kUsage, "--shard: " + shard.error().message));
    arguments.shard = *shard;
  }
  if (typed.threads < 1 || typed.threads > kMaxThreads) {
    return Reported(ReportError(kUsage, fmt::format("--threads: {} is invalid; expected 1 to {}",
                                                    typed.threads, kMaxThreads)));
  }
  const bool page = app.got_subcommand("report") || app.got_subcommand("demo");
  const std::string default_output = page ? "report.html" : "output";
  arguments.output = typed.output.empty() ? default_output : typed.output;
  arguments.table = typed.table;
  arguments.store = typed.store;
  arguments.date_partition = !typed.no_date_partition;
  arguments.threads = typed.threads;
  arguments.quiet = typed.quiet;
  arguments.json = typed.json;
  return arguments;
}

// First long names of the options that a command accepts or rejects.
constexpr auto kCheckOptions =
    std::to_array<std::string_view>({"json", "quiet", "workers", "s3-endpoint", "s3-region",
                                     "s3-access-key", "s3-secret-key", "s3-profile"});
constexpr auto kReportOptions = std::to_array<std::string_view>({"output", "quiet", "workers"});
constexpr auto kFileOptions = std::to_array<std::string_view>(
    {"output", "table", "compression", "compression-level", "file-rows", "partition", "s3-region",
     "s3-access-key", "s3-secret-key", "s3-profile", "s3-endpoint", "no-date-partition"});

std::string_view NameOf(const CLI::Option& option) {
  return option.get_lnames().empty() ? std::string_view() : option.get_lnames().front();
}

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Status CheckValues(const CLI::App& app) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || std::ranges::none_of(option->results(), &std::string::empty)) {
      continue;
    }
    return InvalidArgument("--{}: empty value; give a value or remove the option", NameOf(*option));
  }
  return {};
}

Status CheckCommand(const CLI::App& app, std::string_view command) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string_view name = NameOf(*option);
    if (option->count() == 0 || name == "help") continue;
    if (command == "stream" && IsIn(kFileOptions, name)) {
      return InvalidArgument("--{} applies to files, not to streams", name);
    }
    if ((command == "check" && !IsIn(kCheckOptions, name)) ||
        (command == "report" && !IsIn(kReportOptions, name))) {
      return InvalidArgument(
          "--{} has no effect on {}, which uses the settings stored with the data set; remove it",
          name, command);
    }
  }
  return {};
}

// Rejects options with an empty value, such as an unset shell variable, and options that the
// command ignores.
Status CheckTyped(const CLI::App& app) {
  RETURN_IF_ERROR(CheckValues(app));
  for (const CLI::App* command : app.get_subcommands()) {
    RETURN_IF_ERROR(CheckValues(*command));
    RETURN_IF_ERROR(CheckCommand(app, command->get_name()));
  }
  return {};
}

int Dispatch(const CLI::App& app, const CommandLine& typed) {
  if (auto checked = CheckTyped(app); !checked) return ReportError(checked.error());
  if (app.got_subcommand("version")) return ShowVersion();
  if (app.got_subcommand("schema")) return ShowSchema();
  const auto arguments = Resolve(app, typed);
  if (!arguments) return arguments.error();
  if (app.got_subcommand("check")) return CheckData(*arguments, typed.checked);
  if (app.got_subcommand("report")) return WriteReport(*arguments, typed.reported, typed.language);
  if (app.got_subcommand("demo")) return Demo(*arguments);
  if (app.got_subcommand("config")) return ShowConfiguration(*arguments);
  if (app.got_subcommand("plan")) return ShowPlan(*arguments);
  if (app.got_subcommand("sample")) return ShowSample(*arguments);
  if (app.got_subcommand("stream")) return Stream(*arguments, typed.stream);
  return Generate(*arguments);
}

constexpr command_line::Program kProgram = {.name = "fraudgen", .memory_hint = "reduce --threads"};

int Main(int argc, char** argv) {
  CLI::App app("Generate synthetic Brazilian bank and ride data with labelled fraud.", "fraudgen");
  app.set_version_flag("-v,--version", version::Text("fraudgen"));
  app.footer(std::string(kFooter));
  CommandLine typed;
  AddAll(app, typed);
  const auto describe = [&](const CLI::ParseError& error) {
    return DescribeParseError(app, error);
  };
  if (const auto status = command_line::Parse(kProgram, app, argc, argv, describe)) return *status;
  return Dispatch(app, typed);
}

}  // namespace
}  // namespace reveza::fraudgen::cli

int main(int argc, char** argv) {
  // Exceeding RLIMIT_FSIZE is reported as a write error.
  std::signal(SIGXFSZ, SIG_IGN);
  return reveza::command_line::Run(reveza::fraudgen::cli::kProgram,
                                   [=] { return reveza::fraudgen::cli::Main(argc, argv); });
}
