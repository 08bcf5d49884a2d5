/** portworxVolume: a volume that the Portworx service of the node attaches and mounts into the pod's own
 *  directory. Only that service can undo it. Source: volume sources, document 3 §2.3; upstream 1.24;
 *  OpenStorage's REST interface. */
import type { PortworxVolumeSource } from '#api/gen/core-v1.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourcePlugin,
  type SourceRequest,
  type UndoServices,
} from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { setOwnership } from '../files/ownership.ts';
import { ensureMounted } from '../network/helper-mount.ts';
import { mountAt } from '../network/mount-state.ts';
import { callRest, type Rest, RestError, textMember } from '../network/rest.ts';

/** The service listens on every node: at this port, or at the target port of the Service of this name. */
const PORT = 9001;
const SERVICE = 'portworx-service';
/** User agent of the driver. */
const USER_AGENT = 'pxd-sched/v1';

/** `VolumeActionParam` on the wire. */
const OFF = 1;
const ON = 2;

interface Action {
  readonly attach?: typeof OFF | typeof ON;
  readonly mount?: typeof OFF | typeof ON;
  readonly mount_path?: string;
}

/** A volume, and the port of the node's service. */
interface Target {
  readonly volumeID: string;
  readonly port: number;
}

const isPort = (port: unknown): port is number =>
  typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;

/** Returns the persisted port, or the one in the Service object. */
async function findPort({ services, remembered }: SourceRequest): Promise<number> {
  const before = Number((await remembered?.())?.['port']);
  if (isPort(before)) return before;
  const service = await services.objects.getSystemService?.(SERVICE);
  const target = service?.spec?.ports?.find(({ port }) => port === PORT)?.targetPort;
  return isPort(target) ? target : PORT;
}

/** @throws RestError with the message of the service */
async function act(
  rest: Rest,
  { volumeID, port }: Target,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  const response = await rest({
    url: `http://127.0.0.1:${port}/v1/osd-volumes/${encodeURIComponent(volumeID)}`,
    method: 'PUT',
    headers: { 'user-agent': USER_AGENT },
    body: { action },
    signal,
  });
  const inner: unknown =
    typeof response === 'object' && response !== null ? Reflect.get(response, 'volume_response') : undefined;
  const error = textMember(inner, 'error') || textMember(response, 'error');
  if (error !== '') throw new RestError(`Portworx volume ${volumeID}: ${error.slice(0, 300)}`, 200);
}

/** Portworx created the file system: a requested type can only be compared. Shared volumes use NFS. */
function checkFsType(asked: string, found: string): void {
  if (asked === '' || asked === found || found.startsWith('nfs') || found.startsWith('fuse')) return;
  throw new VolumeSetupError(`portworxVolume.fsType: the volume has the file system ${found}, not ${asked}`);
}

async function setUp(rest: Rest, spec: PortworxVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { services, signal, fsGroup } = request;
  const { volumeID, fsType = '' } = spec;
  if (!/^\w[\w.-]{0,252}$/.test(volumeID)) {
    throw new VolumeSetupError(`portworxVolume.volumeID ${JSON.stringify(volumeID)} is not a volume name`);
  }
  const dir = request.dir('portworx-volume');
  const target: Target = { volumeID, port: await findPort(request) };
  await request.remember({ volumeID, port: String(target.port) });
  await ensureMounted(services, dir, async () => {
    await act(rest, target, { attach: ON }, signal);
    await act(rest, target, { mount: ON, mount_path: dir }, signal);
  });
  checkFsType(fsType, (await mountAt(services.mounter, dir))?.fsType ?? '');
  const readOnly = request.readOnly || spec.readOnly === true;
  if (fsGroup !== undefined && !readOnly) {
    const ownership = { gid: fsGroup, readOnly, onRootMismatch: request.fsGroupOnRootMismatch };
    await setOwnership(services.mounter.syscalls, dir, ownership, signal);
  }
  return { hostPath: dir, readOnly, seLinuxRelabel: false, changes: false };
}

/** Unmounts through the service, and detaches unless the node has the volume mounted elsewhere. */
async function tearDown(
  rest: Rest,
  target: Target,
  dir: string,
  { mounter }: UndoServices,
  signal: AbortSignal,
): Promise<void> {
  const mounted = await mountAt(mounter, dir);
  if (mounted !== undefined) {
    await act(rest, target, { mount: OFF, mount_path: dir }, signal);
    const others = await mounter.list();
    if (
      others.some(({ source, mountPoint }) => source === mounted.source && mountPoint !== mounted.mountPoint)
    ) {
      return;
    }
  }
  try {
    await act(rest, target, { attach: OFF }, signal);
  } catch (thrown) {
    // Already detached, or deleted.
    if (thrown instanceof RestError && /detached|not attached|not found/i.test(thrown.message)) return;
    throw thrown;
  }
}

/** @param rest client of the service */
export function createPortworxVolume(rest: Rest = callRest): SourcePlugin {
  return defineSource(
    'portworxVolume',
    {
      summary: 'A volume that the Portworx service of the node mounts.',
      use: 'both',
      notes: [
        'The agent calls the Portworx service of this node at port 9001, or at the target port of port 9001 of the Service portworx-service.',
        'Portworx creates the file system: a volume with another file system than fsType is rejected.',
      ],
    },
    (spec, request) => setUp(rest, spec, request),
    {
      tearDown: ({ state: { volumeID = '', port } }, dir, services, signal) =>
        tearDown(rest, { volumeID, port: Number(port ?? PORT) }, dir, services, signal),
    },
  );
}

export const portworxVolume: SourcePlugin = createPortworxVolume();
