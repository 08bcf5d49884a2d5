/** Directories and files of the managed containerd. */
import { join } from 'node:path';

export interface ContainerdLayout {
  readonly rootDir: string;
  readonly stateDir: string;
  readonly socketPath: string;
  readonly configPath: string;
  readonly logPath: string;
  readonly pidPath: string;
  readonly dataDir: string;
  readonly runDir: string;
  readonly cniConfDir: string;
  readonly conflistPath: string;
  readonly leaseDir: string;
}

export interface LayoutOptions {
  /** Persistent directory: configuration, log, images, containers. */
  readonly rootDir: string;
  /** Directory of this boot: pid file, mounts, network namespaces. */
  readonly stateDir: string;
  /** At most 106 bytes. */
  readonly socketPath: string;
}

export function containerdLayout(options: LayoutOptions): ContainerdLayout {
  const { rootDir, stateDir, socketPath } = options;
  return {
    rootDir,
    stateDir,
    socketPath,
    configPath: join(rootDir, 'containerd.toml'),
    logPath: join(rootDir, 'containerd.log'),
    pidPath: join(stateDir, 'containerd.pid'),
    dataDir: join(rootDir, 'data'),
    runDir: join(stateDir, 'run'),
    cniConfDir: join(rootDir, 'net.d'),
    conflistPath: join(rootDir, 'net.d', '10-nodeagent.conflist'),
    leaseDir: join(rootDir, 'leases'),
  };
}
