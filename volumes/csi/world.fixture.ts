/** A volume manager with a registered test driver. */
import { join } from 'node:path';
import type { PersistentVolumeSpec, Pod } from '#api/gen/core-v1.ts';
import type { CSIDriver, CSIDriverSpec } from '#api/gen/storage-v1.ts';
import { systemClock } from '#api/kit/clock.ts';
import { silentLogger } from '#api/kit/logger.ts';
import type { Attacher } from '../contract/csi.ts';
import type { VolumeHost, VolumeManager } from '../contract/volume-manager.ts';
import { createTestHost, type TestHost } from '../manage/host.fixture.ts';
import { createVolumeManager } from '../manage/manager.ts';
import { type Csi, createCsi, PLUGIN_REGISTRY } from './csi.ts';
import type { TestDriverOptions } from './driver-options.fixture.ts';
import { startTestDriver, type TestDriver } from './start-driver.fixture.ts';

export const DRIVER = 'test.csi.example.org';

export interface WorldOptions {
  readonly driver?: Partial<TestDriverOptions>;
  /** Spec of the CSIDriver object; null for no object. */
  readonly object?: CSIDriverSpec | null;
  readonly attacher?: Attacher;
  readonly gates?: readonly string[];
  readonly host?: Partial<VolumeHost>;
}

export interface World extends AsyncDisposable {
  readonly test: TestHost;
  readonly driver: TestDriver;
  readonly csi: Csi;
  readonly manager: VolumeManager;
  /** Creates the state of a new agent process: nothing in memory, all drivers registered. */
  again(): Promise<{ readonly csi: Csi; readonly manager: VolumeManager }>;
  /** Creates a claim bound to a volume of the driver. */
  claim(name: string, spec?: Partial<PersistentVolumeSpec>, handle?: string): void;
  /** Resolves once the driver has registered or changed. */
  untilDriver(condition?: (csi: Csi) => boolean): Promise<void>;
  /** Restarts the driver after its exit. Resolves once the new process has registered; until then the old
   *  registration counts. */
  restartDriver(): Promise<void>;
}

export const GATES: readonly string[] = [
  'CSIInlineVolume',
  'CSIMigration',
  'DelegateFSGroupToCSIDriver',
  'CSIVolumeHealth',
];

async function until(csi: Csi, condition: (csi: Csi) => boolean): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const check = (): void => {
    if (condition(csi)) resolve();
  };
  const end = csi.volumes.drivers.onChange(check);
  check();
  await promise;
  end();
}

const hasDriver = ({ volumes }: Csi): boolean => volumes.drivers.list().length > 0;

export async function startWorld(options: WorldOptions = {}): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const test = stack.use(await createTestHost());
  const { rootDir, base } = test;
  const stop = new AbortController();
  stack.defer(() => stop.abort(new Error('the test is over')));
  const object: CSIDriver | undefined =
    options.object === null
      ? undefined
      : { metadata: { name: DRIVER }, spec: { attachRequired: false, ...options.object } };

  async function begin(): Promise<{ csi: Csi; manager: VolumeManager }> {
    const csi = createCsi({
      rootDir,
      clock: systemClock,
      log: silentLogger,
      driverObject: async (name) => (name === DRIVER ? object : undefined),
      gates: new Set(options.gates ?? GATES),
      apiGroupDomain: test.host.vocabulary.apiGroupDomain,
      ...(options.attacher === undefined ? {} : { attacher: options.attacher }),
    });
    void csi.registry.run(stop.signal);
    const host = { ...test.host, clock: systemClock, csi: csi.volumes, ...options.host };
    const manager = createVolumeManager(host);
    await until(csi, hasDriver);
    return { csi, manager };
  }

  const driver = stack.use(
    await startTestDriver({
      name: DRIVER,
      registryDir: join(rootDir, PLUGIN_REGISTRY),
      dataDir: join(base, 'driver'),
      ...options.driver,
    }),
  );
  const { csi, manager } = await begin();
  const owned = stack.move();
  return {
    test,
    driver,
    csi,
    manager,
    again: begin,
    claim(name, spec = {}, handle = `vol-${name}`) {
      test.claims.set(`default/${name}`, {
        metadata: { name, namespace: 'default' },
        spec: { volumeName: `pv-${name}` },
      });
      test.persistentVolumes.set(`pv-${name}`, {
        metadata: { name: `pv-${name}` },
        spec: {
          accessModes: ['ReadWriteOnce'],
          ...spec,
          csi: { driver: DRIVER, volumeHandle: handle, ...spec.csi },
        },
      });
    },
    untilDriver: (condition = hasDriver) => until(csi, condition),
    async restartDriver() {
      const { drivers } = csi.volumes;
      const [before] = drivers.list();
      await driver.restart();
      await until(csi, () => drivers.list().some((now) => now !== before));
    },
    [Symbol.asyncDispose]: () => owned[Symbol.asyncDispose](),
  };
}

/** Returns a pod that uses the claim as volume `data`. */
export function claimPod(uid: string, claimName: string, spec: Partial<Pod['spec']> = {}): Pod {
  return {
    metadata: { name: `pod-${uid}`, namespace: 'default', uid },
    spec: {
      serviceAccountName: 'robot',
      containers: [{ name: 'app', volumeMounts: [{ name: 'data', mountPath: '/data' }] }],
      ...spec,
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName } }],
    },
  };
}
