/** File locations of an installed nodeagent. The units in systemd/ use the same paths. */
import { join } from 'node:path';
import { PINNED_FILE } from '#agent/runtime/managed/pinned-images.ts';
import type { ProgramSpec } from '#api/kit/install/program.ts';

export const AGENT_PROGRAM: ProgramSpec = {
  name: 'nodeagent',
  files: [
    'agent/install/config.yaml',
    'agent/install/systemd',
    'package.json',
    'LICENSE',
    'docs/flags.md',
    'docs/joining.md',
    'docs/install.md',
    'docs/upgrade.md',
  ],
};

/** Absolute paths, below `root` when the installation is staged elsewhere. */
export interface InstallPaths {
  /** The program: Node, the bundle, and the files to install it from. */
  readonly program: string;
  readonly command: string;
  readonly units: string;
  readonly configDir: string;
  readonly config: string;
  readonly manifests: string;
  readonly defaults: string;
  /** Archives that are imported when containerd starts. */
  readonly images: string;
  /** Record of the imported images, which image collection retains. */
  readonly pinned: string;
  /** Registry settings of containerd: a directory with `hosts.toml` for each registry. */
  readonly registries: string;
  /** Directories that the agent and its containerd fill while they run. */
  readonly data: readonly string[];
  /** File in which the agent records the location of pod cgroups. */
  readonly podsCgroupNote: string;
  /** File in which the agent records that it has established packet rules. */
  readonly packetRulesNote: string;
  readonly wanted: string;
  /** Configuration with which shutdowns are delayed for pods. */
  readonly shutdownDelay: string;
}

/** Directories and socket of the containerd that nodeagent-containerd.service runs. */
export const INSTALLED_CONTAINERD = {
  rootDir: '/var/lib/nodeagent-containerd',
  stateDir: '/run/nodeagent-containerd',
  socketPath: '/run/nodeagent-containerd/containerd.sock',
  networkName: 'nodeagent',
} as const;

export const AGENT_UNIT = 'nodeagent.service';
export const CONTAINERD_UNIT = 'nodeagent-containerd.service';
export const PODS_UNIT = 'nodeagent-pods.service';

/** Folders of units: of `install`, and of Debian's package. */
export const UNIT_FOLDERS: readonly string[] = ['/usr/local/lib/systemd/system', '/usr/lib/systemd/system'];

export function installPaths(root = '/'): InstallPaths {
  const at = (path: string): string => join(root, path);
  return {
    program: at('/usr/local/lib/nodeagent'),
    command: at('/usr/local/bin/nodeagent'),
    units: at('/usr/local/lib/systemd/system'),
    configDir: at('/etc/nodeagent'),
    config: at('/etc/nodeagent/config.yaml'),
    manifests: at('/etc/nodeagent/manifests'),
    defaults: at('/etc/default/nodeagent'),
    images: at('/var/lib/nodeagent/images'),
    pinned: at(`/var/lib/nodeagent/${PINNED_FILE}`),
    registries: at('/etc/nodeagent/certs.d'),
    data: ['/var/lib/nodeagent', '/var/cache/nodeagent', '/run/nodeagent'].map(at),
    podsCgroupNote: at('/var/lib/nodeagent/pods-cgroup'),
    packetRulesNote: at('/var/lib/nodeagent/packet-rules'),
    wanted: at('/etc/systemd/system/multi-user.target.wants'),
    shutdownDelay: at('/etc/systemd/logind.conf.d/99-nodeagent.conf'),
  };
}
