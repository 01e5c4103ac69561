// Numbers as the terminal prints them: four digits, units with the value. GB is 10^9, GiB is 2^30.
import { t } from "./words";

const digits = (value: number, count = 4): string => {
  if (value === 0) return "0";
  const rounded = Number(value.toPrecision(count));
  const size = Math.abs(rounded);
  return size >= 1e6 || size < 1e-4 ? rounded.toExponential() : String(rounded);
};

function scaled(value: number, steps: [number, string][]): string {
  const size = Math.abs(value);
  const [factor, unit] = steps.find(step => size >= step[0]) ?? steps[steps.length - 1];
  return `${digits(value / factor)} ${unit}`;
}

export const plain = digits;

export const nanoseconds = (ns: number): string =>
  scaled(ns, [[1e9, "s"], [1e6, "ms"], [1e3, "us"], [1, "ns"]]);
export const microseconds = (us: number): string => nanoseconds(us * 1e3);

const BINARY: [number, string][] = [[2 ** 40, "TiB"], [2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]];
const DECIMAL: [number, string][] = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "KB"], [1, "B"]];

// "64 KiB" where that is short and exact, else "1.75 GB".
export function bytes(count: number): string {
  for (const [factor, unit] of BINARY) {
    const quotient = count / factor;
    if (quotient >= 1 && Number(quotient.toPrecision(4)) === quotient) return `${quotient} ${unit}`;
  }
  return scaled(count, DECIMAL);
}

// In one kind of unit, for figures that are to be compared: "411 MB", never "392 MiB" beside it.
export const decimalBytes = (count: number): string => scaled(count, DECIMAL);

export const bandwidth = (gigabytes: number): string => `${digits(gigabytes)} GB/s`;
export const percent = (share: number): string => `${digits(share * 100, 3)} %`;

// "0-3, 8": order and repetitions do not matter.
export function ranges(all: number[], most = 12): string {
  const sorted = [...new Set(all)].sort((a, b) => a - b);
  const parts: string[] = [];
  for (let i = 0; i < sorted.length;) {
    let last = i;
    while (last + 1 < sorted.length && sorted[last + 1] === sorted[last] + 1) ++last;
    if (last - i >= 2) parts.push(`${sorted[i]}-${sorted[last]}`);
    else for (let k = i; k <= last; ++k) parts.push(String(sorted[k]));
    i = last + 1;
  }
  if (parts.length <= most) return parts.join(", ");
  return t("{} and more, {} in all", parts.slice(0, most).join(", "), sorted.length);
}
export const ranks = (all: number[]): string =>
  all.length === 1 ? t("rank {}", all[0]) : t("ranks {}", ranges(all));

// A number whose key names its unit: time_us, busbw_GBps, knee_bytes, overlap_pct.
export function withUnit(key: string, value: number): string {
  if (key.endsWith("_us")) return microseconds(value);
  if (key.endsWith("_ns")) return Math.abs(value) > 1e16 ? String(value) : nanoseconds(value);
  if (key.endsWith("_GBps")) return bandwidth(value);
  if (key.endsWith("_Gbps")) return `${digits(value)} Gb/s`;
  if (key === "bytes" || key.endsWith("_bytes") || key.startsWith("bytes_")) return bytes(value);
  if (key.endsWith("_pct")) return `${digits(value, 3)} %`;
  if (key.endsWith("_share") || key === "share") return percent(value);
  return Number.isInteger(value) ? String(value) : digits(value);
}
// The same key without its unit, for the head of a column.
export const withoutUnit = (key: string): string =>
  key.replace(/_(us|ns|GBps|Gbps|bytes|pct)$/, "").replace(/_/g, " ");
