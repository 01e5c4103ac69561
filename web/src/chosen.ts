// The files that a person drops or chooses: those of folders with their path, as "logs/rank0.log".
export interface Chosen { path: string; file: File }

function fileOf(entry: FileSystemFileEntry): Promise<File> {
  return new Promise((done, failed) => entry.file(done, failed));
}

// A reader gives some entries at a time, none at the end.
async function entriesOf(folder: FileSystemDirectoryEntry): Promise<FileSystemEntry[]> {
  const reader = folder.createReader();
  const all: FileSystemEntry[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
    if (some.length === 0) return all;
    all.push(...some);
  }
}

async function walk(entry: FileSystemEntry, into: Chosen[]): Promise<void> {
  if (entry.isFile) into.push({ path: entry.fullPath.replace(/^\//, ""), file: await fileOf(entry as FileSystemFileEntry) });
  else for (const inner of await entriesOf(entry as FileSystemDirectoryEntry)) await walk(inner, into);
}

// Entries must be asked for before the first wait: the list of a drop is empty after it.
export async function dropped(transfer: DataTransfer): Promise<Chosen[]> {
  const entries = [...transfer.items].map(item => item.webkitGetAsEntry());
  const plain = [...transfer.files];
  const all: Chosen[] = [];
  if (entries.every(entry => entry === null)) return plain.map(file => ({ path: file.name, file }));
  for (const entry of entries) if (entry !== null) await walk(entry, all);
  return all;
}

export const picked = (input: HTMLInputElement): Chosen[] =>
  [...(input.files ?? [])].map(file => ({ path: file.name, file }));
