/** Recognises the managed containerd among the machine's processes. Reads /proc, changes nothing. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';

export interface ProcessImage {
  readonly pid: number;
  readonly parentPid: number;
  /** File name of the running program. */
  readonly program: string;
  readonly args: readonly string[];
}

/** The pid in a pid file's text, or undefined when it holds none. */
export function parsePidFile(text: string): number | undefined {
  const digits = /^\s*([1-9]\d{0,9})\s*$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Whether the process is a containerd that was started with this configuration file. */
export function isContainerdOf(process: ProcessImage, configPath: string): boolean {
  const flag = process.args.indexOf('--config');
  return process.program === 'containerd' && flag > 0 && process.args[flag + 1] === configPath;
}

/** Whether the process is a shim that belongs to the containerd of this socket. */
export function isShimOf(process: ProcessImage, socketPath: string): boolean {
  const flag = process.args.indexOf('-address');
  return process.program.startsWith('containerd-shim') && flag > 0 && process.args[flag + 1] === socketPath;
}

/** The processes and everything they started, as far as it is in the list. */
export function withDescendants(
  roots: readonly ProcessImage[],
  all: readonly ProcessImage[],
): readonly ProcessImage[] {
  const found = new Map(roots.map((process) => [process.pid, process]));
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    for (const process of all) {
      if (found.has(process.parentPid)) found.set(process.pid, process);
    }
  }
  return [...found.values()];
}

/** What runs under this pid, or undefined when nothing does (a zombie does not run). */
export async function readProcess(pid: number): Promise<ProcessImage | undefined> {
  try {
    const [exe, cmdline, stat] = await Promise.all([
      readlink(`/proc/${pid}/exe`),
      readFile(`/proc/${pid}/cmdline`, 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ]);
    const program = basename(exe.replace(/ \(deleted\)$/, ''));
    return { pid, parentPid: parentOf(stat), program, args: cmdline.split('\0').slice(0, -1) };
  } catch {
    // It ended meanwhile, or is a kernel thread without a program: nothing runs there for us.
    return undefined;
  }
}

/** Parent pid in a `/proc/<pid>/stat` text; the command before it may hold spaces and brackets. */
function parentOf(stat: string): number {
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1] ?? 0);
}

export async function listProcesses(): Promise<readonly ProcessImage[]> {
  const names = await readdir('/proc');
  const processes = await Promise.all(
    names.filter((name) => /^\d+$/.test(name)).map((name) => readProcess(Number(name))),
  );
  return processes.filter((process) => process !== undefined);
}

/** Pid of the containerd that runs with this configuration: the pid file's if that is true, otherwise found by looking. */
export async function findContainerd(configPath: string, pidFile: string): Promise<number | undefined> {
  const written = await readPidFile(pidFile);
  if (written !== undefined) {
    const process = await readProcess(written);
    if (process !== undefined && isContainerdOf(process, configPath)) return written;
  }
  return (await listProcesses()).find((process) => isContainerdOf(process, configPath))?.pid;
}

async function readPidFile(path: string): Promise<number | undefined> {
  try {
    return parsePidFile(await readFile(path, 'utf8'));
  } catch {
    // No pid file, or one that cannot be read: the search decides.
    return undefined;
  }
}
