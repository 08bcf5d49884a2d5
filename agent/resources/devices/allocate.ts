/** What a container gets of its devices: the plugin is asked once, and what it answered is kept. */
import type { MessageTypes } from '#api/codec/protobuf/message.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { ContainerAllocateResponse } from '#cri/gen/deviceplugin-v1beta1.ts';
import type { ContainerGrant, ContainerRequest } from '../contract.ts';
import { type BookParts, bookDevices } from './book.ts';
import { type Booking, byNode, devicesIn } from './bookings.ts';
import { askPreference, takePreference } from './choose.ts';
import { grantFrom } from './grant.ts';
import { DevicePluginError, type PluginConnection } from './plugin.ts';
import { uidOf, type Wanted } from './requests.ts';

export interface AllocateParts extends BookParts {
  readonly clock: Clock;
  readonly log: Logger;
  /** The plugin of a resource; undefined while none is there. */
  readonly plugin: (resource: string) => PluginConnection | undefined;
  /** Loads the forms of the protocol's messages. */
  readonly messages: () => Promise<MessageTypes>;
  /** Told how long a plugin took to allocate. */
  readonly allocated?: ((resource: string, tookMs: number) => void) | undefined;
  /** Whether a resource that a container asks for is to come yet. */
  readonly isMissing: (resource: string) => boolean;
  /** Has the bookings written. */
  readonly touch: () => void;
  /** Resolves when they are. */
  readonly saved: () => Promise<void>;
}

const ALLOCATE_RESPONSE = 'ContainerAllocateResponse';

/** Lets the plugin choose others than those that were booked, where there is a choice. Others may book meanwhile.
 *  @returns the devices that the container is to have */
async function reconsider(
  { log, bookings, requests }: AllocateParts,
  { podUID, container, resource, where, devices }: Booking,
  plugin: PluginConnection,
): Promise<Booking['devices']> {
  const booked = devicesIn({ devices });
  const others = bookings
    .of(podUID)
    .filter((one) => one.resource === resource && one.container !== container);
  const pinned = booked.intersection(new Set(others.flatMap((one) => [...devicesIn(one)])));
  const nodesOf = requests.nodesOf(resource);
  const question = askPreference({ booked, pinned, free: requests.free(resource), nodesOf, where });
  if (question === undefined) return devices;
  try {
    const answer = await plugin.prefer(question);
    const now = booked.union(requests.free(resource));
    const available = question.available.filter((device) => now.has(device));
    const chosen = takePreference({ ...question, available }, booked, answer);
    return chosen.length === booked.size ? byNode(chosen, nodesOf) : devices;
  } catch (err) {
    log.warn({ err, resource }, 'Device plugin did not say which devices it prefers');
    return devices;
  }
}

/** @throws CriError, DevicePluginError, ResourceRefusal: the container waits and is tried again */
async function allocate(
  parts: AllocateParts,
  request: ContainerRequest,
  { resource, count }: Wanted,
): Promise<void> {
  const { clock, bookings, plugin: pluginOf } = parts;
  const find = (): Booking | undefined => bookings.find(uidOf(request.pod), request.container.name, resource);
  if (find()?.answer !== undefined) return;
  // One that was admitted before there was a plugin.
  if (find() === undefined) bookDevices(parts, request, undefined);
  const booking = find();
  const plugin = pluginOf(resource);
  if (plugin === undefined || booking === undefined) {
    throw new DevicePluginError(
      `no device plugin is there for ${resource}, of which the container asks for ${count}`,
    );
  }
  let { devices } = booking;
  if (booking.open && plugin.options.getPreferredAllocationAvailable) {
    devices = await reconsider(parts, booking, plugin);
    // Unless the pod was released meanwhile.
    if (find() !== undefined) bookings.put({ ...booking, devices, open: false });
  }
  const startMs = clock.monotonic();
  const answer = await plugin.allocate([...devicesIn({ devices })]);
  parts.allocated?.(resource, clock.monotonic() - startMs);
  const bytes = (await parts.messages()).type(ALLOCATE_RESPONSE).encode(answer);
  if (find() !== undefined) bookings.put({ ...booking, devices, answer: bytes, open: false });
  parts.touch();
}

const isAnswer = (message: object): message is ContainerAllocateResponse =>
  'envs' in message && 'mounts' in message && 'devices' in message && 'annotations' in message;

/** What the container gets at this start; the same at each.
 *  @throws CriError, DevicePluginError, ResourceRefusal */
export async function grantDevices(parts: AllocateParts, request: ContainerRequest): Promise<ContainerGrant> {
  const { bookings, requests } = parts;
  const missing = Object.keys(request.container.resources?.limits ?? {}).find(parts.isMissing);
  if (missing !== undefined) throw new DevicePluginError(`no device plugin has registered for ${missing}`);
  const wanted = requests.wanted(request.container);
  if (wanted.length === 0) return {};
  const type = (await parts.messages()).type(ALLOCATE_RESPONSE);
  const answers: ContainerAllocateResponse[] = [];
  for (const want of wanted) {
    await allocate(parts, request, want);
    const booking = bookings.find(uidOf(request.pod), request.container.name, want.resource);
    if (booking?.answer === undefined) continue;
    const plugin = parts.plugin(want.resource);
    if (plugin?.options.preStartRequired === true) await plugin.preStart([...devicesIn(booking)]);
    const answer = type.decode(booking.answer);
    if (isAnswer(answer)) answers.push(answer);
  }
  await parts.saved();
  return grantFrom(answers);
}
