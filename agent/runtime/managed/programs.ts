/** Finds the programs that the managed containerd is made of, and what this process is allowed to do. */
import { access, constants, readFile } from 'node:fs/promises';
import { join } from 'node:path';

export interface RuntimePrograms {
  readonly containerd: string;
  readonly ctr: string;
  readonly runc: string;
  readonly cniBinDir: string;
}

/** A program or plugin that is not installed; the message names the Debian package that has it. */
export class MissingProgramError extends Error {
  constructor(program: string, debianPackage: string, searched: readonly string[]) {
    super(
      `${program} is not installed (looked in ${searched.join(', ')}); on Debian: apt-get install ${debianPackage}`,
    );
    this.name = 'MissingProgramError';
  }
}

const PROGRAM_DIRS: readonly string[] = [
  '/usr/local/sbin',
  '/usr/local/bin',
  '/usr/sbin',
  '/usr/bin',
  '/sbin',
  '/bin',
];
/** Debian's folder first, then that of upstream's archives. */
const CNI_BIN_DIRS: readonly string[] = ['/usr/lib/cni', '/opt/cni/bin'];

/** Looks in the system's folders only, never in PATH: what is found runs as root.
 *  @throws MissingProgramError */
export async function findProgram(name: string, debianPackage: string): Promise<string> {
  return findIn(PROGRAM_DIRS, name, name, debianPackage);
}

/** @throws MissingProgramError for the first one that is missing */
export async function findRuntimePrograms(): Promise<RuntimePrograms> {
  const [containerd, ctr, runc, bridge] = await Promise.all([
    findProgram('containerd', 'containerd'),
    findProgram('ctr', 'containerd'),
    findProgram('runc', 'runc'),
    findIn(CNI_BIN_DIRS, 'bridge', 'the CNI plugin bridge', 'containernetworking-plugins'),
  ]);
  return { containerd, ctr, runc, cniBinDir: bridge.slice(0, -'/bridge'.length) };
}

async function findIn(
  dirs: readonly string[],
  name: string,
  title: string,
  debianPackage: string,
): Promise<string> {
  for (const dir of dirs) {
    const path = join(dir, name);
    try {
      await access(path, constants.X_OK);
      return path;
    } catch {
      // Not in this folder: the next one may have it, and the error below names them all.
    }
  }
  throw new MissingProgramError(title, debianPackage, dirs);
}

/** Bit of CAP_SYS_RESOURCE in a capability mask, see capabilities(7). */
const CAP_SYS_RESOURCE = 24n;

/** Whether a `/proc/<pid>/status` text shows CAP_SYS_RESOURCE in the effective set. */
export function hasSysResource(status: string): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

/** Whether this process may lower an oom_score_adj, as its children inherit it. */
export async function mayLowerOomScore(): Promise<boolean> {
  return hasSysResource(await readFile('/proc/self/status', 'utf8'));
}
