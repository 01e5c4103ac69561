// Any text given to the reader of the lines that PyTorch, launchers and ncclras print, and to what
// is concluded from them: no crash, every verdict has a sentence.
#include <cstdlib>

#include "diagnose/hang_logs.h"
#include "diagnose/hang_timeout.h"
#include "torch/readers/ras_json.h"
#include "torch/torch.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace comm_probe;
  auto input = core::Input::from_memory("rank_0.log", {reinterpret_cast<const char*>(data), size});
  torch::JobLines lines;
  if (torch::looks_like_ras(input.head()))
    torch::read_ras(input, lines);
  else if (const auto error = torch::read_job_lines(input, lines); error && error->message.empty())
    std::abort();
  const diagnose::HangJudgement judgement = diagnose::judge_logs(lines);
  if (judgement.verdict.summary.empty()) std::abort();
  const torch::Job job = torch::align({});
  diagnose::explain_timeout(judgement, job, lines);
  return 0;
}
