/** storageos: a volume of StorageOS, exposed on the node as a device or as a file.
 *  Source: volume sources, document 3 §2.3 and §2.5; upstream 1.24; StorageOS's REST interface, version 1. */

import { stat } from 'node:fs/promises';
import { hostname } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { StorageOSPersistentVolumeSource } from '#api/gen/core-v1.ts';
import { errorCode } from '#api/kit/errno.ts';
import { trimEnd } from '#api/kit/text/trim-end.ts';
import type { DevicePlugin, DeviceServices } from '../contract/devices.ts';
import type { SourcePlugin } from '../contract/source.ts';
import type { UndoState } from '../contract/staging.ts';
import { defineDeviceSource } from '../devices/define-source.ts';
import { attachLoop, detachLoop, findLoops } from '../devices/loop.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { callRest, type Rest, textMember } from '../network/rest.ts';
import { readSecretRef } from '../objects/secret-ref.ts';

/** Address and credentials of the service. */
export interface StorageosApi {
  readonly address: string;
  readonly user: string;
  readonly password: string;
}

/** Used without a secret. Source: upstream. */
const DEFAULT_API: StorageosApi = {
  address: 'http://localhost:5705',
  user: 'storageos',
  password: 'storageos',
};
const DEVICE_FOLDER = '/var/lib/storageos/volumes';

type Spec = StorageOSPersistentVolumeSource;

/** @throws VolumeSetupError for an invalid address; its message never contains credentials */
export function readApi(data: ReadonlyMap<string, Buffer>): StorageosApi {
  const text = (key: string): string | undefined => data.get(key)?.toString('utf8').trim() || undefined;
  const address = trimEnd((text('apiAddress') ?? DEFAULT_API.address).replace(/^tcp:/, 'http:'), '/');
  if (!/^https?:\/\/[\w.:[\]-]+$/.test(address) || !URL.canParse(address)) {
    throw new VolumeSetupError('the secret’s apiAddress must be like tcp://host:5705');
  }
  return {
    address,
    user: text('apiUsername') ?? DEFAULT_API.user,
    password: text('apiPassword') ?? DEFAULT_API.password,
  };
}

async function findApi({ secretRef }: Spec, services: DeviceServices): Promise<StorageosApi> {
  if (secretRef === undefined) return DEFAULT_API;
  return readApi(await readSecretRef(services.objects, services.namespace, secretRef));
}

interface Service {
  get(path: string): Promise<unknown>;
  post(path: string, body: object): Promise<unknown>;
}

function createService(rest: Rest, { address, user, password }: StorageosApi, signal: AbortSignal): Service {
  const authorization = `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
  const call = { headers: { authorization }, signal };
  return {
    get: (path) => rest({ ...call, method: 'GET', url: `${address}/v1${path}` }),
    post: (path, body) => rest({ ...call, method: 'POST', url: `${address}/v1${path}`, body }),
  };
}

/** Returns the directory of devices on this node, according to the service. */
async function deviceFolder(service: Service): Promise<string> {
  try {
    const folder = textMember(await service.get(`/nodes/${encodeURIComponent(hostname())}`), 'deviceDir');
    return isAbsolute(folder) && !folder.split('/').includes('..') ? folder : DEVICE_FOLDER;
  } catch (thrown) {
    // As upstream: a service that does not know the node uses the default.
    if (thrown instanceof VolumeSetupError) return DEVICE_FOLDER;
    throw thrown;
  }
}

const volumePath = ({ volumeNamespace = '', volumeName = '' }: Spec): string =>
  `/namespaces/${encodeURIComponent(volumeNamespace)}/volumes/${encodeURIComponent(volumeName)}`;

async function attach(
  rest: Rest,
  spec: Spec,
  services: DeviceServices,
  save: (state: UndoState) => Promise<void>,
  signal: AbortSignal,
): Promise<string> {
  const api = await findApi(spec, services);
  const service = createService(rest, api, signal);
  const path = volumePath(spec);
  const id = textMember(await service.get(path), 'id');
  if (!/^[\w-]+$/.test(id)) throw new VolumeSetupError(`StorageOS has no volume ${spec.volumeName}`);
  const file = join(await deviceFolder(service), id);
  await save({ address: api.address, path, file });
  const { volumeName: name, volumeNamespace: namespace, fsType = '' } = spec;
  await service.post(`${path}/mount`, { id, name, namespace, fsType, mountpoint: file, client: hostname() });
  return toDevice(file, services, signal);
}

async function toDevice(file: string, services: DeviceServices, signal: AbortSignal): Promise<string> {
  const stats = await stat(file).catch((thrown: unknown) => {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
    throw new VolumeSetupError(`StorageOS has not created ${file} on this node`, { cause: thrown });
  });
  if (stats.isBlockDevice()) return file;
  if (stats.isFile()) return attachLoop(services, file, {}, signal);
  throw new VolumeSetupError(`${file} of StorageOS is neither a device nor a file`);
}

/** The secret may be gone: the service is called with the default credentials, and failures are ignored,
 *  as upstream. */
async function detach(
  rest: Rest,
  { address = '', path = '', file = '' }: UndoState,
  services: Pick<DeviceServices, 'run' | 'paths'>,
  signal: AbortSignal,
): Promise<void> {
  try {
    for (const device of await findLoops(services.paths, file)) await detachLoop(services, device, signal);
  } catch (thrown) {
    if (errorCode(thrown) !== 'ENOENT') throw thrown;
  }
  try {
    await createService(rest, { ...DEFAULT_API, address }, signal).post(`${path}/unmount`, {
      client: hostname(),
    });
  } catch (thrown) {
    if (!(thrown instanceof VolumeSetupError)) throw thrown;
  }
}

export function storageosPlugin(rest: Rest): DevicePlugin<'storageos'> {
  return {
    name: 'storageos',
    about: {
      summary: 'A volume of StorageOS.',
      use: 'both',
      block: false,
      programs: ['losetup'],
      notes: [
        'The secret may contain apiAddress, apiUsername and apiPassword. Without a secret, the agent uses the service of the node.',
        'volumeNamespace defaults to the namespace of the pod.',
      ],
    },
    dirName: 'storageos',
    identify({ volumeName = '', volumeNamespace = '', fsType = '', readOnly = false }, domain) {
      if (volumeName === '') throw new VolumeSetupError('storageos.volumeName: Required value');
      const uniqueName = `${domain}/storageos/${volumeNamespace}:${volumeName}`;
      return { uniqueName, fsType: fsType === '' ? 'ext4' : fsType, readOnly };
    },
    attach: (spec, services, save, signal) => attach(rest, spec, services, save, signal),
    detach: (state, services, signal) => detach(rest, state, services, signal),
  };
}

/** @param rest client of the service */
export function createStorageos(rest: Rest = callRest): SourcePlugin {
  const base = defineDeviceSource(storageosPlugin(rest));
  return {
    ...base,
    bind({ storageos: spec }) {
      if (spec === undefined || spec === null) return undefined;
      return async (request) => {
        const { volumeNamespace = '' } = spec;
        const namespace = volumeNamespace === '' ? request.namespace : volumeNamespace;
        const setUp = base.bind({ storageos: { ...spec, volumeNamespace: namespace } });
        if (setUp === undefined) throw new VolumeSetupError('this agent does not support storageos');
        return setUp(request);
      };
    },
  };
}

export const storageos: SourcePlugin = createStorageos();
