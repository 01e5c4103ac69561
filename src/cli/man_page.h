// Manual pages (man(7) of roff) made from the tables of the help: comm-probe(1), and one page for
// each subcommand, comm-probe-calc(1), in which the subcommands below it have their sections.
#pragma once

#include <string>
#include <vector>

#include "cli/command_tables.h"

namespace comm_probe::cli {

struct ManPage {
  std::string name = {};  // "comm-probe-calc"
  std::string text = {};
};
// The one of the program first.
std::vector<ManPage> man_pages(const CommandTable& program);

}  // namespace comm_probe::cli
