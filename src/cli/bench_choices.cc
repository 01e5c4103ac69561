#include "cli/bench_choices.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "core/finding_table.h"
#include "core/input.h"
#include "core/units.h"
#include "nccl/readers/debug_log_reader.h"

namespace comm_probe::cli {
namespace {

using measure::Row;
using measure::Run;

nccl::DebugLog read_logs(const std::vector<std::string>& files) {
  nccl::DebugLogReader reader;
  for (const std::string& file : files) {
    auto input = core::Input::open(file);
    if (!input) continue;  // NCCL did not come so far
    reader.begin_file(input->name());
    core::LineReader lines(*input);
    for (core::Line line; lines.next(line);) reader.add(line);
  }
  return reader.finish();
}

std::string lower(std::string_view text) {
  std::string small(text);
  for (char& c : small) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return small;
}

std::string choice_text(nccl::Algorithm algorithm, nccl::Protocol protocol,
                        std::optional<int> channels) {
  return fmt::format(
      "{}/{}{}", lower(table_name(algorithm)), lower(table_name(protocol)),
      channels ? fmt::format(", {} channel{}", *channels, *channels == 1 ? "" : "s") : "");
}

std::string real_text(const nccl::LogChoice& choice) {
  if (choice.kernel.empty())
    return choice_text(*choice.algorithm, *choice.protocol, choice.channels);
  return fmt::format("{} (symmetric){}", choice.kernel,
                     choice.channels ? fmt::format(", {} channels", *choice.channels) : "");
}

// Of several choices for one size the one that most calls took.
const nccl::LogChoice* real_choice(const nccl::LogComm& comm, nccl::Function function,
                                   std::uint64_t bytes) {
  const nccl::LogChoice* found = nullptr;
  for (const nccl::LogChoice& choice : comm.choices) {
    const auto named = nccl::function_from_name(choice.function);
    if (choice.bytes != bytes || (named && *named != function)) continue;
    if (choice.kernel.empty() && (!choice.algorithm || !choice.protocol)) continue;
    if (found == nullptr || choice.count > found->count) found = &choice;
  }
  return found;
}

std::string planned_text(const PlannedLog& planned, const nccl::Call& call, bool with_channels) {
  const auto choice = choose(planned.tuning, call);
  if (!choice) return "refused";
  return choice_text(choice->taken.algorithm, choice->taken.protocol,
                     with_channels ? std::optional(choice->launch.channels) : std::nullopt);
}

class Choices {
 public:
  Choices(Run& run, const nccl::LogComm& comm, const PlannedLog* planned, nccl::Function function)
      : run_(run), comm_(comm), planned_(planned), function_(function) {}

  std::vector<SizeChoice> all() {
    std::vector<SizeChoice> sizes;
    for (Row& row : run_.rows)
      if (row.bytes.count() > 0) sizes.push_back(one(row));
    return sizes;
  }

 private:
  SizeChoice one(Row& row) {
    SizeChoice size = {.bytes = row.bytes};
    // NCCL's log has the bytes of one rank's count.
    const nccl::LogChoice* real =
        real_choice(comm_, function_, row.count * element_bytes(run_.plan.element));
    if (real != nullptr) size.real = real_text(*real);
    row.method = size.real.empty() ? "not logged" : size.real;
    if (real != nullptr && !real->kernel.empty()) return size;  // before any choice of the plan
    if (planned_ == nullptr || planned_->plan.connection.ranks() != run_.plan.ranks) return size;
    // Both sides name them as nccl-tests does.
    const auto type = nccl::data_type_from_name(element_name(run_.plan.element));
    const auto reduction = nccl::reduction_from_name(reduction_name(run_.plan.reduction));
    const nccl::Call call = nccl::call_of(function_, row.bytes.whole(), run_.plan.ranks,
                                          type.value_or(nccl::DataType::kFloat32),
                                          reduction.value_or(nccl::Reduction::kSum));
    size.plan = planned_text(*planned_, call, real == nullptr || real->channels.has_value());
    if (run_.plan.shares_one_gpu) return size;
    auto ledger = price({run_.plan.op, run_.plan.ranks, row.bytes}, planned_->tuning);
    if (ledger) row.predicted = std::move(*ledger);
    return size;
  }

  Run& run_;
  const nccl::LogComm& comm_;
  const PlannedLog* planned_;
  nccl::Function function_;
};

core::Table table_of(const std::vector<SizeChoice>& sizes) {
  using Align = core::Column::Align;
  core::Table table = {
      {{"size"}, {"NCCL took", Align::kLeft}, {"the plan says", Align::kLeft}, {"", Align::kLeft}},
      {}};
  for (const SizeChoice& size : sizes)
    table.rows.push_back({core::format_bytes(size.bytes), size.real.empty() ? "-" : size.real,
                          size.plan.empty() ? "-" : size.plan,
                          size.plan.empty() ? ""
                          : size.is_equal() ? "equal"
                                            : "differs"});
  return table;
}

core::Json json_of(const std::vector<SizeChoice>& sizes) {
  const auto word = [](const std::string& text) {
    return text.empty() ? core::Json(nullptr) : core::Json(text);
  };
  core::Json rows = core::Json::array();
  for (const SizeChoice& size : sizes)
    rows.push_back(
        {{"bytes", core::json_bytes(size.bytes)},
         {"nccl", word(size.real)},
         {"plan", word(size.plan)},
         {"equal", size.plan.empty() ? core::Json(nullptr) : core::Json(size.is_equal())}});
  return rows;
}

}  // namespace

BenchChoices read_choices(Run& run) {
  BenchChoices choices;
  if (!run.context.capture) return choices;
  choices.log = read_logs(run.context.capture->logs);
  const nccl::LogComm* comm = diagnose::comm_to_plan(choices.log);
  const auto function = nccl::function_of(run.plan.op);
  if (comm == nullptr) return choices;
  if (core::Host::real().exists(run.context.capture->topology))
    choices.request = LogPlanRequest{.topo = run.context.capture->topology};
  std::optional<PlannedLog> planned;
  if (choices.request)
    if (auto plan = plan_of_log(choices.log, *comm, *choices.request)) planned = std::move(*plan);
  // One rank copies: NCCL chooses nothing.
  if (function && run.plan.ranks > 1)
    choices.sizes = Choices(run, *comm, planned ? &*planned : nullptr, *function).all();
  return choices;
}

void add_choices(core::Document& document, const BenchChoices& choices) {
  if (!choices.sizes.empty()) {
    document.body.emplace_back(core::Heading{"What NCCL chose, beside the plan"});
    document.body.emplace_back(table_of(choices.sizes));
    document.result["choices"] = json_of(choices.sizes);
  }
  if (!choices.request) return;
  if (const auto error = add_log_plan(document, choices.log, *choices.request))
    document.caveats.push_back(core::make_caveat("log.not-planned", error->one_line(),
                                                 "NCCL's decisions stand without a plan"));
  // The topology is that of this very run; what helps is to look at the whole log.
  for (core::Finding& finding : document.findings)
    if (finding.id == "log.plan-differs")
      finding.next = {
          "again with --keep DIR, then comm-probe log DIR/rank*.log --topo DIR/topology.xml"};
}

}  // namespace comm_probe::cli
