// The pages that are opened: every kind, from real inputs. `shows`: what must be there, `count`: so often; `keep`: the
// pictures for docs/.
import { isThere, shared } from "./browser.mjs";

const input = name => `tests/inputs/${name}`;
const data = name => `${shared}/${name}`;
const topologyFile = input("h200x2/nccl-topo.xml");

export const KINDS = [
  { name: "doctor", words: ["doctor", "examples/two-nodes-slow"], shows: [".finding", ".decisions"],
    keep: [{ width: 1280, scheme: "light" }, { width: 390, scheme: "dark" }] },
  { name: "doctor-zh", words: ["doctor", "examples/two-nodes-slow", "--lang", "zh"], shows: [".finding", ".decisions"] },
  { name: "doctor-hang", words: ["doctor", "examples/hang-step-3000"], shows: [".finding"] },
  { name: "topo", words: ["topo", "show", "--from", data("field/topo/x07_oci_h100.xml")], shows: [".machine", ".topology svg"],
    keep: [{ part: ".topology", width: 1280, scheme: "light" }] },
  { name: "topo-this", words: ["topo", "show"], shows: [".verdict"] },
  { name: "topo-smi", words: ["topo", "show", "--from", data("field/topo/t06_h100_hgx_12nic_ansi_niclegend.txt")], shows: [".topology svg"] },
  { name: "topo-check", words: ["topo", "check", "--from", topologyFile], shows: [".figures"] },
  { name: "topo-diff", words: ["topo", "diff", data("field/topo/x07_oci_h100.xml"), data("field/topo/x01_azure_ndv5_h100.xml")], shows: [".finding", ".differences svg"] },
  { name: "nccl-plan", words: ["nccl", "plan", "--topo", topologyFile, "--nodes", "2"], shows: [".topology svg", ".channels svg.ring", ".channels svg.tree"] },
  { name: "nccl-plan-16", words: ["nccl", "plan", "--topo", data("oracle/aws-p5/system.xml"), "--nodes", "2"], shows: [".channels svg.ring", ".channels .hop.out"],
    keep: [{ part: ".channels", width: 1280, scheme: "light" }] },
  { name: "nccl-choose", words: ["nccl", "choose", "all_reduce", "--topo", topologyFile, "--nodes", "2", "-b", "8", "-e", "8G"], shows: [".chart", ".ledger", ".forced"] },
  { name: "nccl-choose-one", words: ["nccl", "choose", "all_reduce", "--topo", topologyFile, "--nodes", "2", "-s", "25MB"], shows: [".ledger", ".forced"] },
  { name: "sim", words: ["sim", "all_reduce", "-n", "64", "-s", "64KiB", "--alpha", "5us", "--beta", "50GB/s", "--late", "5:2ms", "--slow-link", "17:*:0.5"], shows: [".costs .ledger"] },
  { name: "sim-fabric", words: ["sim", "all_to_all", "-n", "64", "-s", "1GiB", "--machine", "dgx-h100", "--fabric", "fat-tree:nodes_per_leaf=2"], shows: [".costs .ledger"] },
  { name: "curve", words: ["curve", data("field/curves/c02_aws_p4de_2n_allreduce_rankprefix.txt"), "--machine", "aws-p4de", "--nodes", "2"], shows: [".chart"],
    keep: [{ part: ".curves", width: 1280, scheme: "light" }] },
  { name: "curve-many", words: ["curve", ...["c40_polaris_2n_allreduce_cfg1_tcp", "c41_polaris_2n_allreduce_cfg2_tcp_gdrenv", "c42_polaris_2n_allreduce_cfg4_ofi"].map(one => data(`field/curves/${one}.txt`))], shows: [".chart", ".finding"] },
  { name: "bench", words: ["bench", "all_reduce", "--ranks", "2", "-b", "8", "-e", "1M", "-f", "8", "-n", "5", "--backend", "local"], shows: [".chart"] },
  { name: "hang", words: ["hang", data("hang/12_order_inversion_two_groups")], shows: [".finding", ".waiting svg", ".matrix svg"],
    keep: [{ part: "main", width: 1280, scheme: "dark" }] },
  { name: "hang-dead", words: ["hang", input("h200x2/hang/dead")], shows: [".finding", ".waiting svg", ".matrix svg"] },
  { name: "hang-healthy", words: ["hang", input("h200x2/hang/healthy")], shows: [".matrix svg"] },
  { name: "trace", words: ["trace", data("trace/cases/08_straggler")], shows: [".finding", ".timeline canvas"] },
  { name: "doctor-traces", words: ["doctor", data("trace/cases/08_straggler"), data("trace/cases/01_healthy")], shows: [".timeline canvas"], count: { ".timeline canvas": 2 } },
  { name: "link", words: ["link", "--only", "host"], shows: [".links .ledger"], measures: true },
  { name: "run", words: ["run", "--quick"], shows: [".ledger"], measures: true },
  { name: "calc", words: ["calc", "all_reduce", "-n", "8", "-s", "64KiB", "--alpha", "10us", "--beta", "25GB/s"], shows: [".ledger"] },
  { name: "calc-sweep", words: ["calc", "all_reduce", "-n", "64", "--machine", "dgx-h100", "--nodes", "8", "--sweep", "-b", "8", "-e", "8G", "-f", "8"], shows: [".ledger"] },
  { name: "calc-moe", words: ["calc", "moe", "--hidden", "7168", "--topk", "8", "--nodes", "4", "--gpus-per-node", "8", "--tokens", "4096", "--nic", "50GB/s", "--nvlink", "160GB/s", "--skew", "zipf:0.8"], shows: [".heat", ".ledger"] },
  { name: "log", words: ["log", input("h200x2/default.log")], shows: [".figures", ".channels svg.ring"] },
  { name: "explain", words: ["explain", "busbw"], shows: [".figures"] },
].map(kind => ({ ...kind, isMissing: kind.words.some(word => word.startsWith(shared) && !isThere(word)) }));
