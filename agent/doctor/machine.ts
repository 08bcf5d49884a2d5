/** Access of the checks to the machine; tests substitute another root. */
import { access, constants, readdir, readFile, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '#volumes/programs/find-program.ts';
import type { HardwareFacts } from './hardware/lines.ts';

/** Settings of the agent that the checks need. */
export interface DoctorSettings {
  /** Empty: the runtime is detected. */
  readonly runtimeEndpoint: string;
  /** Empty: docker is not the runtime. */
  readonly dockerEndpoint: string;
  readonly rootDir: string;
  readonly podLogsDir: string;
  readonly volumePluginDir: string;
  readonly cgroupDriver: string;
  readonly cpuManagerPolicy: string;
  /** Whether CPUs are reserved for the system, by list or by amount. */
  readonly reservesCpus: boolean;
  readonly memoryManagerPolicy: string;
  readonly topologyManagerPolicy: string;
  /** Client configuration of the node; empty for a standalone node. */
  readonly platconfig: string;
  readonly certDir: string;
  /** Enabled feature gates. */
  readonly gates: ReadonlySet<string>;
}

/** Status reported by the container runtime. */
export interface RuntimeInfo {
  readonly name: string;
  readonly version: string;
  readonly conditions: readonly {
    readonly type: string;
    readonly status: boolean;
    readonly message: string;
  }[];
  /** Sandboxes of agents without a recorded root directory. Absent: not checked. */
  readonly homeless?: readonly HomelessSandbox[];
}

export interface DockerFacts {
  readonly version: string;
  readonly apiVersion: string;
  readonly cgroupDriver: string;
  readonly cgroupVersion: 1 | 2;
  readonly storageDriver: string;
  readonly liveRestore: boolean;
}

/** Made by an earlier release: whether its agent is gone can't be found out. */
export interface HomelessSandbox {
  readonly id: string;
  /** `namespace/name`. */
  readonly pod: string;
  readonly instance: string;
}

/** Status of the node on the API server. */
export interface ServerInfo {
  readonly state: 'ok' | 'limited';
  readonly detail: string;
  readonly advice?: string;
}

export interface AgentInfo {
  readonly running: boolean;
  readonly version: string;
  /** Conditions that the agent is waiting for, as text. */
  readonly waits: readonly string[];
}

export interface Machine {
  readonly settings: DoctorSettings;
  readonly agent: AgentInfo;
  /** User id of this process. */
  readonly uid: number;
  /** Returns the text of a file; undefined if it is missing or unreadable. */
  read(path: string): Promise<string | undefined>;
  /** Returns the names in a directory; empty if it is unreadable. */
  list(path: string): Promise<readonly string[]>;
  exists(path: string): Promise<boolean>;
  /** Returns the real path of a file, for code that reads it itself. */
  path(path: string): string;
  hasProgram(name: string): Promise<boolean>;
  /** Returns the space of the file system of a path, or of its nearest existing parent. */
  space(path: string): Promise<Space | undefined>;
  /** @throws Error when the runtime is unreachable */
  readRuntimeInfo(endpoint: string): Promise<RuntimeInfo>;
  /** Never rejects. */
  readHardware(): Promise<HardwareFacts>;
  /** @throws Error when docker is unreachable */
  readDockerFacts(endpoint: string): Promise<DockerFacts>;
  /** @throws Error when the server is unreachable with the client configuration at the path */
  readServerInfo(platconfig: string): Promise<ServerInfo>;
  /** Kernel release, as in `uname -r`. */
  readonly kernelRelease: string;
}

export interface Space {
  readonly freeBytes: number;
  readonly totalBytes: number;
  readonly freeInodes: number;
  /** 0 if the file system does not count inodes. */
  readonly totalInodes: number;
}

export interface MachineDeps
  extends Pick<
    Machine,
    | 'settings'
    | 'agent'
    | 'uid'
    | 'readRuntimeInfo'
    | 'readHardware'
    | 'readDockerFacts'
    | 'readServerInfo'
    | 'kernelRelease'
  > {
  /** `/`, or another root. */
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
