#!/usr/bin/env bash
# Records a machine as `comm-probe topo record` does, where comm-probe itself is not there: the part of /sys and /proc
# that topology/ reads, and the outputs of the usual commands. Needs bash and tar; as root it also keeps PCIe ACS.
#   scripts/record_machine.sh OUT.tar       then, elsewhere: comm-probe topo show --from OUT.tar
set -u
out=${1:?usage: record_machine.sh OUT.tar}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

keep() { # files, at the place to which links lead
  local path real
  for path in "$@"; do
    [ -f "$path" ] && [ -r "$path" ] || continue
    real=$(readlink -f "$path")
    case "$path" in /proc/self/*) real=$path ;; esac
    mkdir -p "$dir$(dirname "$real")"
    cat "$path" >"$dir$real" 2>/dev/null || rm -f "$dir$real"
  done
}
keep_link() { # a link, in the folder to which its own folder's links lead
  local folder
  [ -L "$1" ] || return 0
  folder=$(readlink -f "$(dirname "$1")")
  mkdir -p "$dir$folder"
  ln -sfn "$(readlink "$1")" "$dir$folder/$(basename "$1")"
}
keep_output() { # a command's output; lines with serial numbers left out
  command -v "$1" >/dev/null 2>&1 || return 0
  local name="$*"
  mkdir -p "$dir/commands"
  timeout 20 "$@" 2>/dev/null </dev/null | grep -v -e "Serial Number" -e "\[SN\]" >"$dir/commands/${name// /_}.txt"
}

keep /proc/cpuinfo /proc/meminfo /proc/version /proc/self/status /proc/self/limits /proc/self/cgroup /proc/1/cgroup
keep /sys/devices/system/cpu/online /sys/devices/system/cpu/cpu*/topology/{physical_package_id,core_id}
keep /sys/devices/system/cpu/cpu*/cache/index*/{level,size,type,shared_cpu_list}
keep /sys/devices/system/node/node*/{cpulist,distance,meminfo}
for device in /sys/bus/pci/devices/*; do
  keep_link "$device"
  keep "$device"/{class,vendor,device,subsystem_vendor,subsystem_device,numa_node,local_cpulist}
  keep "$device"/{current,max}_link_{speed,width}
  keep_link "$device/iommu_group"
  case "$(cat "$device/class" 2>/dev/null)" in 0x0604*) keep "$device/config" ;; esac
done
for device in /sys/class/infiniband/*; do
  keep_link "$device"
  keep_link "$device/device"
  keep "$device"/{sys_image_guid,fw_ver,hca_type,board_id}
  keep "$device"/ports/*/{state,phys_state,rate,link_layer,lid,sm_lid} "$device"/ports/*/{counters,hw_counters}/*
  keep "$device"/ports/*/gids/{0..15} "$device"/ports/*/gid_attrs/{types,ndevs}/{0..15}
done
for interface in /sys/class/net/*; do
  keep_link "$interface"
  keep_link "$interface/device"
  keep "$interface"/{operstate,speed,mtu} "$interface"/ecn/roce_np/enable/*
done
[ -d /sys/kernel/iommu_groups ] && mkdir -p "$dir/sys/kernel/iommu_groups"
keep /sys/kernel/iommu_groups/*/type /proc/driver/nvidia/version /proc/driver/nvidia/params
[ -d /sys/module ] && mkdir -p "$dir/sys/module"
for module in nvidia nvidia_peermem nv_peer_mem gdrdrv mlx5_core; do
  [ -d "/sys/module/$module" ] || continue
  mkdir -p "$dir/sys/module/$module"
  echo 1 >"$dir/sys/module/$module/present"
done
[ -e /.dockerenv ] && touch "$dir/.dockerenv"
mkdir -p "$dir/proc"
tr ' ' '\n' </proc/cmdline | grep -i -e iommu -e acs | tr '\n' ' ' >"$dir/proc/cmdline"
env | grep -e '^NCCL_' -e '^UCX_' -e '^CUDA_VISIBLE_DEVICES=' -e '^KUBERNETES_SERVICE_HOST=' >"$dir/environment"
keep_output nvidia-smi topo -m
for capability in r w n; do keep_output nvidia-smi topo -p2p "$capability"; done
keep_output nvidia-smi nvlink -s
keep_output lspci -tv
keep_output lspci -vv
keep_output numactl -H
for command in ibstat ibstatus show_gids; do keep_output "$command"; done
keep_output ibv_devinfo -v
keep_output rdma link
tar --format=gnu -C "$dir" -cf "$out" . && echo "recorded into $out; next: comm-probe topo show --from $out"
