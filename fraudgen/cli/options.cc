#include "fraudgen/cli/options.h"

#include <array>
#include <initializer_list>
#include <span>
#include <vector>

#include "common/cli/command_line.h"
#include "common/cli/introspection.h"
#include "fraudgen/schema/schema.h"

namespace reveza::fraudgen::cli {
namespace {

// First long names of the options that a command accepts or rejects.
constexpr auto kCheckOptions =
    std::to_array<std::string_view>({"json", "quiet", "workers", "s3-endpoint", "s3-region",
                                     "s3-access-key", "s3-secret-key", "s3-profile"});
constexpr auto kSqlOptions =
    std::to_array<std::string_view>({"model", "type", "sessions", "graph", "identities"});
constexpr auto kReportOptions =
    std::to_array<std::string_view>({"output", "quiet", "workers", "s3-endpoint", "s3-region",
                                     "s3-access-key", "s3-secret-key", "s3-profile"});
constexpr auto kBenchOptions =
    std::to_array<std::string_view>({"output", "json", "quiet", "workers", "seed"});
constexpr auto kFileOptions = std::to_array<std::string_view>(
    {"output", "table", "compression", "compression-level", "file-rows", "partition", "s3-region",
     "s3-access-key", "s3-secret-key", "s3-profile", "s3-endpoint", "date-partition",
     "no-date-partition"});

// Commands that ignore all options.
constexpr auto kPlainCommands =
    std::to_array<std::string_view>({"completion", "scenarios", "schema", "version"});

bool IsIn(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

std::vector<command_line::Candidate> ValuesOf(std::string_view kind, const command_line::Typed&) {
  std::vector<command_line::Candidate> candidates;
  if (kind == "TABLE") {
    for (const Table* table : AllTables()) candidates.push_back({std::string(table->name)});
  }
  const auto add = [&](std::initializer_list<const char*> values) {
    for (const char* value : values) candidates.push_back({value});
  };
  if (kind == "DEFECT") add({"late", "duplicate", "outoforder", "null", "schema"});
  if (kind == "KEY") add({"year", "month", "day"});
  if (kind == "METHOD") add({"POST", "PUT", "PATCH"});
  return candidates;
}

constexpr std::string_view kFooter =
    "Without a command, but with options, writes a data set. Interrupted runs (Ctrl-C, crash, full "
    "disk) resume "
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
    "  --compression  also applies to local files\n"
    "  --date-partition  off by default; the date is the last day of the data (was today)";

struct CommandHelp {
  std::string_view name;
  const char* description;
  const char* footer;
};

constexpr auto kCommands = std::to_array<CommandHelp>({
    {"plan", "Show what would be written: files, rows, bytes, time",
     "Accepts the options of fraudgen; see fraudgen --help.\n\n"
     "Example:\n  fraudgen plan --size 100GB --format parquet"},
    {"sample", "Print ten rows of each table",
     "Accepts the options of fraudgen; see fraudgen --help. With --format csv, tsv, json or "
     "jsonl,\n"
     "prints one table as in a file, and with --json all tables as one object.\n\n"
     "Example:\n  fraudgen sample --format csv --table customers"},
    {"config", "Print all settings as a file for --config",
     "Accepts the options of fraudgen; see fraudgen --help.\n\n"
     "Example:\n  fraudgen config --seed 7 > my.toml"},
    {"scenarios", "List the scenarios of fraud, or print one as a file for --scenario",
     "Examples:\n  fraudgen scenarios\n  fraudgen scenarios CONTA_COLETORA > mine.toml"},
    {"schema", "Print the documentation of all columns", "Example:\n  fraudgen schema > schema.md"},
    {"version", "Print the version and the libraries in this build",
     "Example:\n  fraudgen version"},
    {"check", "Validate a data set: make it again and compare every value",
     "Accepts --json, --quiet, --threads and the --s3-... options of fraudgen --help, and with "
     "--sql\n"
     "--model, --type, --sessions, --graph and --identities. Exit status 1: errors found; 2: no\n"
     "readable data set.\n\n"
     "Examples:\n  fraudgen check data/\n  fraudgen check --sql --model classic > rules.sql"},
    {"stream", "Send the data as events to standard output, Kafka or a webhook",
     "Accepts the data options of fraudgen; see fraudgen --help.\n\n"
     "Example:\n  fraudgen stream --target kafka --kafka-server localhost:9092 --pace x60"},
    {"report", "Write an HTML report with charts about a data set",
     "-o,--output FILE  default report.html; - for standard output. Also accepts --quiet and the\n"
     "--s3-... options.\n\n"
     "Example:\n  fraudgen report data/ --output report.html"},
    {"bench", "Measure a labelled data set: utility, leaks and behaviour of its frauds",
     "-o,--output FILE  default bench.html; - for standard output. Also accepts --json, --quiet,\n"
     "--seed and --threads. Starts Python, which needs the package fraudgen[bench]: "
     "FRAUDGEN_PYTHON,\n"
     "or that beside this program, or python3.\n\n"
     "Examples:\n  fraudgen bench data/\n  fraudgen bench --mapping paysim PS_log.csv"},
    {"demo", "Generate, check, query and plot a small data set in about fifteen seconds",
     "-o,--output FILE  where the report is written (default report.html).\n\n"
     "Example:\n  fraudgen demo --output report.html"},
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
  AddOption(command, "-t,--target", stream.target, "stdout|kafka|webhook", "destination")
      ->required();
  AddOption(command, "-r,--rate", stream.rate, "N",
            "events per second (default 10, unless --pace)");
  AddOption(command, "--pace", stream.pace, "real|max|xN",
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
  AddOption(command, "--kafka-key", stream.key, "customer|event|none",
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

void AddBench(CLI::App& command, BenchArguments& bench) {
  command.add_option("PLACE", bench.places, "folders or files; several are compared")->required();
  AddOption(command, "--mapping", bench.mapping, "NAME|FILE",
            "which columns the data have: a name, such as paysim, or a file (default: the first "
            "that fits)");
  AddOption(command, "--against", bench.against, "PLACE",
            "other data, such as real ones, whose behaviour these shall have");
  AddOption(command, "--against-mapping", bench.against_mapping, "NAME|FILE",
            "which columns the other data have");
  AddOption(command, "--sample", bench.sample, "N",
            "rows to learn from and to test (default 1000000)");
  AddOption(command, "--memory", bench.memory, "SIZE", "memory limit of DuckDB (default 4GB)");
}

void AddCommands(CLI::App& app, CommandLine& typed) {
  for (const CommandHelp& help : kCommands) {
    CLI::App* command = app.add_subcommand(std::string(help.name), help.description);
    command->fallthrough();
    command->footer(help.footer);
  }
  CLI::App* check = app.get_subcommand("check");
  check->add_option("PLACE", typed.checked, "folder, s3://bucket/prefix or minio://bucket/prefix");
  check->add_flag("--sql", typed.sql,
                  "print rules for data of unknown origin as SQL, instead of checking a data set");
  app.get_subcommand("scenarios")->add_option("NAME", typed.scenario, "the scenario to print");
  CLI::App* report = app.get_subcommand("report");
  report->add_option("PLACE", typed.reported, "folder, s3://bucket/prefix or minio://bucket/prefix")
      ->required();
  AddOption(*report, "--language", typed.language, "en|pt",
            "initial language of the page (default en)");
  AddBench(*app.get_subcommand("bench"), typed.bench);
  AddStream(*app.get_subcommand("stream"), typed.stream);
  command_line::AddCompletionCommand(app);
  app.require_subcommand(0, 1);
}

}  // namespace

void AddAll(CLI::App& app, CommandLine& typed) {
  app.description("Generate synthetic Brazilian bank and ride data with labelled fraud.");
  AddOption(app, "-o,--output", typed.output, "PLACE",
            "folder, s3://bucket/prefix, minio://bucket/prefix, or - for one table on standard "
            "output (default output)");
  AddOption(app, "--table", typed.table, "TABLE",
            "table for --output - and sample (default: transactions, or rides)");
  AddSettings(app, typed);
  AddStore(app, typed.store);
  app.add_flag("--date-partition", typed.date_partition,
               "append YYYY/MM/DD, the last day of the data, to the prefix of a bucket");
  app.add_flag("--no-date-partition", typed.no_date_partition, "append no date (the default)");
  AddOption(app, "-w,--workers,--threads", typed.threads, "N",
            "worker threads, about 120 MB each (default: number of CPUs)");
  AddOption(app, "--shard", typed.shard, "I/N",
            "make only part I of N, such as 3/8; all parts may share one folder");
  AddOption(app, "--config", typed.config, "FILE", "settings file; `fraudgen config` prints one");
  AddOption(app, "--scenario", typed.scenarios, "FILE",
            "a kind of fraud to add, or to replace the one of its name; repeatable (coherent)")
      ->expected(1)
      ->take_all();
  app.add_flag("-q,--quiet", typed.quiet, "print errors only");
  app.add_flag("--json", typed.json, "print the summary, plan or check results as JSON");
  AddCommands(app, typed);
  app.footer(std::string(kFooter));  // last, because commands inherit it
}

bool Accepts(std::string_view command, std::string_view option) {
  if (command == "stream") return !IsIn(kFileOptions, option);
  if (command == "check") return IsIn(kCheckOptions, option);
  if (command == "check --sql") return IsIn(kSqlOptions, option);
  if (command == "report") return IsIn(kReportOptions, option);
  if (command == "bench") return IsIn(kBenchOptions, option);
  return true;
}

command_line::CompletionSource CompletionValues() {
  return {.values = ValuesOf, .accepts = [](const CLI::App& command, std::string_view option) {
            const std::string& name = command.get_name();
            if (name == "demo") return option == "output";
            return !IsIn(kPlainCommands, name) && Accepts(name, option);
          }};
}

}  // namespace reveza::fraudgen::cli
