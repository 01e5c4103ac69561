// `calc OP`: the ledger of one collective on given links.
#include <fmt/format.h>

#include "cli/calc_request.h"
#include "cli/ledger_view.h"
#include "cli/subcommands.h"

namespace comm_probe::cli {
namespace {

using core::Document;
using model::Ledger;

core::Result<Ledger> price(const CalcRequest& request) {
  const auto collective = request.collective();
  if (!collective) return collective.error();
  const auto fabric = request.fabric();
  if (!fabric) return fabric.error();
  const auto algorithm = request.algorithm();
  if (!algorithm) return algorithm.error();
  const auto protocol = request.protocol();
  if (!protocol) return protocol.error();
  if (!request.has_size())
    return core::input_error("the size is missing", "give -s SIZE, like -s 1GB");
  if (request.is_auto()) return model::price_fastest(*collective, *protocol, *fabric);
  const model::Algorithm chosen = algorithm->value_or(model::usual_algorithm(*collective, *fabric));
  auto ledger = model::price(*collective, {chosen, *protocol}, *fabric);
  if (ledger) ledger->rejected = model::alternatives(*ledger, *fabric);
  return ledger;
}

int calc(const Shell& shell, const CalcRequest& request) {
  const auto ledger = price(request);
  if (!ledger) return shell.fail(ledger.error());
  Document document{.command = "calc"};
  document.result = to_json(*ledger);
  document.verdict = ledger_sentence(*ledger);
  document.body = ledger_blocks(*ledger);
  document.details = ledger_details(*ledger);
  return shell.finish(document);
}

}  // namespace

void add_calc(CLI::App& root, Shell& shell) {
  CLI::App* app = root.add_subcommand("calc", "what a collective should cost, from alpha and beta")
                      ->group("Calculate");
  auto request = std::make_shared<CalcRequest>();
  request->add_to(*app);
  app->footer(
      "Example:\n  comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s\n"
      "  -> 70.14 ms: 14 steps x 10 us + 1.75 GB / 25 GB/s");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return calc(shell, *request); }); });
}

}  // namespace comm_probe::cli
