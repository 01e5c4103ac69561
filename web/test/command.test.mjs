// A "copy" stands beside what a shell can run, and beside nothing else: `bash -n` is the judge of the grammar.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { build } from "esbuild";
import { join } from "node:path";
import { before, test } from "node:test";
import { pathToFileURL } from "node:url";
import { folder, root } from "./browser.mjs";

let commandOf;
before(async () => {
  const outfile = join(folder, "command.mjs");
  await build({ entryPoints: [join(root, "web/src/command.ts")], outfile, format: "esm", logLevel: "error" });
  ({ commandOf } = await import(pathToFileURL(outfile).href));
});

test("commands", () => {
  for (const command of [
    "ulimit -l", "unset NCCL_ALGO", "mlxlink -d mlx5_2", "cat /proc/cmdline", "sudo dmesg -T | grep -i xid",
    "cat /sys/kernel/iommu_groups/*/type | sort | uniq -c", "nvidia-smi -q -d CLOCK,PERFORMANCE # host of rank 3",
    "comm-probe calc all_reduce -n 8 -s 1GB --alpha 10us --beta 25GB/s", "NCCL_DEBUG=INFO mpirun -np 2 ./all_reduce_perf",
    "journalctl -k --grep 'link is down, and up'"]) {
    assert.deepEqual(commandOf(command), { command, remark: "" });
    execFileSync("bash", ["-n", "-c", command]);
  }
});

test("a remark in brackets is not copied", () => {
  const found = commandOf("ls -l /dev/infiniband; ldconfig -p | grep libibverbs (in the container)");
  assert.deepEqual(found, { command: "ls -l /dev/infiniband; ldconfig -p | grep libibverbs", remark: "(in the container)" });
  execFileSync("bash", ["-n", "-c", found.command]);
});

test("sentences", () => {
  for (const advice of [
    "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,NET: why NET/IB finds no device", "NCCL_DEBUG=INFO on all ranks",
    "NCCL_PROTO=Simple and NCCL_ALGO=Ring", "NCCL_LAUNCH_ORDER_IMPLICIT=1 (NCCL 2.26 or newer)",
    "ib_write_bw -d mlx5_0 --report_gbits, and with --use_cuda=0, between two nodes", "dmesg for Xid", "ibstat of the node",
    "comm-probe bench all_reduce --backend nccl --keep DIR, then comm-probe doctor DIR", "lspci -vv <device>",
    "catalog of machines", "cat 'half a quote", "reseat the cable"])
    assert.equal(commandOf(advice), null, advice);
});
