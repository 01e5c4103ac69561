// Any text given to the readers of the lines that PyTorch, launchers, ncclras, trainings and vLLM
// print, and to what is concluded from them: no crash, every verdict has a sentence.
#include <cstdlib>

#include "diagnose/hang_logs.h"
#include "diagnose/hang_timeout.h"
#include "diagnose/kv.h"
#include "diagnose/wrong_numbers.h"
#include "serving/kv_lines.h"
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
  torch::NumberLineReader numbers;
  serving::KvLineReader transfers;
  auto again = core::Input::from_memory("rank_0.log", {reinterpret_cast<const char*>(data), size});
  numbers.begin_file("rank_0.log");
  transfers.begin_file("rank_0.log");
  core::LineReader text(again);
  for (core::Line line; text.next(line);) {
    numbers.add(line);
    transfers.add(line);
  }
  diagnose::judge_numbers(numbers.finish());
  diagnose::judge_kv(transfers.finish(), core::Bandwidth::from_GBps(50));
  return 0;
}
