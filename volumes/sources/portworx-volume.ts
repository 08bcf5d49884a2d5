/** portworxVolume: a volume that the Portworx service of the node attaches, and mounts into the pod's own folder. Only
 *  that service can undo it. Spec: document 3, 2.3. Source: upstream 1.24; OpenStorage's REST interface. */
import type { PortworxVolumeSource } from '#api/schema/gen/core-v1.ts';
import { ensureMounted } from '../network/helper-mount.ts';
import { mountAt } from '../network/mount-state.ts';
import { callRest, type Rest, RestError, textMember } from '../network/rest.ts';
import { setOwnership } from '../ownership.ts';
import { VolumeSetupError } from '../setup-error.ts';
import {
  defineSource,
  type ReadyVolume,
  type SourcePlugin,
  type SourceRequest,
  type UndoServices,
} from './source.ts';

/** The service listens on every node: at this port, or where the service object of this name says that it leads to. */
const PORT = 9001;
const SERVICE = 'portworx-service';
/** Names the driver to the service. */
const USER_AGENT = 'pxd-sched/v1';

/** `VolumeActionParam` on the wire. */
const OFF = 1;
const ON = 2;

interface Action {
  readonly attach?: typeof OFF | typeof ON;
  readonly mount?: typeof OFF | typeof ON;
  readonly mount_path?: string;
}

/** A volume, and the port at which the service of this node is asked for it. */
interface Target {
  readonly volumeID: string;
  readonly port: number;
}

const isPort = (port: unknown): port is number =>
  typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536;

/** The port as it was found before, or as the service object says it now. */
async function findPort({ services, remembered }: SourceRequest): Promise<number> {
  const before = Number((await remembered?.())?.['port']);
  if (isPort(before)) return before;
  const service = await services.objects.getSystemService?.(SERVICE);
  const target = service?.spec?.ports?.find(({ port }) => port === PORT)?.targetPort;
  return isPort(target) ? target : PORT;
}

/** @throws RestError with what the service said */
async function act(
  rest: Rest,
  { volumeID, port }: Target,
  action: Action,
  signal: AbortSignal,
): Promise<void> {
  const answer = await rest({
    url: `http://127.0.0.1:${port}/v1/osd-volumes/${encodeURIComponent(volumeID)}`,
    method: 'PUT',
    headers: { 'user-agent': USER_AGENT },
    body: { action },
    signal,
  });
  const inner: unknown =
    typeof answer === 'object' && answer !== null ? Reflect.get(answer, 'volume_response') : undefined;
  const error = textMember(inner, 'error') || textMember(answer, 'error');
  if (error !== '') throw new RestError(`Portworx volume ${volumeID}: ${error.slice(0, 300)}`, 200);
}

/** Portworx made the file system: one that is asked for can only be compared. A shared volume comes by NFS. */
function checkFsType(asked: string, found: string): void {
  if (asked === '' || asked === found || found.startsWith('nfs') || found.startsWith('fuse')) return;
  throw new VolumeSetupError(`portworxVolume.fsType: the volume has a file system ${found}, not ${asked}`);
}

async function setUp(rest: Rest, spec: PortworxVolumeSource, request: SourceRequest): Promise<ReadyVolume> {
  const { services, signal, fsGroup } = request;
  const { volumeID, fsType = '' } = spec;
  if (!/^\w[\w.-]{0,252}$/.test(volumeID)) {
    throw new VolumeSetupError(`portworxVolume.volumeID ${JSON.stringify(volumeID)} is not a name`);
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

/** Unmounts by the service, and detaches unless the node has the volume mounted elsewhere. */
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
    // It was detached already, or is gone.
    if (thrown instanceof RestError && /detached|not attached|not found/i.test(thrown.message)) return;
    throw thrown;
  }
}

/** @param rest how the service is called */
export function createPortworxVolume(rest: Rest = callRest): SourcePlugin {
  return defineSource(
    'portworxVolume',
    {
      summary: 'A volume that the Portworx service of the node mounts.',
      use: 'both',
      notes: [
        'The service is asked on this node: at port 9001, or at the one that port 9001 of the service object portworx-service leads to.',
        'Portworx makes the file system: a volume that has another than fsType is refused.',
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
