/** Checks of docker as the container runtime. */
import { asError } from '#api/kit/errno.ts';
import type { Finding } from '../finding.ts';
import type { DockerFacts, Machine } from '../machine.ts';

/** Release 20.10. */
const OLDEST_API = [1, 41] as const;
const CONFIG = '/etc/docker/daemon.json';
/** They copy whole layers, or docker has dropped them. */
const POOR_STORAGE: ReadonlySet<string> = new Set(['vfs', 'aufs', 'devicemapper', 'overlay']);

/** Nothing on other runtimes. */
export async function checkDocker(machine: Machine): Promise<readonly Finding[]> {
  const { dockerEndpoint } = machine.settings;
  if (dockerEndpoint === '') return [];
  const base = { area: 'runtime', subject: 'docker' } as const;
  try {
    const socket = dockerEndpoint.replace(/^unix:\/\//, '');
    if (!(await machine.exists(socket))) throw new Error('the socket does not exist: is docker running?');
    const facts = await machine.readDockerFacts(dockerEndpoint);
    const hasSystemd = await machine.exists('/run/systemd/system');
    return [
      { ...base, state: 'ok', detail: `${dockerEndpoint}: docker ${facts.version}` },
      apiFinding(facts),
      cgroupFinding(facts, hasSystemd),
      storageFinding(facts),
      restartFinding(facts),
    ];
  } catch (thrown) {
    return [{ ...base, state: 'broken', detail: `${dockerEndpoint}: ${asError(thrown).message}` }];
  }
}

function apiFinding({ apiVersion }: DockerFacts): Finding {
  const base = { area: 'runtime', subject: 'API version', detail: apiVersion } as const;
  const [major = 0, minor = 0] = apiVersion.split('.').map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_API;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return { ...base, state: 'ok' };
  return {
    ...base,
    state: 'broken',
    advice: `install docker 20.10 or later, with API ${OLDEST_API.join('.')}`,
  };
}

function cgroupFinding({ cgroupDriver, cgroupVersion }: DockerFacts, hasSystemd: boolean): Finding {
  const detail = `${cgroupDriver} on cgroup v${cgroupVersion}`;
  const base = { area: 'runtime', subject: 'cgroup driver', detail } as const;
  // systemd may change cgroups that it does not know.
  if (!hasSystemd || cgroupVersion === 1 || cgroupDriver === 'systemd') return { ...base, state: 'ok' };
  const advice = `add "exec-opts": ["native.cgroupdriver=systemd"] to ${CONFIG}, and restart docker`;
  return { ...base, state: 'limited', advice };
}

function storageFinding({ storageDriver }: DockerFacts): Finding {
  const base = { area: 'runtime', subject: 'storage driver', detail: storageDriver } as const;
  if (!POOR_STORAGE.has(storageDriver)) return { ...base, state: 'ok' };
  return { ...base, state: 'limited', advice: `use overlay2: "storage-driver": "overlay2" in ${CONFIG}` };
}

function restartFinding({ liveRestore }: DockerFacts): Finding {
  const base = { area: 'runtime', subject: 'live-restore' } as const;
  if (liveRestore) return { ...base, state: 'ok', detail: 'containers survive a restart of docker' };
  const advice = `add "live-restore": true to ${CONFIG}, and reload docker; not possible in a swarm`;
  return { ...base, state: 'limited', detail: 'containers end when docker restarts', advice };
}
