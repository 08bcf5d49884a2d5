/** Reads machine facts from /proc and /sys. A missing file omits the facts in it. */
import { readdir, readFile, statfs } from 'node:fs/promises';
import { availableParallelism, release, totalmem } from 'node:os';
import { join } from 'node:path';
import { goArchitecture } from './architecture.ts';
import { countCpus } from './cpu-list.ts';
import { hugePageSizeBytes, totalMemoryBytes } from './memory.ts';
import { osImageOf } from './os-release.ts';
import { readNetwork } from './read-network.ts';
import type { HugePages, MachineFacts } from './types.ts';

export interface MachineReaderDeps {
  /** Monotonic, in ms. */
  readonly nowMs: () => number;
  /** Resolves a name to addresses; may reject. */
  readonly resolve: () => Promise<readonly string[]>;
}

export interface MachineReaderOptions {
  /** Root directory of the agent, or its nearest existing ancestor: its file system is reported as that of
   *  the node. */
  readonly rootDir: string;
  /** Parent of `/proc`, `/sys` and `/etc`; for tests. Default `/`. */
  readonly base?: string;
  /** Candidate files of the machine ID and of the boot ID; the usual ones unless given. */
  readonly machineIdFiles?: readonly string[];
  readonly bootIdFiles?: readonly string[];
}

export type MachineReader = () => Promise<MachineFacts>;

const HUGE_PAGES = 'sys/kernel/mm/hugepages';
const BOOT_ID_FILES: readonly string[] = ['proc/sys/kernel/random/boot_id'];
const MACHINE_ID_FILES: readonly string[] = ['etc/machine-id', 'var/lib/dbus/machine-id'];
/** Machines with firmware tables, POWER machines, and their virtual machines. */
const SYSTEM_ID_FILES: readonly string[] = [
  'sys/class/dmi/id/product_uuid',
  'proc/device-tree/system-id',
  'proc/device-tree/vm,uuid',
];

type ReadText = (path: string) => Promise<string>;

/** Returns the content of the first file that is not empty. */
async function firstText(read: ReadText, paths: readonly string[]): Promise<string> {
  for (const path of paths) {
    // Names in the device tree end with a zero byte.
    const text = (await read(path)).replaceAll('\0', '').trim();
    if (text !== '') return text;
  }
  return '';
}

async function readHugePages(base: string, read: ReadText): Promise<readonly HugePages[]> {
  const names = await readdir(join(base, HUGE_PAGES)).catch(() => []);
  const pages = names.map(async (name): Promise<readonly HugePages[]> => {
    const sizeBytes = hugePageSizeBytes(name);
    if (sizeBytes === undefined) return [];
    return [{ sizeBytes, count: Number.parseInt(await read(`${HUGE_PAGES}/${name}/nr_hugepages`), 10) || 0 }];
  });
  return (await Promise.all(pages)).flat().toSorted((a, b) => a.sizeBytes - b.sizeBytes);
}

/** Returns the size of a file system in bytes, by statfs(2). */
async function fileSystemBytes(path: string): Promise<{ readonly rootBytes?: number }> {
  try {
    const { blocks, bsize } = await statfs(path);
    return { rootBytes: blocks * bsize };
  } catch {
    return {};
  }
}

/** Interval for re-reading facts that only change by maintenance, in ms; addresses are read each time.
 *  Source: upstream's machine info, release 1.24. */
const HARDWARE_MS = 300_000;

export type Hardware = Omit<MachineFacts, 'network'>;

/** Facts that only change by maintenance. */
export async function readHardware(options: MachineReaderOptions): Promise<Hardware> {
  const { rootDir, base = '/', machineIdFiles = MACHINE_ID_FILES, bootIdFiles = BOOT_ID_FILES } = options;
  const read: ReadText = (path) => readFile(join(base, path), 'utf8').catch(() => '');
  const [online, meminfo, hugePages, root, machineID, systemID, bootID, osRelease, appArmor] =
    await Promise.all([
      read('sys/devices/system/cpu/online'),
      read('proc/meminfo'),
      readHugePages(base, read),
      fileSystemBytes(rootDir),
      firstText(read, machineIdFiles),
      firstText(read, SYSTEM_ID_FILES),
      firstText(read, bootIdFiles),
      firstText(read, ['etc/os-release', 'usr/lib/os-release']),
      read('sys/module/apparmor/parameters/enabled'),
    ]);
  return {
    cores: countCpus(online) || availableParallelism(),
    memoryBytes: totalMemoryBytes(meminfo) ?? totalmem(),
    hugePages,
    ...root,
    machineID,
    systemUUID: systemID === '' ? machineID : systemID,
    bootID,
    kernelVersion: release(),
    osImage: osImageOf(osRelease),
    architecture: goArchitecture(process.arch),
    appArmor: appArmor.startsWith('Y'),
  };
}

export function createMachineReader(deps: MachineReaderDeps, options: MachineReaderOptions): MachineReader {
  const { base = '/' } = options;
  let known: { readonly hardware: Promise<Hardware>; readonly atMs: number } | undefined;

  function hardware(): Promise<Hardware> {
    const nowMs = deps.nowMs();
    if (known === undefined || nowMs - known.atMs >= HARDWARE_MS) {
      known = { hardware: readHardware(options), atMs: nowMs };
    }
    return known.hardware;
  }

  return async () => {
    const [facts, network, resolved] = await Promise.all([
      hardware(),
      readNetwork(base),
      deps.resolve().catch(() => []),
    ]);
    return { ...facts, network: { ...network, resolved } };
  };
}
