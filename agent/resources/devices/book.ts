/** Books devices for a container. No I/O. Refusals as upstream's device manager, release 1.24. */
import { type ContainerRequest, ResourceRefusal } from '../contract.ts';
import type { NodeMask } from '../topology/hints.ts';
import { type Bookings, byNode, devicesIn } from './bookings.ts';
import { chooseDevices } from './choose.ts';
import { type DeviceRequests, uidOf, type Wanted } from './requests.ts';

export interface BookParts {
  readonly bookings: Bookings;
  readonly requests: DeviceRequests;
}

const REASON = 'UnexpectedAdmissionError';

/** @throws ResourceRefusal */
function bookOne(
  { bookings, requests }: BookParts,
  { pod, container }: ContainerRequest,
  { resource, count }: Wanted,
  where: NodeMask | undefined,
): boolean {
  const podUID = uidOf(pod);
  const had = bookings.find(podUID, container.name, resource);
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
  bookings.put({
    podUID,
    container: container.name,
    resource,
    devices,
    answer: undefined,
    where,
    open: true,
  });
  return true;
}

/** Books what the container asks for and does not have.
 *  @returns whether anything is new
 *  @throws ResourceRefusal */
export function bookDevices(
  parts: BookParts,
  request: ContainerRequest,
  where: NodeMask | undefined,
): boolean {
  const news = parts.requests.wanted(request.container).map((want) => bookOne(parts, request, want, where));
  return news.includes(true);
}
