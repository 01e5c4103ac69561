// Which files the paths of a pile mean. Files of a pile are opened several times, so what can be
// read only once (standard input, the pipe of `doctor <(zcat x)`) is first put into a file. What is
// no file and no folder (a named pipe, a socket, a device) is named and never opened: to read it
// may wait for ever. A file that is given twice, by two links or two paths, counts once. A recorded
// machine that was unpacked (a folder with sys/) counts as one file.
//
//   doctor - runs/ runs/rank0.log pipe -> what stands on standard input, the files below runs/ once
//   each, and one caveat: "pipe: is a named pipe, expected a file or a folder; ..."
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/finding.h"
#include "core/result.h"

namespace comm_probe::cli {

struct PileFiles {
  std::vector<std::string> files = {};
  std::vector<core::Caveat> caveats = {};  // of paths that give no file
};
// `keep` puts what a path streams into a file and returns that file. Fails where no path gives a
// file.
core::Result<PileFiles> files_of_pile(
    const std::vector<std::string>& paths,
    const std::function<core::Result<std::string>(const std::string&)>& keep);

}  // namespace comm_probe::cli
