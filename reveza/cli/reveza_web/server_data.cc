// WebServer: the data of the page, and what it changes.
#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/json_text.h"
#include "reveza/cli/reveza/commands.h"
#include "reveza/cli/reveza/daemon_link.h"
#include "reveza/cli/reveza/policy_options.h"
#include "reveza/cli/reveza/program.h"
#include "reveza/cli/reveza_web/server.h"
#include "reveza/cli/reveza_web/tool.h"
#include "reveza/jobs/journal/job_folder.h"

namespace reveza::cli {
namespace {

using httplib::Request;
using httplib::Response;
using nlohmann::json;

constexpr std::chrono::milliseconds kToolLimit{20'000};
constexpr std::chrono::milliseconds kFindingsLimit{120'000};
constexpr std::chrono::milliseconds kToolQueue{5'000};
constexpr std::size_t kMaxLog = 256 << 10;

void Answer(Response& response, const json& content) {
  response.set_content(JsonText(content), "application/json");
}

void Refuse(Response& response, int status, const std::string& message) {
  response.status = status;
  Answer(response, {{"error", message}});
}

// Runs `reveza` while a place of the semaphore is free. Answers the request if that fails.
std::optional<platform::ProgramOutput> Run(std::counting_semaphore<>& places, Response& response,
                                           const std::vector<std::string>& arguments,
                                           std::chrono::milliseconds limit = kToolLimit) {
  if (!places.try_acquire_for(kToolQueue)) {
    Refuse(response, 503, "too many requests at the same time");
    return std::nullopt;
  }
  auto output = RunTool(arguments, limit);
  places.release();
  if (output) return *std::move(output);
  Refuse(response, 503, output.error().message);
  return std::nullopt;
}

// Returns the last line of what a program said, without its name.
std::string ErrorOf(const platform::ProgramOutput& output) {
  std::string text = output.errors;
  while (text.ends_with('\n')) text.pop_back();
  text = text.substr(text.rfind('\n') + 1);
  constexpr std::string_view kPrefix = "reveza: ";
  return text.starts_with(kPrefix) ? text.substr(kPrefix.size()) : text;
}

// Answers with the JSON that a command printed; `last_good` is its highest exit status that is no
// failure.
void AnswerOutput(Response& response, const std::optional<platform::ProgramOutput>& output,
                  int last_good = 0) {
  if (!output) return;
  const json content = json::parse(output->out, nullptr, false);
  if (output->status > last_good || content.is_discarded()) {
    return Refuse(response, 409, ErrorOf(*output));
  }
  Answer(response, content);
}

// Returns the job that the request names. Answers it if that is not a name of one.
std::optional<std::string> JobOf(const std::string& name, Response& response) {
  const auto valid = jobs::CheckJobName(name);
  if (valid) return name;
  Refuse(response, 400, valid.error().message);
  return std::nullopt;
}

std::string TextAt(const json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

// Returns the policy that a request of the page asks for.
Result<wire::Policy> PolicyOf(const json& wanted) {
  const std::string action = TextAt(wanted, "action");
  if (action == "pause" || action == "resume") {
    wire::Policy policy{};
    policy.fields = wire::kPolicyPaused;
    policy.paused = action == "pause" ? 1 : 0;
    return policy;
  }
  if (action != "set") return InvalidArgument("unknown action '{}'", action);
  PolicyOptions options;
  options.weight = TextAt(wanted, "weight");
  options.priority = TextAt(wanted, "priority");
  options.memory = TextAt(wanted, "memory");
  const auto interactive = wanted.find("interactive");
  if (interactive != wanted.end() && interactive->is_boolean()) {
    options.interactive = interactive->get<bool>();
  }
  ASSIGN_OR_RETURN(const auto policy, ParsePolicy(options));
  if (policy.fields == 0) return InvalidArgument("nothing to change");
  return policy;
}

}  // namespace

void WebServer::Trace(const Request&, Response& response) {
  auto link = DaemonLink::Connect(SocketPath(settings_));
  if (!link) return Refuse(response, 503, link.error().message);
  const auto trace = link->Trace();
  if (!trace) return Refuse(response, 503, trace.error().message);
  response.set_content(*trace, "application/json");
}

void WebServer::Jobs(const Request&, Response& response) {
  AnswerOutput(response, Run(tools_, response, {"jobs", "list", "--json"}));
}

void WebServer::Job(const Request& request, Response& response) {
  const auto job = JobOf(request.get_param_value("id"), response);
  if (!job) return;
  const auto shown = Run(tools_, response, {"jobs", "show", *job, "--json"});
  if (!shown) return;
  json content = json::parse(shown->out, nullptr, false);
  if (shown->status != 0 || !content.is_object()) return Refuse(response, 409, ErrorOf(*shown));
  const auto tuning = Run(tools_, response, {"jobs", "tune", *job});
  if (!tuning) return;
  content["tuning"] = tuning->out;
  const auto why = Run(tools_, response, {"jobs", "why", *job});
  if (!why) return;
  content["why"] = why->out;
  Answer(response, content);
}

void WebServer::Log(const Request& request, Response& response) {
  const auto job = JobOf(request.get_param_value("id"), response);
  if (!job) return;
  const std::string step = request.get_param_value("step");
  if (step.empty() || step.size() > 10 ||
      step.find_first_not_of("0123456789") != std::string::npos) {
    return Refuse(response, 400, "step must be a number");
  }
  auto output = Run(tools_, response, {"jobs", "logs", *job, step});
  if (!output) return;
  if (output->status != 0) return Refuse(response, 409, ErrorOf(*output));
  const auto last = [](std::string text) {
    if (text.size() > kMaxLog) text.erase(0, text.size() - kMaxLog);
    return text;
  };
  Answer(response,
         {{"out", last(std::move(output->out))}, {"err", last(std::move(output->errors))}});
}

void WebServer::Findings(const Request&, Response& response) {
  // Its status 2 says that something is fatal.
  AnswerOutput(response, Run(tools_, response, {"doctor", "--json"}, kFindingsLimit), 2);
}

void WebServer::Explanation(const Request& request, Response& response) {
  const std::string id = request.get_param_value("id");
  if (id.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") != std::string::npos ||
      id.starts_with('-')) {
    return Refuse(response, 400, "unknown finding");
  }
  const auto output = Run(tools_, response, {"doctor", "explain", id});
  if (!output) return;
  if (output->status != 0) return Refuse(response, 404, ErrorOf(*output));
  Answer(response, {{"text", output->out}});
}

void WebServer::Usage(const Request&, Response& response) {
  AnswerOutput(response, Run(tools_, response, {"usage", "--json", "--since", "30d"}));
}

void WebServer::ChangeProgram(const Request& request, Response& response) {
  const json wanted = json::parse(request.body, nullptr, false);
  if (!wanted.is_object()) return Refuse(response, 400, "expected a JSON object");
  const auto policy = PolicyOf(wanted);
  if (!policy) return Refuse(response, 400, policy.error().message);
  const auto changed = ChangeJob(settings_, TextAt(wanted, "program"), *policy);
  if (!changed) {
    const int status = changed.error().status == kNoDaemon        ? 503
                       : changed.error().status == kNoSuchProgram ? 404
                                                                  : 409;
    return Refuse(response, status, changed.error().message);
  }
  Answer(response, {{"ok", true}});
}

void WebServer::ChangeJobState(const Request& request, Response& response) {
  const json wanted = json::parse(request.body, nullptr, false);
  if (!wanted.is_object()) return Refuse(response, 400, "expected a JSON object");
  const auto job = JobOf(TextAt(wanted, "id"), response);
  if (!job) return;
  const std::string action = TextAt(wanted, "action");
  if (action != "pause" && action != "resume" && action != "stop") {
    return Refuse(response, 400, fmt::format("unknown action '{}'", action));
  }
  const auto output = Run(tools_, response, {"jobs", action, *job});
  if (!output) return;
  if (output->status != 0) return Refuse(response, 409, ErrorOf(*output));
  Answer(response, {{"ok", true}});
}

}  // namespace reveza::cli
