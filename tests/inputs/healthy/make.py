#!/usr/bin/env python3
"""Piles of three healthy machines, as an engineer would attach them. Our own text in the formats of
the tools (nvidia-smi, ibstat, lspci, numactl, perfquery, ethtool, NCCL 2.28.9, nccl-tests,
perftest, nvbandwidth, p2pBandwidthLatencyTest, PyTorch); nothing is copied from anywhere.

  dgx-h100   one DGX H100: 8 GPUs behind NVSwitch, 8 NDR NICs, one job of 8 ranks
  ndr-2n     two such nodes, one job of 16 ranks
  pcie-box   8 L40S on root ports of two sockets, one 400 Gb/s NIC for each, one job of 8 ranks

Rings and trees are those that NCCL 2.28.9 builds for these machines (`comm-probe nccl plan`), bus
ids are those of a DGX H100. A table follows t = t0 + S * factor / b with 1 % of noise.

  make.py [--tools ../shared/tools]    writes beside itself; the same bytes every time
"""
import argparse
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
H100 = 'NVIDIA H100 80GB HBM3'
L40S = 'NVIDIA L40S'
DGX_BUS = [0x18, 0x29, 0x3a, 0x4b, 0x9a, 0xab, 0xbc, 0xcd]
BOX_BUS = [0x16, 0x26, 0x36, 0x46, 0x96, 0xa6, 0xb6, 0xc6]
# Two nodes, channels 0 to 7; channels 8 to 15 repeat them.
RINGS_2N = [[0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8],
            [0, 8, 15, 14, 13, 12, 11, 10, 9, 1, 2, 3, 4, 5, 6, 7],
            [0, 7, 6, 5, 4, 3, 11, 12, 13, 14, 15, 8, 9, 10, 2, 1],
            [0, 1, 2, 10, 9, 8, 15, 14, 13, 12, 11, 3, 4, 5, 6, 7],
            [0, 7, 6, 5, 13, 14, 15, 8, 9, 10, 11, 12, 4, 3, 2, 1],
            [0, 1, 2, 3, 4, 12, 11, 10, 9, 8, 15, 14, 13, 5, 6, 7],
            [0, 7, 15, 8, 9, 10, 11, 12, 13, 14, 6, 5, 4, 3, 2, 1],
            [0, 1, 2, 3, 4, 5, 6, 14, 13, 12, 11, 10, 9, 8, 15, 7]]


class Noise:
    """Numbers in -1 .. 1, the same in every run and on every machine."""

    def __init__(self, seed):
        self.state = seed * 2654435761 % 2**32 or 1

    def next(self):
        self.state = (self.state * 1664525 + 1013904223) % 2**32
        return self.state / 2**31 - 1

    def around(self, value, share=0.01):
        return value * (1 + share * self.next())


class Box:
    """One kind of machine: what its tools print."""

    def __init__(self, bus, name, nic_of, links, layer='InfiniBand'):
        self.bus, self.name, self.nic_of, self.links, self.layer = bus, name, nic_of, links, layer
        self.nics = sorted(set(nic_of))
        self.near = 'PIX' if len(self.nics) == len(bus) else 'NODE'

    def socket_of_gpu(self, gpu):
        return gpu // 4

    def socket_of_nic(self, nic):
        return nic * 2 // len(self.nics)

    def gpu_gpu(self, a, b):
        if self.links:
            return 'NV%d' % self.links
        return 'NODE' if self.socket_of_gpu(a) == self.socket_of_gpu(b) else 'SYS'

    def gpu_nic(self, gpu, nic):
        if self.nic_of[gpu] == nic:
            return self.near
        return 'NODE' if self.socket_of_gpu(gpu) == self.socket_of_nic(nic) else 'SYS'

    def nic_nic(self, a, b):
        return 'NODE' if self.socket_of_nic(a) == self.socket_of_nic(b) else 'SYS'

    def topo(self):
        gpus, nics = range(len(self.bus)), self.nics
        heads = ['GPU%d' % g for g in gpus] + ['NIC%d' % n for n in nics]
        out = '\t' + '\t'.join(heads) + '\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n'
        for a in gpus:
            cells = [' X ' if a == b else self.gpu_gpu(a, b) for b in gpus]
            cells += [self.gpu_nic(a, n) for n in nics]
            cpus = ['0-55,112-167', '56-111,168-223'][self.socket_of_gpu(a)]
            out += 'GPU%d\t' % a + '\t'.join(cells) + '\t%s\t%d\t\tN/A\n' % (cpus, a // 4)
        for n in nics:
            cells = [self.gpu_nic(g, n) for g in gpus]
            cells += [' X ' if n == m else self.nic_nic(n, m) for m in nics]
            out += 'NIC%d\t' % n + '\t'.join(cells) + '\t\t\t\t\n'
        legend = [('X   ', 'Self'),
                  ('SYS ', 'Connection traversing PCIe as well as the SMP interconnect between '
                           'NUMA nodes (e.g., QPI/UPI)'),
                  ('NODE', 'Connection traversing PCIe as well as the interconnect between PCIe '
                           'Host Bridges within a NUMA node'),
                  ('PHB ', 'Connection traversing PCIe as well as a PCIe Host Bridge (typically '
                           'the CPU)'),
                  ('PXB ', 'Connection traversing multiple PCIe bridges (without traversing the '
                           'PCIe Host Bridge)'),
                  ('PIX ', 'Connection traversing at most a single PCIe bridge'),
                  ('NV# ', 'Connection traversing a bonded set of # NVLinks')]
        out += '\nLegend:\n\n' + ''.join('  %s = %s\n' % row for row in legend)
        return out + '\nNIC Legend:\n\n' + ''.join('  NIC%d: mlx5_%d\n' % (n, n) for n in nics)

    def ibstat(self, node):
        out = ''
        for n in self.nics:
            guid = '0x%016x' % (0xa088c20300a10000 + node * 256 + n * 2)
            lid = 0 if self.layer == 'Ethernet' else 20 + node * 16 + n
            out += "CA 'mlx5_%d'\n" % n
            rows = ['CA type: MT4129', 'Number of ports: 1', 'Firmware version: 28.43.2026',
                    'Hardware version: 0', 'Node GUID: ' + guid, 'System image GUID: ' + guid,
                    'Port 1:', '\tState: Active', '\tPhysical state: LinkUp', '\tRate: 400',
                    '\tBase lid: %d' % lid, '\tLMC: 0', '\tSM lid: %d' % min(1, lid),
                    '\tCapability mask: 0xa751e848', '\tPort GUID: ' + guid,
                    '\tLink layer: ' + self.layer]
            out += ''.join('\t%s\n' % row for row in rows)
        return out

    def acs(self):
        line = ('\t\tACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- '
                'EgressCtrl- DirectTrans-\n')
        return line * (len(self.bus) * 3)

    def nvlink(self, node):
        out = ''
        for g in range(len(self.bus)):
            uuid = 'GPU-%08x-7c1d-4b0e-9a55-%012x' % (0x5ac10000 + node * 16 + g, 0xc0ffee00 + g)
            out += 'GPU %d: %s (UUID: %s)\n' % (g, self.name, uuid)
            out += ''.join('\t Link %d: 26.562 GB/s\n' % link for link in range(self.links))
        return out

    def numactl(self):
        out = 'available: 2 nodes (0-1)\n'
        for node in range(2):
            first = node * 56
            cpus = list(range(first, first + 56)) + list(range(first + 112, first + 168))
            out += 'node %d cpus: %s\n' % (node, ' '.join(map(str, cpus)))
            out += 'node %d size: 1031%d MB\nnode %d free: 98%d8%d MB\n' % (
                node, 700 + node * 21, node, 7, node)
        return out + 'node distances:\nnode   0   1 \n  0:  10  21 \n  1:  21  10 \n'

    def counters(self, node, later):
        out = 'Mon Nov 30 02:5%d:23 UTC 2026\n' % (4 + later)
        for n in self.nics:
            if self.layer == 'Ethernet':
                out += self.ethtool(n, later)
                continue
            data = 4120331250000 + n * 8191 + later * 1500000000
            lid = 20 + node * 16 + n
            out += '$ perfquery -x -C mlx5_%d -P 1\n' % n
            out += ('# Port extended counters: Lid %d port 1 (CapMask: 0x5A00 CapMask2: '
                    '0x0000002)\n' % lid)
            rows = [('PortSelect', '1'), ('CounterSelect', '0x0000'), ('PortXmitData', data),
                    ('PortRcvData', data + 77), ('PortXmitPkts', data // 1020),
                    ('PortRcvPkts', data // 1020 + 3),
                    ('SymbolErrorCounter', 0), ('LinkErrorRecoveryCounter', 0),
                    ('LinkDownedCounter', 1), ('PortRcvErrors', 0),
                    ('PortRcvRemotePhysicalErrors', 0), ('PortRcvSwitchRelayErrors', 0),
                    ('PortXmitDiscards', 0), ('PortXmitConstraintErrors', 0),
                    ('LocalLinkIntegrityErrors', 0), ('ExcessiveBufferOverrunErrors', 0),
                    ('VL15Dropped', 0), ('PortXmitWait', 91000 + n)]
            out += ''.join((name + ':').ljust(33, '.') + '%s\n' % value for name, value in rows)
        return out

    def ethtool(self, nic, later):
        moved = 8124466112 + later * 6100000000
        rows = [('rx_packets', 81244 + later * 4100), ('rx_bytes', 119000000 + later * 590000),
                ('tx_packets', 79810 + later * 4080), ('tx_bytes', 98000000 + later * 570000),
                ('rx_vport_rdma_unicast_bytes', moved), ('tx_vport_rdma_unicast_bytes', moved + 512),
                ('rx_out_of_buffer', 0), ('rx_crc_errors_phy', 0), ('rx_symbol_err_phy', 0),
                ('rx_discards_phy', 0), ('tx_discards_phy', 0), ('tx_errors_phy', 0),
                ('outbound_pci_stalled_wr', 0), ('rx_prio3_pause', 0), ('tx_prio3_pause', 0)]
        out = '$ ethtool -S ens%df0np0\nNIC statistics:\n' % (nic + 1)
        return out + ''.join('     %s: %d\n' % row for row in rows)


def dgx():
    return Box(DGX_BUS, H100, list(range(8)), 18)


# ---------------------------------------------------------------------------- NCCL's log
class Job:
    """The communicator of one log: rings, trees, which NIC carries what crosses nodes."""

    def __init__(self, box, hosts, rings, channels, nvls):
        self.box, self.hosts, self.channels, self.nvls = box, hosts, channels, nvls
        self.rings = [rings[c % len(rings)] for c in range(channels)]
        self.ranks = len(hosts) * 8

    def tree(self, channel, rank):
        """(parent, children) of a rank: a chain in each node, the heads of two nodes linked."""
        node, local = divmod(rank, 8)
        many = len(self.hosts) > 1
        head = channel % 8 if many else 0
        place = (local - head) % 8
        down = node * 8 + (local + 1) % 8 if place < 7 else -1
        if place > 0:
            return node * 8 + (local - 1) % 8, [down]
        if not many:
            return -1, [down]
        root = 0 if channel < 8 else 1
        other = (1 - node) * 8 + head
        return (-1, [down, other]) if node == root else (other, [down])

    def tree_text(self, channel, rank):
        parent, children = self.tree(channel, rank)
        below = '/'.join(str(c) for c in (children + [-1, -1, -1])[:3])
        return '[%d] %s->%d->%d' % (channel, below, rank, parent)

    def links(self, rank):
        """(channel, from, to) of the rings and then of the trees, as this rank sees them."""
        rings, trees = [], []
        for c, ring in enumerate(self.rings):
            at = ring.index(rank)
            rings += [(c, ring[at - 1], rank), (c, rank, ring[(at + 1) % self.ranks])]
        for c in range(self.channels):
            parent, children = self.tree(c, rank)
            for peer in [parent] + children:
                if peer >= 0:
                    trees += [(c, rank, peer), (c, peer, rank)]
        return rings, [link for link in trees if link not in rings]

    def channel_line(self, rank, link, transport):
        c, source, to = link
        ends = 'Channel %02d/0 : %d[%d] -> %d[%d]' % (c, source, source % 8, to, to % 8)
        if source // 8 == to // 8:
            return ends + ' via ' + transport if source == rank else None
        nic = self.box.nic_of[rank % 8]
        return ends + ' [%s] via NET/IB/%d/GDRDMA' % ('send' if source == rank else 'receive', nic)


def log_of_rank(job, rank, transport):
    box, local, host = job.box, rank % 8, job.hosts[rank // 8]
    pid = 41200 + rank * 3
    lines = []

    def say(text, thread=0):
        lines.append('%s:%d:%d [%d] NCCL INFO %s' % (host, pid, pid + thread, local, text))

    oob = 'ens9f0:192.0.2.%d<0>' % (11 + rank // 8)
    say('ENV/Plugin: Could not find: libnccl-env.so')
    say('Bootstrap: Using ' + oob)
    say('cudaDriverVersion 13000')
    say('NCCL version 2.28.9+cuda13.0')
    say('Comm config Blocking set to 1')
    say('NET/Plugin: Could not find: libnccl-net.so')
    layer = 'IB' if box.layer == 'InfiniBand' else 'RoCE'
    for n in box.nics:
        say('NET/IB: [%d] mlx5_%d:uverbs%d:1/%s provider=Mlx5 speed=400000 context=0x%x '
            'pciPath=/sys/devices/pci0000:%02x/0000:%02x:00.0 ar=%d' % (
                n, n, n, layer, 0x55d0c0de0000 + n * 4096, 0x15 + n * 16, 0x19 + n * 16,
                layer == 'IB'))
        say('NET/IB : Made virtual device [%d] name=mlx5_%d speed=400000 ndevs=1' % (n, n))
    used = ' '.join('[%d]mlx5_%d:1/%s' % (n, n, layer) for n in box.nics)
    say('NET/IB : Using %s [RO]; OOB %s' % (used, oob))
    say('Initialized NET plugin IB')
    say('Assigned NET plugin IB to comm')
    say('Using network IB')
    say('DMA-BUF is available on GPU device %d' % local)
    comm = 'comm 0x%x rank %d nranks %d cudaDev %d nvmlDev %d busId %x commId 0x%x' % (
        0x55d1a0b00000 + rank * 65536, rank, job.ranks, local, local, box.bus[local] << 12,
        0x7c3a91f05b2d4e68 + job.ranks)
    say('ncclCommInitRankConfig %s - Init START' % comm)
    say('RAS client listening socket at 127.0.0.1<28028>')
    for n in box.nics:
        say("NET/IB : GPU Direct RDMA (DMABUF) enabled for HCA %d 'mlx5_%d" % (n, n))
        say("NET/IB : GPU Direct RDMA Enabled for HCA %d 'mlx5_%d'" % (n, n))
    if len(job.hosts) > 1:
        for n in box.nics:
            near = n == box.nic_of[local]
            say('GPU Direct RDMA %s for GPU %d / HCA %d (distance %d %s 5), read %d mode Default' % (
                ('Enabled', local, n, 4, '<=', 0) if near else ('Enabled', local, n, 5, '<=', 0)))
    if job.nvls:
        say('NVLS multicast support is available on dev %d (NVLS_NCHANNELS %d)' % (local, job.nvls))
    cpus = ['0-55,112-167', '56-111,168-223'][local // 4]
    say('Setting affinity for GPU %d to %s' % (local, cpus))
    say('comm 0x%x rank %d nRanks %d nNodes %d localRanks 8 localRank %d MNNVL 0' % (
        0x55d1a0b00000 + rank * 65536, rank, job.ranks, len(job.hosts), local))
    if rank == 0:
        for c, ring in enumerate(job.rings):
            say('Channel %02d/%02d : %s' % (c, job.channels, ' '.join(map(str, ring))))
    say('Trees ' + ' '.join(job.tree_text(c, rank) for c in range(job.channels)))
    say('P2P Chunksize set to 524288')
    say('PROFILER/Plugin: Could not find: libnccl-profiler.so')
    if rank == 0:
        say('Check P2P Type isAllDirectP2p 1 directMode 0 isAllCudaP2p 1')
    say('[Proxy Service] Device %d CPU core %d' % (local, local * 7 + 3), 9)
    say('TUNER/Plugin: Could not find: libnccl-tuner.so')
    say('threadThresholds 8/8/64 | %d/8/64 | 512 | 512' % (job.ranks * 8))
    say('%d coll channels, %d collnet channels, %d nvls channels, %d p2p channels, 2 p2p channels '
        'per peer' % (job.channels, job.channels, job.nvls, job.channels))
    say('CC Off, workFifoBytes 1048576')
    say('ncclCommInitRankConfig %s - Init COMPLETE' % comm)
    say('Init timings - ncclCommInitRankConfig: rank %d nranks %d total 1.%02d (kernels 0.31, alloc '
        '0.42, bootstrap 0.1%d, allgathers 0.01, topo 0.06, graphs 0.02, connections 0.04, rest '
        '0.01)' % (rank, job.ranks, 7 + rank, rank % 10))
    rings, trees = job.links(rank)
    for links, end in ((rings, 'Connected all rings, use ring PXN 0 GDR %d' % (len(job.hosts) > 1)),
                       (trees, 'Connected all trees')):
        for link in links:
            line = job.channel_line(rank, link, transport)
            if line:
                say(line)
        say(end)
    say('comm 0x%x rank %d nranks %d cudaDev %d busId %x - Destroy COMPLETE' % (
        0x55d1a0b00000 + rank * 65536, rank, job.ranks, local, box.bus[local] << 12))
    return ''.join(line + '\n' for line in lines)


# ---------------------------------------------------------------------------- benchmarks
def seven(value):
    """As nccl-tests prints a time: at most seven characters."""
    for digits in (2, 1, 0):
        text = '%.*f' % (digits, value)
        if len(text) <= 7:
            return text
    return text


class Table:
    def __init__(self, op, box, hosts, t0_us, beta_GBps, seed):
        self.op, self.box, self.hosts = op, box, hosts
        self.t0, self.beta, self.noise = t0_us, beta_GBps, Noise(seed)
        self.ranks = len(hosts) * 8

    def factor(self):
        n = self.ranks
        return 2 * (n - 1) / n if self.op == 'all_reduce' else (n - 1) / n

    def half(self, size):
        time = self.noise.around(self.t0 + size * self.factor() / self.beta / 1e3)
        algbw = size / time / 1e3
        return '  %7s  %6.2f  %6.2f  %6d' % (seven(time), algbw, algbw * self.factor(), 0)

    def text(self):
        out = '# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809\n'
        out += '# Collective test starting: %s_perf\n' % self.op
        out += ('# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 5 '
                'iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n')
        for rank in range(self.ranks):
            out += '#  Rank %2d Group  0 Pid %6d on %10s device %2d [0000:%02x:00] %s\n' % (
                rank, 52000 + rank, self.hosts[rank // 8], rank % 8, self.box.bus[rank % 8],
                self.box.name)
        out += ('#\n#                                                              out-of-place    '
                '                   in-place          \n'
                '#       size         count      type   redop    root     time   algbw   busbw  '
                '#wrong     time   algbw   busbw  #wrong \n'
                '#        (B)    (elements)                               (us)  (GB/s)  (GB/s)   '
                '          (us)  (GB/s)  (GB/s)         \n')
        shares = 1 if self.op == 'all_reduce' else self.ranks
        redop = 'sum' if self.op == 'all_reduce' else 'none'
        for power in range(3, 34):
            count = max((1 << power) // 4 // shares // 4 * 4, 2 if shares == 1 else 0)
            size = count * 4 * shares
            out += '%12d  %12d  %8s  %6s  %6d%s%s\n' % (size, count, 'float', redop, -1,
                                                       self.half(max(size, 1)),
                                                       self.half(max(size, 1)))
        out += '# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.4g \n#\n' % (
            self.beta * 0.31)
        return out + '# Collective test concluded: %s_perf\n#\n' % self.op


def ib_write_bw(nic, layer, noise):
    rule = '-' * 87 + '\n'
    rate = noise.around(392.4, 0.002)
    ethernet = layer == 'Ethernet'
    gid = ' GID index       : 3\n' if ethernet else ''
    out = rule + '                    RDMA_Write BW Test\n'
    out += ' Dual-port       : OFF\t\tDevice         : mlx5_%d\n' % nic
    out += ' Number of qps   : 4\t\tTransport type : IB\n'
    out += ' Connection type : RC\t\tUsing SRQ      : OFF\n'
    out += ' PCIe relax order: ON\t\tLock-free      : OFF\n'
    out += ' ibv_wr* API     : ON\t\tUsing Enhanced Reorder      : OFF\n'
    out += ' TX depth        : 128\n CQ Moderation   : 1\n CQE Poll Batch  : Dynamic\n'
    out += ' Mtu             : 4096[B]\n Link type       : %s\n' % ('Ethernet' if ethernet else 'IB')
    out += gid + ' Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n' + rule
    for qp in range(4):
        out += ' local address: LID %#04x QPN 0x%04x PSN 0x%06x RKey 0x1fff%02x VAddr 0x007f%08x\n' % (
            0 if ethernet else 20 + nic, 0x127 + qp, 0x5a2f3c + qp * 7919, qp, qp << 16)
    for qp in range(4):
        out += ' remote address: LID %#04x QPN 0x%04x PSN 0x%06x RKey 0x1fff%02x VAddr 0x007f%08x\n' % (
            0 if ethernet else 36 + nic, 0x131 + qp, 0x1b22aa + qp * 6007, qp, qp << 16)
    out += rule + ' #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n'
    out += ' 65536      20000            %.2f             %.2f \t\t     %.6f\n' % (
        rate + 0.31, rate, rate / 65536 / 8 * 1e3)
    return out + rule


def matrix(rows, noise, diagonal, other, form):
    out = ''
    for a in range(rows):
        cells = [noise.around(diagonal if a == b else other(a, b), 0.006) for b in range(rows)]
        out += form(a, cells)
    return out


def nvbandwidth(box, noise):
    names = '\n'.join('Device %d: %s (00000000:%02x:00)' % (g, box.name, bus)
                      for g, bus in enumerate(box.bus))
    out = ('nvbandwidth Version: v0.8\nBuilt from Git version: v0.8\n\nCUDA Runtime Version: 13000\n'
           'CUDA Driver Version: 13000\nDriver Version: 580.95.05\n\n%s\n\n' % names)
    head = '      ' + ''.join('%10d' % g for g in range(8)) + '\n'
    for key, arrow in (('host_to_device', '->'), ('device_to_host', '<-')):
        out += 'Running %s_memcpy_ce.\n' % key
        out += 'memcpy CE CPU(row) %s GPU(column) bandwidth (GB/s)\n' % arrow + head
        cells = [noise.around(55.3, 0.004) for _ in range(8)]
        out += ' 0    ' + ''.join('%10.2f' % c for c in cells) + '\n\n'
        out += 'SUM %s_memcpy_ce %.2f\n\n' % (key, sum(round(c, 2) for c in cells))
    out += 'Running device_to_device_memcpy_read_ce.\n'
    out += 'memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n' + head
    for a in range(8):
        cells = ['%10s' % 'N/A' if a == b else '%10.2f' % noise.around(393.2, 0.004)
                 for b in range(8)]
        out += ' %d    ' % a + ''.join(cells) + '\n'
    return out + '\n'


def p2p_test(box, noise):
    out = '[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n'
    for g, bus in enumerate(box.bus):
        out += 'Device: %d, %s, pciBusID: %02x, pciDeviceID: 0, pciDomainID:0\n' % (g, box.name, bus)
    for a in range(8):
        out += ''.join('Device=%d CAN Access Peer Device=%d\n' % (a, b) for b in range(8) if a != b)
    out += ('\n***NOTE: In case a device doesn\'t have P2P access to other one, it falls back to '
            'normal memcopy procedure.\nSo you can see lesser Bandwidth (GB/s) and unstable Latency '
            '(us) in those cases.\n\nP2P Connectivity Matrix\n     D\\D' +
            ''.join('%6d' % g for g in range(8)) + '\n')
    out += ''.join('     %d\t' % a + ''.join('%6d' % 1 for _ in range(8)) + '\n' for a in range(8))

    def near(a, b):
        return a // 4 == b // 4

    def row(a, cells):
        return '%6d ' % a + ' '.join('%6.2f' % c for c in cells) + ' \n'

    head = '   D\\D' + ''.join('%6d ' % g for g in range(8)) + '\n'
    for title, same, across in (
            ('Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)', 22.4, 21.2),
            ('Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)', 26.3, 24.9),
            ('Bidirectional P2P=Disabled Bandwidth Matrix (GB/s)', 31.2, 30.1),
            ('Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)', 51.6, 46.3)):
        out += title + '\n' + head
        out += matrix(8, noise, 667.0, lambda a, b: same if near(a, b) else across, row)
    for title, other in (('P2P=Disabled Latency Matrix (us)', 11.4),
                         ('P2P=Enabled Latency (P2P Writes) Matrix (us)', 1.3)):
        out += title + '\n   GPU' + ''.join('%6d ' % g for g in range(8)) + '\n'
        out += matrix(8, noise, 1.41, lambda a, b: other, row)
        out += '\n   CPU' + ''.join('%6d ' % g for g in range(8)) + '\n'
        out += matrix(8, noise, 1.62, lambda a, b: 1.3 if other < 2 else 4.7, row)
        out += '\n' if other > 2 else ''
    return out + ('\nNOTE: The CUDA Samples are not meant for performance measurements. Results may '
                  'vary when GPU Boost is enabled.\n')


# ---------------------------------------------------------------------------- the application
def application(hosts, steps):
    """Warnings that mean nothing, between the lines of a training that runs."""
    out = ('W1130 02:41:07.120000 40990 torch/distributed/run.py:774] \n'
           'W1130 02:41:07.120000 40990 torch/distributed/run.py:774] '
           '*****************************************\n'
           'W1130 02:41:07.120000 40990 torch/distributed/run.py:774] Setting OMP_NUM_THREADS '
           'environment variable for each process to be 1 in default, to avoid your system being '
           'overloaded, please further tune the variable for optimal performance in your '
           'application as needed. \n'
           '/opt/venv/lib/python3.12/site-packages/torch/distributed/c10d_logger.py:83: UserWarning: '
           'barrier(): using the device under current context. You can specify `device_id` in '
           '`init_process_group` to mute this warning.\n'
           '  return func(*args, **kwargs)\n'
           '[rank0]:[W1130 02:41:19.441207113 ProcessGroupNCCL.cpp:5072] Guessing device ID based on '
           'global rank. This can cause a hang if rank to GPU mapping is heterogeneous. You can '
           'specify device_id in init_process_group()\n'
           '/opt/train/model.py:41: FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. '
           "Please use `torch.amp.autocast('cuda', args...)` instead.\n"
           'Failed to import flash_attn_3, using flash_attn 2 (this is expected on this image)\n')
    for step in range(steps):
        out += 'step %4d  loss %.4f  lr 3.0e-04  grad_norm %.3f  step_time 0.4%02d s  hosts %s\n' % (
            step * 10, 10.9 - step * 0.31, 1.2 - step * 0.02, 11 + step % 5, ','.join(hosts))
    return out + (
        'checkpoint step 190 written, retry 0, errors 0\n'
        '[rank0]:[W1130 03:02:44.018312907 ProcessGroupNCCL.cpp:1553] Warning: WARNING: '
        'destroy_process_group() was not called before program exit, which can leak resources. For '
        'more info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function '
        'operator())\n'
        'training finished\n')


def run_tool(tools, name, words, folder):
    subprocess.run([sys.executable, str(tools / name)] + words + ['--out', str(folder)], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def dumps(pile, tools, ranks, form='pickle'):
    with tempfile.TemporaryDirectory() as folder:
        run_tool(tools, 'gen_dumps.py', ['--ranks', str(ranks), '--entries', str(12 if form == 'pickle' else 5), '--frames', '0',
                                         '--fault', 'healthy', '--format', form, '--seed', '7',
                                         '--prefix', 'nccl_trace_rank_'], folder)
        for file in sorted(pathlib.Path(folder).rglob('nccl_trace_rank_*')):
            put(pile / 'dumps' / file.name, file.read_bytes())


def traces(pile, tools, ranks, beta):
    with tempfile.TemporaryDirectory() as folder:
        run_tool(tools, 'gen_trace.py', ['--ranks', str(ranks), '--world', str(ranks), '--steps',
                                         '2', '--layers', '2', '--kernels-per-layer', '2',
                                         '--opt-kernels', '1', '--opt-us', '1200', '--seed', '3',
                                         '--beta-gbs', str(beta)], folder)
        for file in sorted(pathlib.Path(folder).glob('rank*.json')):
            put(pile / 'profile' / (file.name + '.gz'), gzip.compress(file.read_bytes(), 9, mtime=0))


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def node(folder, box, number):
    put(folder / 'topo.txt', box.topo())
    put(folder / 'ibstat.txt', box.ibstat(number))
    put(folder / 'acs.txt', box.acs())
    put(folder / 'numactl.txt', box.numactl())
    put(folder / 'counters_before.txt', box.counters(number, 0))
    put(folder / 'counters_after.txt', box.counters(number, 1))
    if box.links:
        put(folder / 'nvlink.txt', box.nvlink(number))


def dgx_h100(pile, tools):
    box, noise = dgx(), Noise(11)
    node(pile / 'dgx01', box, 1)
    job = Job(box, ['dgx01'], [list(range(8))], 24, 16)
    put(pile / 'nccl.log', ''.join(log_of_rank(job, r, 'P2P/CUMEM') for r in range(8)))
    put(pile / 'all_reduce.txt', Table('all_reduce', box, ['dgx01'], 31, 466, 1).text())
    put(pile / 'all_gather.txt', Table('all_gather', box, ['dgx01'], 27, 362, 2).text())
    put(pile / 'ib_write_bw.txt', ib_write_bw(0, box.layer, noise))
    put(pile / 'nvbandwidth.txt', nvbandwidth(box, noise))
    put(pile / 'train.log', application(['dgx01'], 20))
    dumps(pile, tools, 8)
    traces(pile, tools, 8, 380)


def ndr_2n(pile, tools):
    box, noise, hosts = dgx(), Noise(12), ['node01', 'node02']
    for number, host in enumerate(hosts):
        node(pile / host, box, number + 1)
    job = Job(box, hosts, RINGS_2N, 16, 16)
    for rank in range(16):
        put(pile / 'logs' / ('nccl.%s.%d.log' % (hosts[rank // 8], 41200 + rank * 3)),
            log_of_rank(job, rank, 'P2P/CUMEM'))
    put(pile / 'all_reduce_1n.txt', Table('all_reduce', box, hosts[:1], 31, 468, 3).text())
    put(pile / 'all_reduce_2n.txt', Table('all_reduce', box, hosts, 46, 371, 4).text())
    for n in (0, 7):
        put(pile / ('ib_write_bw_mlx5_%d.txt' % n), ib_write_bw(n, box.layer, noise))
    put(pile / 'train.log', application(hosts, 20))
    dumps(pile, tools, 16)


def pcie_box(pile, tools):
    box = Box(BOX_BUS, L40S, [0, 0, 0, 0, 1, 1, 1, 1], 0, 'Ethernet')
    noise = Noise(13)
    node(pile / 'box', box, 1)
    job = Job(box, ['box07'], [list(range(8))], 2, 0)
    for rank in range(8):
        put(pile / ('rank%d.log' % rank), log_of_rank(job, rank, 'P2P/CUMEM'))
    put(pile / 'all_reduce.txt', Table('all_reduce', box, ['box07'], 62, 21.6, 5).text())
    put(pile / 'p2p.txt', p2p_test(box, noise))
    put(pile / 'ib_write_bw.txt', ib_write_bw(1, box.layer, noise))
    put(pile / 'train.log', application(['box07'], 20))
    dumps(pile, tools, 8, 'json')
    traces(pile, tools, 8, 20)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--tools', default=str(HERE.parents[2].parent / 'shared' / 'tools'))
    tools = pathlib.Path(parser.parse_args().tools)
    for name, make in (('dgx-h100', dgx_h100), ('ndr-2n', ndr_2n), ('pcie-box', pcie_box)):
        shutil.rmtree(HERE / name, ignore_errors=True)
        make(HERE / name, tools)
    total = sum(f.stat().st_size for f in HERE.rglob('*') if f.is_file())
    print('%d bytes below %s' % (total, os.path.relpath(HERE)))


if __name__ == '__main__':
    main()
