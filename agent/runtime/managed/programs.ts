/** Location of the programs of the managed containerd, and capabilities of this process. */
import { readFile } from 'node:fs/promises';
import { findProgram as findIn, PROGRAM_FOLDERS } from '#volumes/programs/find-program.ts';

export interface RuntimePrograms {
  readonly containerd: string;
  readonly ctr: string;
  readonly runc: string;
  readonly cniBinDir: string;
}

/** A program or plugin that is not installed; the message names its Debian package. */
export class MissingProgramError extends Error {
  constructor(program: string, debianPackage: string, searched: readonly string[]) {
    super(
      `${program} is not installed (looked in ${searched.join(', ')}); on Debian: apt-get install ${debianPackage}`,
    );
    this.name = 'MissingProgramError';
  }
}

/** Debian's directory first, then that of upstream's archives. */
const CNI_BIN_DIRS: readonly string[] = ['/usr/lib/cni', '/opt/cni/bin'];

/** Searches system directories only, never PATH: the programs run as root.
 *  @throws MissingProgramError */
export async function findProgram(name: string, debianPackage: string): Promise<string> {
  return requireIn(PROGRAM_FOLDERS, name, name, debianPackage);
}

/** @throws MissingProgramError for the first one that is missing */
export async function findRuntimePrograms(): Promise<RuntimePrograms> {
  const [containerd, ctr, runc, bridge] = await Promise.all([
    findProgram('containerd', 'containerd'),
    findProgram('ctr', 'containerd'),
    findProgram('runc', 'runc'),
    requireIn(CNI_BIN_DIRS, 'bridge', 'the CNI plugin bridge', 'containernetworking-plugins'),
  ]);
  return { containerd, ctr, runc, cniBinDir: bridge.slice(0, -'/bridge'.length) };
}

async function requireIn(
  dirs: readonly string[],
  name: string,
  title: string,
  debianPackage: string,
): Promise<string> {
  const path = await findIn(name, dirs);
  if (path === undefined) throw new MissingProgramError(title, debianPackage, dirs);
  return path;
}

/** Bit of CAP_SYS_RESOURCE in a capability mask, see capabilities(7). */
const CAP_SYS_RESOURCE = 24n;

/** Reports whether a `/proc/<pid>/status` text has CAP_SYS_RESOURCE in the effective set. */
export function hasSysResource(status: string): boolean {
  const mask = /^CapEff:\s*([0-9a-f]+)$/m.exec(status)?.[1];
  return mask !== undefined && ((BigInt(`0x${mask}`) >> CAP_SYS_RESOURCE) & 1n) === 1n;
}

/** Reports whether this process may lower an oom_score_adj, as its children inherit it. */
export async function mayLowerOomScore(): Promise<boolean> {
  return hasSysResource(await readFile('/proc/self/status', 'utf8'));
}
