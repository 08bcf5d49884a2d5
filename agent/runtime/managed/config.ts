/** Configuration file of the managed containerd, as text. Does no I/O.
 *  Written as version 2, which containerd 1.6 reads directly and 1.7 and 2.x convert at start. */

export interface ContainerdConfig {
  /** Persistent data: images, snapshots, containers. */
  readonly dataDir: string;
  /** Data of this boot: mounts, shim bundles, network namespaces. */
  readonly runDir: string;
  readonly socketPath: string;
  /** Image of the pod sandbox, by a name that is never pulled. */
  readonly sandboxImage: string;
  readonly runcPath: string;
  /** Directory of the CNI plugins `bridge`, `host-local`, `portmap` and `loopback`. */
  readonly cniBinDir: string;
  /** Directory of the network configuration of this instance. */
  readonly cniConfDir: string;
  /** Never requests a lower oom_score_adj than that of containerd; required without CAP_SYS_RESOURCE. */
  readonly restrictOomScoreAdj: boolean;
  /** Cgroups are created by systemd (the agent's `--cgroup-driver=systemd`) rather than by runc itself. */
  readonly systemdCgroup: boolean;
  /** Directory of registry settings in containerd's format `certs.d/<registry>/hosts.toml`, which containerd reads
   *  at each pull; need not exist. */
  readonly registryDir?: string | undefined;
}

/** A path or name that the file cannot contain. */
export class ContainerdConfigError extends Error {
  constructor(field: string, value: string, expected: string) {
    super(`containerd configuration: ${field} is ${JSON.stringify(value)}, expected ${expected}`);
    this.name = 'ContainerdConfigError';
  }
}

/** containerd rejects longer ones, as sun_path has 108 bytes including the terminating zero. */
const LONGEST_SOCKET_PATH = 106;

/** Returns the whole file.
 *  @throws ContainerdConfigError when a path is relative, contains control characters or exceeds the socket
 *  limit */
export function renderContainerdConfig(config: ContainerdConfig): string {
  const path = (
    field: 'dataDir' | 'runDir' | 'socketPath' | 'runcPath' | 'cniBinDir' | 'cniConfDir',
  ): string => tomlPath(field, config[field]);
  if (Buffer.byteLength(config.socketPath) > LONGEST_SOCKET_PATH) {
    throw new ContainerdConfigError('socketPath', config.socketPath, `at most ${LONGEST_SOCKET_PATH} bytes`);
  }
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  return `# Written by nodeagent at every start of its managed containerd.
version = 2
root = ${path('dataDir')}
state = ${path('runDir')}
oom_score = 0

[debug]
  level = "warn"

[grpc]
  address = ${path('socketPath')}

[plugins."io.containerd.internal.v1.opt"]
  path = ${tomlPath('dataDir', `${config.dataDir}/opt`)}

[${cri}]
  sandbox_image = ${tomlString('sandboxImage', config.sandboxImage)}
  restrict_oom_score_adj = ${config.restrictOomScoreAdj}
  netns_mounts_under_state_dir = true

  [${cri}.containerd.runtimes.runc]
    runtime_type = "io.containerd.runc.v2"

    [${cri}.containerd.runtimes.runc.options]
      BinaryName = ${path('runcPath')}
      SystemdCgroup = ${config.systemdCgroup}

  [${cri}.cni]
    bin_dir = ${path('cniBinDir')}
    conf_dir = ${path('cniConfDir')}
${registryLines(cri, config.registryDir)}`;
}

const registryLines = (cri: string, dir: string | undefined): string =>
  dir === undefined ? '' : `\n  [${cri}.registry]\n    config_path = ${tomlPath('registryDir', dir)}\n`;

function tomlPath(field: string, value: string): string {
  if (!value.startsWith('/')) throw new ContainerdConfigError(field, value, 'an absolute path');
  return tomlString(field, value);
}

/** Formats a TOML basic string. JSON escapes the same characters; control characters are rejected. */
function tomlString(field: string, value: string): string {
  if (/\p{Cc}/u.test(value)) throw new ContainerdConfigError(field, value, 'no control characters');
  return JSON.stringify(value);
}
