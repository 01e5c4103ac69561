#include "cli/doctor_runs.h"

#include <set>

#include "core/input.h"
#include "diagnose/job_runs.h"
#include "nccl/readers/debug_log_reader.h"

namespace comm_probe::cli {
namespace {

using Files = std::set<std::string>;

nccl::DebugLog read_again(const std::vector<std::string>& files) {
  nccl::DebugLogReader reader;
  for (const std::string& file : files) {
    auto input = core::Input::open(file);
    if (!input) continue;
    reader.begin_file(input->name());
    core::LineReader lines(*input);
    for (core::Line line; lines.next(line);) reader.add(line);
  }
  return reader.finish();
}

template <class Line>
void move_lines(std::vector<Line>& from, const Files& files, std::vector<Line>& into) {
  std::erase_if(from, [&](Line& line) {
    if (!files.contains(line.file)) return false;
    into.push_back(std::move(line));
    return true;
  });
}

torch::JobLines take_lines(torch::JobLines& from, const Files& files) {
  torch::JobLines taken;
  move_lines(from.lines, files, taken.lines);
  move_lines(from.exceptions, files, taken.exceptions);
  for (const auto& [rank, file] : from.logs)
    if (files.contains(file)) taken.logs.emplace(rank, file);
  std::erase_if(from.logs, [&](const auto& log) { return files.contains(log.second); });
  return taken;
}

torch::NumberLines take_numbers(torch::NumberLines& from, const Files& files) {
  torch::NumberLines taken, left;
  taken.files = left.files = from.files;
  left.dropped = from.dropped;
  for (std::size_t i = 0; i < from.numbers.size(); ++i) {
    torch::NumberLines& into = files.contains(from.files[from.numbers[i].file]) ? taken : left;
    if (const auto text = from.texts.find(i); text != from.texts.end())
      into.texts.emplace(into.numbers.size(), text->second);
    into.numbers.push_back(from.numbers[i]);
  }
  left.statements = std::move(from.statements);
  move_lines(left.statements, files, taken.statements);
  from = std::move(left);
  return taken;
}

}  // namespace

RunsOfPile split_runs(Pile& pile) {
  diagnose::LogRuns found = diagnose::runs_of(pile.log);
  RunsOfPile runs{.caveats = std::move(found.caveats)};
  if (found.runs.size() < 2) return runs;
  runs.main = found.runs.front().name;
  Files of_others;
  for (std::size_t i = 1; i < found.runs.size(); ++i) {
    const Files files(found.runs[i].files.begin(), found.runs[i].files.end());
    of_others.insert(files.begin(), files.end());
    runs.others.push_back({found.runs[i].name, read_again(found.runs[i].files),
                           take_lines(pile.lines, files), take_numbers(pile.numbers, files)});
  }
  std::vector<std::string> kept;
  for (const std::string& file : pile.log.files)
    if (!of_others.contains(file)) kept.push_back(file);
  runs.together = std::move(pile.log);
  pile.log = read_again(kept);
  return runs;
}

}  // namespace comm_probe::cli
