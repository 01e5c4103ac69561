#include "cli/decode_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/model_shapes_view.h"
#include "core/units.h"
#include "diagnose/own_primitive.h"

namespace comm_probe::cli {
namespace {

using core::format_bandwidth;
using core::format_bytes;
using core::format_duration;
using core::format_number;
using core::format_percent;
using core::Json;
using core::json_bytes;
using core::json_number;
using serving::Backend;
using serving::BackendAnswer;

// What the choice saves against NCCL, by two models that may both be off; nothing where one of the
// times is not known.
struct Saving {
  core::Duration per_call = {};
  core::Duration per_step = {};
  core::Duration per_token = {};  // of the batch
  core::Duration error = {};      // per call
  bool is_certain() const { return std::abs(per_call.in_us()) > error.in_us(); }
};
std::optional<Saving> saving_of(const DecodeQuestion& question) {
  const DecodeWay* taken = question.taken_way();
  const DecodeWay* nccl = question.nccl_way();
  if (taken == nullptr || nccl == nullptr || !taken->is_clock) return std::nullopt;
  const core::Duration call = nccl->time() - taken->time();
  const core::Duration step = call * question.step.calls();
  return Saving{call, step, step / question.batch,
                nccl->time() * nccl->error_share + taken->time() * taken->error_share};
}

diagnose::OwnPrimitive own_primitive(const DecodeQuestion& question) {
  const serving::ServingJob& job = question.job;
  diagnose::PrimitiveCase given;
  given.bytes = job.bytes;
  given.read = job.bytes * (job.ranks - 1);
  given.link = question.link;
  given.is_reachable = (job.nodes == 1 || job.one_domain) && (job.fully_linked || job.ranks == 2);
  given.over = job.is_amd ? "the links between the GPUs" : job.fully_linked ? "NVLink" : "PCIe";
  given.has_fixed_addresses = question.in_graph;
  given.calls_per_step = question.step.calls();
  given.must_survive = question.must_survive;
  if (const BackendAnswer* taken = question.taken(); taken && taken->backend != Backend::kPyNccl)
    given.taken = backend_name(taken->backend);
  if (const DecodeWay* way = question.taken_way(); way && way->is_clock) given.time = way->time();
  return judge_own_primitive(given);
}

Json way_json(const DecodeWay& way) {
  return {{"way", way.name},
          {"backend", way.backend ? Json(backend_name(*way.backend)) : Json()},
          {"steps", json_number(way.steps)},
          {"bytes_per_rank", json_bytes(way.read)},
          {"latency_us", json_number(way.start.in_us())},
          {"bandwidth_us", json_number(way.bandwidth.in_us())},
          {"time_us", json_number(way.time().in_us())},
          {"ledger", way.start >= way.bandwidth ? "latency" : "bandwidth"},
          {"is_clock", way.is_clock},
          {"error_share", way.is_clock ? json_number(way.error_share) : Json()},
          {"basis", basis_name(way.basis)},
          {"source", way.source}};
}

Json answer_json(const BackendAnswer& answer) {
  return {{"backend", backend_name(answer.backend)},
          {"in_start_up_list", answer.is_built},
          {"takes", answer.takes},
          {"reason", answer.reason},
          {"log_line", answer.log_line.empty() ? Json() : Json(answer.log_line)}};
}

Json own_json(const diagnose::OwnPrimitive& own) {
  Json json = {{"worth", own.is_worth},
               {"reason", own.reason},
               {"left_us_per_call", own.left ? json_number(own.left->in_us()) : Json()},
               {"conditions", Json::array()}};
  for (const diagnose::Condition& condition : own.conditions)
    json["conditions"].push_back(
        {{"name", condition.name}, {"holds", condition.holds}, {"reason", condition.reason}});
  return json;
}

Json saving_json(const DecodeQuestion& question) {
  const auto saving = saving_of(question);
  if (!saving) return {};
  Json json = {{"per_call_us", json_number(saving->per_call.in_us())},
               {"per_step_us", json_number(saving->per_step.in_us())},
               {"per_token_us", json_number(saving->per_token.in_us())},
               {"error_us_per_call", json_number(saving->error.in_us())},
               {"is_certain", saving->is_certain()},
               {"error_source", model::kErrorSource}};
  if (question.decode_step)
    json["share_of_decode_step"] = json_number(saving->per_step / *question.decode_step);
  return json;
}

Json vllm_json(const DecodeQuestion& question) {
  Json json = {{"version", question.vllm},
               {"order_of", question.order.name},
               {"source", question.order.source},
               {"backends", Json::array()}};
  for (const BackendAnswer& answer : question.answers)
    json["backends"].push_back(answer_json(answer));
  json["start_up_line"] = question.order.is_older ? Json() : Json(start_up_line(question.answers));
  return json;
}

int calls_on_rank(const DecodeQuestion& question) {
  const int layers = (question.shape.layers + question.pp - 1) / question.pp;
  return layers * question.step.calls_per_layer;
}

Json bytes_or_null(const std::optional<core::Bytes>& bytes) {
  return bytes ? json_bytes(*bytes) : Json();
}

Json window_json(const std::optional<serving::SizeWindow>& window) {
  if (!window) return {};
  return {{"from", json_bytes(window->from)}, {"to", json_bytes(window->to)}};
}

Json sglang_json(const serving::SglangAnswer& answer) {
  Json json = {{"kernel", answer.kernel.empty() ? Json() : Json(answer.kernel)},
               {"reason", answer.reason}};
  if (!answer.limits) return json;
  json["limits"] = {{"push_bytes", json_bytes(answer.limits->push)},
                    {"pull_bytes", bytes_or_null(answer.limits->pull)},
                    {"all_bytes", json_bytes(answer.limits->all)},
                    {"multicast", window_json(answer.limits->multicast)},
                    {"lamport", window_json(answer.limits->lamport)},
                    {"is_default", answer.limits->is_default}};
  return json;
}

Json other_engines_json(const DecodeQuestion& question) {
  const auto& flashinfer = question.flashinfer;
  Json json = {{"sglang_v2", sglang_json(question.sglang)},
               {"sglang_legacy", sglang_json(question.sglang_legacy)},
               {"tensorrt_llm", Json()}};
  json["flashinfer"] = {
      {"path", flashinfer.answer ? Json(flashinfer.answer->path) : Json()},
      {"one_shot", flashinfer.answer ? Json(flashinfer.answer->is_one_shot) : Json()},
      {"reason", flashinfer.answer ? flashinfer.answer->reason : flashinfer.refusal}};
  json["basis"] = "read";
  json["source"] = "SGLang configs/custom_all_reduce_v2.py and flashinfer/comm, mid 2026";
  return json;
}

Json decode_json(const DecodeQuestion& question) {
  const BackendAnswer* taken = question.taken();
  const DecodeWay* way = question.taken_way();
  Json json = {
      {"op", "all_reduce"},
      {"model", shape_json(question.shape, question.shape_basis)},
      {"batch", question.batch},
      {"dtype", question.type_name},
      {"tp", question.job.ranks},
      {"bytes", json_bytes(question.job.bytes)},
      {"calls_per_step", question.step.calls()},
      {"pp", question.pp},
      {"calls_per_step_and_rank", calls_on_rank(question)},
      {"bytes_over_link_us", json_number((question.job.bytes / question.link).in_us())},
      {"machine", question.machine},
      {"link_GBps", json_number(question.link.in_GBps())},
      {"in_graph", question.in_graph},
      {"backend", taken ? Json(backend_name(taken->backend)) : Json()},
      {"way", way ? Json(way->name) : Json()},
      {"time_us", way ? json_number(way->time().in_us()) : Json()},
      {"step_us", way ? json_number((way->time() * question.step.calls()).in_us()) : Json()},
      {"ways", Json::array()}};
  for (const DecodeWay& each : question.ways) json["ways"].push_back(way_json(each));
  json["saving"] = saving_json(question);
  json["vllm"] = vllm_json(question);
  json["other_engines"] = other_engines_json(question);
  json["own_primitive"] = own_json(own_primitive(question));
  json["basis"] = "computed";
  return json;
}

// The saving of a step stays that of all layers: a token passes the stages one after the other.
std::string pipeline_text(const DecodeQuestion& question) {
  return fmt::format(
      "{} stages of {} ranks: a rank makes at most {} of the calls, a token passes all of them; "
      "between stages {} go by send_recv, which is PyNccl's whatever is chosen here (read: vLLM "
      "gives custom backends to tp groups only), over the network where stages are on other nodes",
      question.pp, question.job.ranks, calls_on_rank(question), format_bytes(question.job.bytes));
}

core::KeyValues message_rows(const DecodeQuestion& question) {
  const serving::ServingJob& job = question.job;
  const double item =
      job.bytes.count() / (static_cast<double>(question.batch) * question.shape.hidden);
  core::KeyValues rows;
  rows.rows = {
      {"message", fmt::format("{} = {} tokens x {} x {:g} B ({}); {} at the {} of one GPU's links",
                              format_bytes(job.bytes), question.batch, question.shape.hidden, item,
                              question.type_name, format_duration(job.bytes / question.link),
                              format_bandwidth(question.link))},
      {"calls", fmt::format("{} per step: {} layers x {} ({}: {})", question.step.calls(),
                            question.step.layers, question.step.calls_per_layer,
                            basis_name(question.shape_basis), question.shape.source)},
      {"machine", fmt::format("{}: {}", question.machine, question.machine_text)}};
  if (question.pp > 1) rows.rows.emplace_back("pipeline", pipeline_text(question));
  return rows;
}

bool is_nccl(const DecodeWay& way) { return way.backend == Backend::kPyNccl; }

// NCCL's other choices stand in the details.
core::Table ways_table(const DecodeQuestion& question, bool all) {
  using Align = core::Column::Align;
  core::Table table{{{"way", Align::kLeft},
                     {"in vLLM", Align::kLeft},
                     {"steps"},
                     {"per rank"},
                     {"start"},
                     {"bytes"},
                     {"time"},
                     {"", Align::kLeft}},
                    {}};
  std::vector<const DecodeWay*> ways;
  for (const DecodeWay& way : question.ways)
    if (all || !is_nccl(way) || way.is_best_of_nccl) ways.push_back(&way);
  std::stable_sort(ways.begin(), ways.end(), [](const auto* a, const auto* b) {
    return std::pair(!a->is_clock, a->time()) < std::pair(!b->is_clock, b->time());
  });
  for (const DecodeWay* way : ways) {
    const bool measured = way->basis == core::Basis::kMeasured;
    table.rows.push_back({way->name, way->backend ? backend_name(*way->backend) : "-",
                          measured ? "-" : format_number(way->steps),
                          measured ? "-" : format_bytes(way->read),
                          measured ? "-" : format_duration(way->start),
                          measured ? "-" : format_duration(way->bandwidth),
                          way->is_clock ? format_duration(way->time()) : "not known",
                          way == question.taken_way() ? "<- taken" : ""});
  }
  return table;
}

// Nothing prices an all_reduce on such a machine; a table without rows would not say so.
core::Block ways_block(const DecodeQuestion& question, bool all) {
  if (!question.ways.empty()) return ways_table(question, all);
  return core::Paragraph{fmt::format(
      "No time is known for {}: NCCL's model and the kernels of vLLM that are priced here are for "
      "NVIDIA GPUs. --measured BACKEND=T takes a time of your own.",
      question.machine)};
}

std::string answer_text(const BackendAnswer& answer, const BackendAnswer* taken) {
  if (&answer == taken) return "takes the call: " + answer.reason;
  if (answer.takes) return "would take it, comes later: " + answer.reason;
  if (answer.is_built) return "passes this size on: " + answer.reason;
  std::string text = "not in the list: " + answer.reason;
  return answer.log_line.empty() ? text + " (no log line)"
                                 : text + fmt::format(" (log: \"{}\")", answer.log_line);
}

core::KeyValues backend_rows(const DecodeQuestion& question) {
  core::KeyValues rows;
  const BackendAnswer* taken = question.taken();
  for (const BackendAnswer& answer : question.answers)
    rows.rows.emplace_back(backend_name(answer.backend), answer_text(answer, taken));
  return rows;
}

// An older release is not what was read: its own lines and limits are not shown as if they were.
std::string order_text(const DecodeQuestion& question) {
  const std::string rule = fmt::format("first come, first served ({})", question.order.source);
  if (!question.order.is_older) return fmt::format("vLLM {}: {}", question.vllm, rule);
  return fmt::format("vLLM 0.23, since {} was not read: {}", question.vllm, rule);
}

std::string start_up_text(const DecodeQuestion& question) {
  if (question.order.is_exact) return "Its log should say: " + start_up_line(question.answers);
  if (!question.order.is_older)
    return fmt::format("Its log says, if vLLM {} has this order ({}): {}", question.vllm,
                       question.order.name, start_up_line(question.answers));
  return fmt::format("What the log of vLLM {} says at its start is not known here.", question.vllm);
}

std::string sglang_text(const serving::SglangAnswer& answer) {
  if (answer.kernel.empty()) return "leaves the call: " + answer.reason;
  return fmt::format("{}: {}", answer.kernel, answer.reason);
}

std::string limits_text(const serving::SglangLimits& limits) {
  const auto window = [](const char* name, const std::optional<serving::SizeWindow>& window) {
    return window ? fmt::format(", {} {} to {}", name, format_bytes(window->from),
                                format_bytes(window->to))
                  : "";
  };
  return fmt::format(
      "push to {}, pull to {}, all of it to {}{}{}{}", format_bytes(limits.push),
      limits.pull ? format_bytes(*limits.pull) : "(not read)", format_bytes(limits.all),
      window("lamport", limits.lamport), window("multicast", limits.multicast),
      limits.is_default ? "; no row for this GPU and rank count, so its default" : "");
}

std::string flashinfer_text(const serving::FlashInferChoice& choice) {
  if (!choice.answer) return "none: " + choice.refusal;
  return fmt::format("{}, {}: {}", choice.answer->path,
                     choice.answer->is_one_shot ? "one-shot" : "two-shot", choice.answer->reason);
}

// What is not known is said: a user would look for it here.
core::KeyValues other_engine_rows(const DecodeQuestion& question) {
  core::KeyValues rows;
  rows.rows.emplace_back("SGLang v2", sglang_text(question.sglang));
  if (question.sglang.limits)
    rows.rows.emplace_back("its limits", limits_text(*question.sglang.limits) +
                                             " (read: configs/custom_all_reduce_v2.py, mid 2026)");
  rows.rows.emplace_back("SGLang before",
                         sglang_text(question.sglang_legacy) +
                             " (as vLLM's; which release changed to v2 is not known here)");
  rows.rows.emplace_back("and then",
                         "quick reduce (AMD), mscclpp where enabled, torch symmetric "
                         "memory, PyNccl; with symmetric memory on, PyNccl at once");
  rows.rows.emplace_back("FlashInfer", flashinfer_text(question.flashinfer) +
                                           " (read: flashinfer/comm, mid 2026; it changes)");
  rows.rows.emplace_back("TensorRT-LLM",
                         "has one-shot, two-shot, NCCL, UB and AUTO; what AUTO takes at which size "
                         "is not known here");
  return rows;
}

const char* how_to_switch_off(Backend backend) {
  switch (backend) {
    case Backend::kCustom:
      return "--disable-custom-all-reduce";
    case Backend::kSymmMem:
      return "VLLM_ALLREDUCE_USE_SYMM_MEM=0";
    case Backend::kNcclSymmMem:
      return "VLLM_USE_NCCL_SYMM_MEM=0";
    case Backend::kFlashInfer:
      return "VLLM_ALLREDUCE_USE_FLASHINFER=0";
    case Backend::kFlashInferPcieIpc:
      return "VLLM_ALLREDUCE_USE_FLASHINFER_PCIE_IPC=0";
    default:
      return "its own switch";
  }
}

// How vLLM gives the call to it: those before it in the list leave the call, or it is switched on.
std::string how_to_take(const DecodeQuestion& question, Backend backend) {
  std::vector<const char*> off;
  for (const BackendAnswer& answer : question.answers) {
    if (answer.backend == backend && answer.is_built)
      return fmt::format("{}", fmt::join(off, ", "));
    if (answer.takes) off.push_back(how_to_switch_off(answer.backend));
  }
  return backend == Backend::kCustom ? "without --disable-custom-all-reduce" : "by its own switch";
}

std::string saving_text(const DecodeQuestion& question, const Saving& saving) {
  if (!saving.is_certain())
    return fmt::format(
        "not known: the two models differ by {} per call and may be off by {} (read: "
        "{})",
        format_duration(core::Duration::from_us(std::abs(saving.per_call.in_us()))),
        format_duration(saving.error), model::kErrorSource);
  if (saving.per_call < core::Duration())
    return fmt::format("NCCL would be faster: {} per call, {} per step",
                       format_duration(-1 * saving.per_call),
                       format_duration(-1 * saving.per_step));
  std::string text = fmt::format("{} per call, {} per step, {} per token of the batch",
                                 format_duration(saving.per_call), format_duration(saving.per_step),
                                 format_duration(saving.per_token));
  if (question.decode_step && saving.per_step > *question.decode_step)
    text += fmt::format("; more than a whole step of {}: not the step of these calls",
                        format_duration(*question.decode_step));
  else if (question.decode_step)
    text +=
        fmt::format("; {} of a step of {}", format_percent(saving.per_step / *question.decode_step),
                    format_duration(*question.decode_step));
  if (saving.error > core::Duration())
    text += fmt::format("; the models may be off by {} per call (read: {})",
                        format_duration(saving.error), model::kErrorSource);
  return text;
}

core::KeyValues saving_rows(const DecodeQuestion& question) {
  core::KeyValues rows;
  const auto saving = saving_of(question);
  const BackendAnswer* taken = question.taken();
  if (taken != nullptr && question.taken_way() != nullptr &&
      question.taken_way() == question.nccl_way())
    rows.rows.emplace_back("against NCCL", "nothing: NCCL takes the call");
  else if (saving)
    rows.rows.emplace_back("against NCCL", saving_text(question, *saving));
  else
    rows.rows.emplace_back("against NCCL", "not known: a time is missing (give --measured)");
  if (const DecodeWay* way = question.faster_way())
    rows.rows.emplace_back(
        "faster here",
        fmt::format(
            "{} ({}): {} per step less {} ({}); measure before you switch", way->name,
            backend_name(*way->backend),
            format_duration((question.taken_way()->time() - way->time()) * question.step.calls()),
            way->basis == core::Basis::kMeasured ? "as you measured it" : "by its model",
            how_to_take(question, *way->backend)));
  return rows;
}

core::KeyValues own_rows(const diagnose::OwnPrimitive& own) {
  core::KeyValues rows;
  rows.rows.emplace_back("worth writing",
                         fmt::format("{}: {}", own.is_worth ? "yes" : "no", own.reason));
  for (const diagnose::Condition& condition : own.conditions)
    rows.rows.emplace_back(condition.name,
                           fmt::format("{}: {}", condition.holds ? "yes" : "no", condition.reason));
  return rows;
}

core::KeyValues source_rows(const DecodeQuestion& question) {
  core::KeyValues rows;
  for (const DecodeWay& way : question.ways)
    if (!is_nccl(way) || way.is_best_of_nccl)
      rows.rows.emplace_back(way.name, fmt::format("{}: {}", basis_name(way.basis), way.source));
  return rows;
}

// With the errors of both models, where they are models.
std::string step_range(const DecodeQuestion& question, const Saving& saving) {
  const core::Duration error = saving.error * question.step.calls();
  const auto size = core::Duration::from_us(std::abs(saving.per_step.in_us()));
  if (error <= core::Duration()) return format_duration(size);
  return fmt::format("{} to {}", format_duration(size - error), format_duration(size + error));
}

std::string sentence(const DecodeQuestion& question) {
  const BackendAnswer* taken = question.taken();
  const DecodeWay* way = question.taken_way();
  std::string text =
      fmt::format("{} of decode on TP {}, {} calls a step: ", format_bytes(question.job.bytes),
                  question.job.ranks, question.step.calls());
  if (taken == nullptr) return text + "no backend takes it";
  if (question.order.is_older) text += "by vLLM 0.23 ";
  text += backend_name(taken->backend);
  if (way == nullptr || !way->is_clock) return text + " takes it; its time is not known here";
  text +=
      fmt::format(" ({}) takes it, {} a call, {} a step", way->name, format_duration(way->time()),
                  format_duration(way->time() * question.step.calls()));
  if (!question.nccl_refusal.empty())
    return text + fmt::format("; NCCL is not priced: {}", question.nccl_refusal);
  const auto saving = saving_of(question);
  if (!saving || way == question.nccl_way()) return text;
  if (!saving->is_certain()) return text + "; whether NCCL would be faster the models cannot tell";
  const bool nccl_is_faster = saving->per_call < core::Duration();
  return text + fmt::format("; NCCL would {} {} {}", nccl_is_faster ? "be" : "take",
                            step_range(question, *saving), nccl_is_faster ? "faster" : "more");
}

}  // namespace

core::Document decode_document(const DecodeQuestion& question) {
  core::Document document{.command = "calc"};
  document.inputs = question.inputs;
  document.caveats = question.caveats;
  document.result = decode_json(question);
  document.verdict = sentence(question);
  document.body = {message_rows(question),
                   core::Heading{fmt::format("What each way costs, {} a CUDA graph (computed, but "
                                             "for measured ones; -v names the sources)",
                                             question.in_graph ? "in" : "outside")},
                   ways_block(question, false),
                   core::Heading{order_text(question)},
                   backend_rows(question),
                   core::Paragraph{start_up_text(question)},
                   core::Heading{"Other engines (their times are not modelled here)"},
                   other_engine_rows(question),
                   core::Heading{"What the choice saves"},
                   saving_rows(question),
                   core::Heading{"A primitive of your own"},
                   own_rows(own_primitive(question))};
  document.details = {core::Heading{"Every way, with NCCL's other choices"},
                      ways_block(question, true), core::Heading{"Who says the times"},
                      source_rows(question)};
  return document;
}

}  // namespace comm_probe::cli
