// `calc kv`: the attention cache of a request: its bytes, who moves what, and how long it takes.
#include <fmt/format.h>

#include "cli/calc.h"
#include "cli/kv_view.h"

namespace comm_probe::cli {
namespace {

int calc_kv(const Shell& shell, KvRequest& request) {
  const auto question = request.question();
  if (!question) return shell.fail(question.error());
  return shell.finish(kv_document(*question));
}

}  // namespace

void add_calc_kv(CLI::App& calc, Shell& shell) {
  CLI::App* app =
      calc.add_subcommand("kv", "the KV cache of a request: bytes per rank, time to move it");
  auto request = std::make_shared<KvRequest>();
  request->add_to(*app);
  app->footer(
      "Example:\n"
      "  comm-probe calc kv --model llama-3-70b --tokens 4096 --tp 8 --nic 400Gb/s\n"
      "  -> 1.25 GiB, 160 MiB per rank, 3.355 ms of bytes\n"
      "  comm-probe calc kv --config ./Qwen3-32B --tp 4 --decode-tp 8 --gpu H100 --nic NDR");
  shell.add_common_flags(*app);
  app->callback(
      [&shell, request] { shell.run([&shell, request] { return calc_kv(shell, *request); }); });
}

}  // namespace comm_probe::cli
