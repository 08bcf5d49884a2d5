/** Reservation of devices for a container. No I/O. Rejections as in upstream's device manager, release 1.24. */
import { type ContainerRequest, ResourceRefusal } from '../contract.ts';
import type { NodeMask } from '../topology/hints.ts';
import { byNode, devicesIn, type Reservations } from './bookings.ts';
import { chooseDevices } from './choose.ts';
import { type DeviceRequests, uidOf, type Wanted } from './requests.ts';

export interface ReservationParts {
  readonly reservations: Reservations;
  readonly requests: DeviceRequests;
}

const REASON = 'UnexpectedAdmissionError';

/** @throws ResourceRefusal */
function reserveOne(
  { reservations, requests }: ReservationParts,
  { pod, container }: ContainerRequest,
  { resource, count }: Wanted,
  where: NodeMask | undefined,
): boolean {
  const podUID = uidOf(pod);
  const had = reservations.find(podUID, container.name, resource);
  if (had !== undefined) {
    const { size } = devicesIn(had);
    if (size === count) return false;
    const message = `pod "${podUID}" container "${container.name}" changed request for resource "${resource}" from ${size} to ${count}`;
    throw new ResourceRefusal(REASON, message);
  }
  const free = requests.free(resource);
  const nodesOf = requests.nodesOf(resource);
  const chosen = chooseDevices({
    needed: count,
    reusable: requests.reusable(pod, resource),
    free,
    nodesOf,
    where,
  });
  if (chosen === undefined) {
    const message = `requested number of devices unavailable for ${resource}. Requested: ${count}, Available: ${free.size}`;
    throw new ResourceRefusal(REASON, message);
  }
  const devices = byNode(chosen, nodesOf);
  reservations.put({
    podUID,
    container: container.name,
    resource,
    devices,
    response: undefined,
    where,
    open: true,
  });
  return true;
}

/** Reserves the requested devices that the container does not have yet.
 *  @returns whether a reservation was added
 *  @throws ResourceRefusal */
export function reserveDevices(
  parts: ReservationParts,
  request: ContainerRequest,
  where: NodeMask | undefined,
): boolean {
  const news = parts.requests
    .wanted(request.container)
    .map((want) => reserveOne(parts, request, want, where));
  return news.includes(true);
}
