// `calc decode`: the all_reduce of a tensor-parallel decode step, by every backend of an engine.
#include <fmt/format.h>

#include "cli/calc.h"
#include "cli/decode_view.h"

namespace comm_probe::cli {
namespace {

int calc_decode(const Shell& shell, DecodeRequest& request) {
  const auto question = request.question();
  if (!question) return shell.fail(question.error());
  return shell.finish(decode_document(*question));
}

}  // namespace

void add_calc_decode(CLI::App& calc, Shell& shell) {
  CLI::App* app = calc.add_subcommand(
      "decode", "the all_reduce of a decode step: every backend, the one that vLLM takes");
  auto request = std::make_shared<DecodeRequest>();
  request->add_to(*app);
  app->footer(
      "Example:\n"
      "  comm-probe calc decode --model llama-3-70b --batch 8 --tp 8 --machine dgx-h100\n"
      "  -> 128 KiB, 160 calls a step; CUSTOM (one-shot) takes it");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return calc_decode(shell, *request); }); });
}

}  // namespace comm_probe::cli
