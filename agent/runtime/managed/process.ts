/** Identifies the managed containerd among the processes of the machine. Reads /proc, changes nothing. */
import { readdir, readFile, readlink } from 'node:fs/promises';
import { basename } from 'node:path';

export interface ProcessImage {
  readonly pid: number;
  readonly parentPid: number;
  /** File name of the running program. */
  readonly program: string;
  readonly args: readonly string[];
}

/** Returns the pid in the text of a pid file, or undefined when it contains none. */
export function parsePidFile(text: string): number | undefined {
  const digits = /^\s*([1-9]\d{0,9})\s*$/.exec(text)?.[1];
  return digits === undefined ? undefined : Number(digits);
}

/** Reports whether the process is a containerd that was started with this configuration file. */
export function isContainerdOf(process: ProcessImage, configPath: string): boolean {
  const flag = process.args.indexOf('--config');
  return process.program === 'containerd' && flag > 0 && process.args[flag + 1] === configPath;
}

/** Reports whether the process is a shim of the containerd with this socket. */
export function isShimOf(process: ProcessImage, socketPath: string): boolean {
  const flag = process.args.indexOf('-address');
  return process.program.startsWith('containerd-shim') && flag > 0 && process.args[flag + 1] === socketPath;
}

/** Returns the processes and their descendants, as far as they are in the list. */
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

/** Returns the process of this pid, or undefined when none runs (a zombie does not run). */
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
    // It has exited meanwhile, or is a kernel thread without a program.
    return undefined;
  }
}

/** Returns the parent pid in a `/proc/<pid>/stat` text; the command before it may contain spaces and
 *  brackets. */
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

/** Returns the pid of the containerd with this configuration: that of the pid file if valid, otherwise by a
 *  search of all processes. */
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
    // The pid file is missing or unreadable: search instead.
    return undefined;
  }
}
