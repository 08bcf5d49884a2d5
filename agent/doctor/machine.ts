/** The machine as the checks see it: another tree in tests. */
import { access, constants, readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '#volumes/programs/find-program.ts';

/** Settings of the agent that the checks need. */
export interface DoctorSettings {
  /** Empty: one that is found. */
  readonly runtimeEndpoint: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly volumePluginDir: string;
  readonly cgroupDriver: string;
  readonly cpuManagerPolicy: string;
  /** Whether the system keeps processors, by name or by amount. */
  readonly reservesCpus: boolean;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  /** The node's client configuration; empty for a standalone one. */
  readonly platconfig: string;
  readonly certDir: string;
}

/** What the container runtime says of itself. */
export interface RuntimeAnswer {
  readonly name: string;
  readonly version: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: boolean;
    readonly message: string;
  }[];
}

/** What the API server says of the node. */
export interface ServerAnswer {
  readonly state: 'ok' | 'limited';
  readonly detail: string;
  readonly advice?: string;
}

export interface AgentAnswer {
  readonly running: boolean;
  readonly version: string;
  /** What it waits on, as text. */
  readonly waits: readonly string[];
}

export interface Machine {
  readonly settings: DoctorSettings;
  readonly agent: AgentAnswer;
  /** Of the user who runs this. */
  readonly uid: number;
  /** The text of a file of the machine; undefined where there is none that can be read. */
  read(path: string): Promise<string | undefined>;
  /** Names in a directory; none where it can't be read. */
  list(path: string): Promise<readonly string[]>;
  exists(path: string): Promise<boolean>;
  /** Path of the file on this machine, for what reads it itself. */
  path(path: string): string;
  hasProgram(name: string): Promise<boolean>;
  /** Bytes and inodes of the file system that a path lies on; of the next folder above where it does not exist. */
  space(path: string): Promise<Space | undefined>;
  /** @throws Error when it can't be reached */
  askRuntime(endpoint: string): Promise<RuntimeAnswer>;
  /** @throws Error when it can't be reached with the client configuration at the path */
  askServer(platconfig: string): Promise<ServerAnswer>;
  /** What is after the kernel's name in `uname`. */
  readonly kernelRelease: string;
}

export interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
  readonly freeInodes: number;
  /** 0 where the file system does not count them. */
  readonly totalInodes: number;
}

export interface MachineDeps
  extends Pick<Machine, 'settings' | 'agent' | 'uid' | 'askRuntime' | 'askServer' | 'kernelRelease'> {
  /** `/`, or another tree. */
  readonly root: string;
}

const PROGRAM_FOLDERS: readonly string[] = [
  'usr/local/sbin',
  'usr/local/bin',
  'usr/sbin',
  'usr/bin',
  'sbin',
  'bin',
];

export function createMachine(deps: MachineDeps): Machine {
  const { root } = deps;
  const at = (path: string): string => join(root, path);
  const isThere = async (path: string, mode: number): Promise<boolean> =>
    access(path, mode).then(
      () => true,
      () => false,
    );

  async function space(path: string): Promise<Space | undefined> {
    try {
      const { bavail, bsize, blocks, ffree, files } = await statfs(at(path));
      return {
        freeBytes: bavail * bsize,
        totalBytes: blocks * bsize,
        freeInodes: ffree,
        totalInodes: files,
      };
    } catch {
      const above = join(path, '..');
      return above === path ? undefined : space(above);
    }
  }

  return {
    ...deps,
    path: at,
    read: async (path) => readFile(at(path), 'utf8').catch(() => undefined),
    list: async (path) => readdir(at(path)).catch(() => []),
    exists: (path) => isThere(at(path), constants.F_OK),
    async hasProgram(name) {
      if (root === '/') return (await findProgram(name)) !== undefined;
      const found = await Promise.all(
        PROGRAM_FOLDERS.map((folder) => isThere(join(root, folder, name), constants.X_OK)),
      );
      return found.includes(true);
    },
    space,
  };
}
