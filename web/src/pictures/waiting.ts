// What both pictures of a hang say of a rank: does the verdict name it, and does it wait itself? A rank that
// waits itself has not issued other calls because of that: it is nobody's cause unless the verdict names it.
import { Fields, fields, isFields, list, numbers, text } from "../json";

export interface Hang {
  verdict: Fields;
  named: Set<number>;    // the culprits
  waiting: Set<number>;  // in a call that they cannot leave
  lines: Fields[];       // {call, ranks, not_issued, behind, not_known}
  missing: Set<number>;  // without a dump
}

// That of `hang`; doctor has it among the pictures.
export const hangVerdict = (document: Fields): Fields => {
  const own = fields(document, "result", "verdict");
  return Object.keys(own).length > 0 ? own : fields(document, "pictures", "verdict");
};

export function hangOf(document: Fields): Hang {
  const verdict = hangVerdict(document);
  const lines = list(document, "pictures", "waits").filter(isFields);
  return { verdict, lines, named: new Set(numbers(verdict, "culprit_ranks")),
           waiting: new Set(lines.flatMap(line => numbers(line, "ranks"))),
           missing: new Set(numbers(fields(document, "pictures"), "missing")) };
}

export const isVictim = (hang: Hang, rank: number): boolean => hang.waiting.has(rank) && !hang.named.has(rank);

export const sidesOf = (hang: Hang): Fields[] => list(hang.verdict, "sides").filter(isFields);

// "receive 1 -> 2, message 6 of group 1", "send 0->1 [[32]] Float", "recv 1<-0": no collective.
export const isMessage = (call: string): boolean => /^(send|recv|receive) \d+ ?(->|<-) ?\d+/.test(call);

// The ranks that stand in a send or receive of this group, or hold one back, and what it is.
export interface Messages { inside: Map<number, string>; holding: Map<number, string> }
export function messagesOf(hang: Hang, group: string): Messages {
  const inside = new Map<number, string>(), holding = new Map<number, string>();
  const end = ` of group ${group}`;
  for (const line of hang.lines) {
    const call = text(line, "call");
    if (!isMessage(call) || !call.endsWith(end)) continue;
    const words = call.slice(0, -end.length);
    for (const rank of numbers(line, "ranks")) inside.set(rank, words);
    for (const rank of numbers(line, "not_issued")) holding.set(rank, words);
  }
  const ofVerdict = text(hang.verdict, "process_group", "name") === group;
  for (const side of sidesOf(hang)) {
    const call = text(side, "call");
    if (!isMessage(call) || !(call.endsWith(end) || (ofVerdict && !call.includes(" of group ")))) continue;
    for (const rank of numbers(side, "ranks")) if (!inside.has(rank)) inside.set(rank, call);
  }
  return { inside, holding };
}
