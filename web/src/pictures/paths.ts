// What data takes between two devices: the types of NCCL and nvidia-smi, from near to far, each with
// a colour and always with its name.
import { Fields, fields, isFields, list, number, text } from "../json";
import { bandwidth } from "../format";
import { count, t, w } from "../words";

export interface Path { type: string; says: string; hops: string[] }
export type Paths = Map<string, Map<string, Path>>;

const FAMILIES: [RegExp, string, string][] = [
  [/^(LOC|X)$/, "self", w("itself")],
  [/^(NV\d*|NVL)$/, "nvl", "NVLink"],
  [/^(NVB|C2C)$/, "nvb", w("NVLink through another GPU (NVB), or GPU and CPU in one package (C2C)")],
  [/^PIX$/, "pix", w("one PCIe switch")],
  [/^(PXB|P2C)$/, "pxb", w("several PCIe switches (PXB), or a C2C link and PCIe (P2C)")],
  [/^PXN$/, "pxn", w("NVLink to a GPU nearer to the NIC")],
  [/^PHB$/, "phb", w("through the CPU's PCIe root")],
  [/^NODE$/, "node", w("between PCIe roots of one NUMA node")],
  [/^SYS$/, "sys", w("between sockets")],
  [/^NET$/, "net", w("over the network")],
  [/^(DIS|-)$/, "dis", w("no path")],
];
export const familyOf = (type: string): string => FAMILIES.find(([form]) => form.test(type))?.[1] ?? "other";
export const meaningOf = (family: string): string => t(FAMILIES.find(([, name]) => name === family)?.[2] ?? w("another kind of path"));
export const inFamilyOrder = (families: Set<string>): string[] =>
  [...FAMILIES.map(([, name]) => name), "other"].filter(name => families.has(name));

function words(path: Fields): string {
  const type = text(path, "type");
  const nominal = number(path, "nominal_GBps");
  const nccl = number(path, "bandwidth_GBps");
  const effective = number(path, "effective_GBps");
  const rates = [nominal !== null && t("{} nominal", bandwidth(nominal)), effective !== null && t("{} effective", bandwidth(effective)),
                 nccl !== null && t("NCCL counts {}", bandwidth(nccl))].filter(Boolean);
  const links = number(path, "nvlinks");
  const seen = text(path, "nccl_type") && text(path, "nccl_type") !== type ? ` (NCCL: ${text(path, "nccl_type")})` : "";
  return `${text(path, "from")} \u2192 ${text(path, "to")}: ${type}${seen}, ${meaningOf(familyOf(type))}` +
    (links ? `, ${count(links, "NVLink")}` : "") + (rates.length > 0 ? `\n${rates.join(", ")}` : "") +
    (list(path, "hops").length > 0 ? `\n${t("hops")}: ${list(path, "hops").map(hop => text(hop)).join(" \u203a ")}` : "");
}

export function pathsOf(result: Fields): Paths {
  const paths: Paths = new Map();
  for (const path of list(result, "paths").filter(isFields)) {
    const from = text(path, "from");
    if (!paths.has(from)) paths.set(from, new Map());
    paths.get(from)?.set(text(path, "to"), { type: text(path, "type"), says: words(path), hops: list(path, "hops").map(hop => text(hop)) });
  }
  return paths;
}

// `nccl plan` has tables instead: a line of types for each GPU.
export function plannedPaths(result: Fields): { paths: Paths; from: string[]; to: string[] } | null {
  const tables = fields(result, "paths");
  if (Array.isArray(result.paths) || !tables.path_gpu_gpu) return null;
  const gpus = list(tables, "gpus").map((one, index) => `GPU${number(one, "rank") ?? index}`);
  const nets = list(tables, "nets").map((one, index) => `NET ${number(one, "dev") ?? index}`);
  const paths: Paths = new Map(gpus.map(name => [name, new Map<string, Path>()]));
  const read = (key: string, targets: string[]) => {
    list(tables, key, "type").forEach((line, row) => {
      text(line).split(" ").forEach((type, column) => {
        if (row >= gpus.length || column >= targets.length) return;
        const rate = number(tables, key, "bw", row, column);
        const hops = number(tables, key, "hops", row, column);
        const transport = key === "path_gpu_gpu" ? text(tables, "transport_gpu_gpu", row).split(" ")[column] : "";
        const says = `${gpus[row]} \u2192 ${targets[column]}: ${type}, ${meaningOf(familyOf(type))}` +
          (rate !== null && type !== "LOC" ? `\n${t("NCCL counts {}", bandwidth(rate))}` : "") + (hops !== null ? `, ${count(hops, "hop")}` : "") +
          (transport && transport !== "-" ? `\n${t("transport")} ${transport}` : "");
        paths.get(gpus[row])?.set(targets[column], { type, says, hops: [] });
      });
    });
  };
  read("path_gpu_gpu", gpus);
  read("path_gpu_net", nets);
  return { paths, from: gpus, to: [...gpus, ...nets] };
}
