// What stands in a pile twice: a tar and its copy, a tar beside the folder that was unpacked from
// it, `gzip -k` beside the text. Content alone does not tell: two nodes of one model print the same
// nvidia-smi topo -m, byte for byte, and are two nodes.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace comm_probe::cli {

// The same bytes as one of them.
bool is_one_of(const std::string& file, const std::vector<std::string>& others);

// Leaves out each file of an archive that stands, with the same bytes, where `tar -x` beside the
// archive would have put it, or in a folder called as the archive is; and each text that is packed
// beside itself. `name` is the name under which the user knows a file:
//
//   t/logs.tgz/logs/a.log beside t/logs/a.log, or t/logs/logs/a.log; t/a.log.gz beside t/a.log
void drop_packed_twins(std::vector<std::string>& files,
                       const std::function<std::string(const std::string&)>& name);

}  // namespace comm_probe::cli
