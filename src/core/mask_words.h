// What core/mask.h looks for in a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace comm_probe::core {

// Letters, digits, "-" and "_"; a dot ends a word.
bool is_name_char(char c);
// "root", "network": no name of a machine or a person, whatever stands around it.
bool is_everyday(std::string_view name);
// "mlx5_0", "enp27s0f0".
bool is_device(std::string_view name);
// "rank12", "gpu0", "bf16", "H100".
bool is_numbered(std::string_view name);
// Of the word at the head of a line whose shape alone speaks for a host; in doubt one of letters
// alone is none.
bool may_be_host(std::string_view name, bool is_doubtful);
// "node07:1234:1300 [0] NCCL INFO", "[root@node07 ~]#", "Pid 77 on node07 device", "[node07:1234]",
// "HOSTNAME=node07", SLURM_NODELIST=node[07-09], MASTER_ADDR=node07.
std::vector<std::string> hosts_in_line(std::string_view line);
// "Nov 30 12:00:01 node07 kernel: ...", "[node07] ORTE has lost ...", "STEP 7.0 ON node07
// CANCELLED".
std::vector<std::string> hosts_in_heads(std::string_view line);
// "mpirun -H node07:8,node08:8", "failed to connect to [node07]:29500", "ssh node07", a line of
// /etc/hosts.
std::vector<std::string> hosts_in_commands(std::string_view line);
// The lines of a text in their order: names of /etc/hosts, those of letters alone too.
class HostsFile {
 public:
  std::vector<std::string> names_in(std::string_view line);

 private:
  bool is_inside_ = false;
};
// Node descriptions of a fabric ("node07 mlx5_0"), switches, servers of mounts, "SysName: leaf-1",
// pods of Kubernetes.
std::vector<std::string> hosts_in_places(std::string_view line);
// Is the word a NUMA node of one machine ("NUMA node10 CPU(s):"), whatever hosts are called?
bool is_numa_node(std::string_view line, std::size_t at, std::size_t length);
// "gpu-a06" -> "gpu-a##": another name of this shape is a host too. Empty for a name that says too
// little ("gpu0", "rank12", "node0").
std::string shape_of_host(std::string_view name);
// Two words or more with dots between them, the last one of letters and no ending of a file:
// "site.example", not "rank0.log", "libnccl.so.2".
bool is_domain(std::string_view text);
// "alice@site.example", "https://files.site.example/", "search site.example".
std::vector<std::string> domains_in_line(std::string_view line);
// "/home/alice/", "alice@node07:", "USER=alice", "uid=1001(alice)".
std::vector<std::string> users_in_line(std::string_view line);
// What a line calls a serial number; empty where it does not.
std::string serial_in_line(std::string_view line);
// Values of secret names, also as an option with its value (--password x), keys with a well-known
// beginning, passwords in URLs, serial numbers.
std::string without_secrets(std::string_view line);
// Values of secret names that stand in another key or another line than the name: "name: HF_TOKEN"
// with "value: ..." (a pod's environment), a block of lines behind "password: |".
std::string without_paired_secrets(std::string_view text);

}  // namespace comm_probe::core
