/** A volume host for tests: objects from plain lists, a root directory of its own, and a clean-up that can't reach
 *  anything through a mount that a failed test left. */
import { mkdir, mkdtemp, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { createFakeClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type {
  ConfigMap,
  Endpoints,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  PodSpec,
  Secret,
  Volume,
} from '#api/schema/gen/core-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createMounter } from './mounter.ts';
import { type MountInfo, mountsBeneath, parseMountInfo } from './mountinfo.ts';
import { detachBeneath } from './teardown.ts';
import type { VolumeHost } from './types.ts';

export interface TestHost extends AsyncDisposable {
  readonly host: VolumeHost;
  /** Directory of the test, for whatever it needs besides. */
  readonly base: string;
  readonly rootDir: string;
  readonly configMaps: Map<string, ConfigMap>;
  readonly secrets: Map<string, Secret>;
  readonly claims: Map<string, PersistentVolumeClaim>;
  readonly persistentVolumes: Map<string, PersistentVolume>;
  readonly endpoints: Map<string, Endpoints>;
  /** Mounts beneath the test's directory now. */
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

/** A pod whose one container mounts every one of `volumes` at `/<name>`. */
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
