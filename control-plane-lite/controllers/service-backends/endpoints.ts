/** Endpoints of a service: ready and not-ready addresses. Pure. Source: upstream's endpoint controller,
 *  release 1.24. */
import type { EndpointAddress, EndpointSubset, Service } from '#api/gen/core-v1.ts';
import { type Backend, isHeadless, publishesUnready } from './backends.ts';

/** Maximum addresses per object; more are truncated, with an annotation. */
export const MOST_ADDRESSES = 1000;

export interface WantedEndpoints {
  readonly labels: Readonly<Record<string, string>>;
  readonly subsets: readonly EndpointSubset[];
  /** Some addresses were truncated. */
  readonly truncated: boolean;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

function addressOf({ ips: [ip = ''], targetRef, nodeName, hostname }: Backend): EndpointAddress {
  return {
    ip,
    ...(hostname === undefined ? {} : { hostname }),
    ...(nodeName === undefined ? {} : { nodeName }),
    targetRef,
  };
}

/** One subset for each set of ports: addresses that offer the same are together. */
function subsetsOf(
  backends: readonly Backend[],
  isReady: (backend: Backend) => boolean,
): readonly EndpointSubset[] {
  const byPorts = new Map<string, Backend[]>();
  for (const backend of backends) {
    const key = JSON.stringify(backend.ports.toSorted((a, b) => compare(a.name, b.name) || a.port - b.port));
    byPorts.set(key, [...(byPorts.get(key) ?? []), backend]);
  }
  return [...byPorts]
    .toSorted(([a], [b]) => compare(a, b))
    .map(([, members]) => {
      const sorted = members.toSorted((a, b) => compare(a.ips[0] ?? '', b.ips[0] ?? ''));
      const addresses = sorted.filter(isReady).map(addressOf);
      const notReadyAddresses = sorted.filter((backend) => !isReady(backend)).map(addressOf);
      const ports = (members[0]?.ports ?? []).map(({ name, ...port }) =>
        name === '' ? port : { name, ...port },
      );
      return {
        ...(addresses.length > 0 ? { addresses } : {}),
        ...(notReadyAddresses.length > 0 ? { notReadyAddresses } : {}),
        ...(ports.length > 0 ? { ports } : {}),
      };
    });
}

/** `domain`: prefix of the platform's labels. Terminating pods are excluded unless the service publishes
 *  not-ready addresses. */
export function wantedEndpoints(
  service: Service,
  backends: readonly Backend[],
  domain: string,
): WantedEndpoints {
  const all = publishesUnready(service);
  const isReady = ({ serving }: Backend): boolean => all || serving;
  const there = backends.filter(({ terminating }) => all || !terminating);
  // Ready addresses first: they are truncated last.
  const kept = [...there.filter(isReady), ...there.filter((backend) => !isReady(backend))].slice(
    0,
    MOST_ADDRESSES,
  );
  return {
    labels: {
      ...service.metadata?.labels,
      ...(isHeadless(service) ? { [`service.${domain}/headless`]: '' } : {}),
    },
    subsets: subsetsOf(kept, isReady),
    truncated: there.length > kept.length,
  };
}
