/** Allocation of reserved devices: calls the plugin once and retains its response. */
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ContainerAllocateResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ContainerGrant, ContainerRequest } from '../contract.ts';
import { type ReservationParts, reserveDevices } from './book.ts';
import { byNode, devicesIn, type Reservation } from './bookings.ts';
import { askPreference, takePreference } from './choose.ts';
import { grantFrom } from './grant.ts';
import { DevicePluginError, type PluginConnection } from './plugin.ts';
import { uidOf, type Wanted } from './requests.ts';

export interface AllocateParts extends ReservationParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the plugin of a resource; undefined while none is registered. */
  readonly plugin: (resource: string) => PluginConnection | undefined;
  /** Loads the message types of the protocol. */
  readonly messages: () => Promise<MessageTypes>;
  /** Reports the duration of an Allocate call. */
  readonly allocated?: ((resource: string, tookMs: number) => void) | undefined;
  /** Reports whether the plugin of a requested resource is still expected. */
  readonly isMissing: (resource: string) => boolean;
  /** Schedules a write of the reservations. */
  readonly touch: () => void;
  /** Resolves once they are persisted. */
  readonly saved: () => Promise<void>;
}

const ALLOCATE_RESPONSE = 'ContainerAllocateResponse';

/** Lets the plugin prefer other devices than the reserved ones, where there is a choice. Concurrent
 *  reservations are respected.
 *  @returns the devices of the container */
async function reconsider(
  { log, reservations, requests }: AllocateParts,
  { podUID, container, resource, where, devices }: Reservation,
  plugin: PluginConnection,
): Promise<Reservation['devices']> {
  const reserved = devicesIn({ devices });
  const others = reservations
    .of(podUID)
    .filter((one) => one.resource === resource && one.container !== container);
  const pinned = reserved.intersection(new Set(others.flatMap((one) => [...devicesIn(one)])));
  const nodesOf = requests.nodesOf(resource);
  const request = askPreference({ reserved, pinned, free: requests.free(resource), nodesOf, where });
  if (request === undefined) return devices;
  try {
    const response = await plugin.prefer(request);
    const now = reserved.union(requests.free(resource));
    const available = request.available.filter((device) => now.has(device));
    const chosen = takePreference({ ...request, available }, reserved, response);
    return chosen.length === reserved.size ? byNode(chosen, nodesOf) : devices;
  } catch (err) {
    log.warn({ err, resource }, 'Failed to get preferred devices from device plugin');
    return devices;
  }
}

/** @throws CriError, DevicePluginError, ResourceRefusal: the container waits and its start is retried */
async function allocate(
  parts: AllocateParts,
  request: ContainerRequest,
  { resource, count }: Wanted,
): Promise<void> {
  const { clock, reservations, plugin: pluginOf } = parts;
  const find = (): Reservation | undefined =>
    reservations.find(uidOf(request.pod), request.container.name, resource);
  if (find()?.response !== undefined) return;
  // A container that was admitted before a plugin had registered.
  if (find() === undefined) reserveDevices(parts, request, undefined);
  const reservation = find();
  const plugin = pluginOf(resource);
  if (plugin === undefined || reservation === undefined) {
    throw new DevicePluginError(
      `no device plugin serves ${resource}, of which the container requests ${count}`,
    );
  }
  let { devices } = reservation;
  if (reservation.open && plugin.options.getPreferredAllocationAvailable) {
    devices = await reconsider(parts, reservation, plugin);
    // Unless the pod was released meanwhile.
    if (find() !== undefined) reservations.put({ ...reservation, devices, open: false });
  }
  const startMs = clock.monotonic();
  const response = await plugin.allocate([...devicesIn({ devices })]);
  parts.allocated?.(resource, clock.monotonic() - startMs);
  const bytes = (await parts.messages()).type(ALLOCATE_RESPONSE).encode(response);
  if (find() !== undefined) reservations.put({ ...reservation, devices, response: bytes, open: false });
  parts.touch();
}

const isAllocateResponse = (message: object): message is ContainerAllocateResponse =>
  'envs' in message && 'mounts' in message && 'devices' in message && 'annotations' in message;

/** Returns the grant of the container; the same at each start.
 *  @throws CriError, DevicePluginError, ResourceRefusal */
export async function grantDevices(parts: AllocateParts, request: ContainerRequest): Promise<ContainerGrant> {
  const { reservations, requests } = parts;
  const missing = Object.keys(request.container.resources?.limits ?? {}).find(parts.isMissing);
  if (missing !== undefined) throw new DevicePluginError(`no device plugin has registered for ${missing}`);
  const wanted = requests.wanted(request.container);
  if (wanted.length === 0) return {};
  const type = (await parts.messages()).type(ALLOCATE_RESPONSE);
  const responses: ContainerAllocateResponse[] = [];
  for (const want of wanted) {
    await allocate(parts, request, want);
    const reservation = reservations.find(uidOf(request.pod), request.container.name, want.resource);
    if (reservation?.response === undefined) continue;
    const plugin = parts.plugin(want.resource);
    if (plugin?.options.preStartRequired === true) await plugin.preStart([...devicesIn(reservation)]);
    const response = type.decode(reservation.response);
    if (isAllocateResponse(response)) responses.push(response);
  }
  await parts.saved();
  return grantFrom(responses);
}
