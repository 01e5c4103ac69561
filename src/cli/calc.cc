// `calc OP`: the ledger of one collective on given links; --sweep over sizes, --compare algorithms.
#include "cli/calc.h"

#include <fmt/format.h>

#include "cli/calc_request.h"
#include "cli/calc_views.h"
#include "cli/method_name.h"
#include "cli/size_range.h"
#include "cli/subcommands.h"
#include "core/finding_table.h"

namespace comm_probe::cli {
namespace {

struct CalcFlags {
  CalcRequest request = {};
  SizeRange range = {};
  bool sweep = false;
  std::string compare = {};
};

core::Json link_json(const model::Link& link, const std::string& alpha_source) {
  core::Json json = {{"alpha_us", core::json_number(link.alpha.in_us())},
                     {"beta_GBps", core::json_number(link.beta.in_GBps())}};
  if (!alpha_source.empty())
    json["alpha_from"] = {{"basis", basis_name(core::Basis::kAssumed)}, {"source", alpha_source}};
  return json;
}

core::Json rails_json(const model::Fabric& fabric) {
  return {{"count", fabric.rails},
          {"GBps", core::json_number(fabric.rail.value_or(fabric.inter->beta).in_GBps())}};
}

// LL and LL128 are there for their smaller alpha; a typed one hides that.
void add_protocol_caveat(const CalcFlags& flags, const CalcQuestion& question,
                         core::Document& document) {
  const bool compares_protocols = flags.compare.find('/') != std::string::npos;
  if (question.nccl) return;
  const bool has_protocol = compares_protocols || question.protocol != model::Protocol::kSimple;
  if (!has_protocol || !flags.request.has_typed_alpha()) return;
  document.caveats.push_back(core::make_caveat(
      "calc.one-alpha", "the alpha that was given stands for every protocol",
      "ll and ll128 cost bytes here but save no time per step, which in NCCL they do", false));
}

int finish(const Shell& shell, const CalcFlags& flags, const CalcQuestion& question,
           core::Document document) {
  const model::Fabric& fabric = question.fabric;
  document.result["links"] = {{"inside", link_json(fabric.link, fabric.alpha_source)}};
  if (fabric.inter) {
    document.result["links"]["between"] = link_json(*fabric.inter, fabric.inter_alpha_source);
    document.result["links"]["ranks_per_node"] = fabric.ranks_per_node;
    document.result["links"]["rails"] = rails_json(fabric);
  }
  document.result["links"]["basis"] = basis_name(fabric.basis);
  document.result["links"]["source"] = fabric.source;
  document.inputs = question.inputs;
  document.caveats = question.caveats;
  add_protocol_caveat(flags, question, document);
  return shell.finish(document);
}

int calc_one(const Shell& shell, const CalcFlags& flags, const CalcQuestion& question) {
  if (flags.range.is_given())
    return shell.fail(core::input_error("-b, -e and -f belong to --sweep", "add --sweep"));
  const auto size = flags.request.size();
  if (!size) return shell.fail(size.error());
  const auto ledger = question.price(*size);
  if (!ledger) return shell.fail(ledger.error());
  return finish(shell, flags, question, ledger_document(*ledger));
}

int calc_sweep(const Shell& shell, const CalcFlags& flags, const CalcQuestion& question) {
  const auto sizes = flags.range.sizes();
  if (!sizes) return shell.fail(sizes.error());
  std::vector<model::Ledger> ledgers;
  for (const core::Bytes size : *sizes) {
    auto ledger = question.price(size);
    if (!ledger) return shell.fail(ledger.error());
    ledgers.push_back(std::move(ledger).value());
  }
  return finish(shell, flags, question, sweep_document(ledgers));
}

int calc_compare(const Shell& shell, const CalcFlags& flags, const CalcQuestion& question) {
  const auto methods = parse_methods(flags.compare, question.protocol);
  if (!methods) return shell.fail(methods.error());
  const auto size = flags.request.size();
  if (!size) return shell.fail(size.error());
  model::Collective collective = question.collective;
  collective.bytes = *size;
  auto comparison = model::compare(collective, *methods, question.fabric);
  if (!comparison) return shell.fail(comparison.error());
  for (model::Ledger& ledger : comparison->ledgers)
    ledger.rejected = model::alternatives(ledger, question.fabric);
  return finish(shell, flags, question, compare_document(*comparison));
}

int calc(const Shell& shell, CalcFlags& flags) {
  using Pricing = CalcRequest::Pricing;
  const auto question =
      flags.request.question(flags.compare.empty() ? Pricing::kNccl : Pricing::kLinks);
  if (!question) return shell.fail(question.error());
  if (flags.sweep && !flags.compare.empty())
    return shell.fail(core::input_error("--sweep and --compare do not go together",
                                        "--compare solves the crossovers for all sizes"));
  if (!flags.compare.empty() && flags.request.names_algorithm())
    return shell.fail(core::input_error("--compare and --algo do not go together",
                                        "--compare names the algorithms itself"));
  if (flags.sweep) return calc_sweep(shell, flags, *question);
  if (!flags.compare.empty()) return calc_compare(shell, flags, *question);
  return calc_one(shell, flags, *question);
}

}  // namespace

void add_calc(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("calc", "what a collective should cost, from alpha and beta")
                      ->group("Calculate");
  auto flags = std::make_shared<CalcFlags>();
  flags->request.add_to(*app);
  app->add_flag("--sweep", flags->sweep, "one row per size, from -b to -e");
  flags->range.add_to(*app);
  app->add_option("--compare", flags->compare,
                  "algorithms side by side with the sizes where they cross: ring,tree or ring/ll")
      ->type_name("A,B");
  app->footer(
      "Example:\n  comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s\n"
      "  -> 70.14 ms: 14 steps x 10 us + 1.75 GB / 25 GB/s");
  shell.add_common_flags(*app);
  app->require_subcommand(0, 1);
  add_calc_path(*app, shell);
  add_calc_bucket(*app, shell);
  add_calc_decode(*app, shell);
  add_calc_kv(*app, shell);
  add_calc_moe(*app, shell);
  app->callback([&shell, flags, app] {
    if (!app->get_subcommands().empty())
      return;  // decode, kv, path ...: they have their own callback
    shell.run([&shell, flags] { return calc(shell, *flags); });
  });
}

}  // namespace comm_probe::cli
