// The files of a hang, read by all processes of a crew: each reads its share, the first one gets
// everything in the order in which it would have read it alone. A file that only some of them see
// (dumps on the disks of the hosts) is read by one of those.
#pragma once

#include <string>
#include <vector>

#include "cli/hang_file.h"
#include "core/crew.h"
#include "core/progress.h"
#include "core/result.h"

namespace comm_probe::cli {

struct HangFiles {
  struct One {
    std::string path = {};
    HangFile content = {};
  };
  std::vector<One> files = {};
};
// A file named as the dumps are named, of which nothing can be read, stands beside the others as a
// dump that is cut before its first entry.
void add_stand_ins(std::vector<HangFiles::One>& files);
// Fails where no process sees a file; on the others than the first there are no files in it.
core::Result<HangFiles> read_hang_files(const std::vector<std::string>& paths, core::Crew& crew,
                                        core::Progress& progress);

}  // namespace comm_probe::cli
