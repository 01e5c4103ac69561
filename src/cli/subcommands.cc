#include "cli/subcommands.h"

#include "cli/person_commands.h"

namespace comm_probe::cli {

void add_subcommands(CLI::App& root, Shell& shell) {
  add_calc(root, shell);
  add_sim(root, shell);
  add_machines(root, shell);
  add_topo(root, shell);
  add_nccl(root, shell);
  add_log(root, shell);
  add_link(root, shell);
  add_run(root, shell);
  add_bench(root, shell);
  add_lab(root, shell);
  add_curve(root, shell);
  add_hang(root, shell);
  add_trace(root, shell);
  add_doctor(root, shell);
  add_report(root, shell);
  add_serve(root, shell);
  add_explain(root, shell);
  add_completion(root, shell);
  add_man(root, shell);
}

}  // namespace comm_probe::cli
