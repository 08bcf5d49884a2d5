/** Cached OpenAPI documents of aggregated servers: fetched when a server becomes available, revalidated by
 *  ETag, and retained while a server returns nothing usable. Source: upstream's aggregator of OpenAPI,
 *  release 1.24. */
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { OtherDocuments } from '../openapi/others.ts';
import type { RemoteApi } from './api-services.ts';
import { createDocumentClient, type DocumentClientDeps, type Known } from './document-client.ts';
import type { Way } from './remote-server.ts';
import type { Address } from './resolve-service.ts';

export interface RemoteDocumentsDeps extends DocumentClientDeps {
  readonly apis: () => Iterable<RemoteApi>;
  readonly get: (name: string) => RemoteApi | undefined;
  readonly findWay: (api: RemoteApi) => Way;
  readonly log: Logger;
}

export interface RemoteDocuments extends OtherDocuments {
  /** Fetches the documents of an available server: immediately, or once the fetch in flight has ended. Never rejects. */
  readonly refresh: (api: RemoteApi, address: Address) => Promise<void>;
}

const NOTHING: Known = { etag: '', extract: undefined, third: undefined };

interface Refresh {
  readonly api: RemoteApi;
  readonly address: Address;
}

type Current = readonly (readonly [RemoteApi, Known])[];

/** Returns the hashes of the OpenAPI 3 documents by path. */
const thirds = (current: Current): ReadonlyMap<string, { readonly hash: string }> =>
  new Map(
    current.flatMap(([{ group, version }, { third }]) =>
      third === undefined ? [] : [[`apis/${group}/${version}`, { hash: third.hash }] as const],
    ),
  );

export function createRemoteDocuments(deps: RemoteDocumentsDeps): RemoteDocuments {
  const { get, findWay, log } = deps;
  const client = createDocumentClient(deps);
  const known = new Map<string, Known>();
  /** By API with a fetch in flight: the fetch that follows it, if any. */
  const inFlight = new Map<string, Refresh | undefined>();
  let generation = 0;
  function keep(name: string, next: Known): void {
    const before = known.get(name) ?? NOTHING;
    known.set(name, next);
    if (next.extract?.hash !== before.extract?.hash || next.third?.hash !== before.third?.hash)
      generation += 1;
  }

  async function refresh(api: RemoteApi, address: Address): Promise<void> {
    const before = known.get(api.name) ?? NOTHING;
    const failed = (err: unknown): void =>
      log.debug(
        { err, apiService: api.name },
        'Failed to fetch OpenAPI of aggregated server; serving the last known document',
      );
    const [two, three] = await Promise.allSettled([
      client.second(api, address, before),
      client.third(api, address),
    ]);
    if (two.status === 'rejected') failed(two.reason);
    if (three.status === 'rejected') failed(three.reason);
    if (get(api.name) === undefined) return;
    keep(api.name, {
      ...(two.status === 'fulfilled' ? two.value : before),
      third: three.status === 'fulfilled' ? three.value : before.third,
    });
  }

  /** Returns the documents of the registered APIs, sorted by name; forgets those of others. */
  function current(): Current {
    const apis = [...deps.apis()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
    const names = new Set(apis.map(({ name }) => name));
    for (const name of known.keys()) {
      if (names.has(name)) continue;
      known.delete(name);
      generation += 1;
    }
    return apis.flatMap((api) => {
      const found = known.get(api.name);
      return found === undefined ? [] : [[api, found] as const];
    });
  }

  return {
    get generation() {
      current();
      return generation;
    },
    extracts: () => current().flatMap(([, { extract }]) => extract ?? []),
    documents3: () => thirds(current()),
    async fetch3(path) {
      const [api, found] =
        current().find(([{ group, version }]) => path === `apis/${group}/${version}`) ?? [];
      const way = api === undefined ? undefined : findWay(api);
      if (api === undefined || found?.third === undefined || way?.kind !== 'address')
        throw new StatusError('ServiceUnavailable', 'the aggregated server of this document is unavailable');
      return client.fetch(api, way.address, found.third.url);
    },
    async refresh(api, address) {
      const { name } = api;
      let next: Refresh | undefined = { api, address };
      if (inFlight.has(name)) {
        // The response in flight may predate the change.
        inFlight.set(name, next);
        return;
      }
      while (next !== undefined) {
        inFlight.set(name, undefined);
        await refresh(next.api, next.address);
        next = inFlight.get(name);
      }
      inFlight.delete(name);
    },
  };
}
