/** flexVolume: mounts by a vendor's driver program on the node.
 *  Source: volume sources, document 3 §2.3 and §2.5; upstream's flexvolume plugin, release 1.24. */
import type { Buffer } from 'node:buffer';
import { createHash } from 'node:crypto';
import { mkdir, readdir } from 'node:fs/promises';
import { errorCode } from '#api/kit/errno.ts';
import type { FlexDriver, FlexDrivers } from '../contract/flex.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourceFields,
  type SourcePlugin,
  type SourceRequest,
  type UndoServices,
} from '../contract/source.ts';
import type { PublishRecord, StageFolder } from '../contract/staging.ts';
import { formatAndMount } from '../devices/format-and-mount.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { holdDir } from '../files/held-dir.ts';
import { setOwnership } from '../files/ownership.ts';
import { createFlexExpand } from '../flex/expand.ts';
import { isMountPoint } from '../flex/mount-point.ts';
import { type FlexVolume, formatOptions } from '../flex/options.ts';
import { detachFlex, stageFlex, unlessNotSupported, unmountFlexDevice } from '../flex/stage.ts';
import { secretData } from '../objects/object-data.ts';

type FlexSpec = NonNullable<SourceFields['flexVolume']>;

function driversOf({ flexDrivers }: Pick<UndoServices, 'flexDrivers'>): FlexDrivers {
  if (flexDrivers !== undefined) return flexDrivers;
  throw new VolumeSetupError('flexVolume: this agent has no plugin directory');
}

/** Source: upstream's `GetSecretForPV`, which requires the driver's name as the type. */
async function readSecret(spec: FlexSpec, request: SourceRequest): Promise<ReadonlyMap<string, Buffer>> {
  const { secretRef, driver } = spec;
  if (secretRef === undefined) return new Map();
  const { name = '', namespace: own = '' }: { name?: string; namespace?: string } = secretRef;
  if (name === '') return new Map();
  const namespace = own === '' ? request.namespace : own;
  const secret = await request.services.objects.getSecret(namespace, name);
  if (secret === undefined) throw new VolumeSetupError(`Secret ${namespace}/${name} not found`);
  if (secret.type !== driver)
    throw new VolumeSetupError(
      `Secret ${namespace}/${name} has type ${JSON.stringify(secret.type ?? 'Opaque')}, must be the driver's name ${JSON.stringify(driver)}`,
    );
  return secretData(secret);
}

function volumeOf(spec: FlexSpec, { readOnly, persistentVolume, volumeName }: SourceRequest): FlexVolume {
  return {
    fsType: spec.fsType ?? '',
    // For a PersistentVolume, the claim's use sets it; the volume's own field counts as well.
    readOnly: readOnly || spec.readOnly === true,
    name: persistentVolume?.metadata?.name ?? volumeName,
    options: spec.options ?? {},
  };
}

interface Names {
  /** The driver's name of the volume. */
  readonly volumeName: string;
  readonly uniqueName: string;
}

/** Returns the driver's own name of the volume, or that of the PersistentVolume. Inline volumes of the
 *  same name are the same volume only if all their options are equal. */
async function namesOf(
  driver: FlexDriver,
  volume: FlexVolume,
  options: string,
  request: SourceRequest,
): Promise<Names> {
  const prefix = `${request.services.domain}/flexvolume-${driver.name}`;
  const response = await unlessNotSupported(
    driver.call('getvolumename', [options], { signal: request.signal }),
  );
  const named = response?.volumeName ?? '';
  if (named !== '') return { volumeName: named, uniqueName: `${prefix}/${named}` };
  const { name } = volume;
  if (request.persistentVolume !== undefined) return { volumeName: name, uniqueName: `${prefix}/${name}` };
  const hash = createHash('sha256').update(options).digest('hex').slice(0, 32);
  return { volumeName: name, uniqueName: `${prefix}/${name}-${hash}` };
}

interface Staged {
  readonly folder: StageFolder;
  /** The volume as JSON, without pod data. */
  readonly options: string;
}

async function stage(
  driver: FlexDriver,
  volume: FlexVolume,
  request: SourceRequest,
): Promise<Staged | undefined> {
  if (!driver.capabilities.attach) return undefined;
  const { services } = request;
  const options = formatOptions(services.domain, volume);
  const { volumeName, uniqueName } = await namesOf(driver, volume, options, request);
  const drivers = driversOf(services);
  const { fsType, readOnly } = volume;
  const deps = { run: services.run, mounter: services.mounter, paths: services.devices };
  const mountDevice = (device: string, target: string, signal: AbortSignal): Promise<void> =>
    formatAndMount(deps, { device, target, fsType, readOnly, mountOptions: [] }, signal);
  const folder = await request.stage({
    uniqueName,
    stage: (staged, signal) =>
      stageFlex({ driver, drivers, volumeName, options, services, mountDevice }, staged, signal),
  });
  return { folder, options };
}

async function mountForPod(
  spec: FlexSpec,
  driver: FlexDriver,
  volume: FlexVolume,
  staged: Staged | undefined,
  request: SourceRequest,
  dir: string,
): Promise<void> {
  const { services, pod, fsGroup, signal } = request;
  if (await isMountPoint(services.mounter, dir)) return;
  const secrets = await readSecret(spec, request);
  const options = formatOptions(services.domain, volume, { pod, fsGroup, secrets });
  const hidden = [...secrets.values()].flatMap((data) => [data.toString('base64'), data.toString()]);
  const mounted = await unlessNotSupported(driver.call('mount', [dir, options], { signal, secrets: hidden }));
  if (mounted !== undefined) return;
  const globalMount = staged?.folder.globalMount;
  if (globalMount === undefined || !(await isMountPoint(services.mounter, globalMount)))
    throw new VolumeSetupError(`flex driver ${driver.name} supports neither mount nor mountdevice`);
  await using source = await holdDir(globalMount);
  await services.mounter.bind(source, dir);
}

async function setUp(spec: FlexSpec, request: SourceRequest): Promise<ReadyVolume> {
  const { services, signal, fsGroup: gid } = request;
  const driver = await driversOf(services).find(spec.driver, signal);
  const volume = volumeOf(spec, request);
  const dir = request.dir('flexvolume');
  const staged = await stage(driver, volume, request);
  await request.remember({ driver: driver.name });
  await mkdir(dir, { recursive: true, mode: 0o750 });
  await mountForPod(spec, driver, volume, staged, request, dir);
  const { capabilities } = driver;
  if (gid !== undefined && !volume.readOnly && capabilities.fsGroup) {
    const onRootMismatch = request.fsGroupOnRootMismatch;
    await setOwnership(services.mounter.syscalls, dir, { gid, readOnly: false, onRootMismatch }, signal);
  }
  return {
    hostPath: dir,
    readOnly: volume.readOnly,
    seLinuxRelabel: capabilities.selinuxRelabel,
    changes: false,
    ...(staged === undefined ? {} : { expand: createFlexExpand({ ...staged, driver, services }) }),
  };
}

/** Reports whether there is nothing that a driver could have created. */
async function isNothing(services: UndoServices, dir: string): Promise<boolean> {
  if (await isMountPoint(services.mounter, dir)) return false;
  try {
    return (await readdir(dir)).length === 0;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return true;
    throw thrown;
  }
}

async function tearDown(
  { state }: PublishRecord,
  dir: string,
  services: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const { driver: name = '' } = state;
  // Before the mount, or after it was undone.
  if (name === '' || (await isNothing(services, dir))) return;
  const driver = await driversOf(services).find(name, signal);
  await unlessNotSupported(driver.call('unmount', [dir], { signal }));
}

export const flexVolume: SourcePlugin = defineSource(
  'flexVolume',
  {
    summary: 'A volume mounted by a driver program in the plugin directory (`--volume-plugin-dir`).',
    use: 'both',
    notes: [
      'Drivers receive the secret in their arguments, as upstream’s protocol requires: every user of the node can see it while the driver runs.',
      'The agent calls `attach` and `detach` itself; no controller does.',
      'The driver expands volumes on the node (`expandvolume`, `expandfs`); only drivers that attach do so.',
      'Drivers are killed after 2 min, or after 10 min in `waitforattach`; upstream waits indefinitely.',
      'Options cannot override the keys that the agent sets for pod and volume.',
    ],
  },
  setUp,
  {
    tearDown,
    async beforeUnstage(_record, folder, services, signal) {
      const { driver: name = '' } = folder.saved;
      if (name === '') return;
      const driver = await driversOf(services).find(name, signal);
      await unmountFlexDevice(driver, folder, services, signal);
    },
    async unstage(_record, folder, services, signal) {
      const { driver: name = '', attached = 'no' } = folder.saved;
      if (name === '' || attached === 'no') return;
      const drivers = driversOf(services);
      await detachFlex(await drivers.find(name, signal), drivers, folder.saved, signal);
    },
  },
);
