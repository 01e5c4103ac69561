// `calc moe`: what dispatch and combine of one MoE layer move, and how long it takes.
#include "cli/calc.h"
#include "cli/moe_published.h"
#include "cli/moe_routed.h"
#include "cli/moe_view.h"

namespace comm_probe::cli {
namespace {

struct MoeFlags {
  MoeRequest request = {};
  RoutingOption routing = {};
  bool published = false;
};

void add_routing(const RoutedLedger& ledger, core::Document& document) {
  document.result["routing"] = routed_json(ledger);
  document.verdict += routed_sentence(ledger);
  const std::vector<core::Block> blocks = routed_blocks(ledger);
  document.body.insert(document.body.begin() + 1, blocks.begin(), blocks.end());
  for (core::Block& block : routed_details(ledger)) document.details.push_back(std::move(block));
}

int calc_moe(const Shell& shell, MoeFlags& flags) {
  auto& [request, option, published] = flags;
  if (published) return shell.finish(published_document());
  auto question = request.question(!option.reads_file());
  if (!question) return shell.fail(question.error());
  std::optional<ChosenRouting> chosen;
  if (option.is_given()) {
    auto routing = option.load(question->layer, question->has_experts);
    if (!routing) return shell.fail(routing.error());
    chosen = std::move(routing).value();
  }
  const MoeLedger ledger = price_ledger(*question);
  core::Document document{.command = "calc"};
  if (const auto input = request.catalog().input()) document.inputs = {*input};
  document.result = moe_json(ledger);
  document.verdict = moe_sentence(ledger);
  document.body = moe_blocks(ledger);
  document.details = moe_details();
  document.caveats = moe_caveats(*question);
  if (chosen) {
    if (chosen->input) document.inputs.push_back(*chosen->input);
    document.caveats.insert(document.caveats.end(), chosen->caveats.begin(), chosen->caveats.end());
    add_routing(price_routing(*question, *chosen), document);
  }
  return shell.finish(document);
}

}  // namespace

void add_calc_moe(CLI::App& calc, Shell& shell) {
  CLI::App* app =
      calc.add_subcommand("moe", "MoE dispatch and combine: copies, bytes, messages, time");
  auto flags = std::make_shared<MoeFlags>();
  flags->request.add_to(*app);
  flags->routing.add_to(*app);
  app->add_flag("--published", flags->published,
                "nothing of these: the ledger beside published figures of DeepEP and NCCL EP");
  app->footer(
      "Examples (prefill, decode):\n"
      "  comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens 4096\n"
      "  -> 12.46 ms flat, 8.178 ms with dedup: the NIC limits\n"
      "  comm-probe calc moe --hidden 7168 --topk 8 --nodes 8 --machine dgx-h100 --tokens 128\n"
      "  -> 389 us of bytes, and 1024 messages that a CPU thread cannot post in time");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, flags] { shell.run([&shell, flags] { return calc_moe(shell, *flags); }); });
}

}  // namespace comm_probe::cli
