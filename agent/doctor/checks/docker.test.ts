import { expect, test } from 'vitest';
import { createMachine, type DockerFacts, type Machine } from '../machine.ts';
import { checkDocker } from './docker.ts';
import { checkRuntime } from './runtime.ts';

const GOOD: DockerFacts = {
  version: '24.0.7',
  apiVersion: '1.43',
  cgroupDriver: 'systemd',
  cgroupVersion: 2,
  storageDriver: 'overlay2',
  liveRestore: true,
};
const ENDPOINT = 'unix:///var/run/docker.sock';

function machineWith(
  readDockerFacts: Machine['readDockerFacts'],
  existing: readonly string[] = ['/var/run/docker.sock', '/run/systemd/system'],
): Machine {
  const unused = (): Promise<never> => Promise.reject(new Error('must not be called'));
  const machine = createMachine({
    root: '/',
    settings: {
      runtimeEndpoint: '',
      dockerEndpoint: ENDPOINT,
      rootDir: '/none',
      podLogsDir: '/none',
      volumePluginDir: '/none',
      cgroupDriver: 'systemd',
      cpuManagerPolicy: 'none',
      reservesCpus: false,
      memoryManagerPolicy: 'None',
      topologyManagerPolicy: 'none',
      platconfig: '',
      certDir: '/none',
      gates: new Set(),
    },
    agent: { running: false, version: '', waits: [] },
    uid: 0,
    kernelRelease: '6.1.0',
    readRuntimeInfo: unused,
    readHardware: () => Promise.resolve({ system: '', memory: [], disks: [] }),
    readDockerFacts,
    readServerInfo: unused,
  });
  return { ...machine, exists: (path) => Promise.resolve(existing.includes(path)) };
}

const states = async (machine: Machine): Promise<readonly string[]> =>
  (await checkDocker(machine)).map(({ subject, state, detail }) => `${subject} ${state}: ${detail}`);

test('a docker with everything is sound, and other runtimes are not looked for', async () => {
  const machine = machineWith(() => Promise.resolve(GOOD));
  expect(await states(machine)).toEqual([
    `docker ok: ${ENDPOINT}: docker 24.0.7`,
    'API version ok: 1.43',
    'cgroup driver ok: systemd on cgroup v2',
    'storage driver ok: overlay2',
    'live-restore ok: containers survive a restart of docker',
  ]);
  expect(await checkRuntime(machine)).toEqual([]);
});

test.each<[Partial<DockerFacts>, string]>([
  [{ apiVersion: '1.40' }, 'API version broken: 1.40'],
  [{ apiVersion: '' }, 'API version broken: '],
  [{ cgroupDriver: 'cgroupfs' }, 'cgroup driver limited: cgroupfs on cgroup v2'],
  [{ cgroupDriver: 'cgroupfs', cgroupVersion: 1 }, 'cgroup driver ok: cgroupfs on cgroup v1'],
  [{ storageDriver: 'vfs' }, 'storage driver limited: vfs'],
  [{ liveRestore: false }, 'live-restore limited: containers end when docker restarts'],
])('%j', async (facts, expected) => {
  const machine = machineWith(() => Promise.resolve({ ...GOOD, ...facts }));
  expect(await states(machine)).toContain(expected);
  const found = (await checkDocker(machine)).filter(({ state }) => state !== 'ok');
  expect(found.every(({ advice }) => advice !== undefined)).toBe(true);
});

test('without a socket, and without a response, it is broken', async () => {
  const silent = (): Promise<never> => Promise.reject(new Error('no response within 5 s'));
  expect(await states(machineWith(silent))).toEqual([`docker broken: ${ENDPOINT}: no response within 5 s`]);
  expect(await states(machineWith(silent, []))).toEqual([
    `docker broken: ${ENDPOINT}: the socket does not exist: is docker running?`,
  ]);
});
