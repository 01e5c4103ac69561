// Words that are no names of a machine or a person, whatever stands around them.
#include <algorithm>
#include <array>
#include <cctype>

#include "core/mask_words.h"

namespace comm_probe::core {
namespace {

// Names that say nothing of whose machine it is, and the words of lines that an analysis reads.
constexpr std::array<std::string_view, 268> kEveryday = {
    "git",        "svc",        "hg",          "ftp",         "mail",      "support",
    "localhost",  "root",       "gpu",         "node",        "host",      "worker",
    "master",     "nccl",       "python",      "python3",     "info",      "warn",
    "error",      "rank",       "ubuntu",      "linux",       "none",      "unknown",
    "user",       "users",      "home",        "data",        "nvidia",    "cuda",
    "main",       "test",       "local",       "slurm",       "docker",    "nobody",
    "debian",     "admin",      "shared",      "tmp",         "daemon",    "munge",
    "bin",        "sys",        "proxy",       "messagebus",  // of a communication library
    "network",    "networks",   "socket",      "sockets",     "using",     "bootstrap",
    "channel",    "channels",   "ring",        "rings",       "tree",      "trees",
    "connected",  "connection", "comm",        "init",        "complete",  "completed",
    "via",        "shm",        "p2p",         "net",         "ib",        "roce",
    "plugin",     "transport",  "thread",      "threads",     "watchdog",  "collective",
    "operation",  "timeout",    "timed",       "version",     "warning",   "debug",
    "trace",      "fatal",      "critical",    "notice",      "abort",     "aborted",
    "async",      "launch",     "launched",    "launcher",    "setting",   "set",
    "affinity",   "cpu",        "mem",         "memory",      "numa",      "device",
    "dev",        "port",       "ports",       "link",        "links",     "nvlink",
    "nvls",       "multicast",  "peer",        "send",        "recv",      "receive",
    "remote",     "failed",     "failure",     "fallback",    "retry",     "closed",
    "reset",      "refused",    "up",          "down",        "ok",        "phase",
    "check",      "started",    "stopped",     "starting",    "running",   "loading",
    "loaded",     "training",   "train",       "trainer",     "step",      "epoch",
    "loss",       "iteration",  "batch",       "layer",       "stage",     "group",
    "process",    "pid",        "dispatch",    "combine",     "gradient",  "forward",
    "backward",   "checkpoint", "checkpoints", "dataset",     "datasets",  "model",
    "models",     "log",        "logs",        "run",         "runs",      "job",
    "jobs",       "work",       "workspace",   "cache",       "results",   "output",
    "outputs",    "public",     "software",    "apps",        "envs",      "env",
    "containers", "container",  "images",      "image",       "scripts",   "code",
    "src",        "repo",       "repos",       "experiments", "project",   "projects",
    "engine",     "server",     "client",      "service",     "scheduler", "executor",
    "core",       "kernel",     "driver",      "module",      "firmware",  "cable",
    "switch",     "rail",       "pci",         "pcie",        "gdr",       "gdrcopy",
    "ucx",        "mpi",        "ompi",        "nixl",        "torch",     "pytorch",
    "vllm",       "sglang",     "megatron",    "deepspeed",   "tensorrt",  "triton",
    "flash",      "fused",      "attention",   "custom",      "slow",      "fast",
    "this",       "that",       "the",         "all",         "new",       "old",
    "first",      "last",       "graph",       "stream",      "event",     "buffer",
    "kv",         "prefill",    "decode",      "status",      "state",     "true",
    "false",      "yes",        "no",          "not",         "default",   "auto",
    "enabled",    "disabled",   "active",      "inactive",    "allreduce", "all_reduce",
    "allgather",  "reduce",     "broadcast",   "barrier",     "alltoall",  "sendrecv",
    "rendezvous", "elastic",    "store",       "agent",       "tcp",       "rdma",
    "verbs",      "ethernet",   "infiniband",  "oob",         "o2ib",      "bf"};

// Kinds that are numbered as devices are ("mlx5_0", "eth1", "enp27s0f0np0", "nvme0n1").
constexpr std::array<std::string_view, 27> kDevices = {
    "mlx",  "mthca", "hfi", "bnxt", "bnxtre", "irdma", "efa", "rdmap", "rocep",
    "ibp",  "ib",    "eth", "eno",  "ens",    "enp",   "enx", "enps",  "bond",
    "vlan", "hsn",   "lo",  "veth", "docker", "nvme",  "usb", "wlan",  "virbr"};

// Kinds of which a log counts the instances: "rank12", "bf16", "H100".
constexpr std::array<std::string_view, 53> kNumbered = {
    "gpu",    "rank",   "cuda",   "nic",    "numa",   "cpu",   "mlx",     "eth",   "ib",
    "rail",   "hsn",    "bond",   "ens",    "enp",    "dev",   "device",  "step",  "epoch",
    "ring",   "tree",   "comm",   "group",  "pg",     "stage", "layer",   "port",  "net",
    "sm",     "gen",    "chan",   "chunk",  "worker", "core",  "channel", "fp",    "bf",
    "int",    "uint",   "float",  "tp",     "pp",     "dp",    "ep",      "cp",    "iter",
    "thread", "stream", "nvlink", "expert", "qp",     "lane",  "nvls",    "socket"};

// Processors that a line may begin with: "H100 temperature: 60".
constexpr std::array<std::string_view, 22> kProcessors = {
    "h100",  "h200",   "h800",   "h20",    "a100",   "a800",  "b100",  "b200",
    "b300",  "l40",    "l40s",   "v100",   "gb200",  "gb300", "gh200", "mi250x",
    "mi300", "mi300x", "mi308x", "mi325x", "mi350x", "mi355x"};

// Of these some call their machines: "gpu12", "worker3".
constexpr std::array<std::string_view, 6> kAlsoHosts = {"gpu", "worker", "dev",
                                                        "net", "cpu",    "core"};

std::string lower_of(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

template <std::size_t N>
bool holds(const std::array<std::string_view, N>& words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool has_digit(std::string_view name) {
  return std::any_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

}  // namespace

bool is_everyday(std::string_view name) { return holds(kEveryday, lower_of(name)); }

// Up to the first digit: "enp" of "enp27s0f0np0".
bool is_device(std::string_view name) {
  const std::string lower = lower_of(name);
  const std::size_t digit = lower.find_first_of("0123456789");
  std::string kind = lower.substr(0, digit);
  std::erase(kind, '_');
  return digit != std::string::npos && lower.find('-') == std::string::npos &&
         holds(kDevices, kind);
}

bool is_numbered(std::string_view name) {
  std::string letters;
  for (const char c : lower_of(name))
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) letters += c;
  return has_digit(name) && (holds(kNumbered, letters) || holds(kProcessors, lower_of(name)));
}

// Loggers write words of their own at the head of a line: "Socket error: ...", "[Trainer:77] ...".
bool may_be_host(std::string_view name, bool is_doubtful) {
  const std::string_view word = name.substr(0, name.find('.'));
  if (word.size() < name.size() && !is_domain(name)) return false;  // "trainer.py"
  if (word.empty() || is_everyday(word) || is_device(word)) return false;
  if (is_numbered(word))
    return !is_doubtful &&
           (holds(kAlsoHosts, lower_of(word.substr(0, word.find_first_of("0123456789")))));
  const bool is_number = std::isdigit(static_cast<unsigned char>(word.front())) != 0;  // "0x1"
  if (has_digit(word)) return !is_doubtful || !is_number;
  return !is_doubtful && std::none_of(word.begin(), word.end(),
                                      [](unsigned char c) { return std::isupper(c) != 0; });
}

}  // namespace comm_probe::core
