// Which advice is a command that a shell can run as it stands, and which can only be read.

// An assignment alone runs nothing, so a program must follow it.
const PROGRAM = /^([A-Za-z_][A-Za-z0-9_]*=\S* )*(sudo )?(comm-probe|ib[a-z_]+|nvidia-smi|lspci|ls|cat|grep|dmesg|ulimit|ethtool|mlxlink|rdma|numactl|unset|export|setpci|chronyc|journalctl|perfquery|show_gids|dcgmi|mpirun|python3?)( |$)/;

// Words and marks of a sentence. None of them is an argument of the programs above.
const PROSE = /[()<>{}]|[,:] |\.$|(^| )(a|all|and|are|between|both|each|for|if|in|is|of|on|or|that|the|then|there|to|what|where|which|why|with)( |$)/;

// What stands in quotes, and a comment behind the command, are not read by the shell.
const unquoted = (text: string): string => text.replace(/'[^']*'|"[^"]*"/g, "Q").replace(/ # .*$/, "");

const runs = (text: string): boolean => PROGRAM.test(text) && !/['"`]/.test(unquoted(text)) && !PROSE.test(unquoted(text));

// The command of an advice and a remark in brackets behind it; null where it is no command.
export function commandOf(advice: string): { command: string; remark: string } | null {
  if (runs(advice)) return { command: advice, remark: "" };
  const parts = /^(.*\S)\s+(\([^()]*\))$/.exec(advice);
  const [, command, remark] = parts ?? [];
  return command !== undefined && remark !== undefined && runs(command) ? { command, remark } : null;
}
