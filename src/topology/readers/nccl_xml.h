// Reads NCCL's topology XML: a dump (NCCL_TOPO_DUMP_FILE), a file given to NCCL (NCCL_TOPO_FILE), a
// cloud vendor's file that holds only the PCI tree. Schema: NCCL 2.28.9 src/graph/xml.cc,
// version 1.
//
//   <system version="1"><cpu numaid="0" arch="x86_64" ...><pci busid="0000:18:00.0" ...>
//     <gpu dev="0" sm="90" rank="0" gdr="1"><nvlink target="..." count="5" tclass="0x068000"/>
//
// The machine holds every GPU and NIC of the file, also those that no rank uses. Refused, with file
// and line: text that is not this XML, another version, numbers that are none, a device under no
// CPU, two devices with one bus id, more devices of one kind than NCCL takes (576), more than 64
// levels. Elements that NCCL would skip are counted in a caveat.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"
#include "core/input.h"
#include "core/result.h"
#include "topology/machine.h"
#include "topology/nccl_link_rates.h"

namespace comm_probe::topology {

struct MachineReading {
  Machine machine = {};
  std::vector<core::Caveat> caveats = {};
};

// Begins with an element, a comment or a declaration, after blanks.
bool looks_like_xml(std::string_view head);
// A whole input, at most 64 MiB.
core::Result<MachineReading> read_nccl_xml(core::Input& input, NcclVersion version = {});
// `file` names the text in errors.
core::Result<MachineReading> read_nccl_xml(const std::string& file, const std::string& text,
                                           NcclVersion version = {});

}  // namespace comm_probe::topology
