/** A volume host for tests: objects from plain lists, a temporary root directory, and a clean-up that
 *  cannot reach anything through a mount left by a failed test. */
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  Secret,
  Volume,
} from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { VolumeHost } from '../contract/volume-manager.ts';
import { createMounter } from '../mount/mounter.ts';
import { type MountInfo, mountsBeneath, parseMountInfo } from '../mount/mountinfo.ts';
import { detachBeneath } from '../mount/teardown.ts';

export interface TestHost extends AsyncDisposable {
  readonly host: VolumeHost;
  /** Temporary directory of the test. */
  readonly base: string;
  readonly rootDir: string;
  readonly configMaps: Map<string, ConfigMap>;
  readonly secrets: Map<string, Secret>;
  readonly claims: Map<string, PersistentVolumeClaim>;
  readonly persistentVolumes: Map<string, PersistentVolume>;
  readonly endpoints: Map<string, Endpoints>;
  /** Returns mounts beneath the test's directory. */
  mounts(): Promise<readonly MountInfo[]>;
}

export async function createTestHost(): Promise<TestHost> {
  const base = await realpath(await mkdtemp('/tmp/na-vol-'));
  const rootDir = join(base, 'root');
  await mkdir(rootDir);
  const configMaps = new Map<string, ConfigMap>();
  const secrets = new Map<string, Secret>();
  const claims = new Map<string, PersistentVolumeClaim>();
  const persistentVolumes = new Map<string, PersistentVolume>();
  const endpoints = new Map<string, Endpoints>();
  const mounts = async (): Promise<readonly MountInfo[]> =>
    mountsBeneath(parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8')), base);
  return {
    base,
    rootDir,
    configMaps,
    secrets,
    claims,
    persistentVolumes,
    endpoints,
    mounts,
    host: {
      rootDir,
      objects: {
        getConfigMap: async (namespace, name) => configMaps.get(`${namespace}/${name}`),
        getSecret: async (namespace, name) => secrets.get(`${namespace}/${name}`),
        getPersistentVolumeClaim: async (namespace, name) => claims.get(`${namespace}/${name}`),
        getPersistentVolume: async (name) => persistentVolumes.get(name),
        getEndpoints: async (namespace, name) => endpoints.get(`${namespace}/${name}`),
      },
      clock: createFakeClock(),
      log: silentLogger,
      vocabulary: VOCABULARIES.plat,
      allocatable: () => ({ cpu: 2, memory: 64 * 2 ** 20 }),
    },
    async [Symbol.asyncDispose]() {
      await detachBeneath(createMounter(), base);
      if ((await mounts()).length > 0) throw new Error(`mounts were left beneath ${base}`);
      await rm(base, { recursive: true, force: true });
    },
  };
}

/** Returns a pod whose one container mounts every one of `volumes` at `/<name>`. */
export function testPod(uid: string, volumes: readonly Volume[], spec: Partial<PodSpec> = {}): Pod {
  return {
    metadata: { name: 'web', namespace: 'default', uid, labels: { app: 'web' } },
    spec: {
      containers: [
        { name: 'app', volumeMounts: volumes.map(({ name }) => ({ name, mountPath: `/${name}` })) },
      ],
      ...spec,
      volumes,
    },
  };
}
