/** Cached OpenAPI documents of aggregated servers: fetched when a server becomes available, revalidated by
 *  ETag, and retained while a server returns nothing usable. Source: upstream's aggregator of OpenAPI,
 *  release 1.24. */
import type { Logger } from '#api/kit/logger.ts';
import { StatusError } from '#api/meta/status-error.ts';
import type { OtherDocuments } from '../openapi/others.ts';
import type { RemoteApi } from './api-services.ts';
import { type AskerDeps, createDocumentAsker, type Known } from './ask-documents.ts';
import type { Way } from './remote-server.ts';
import type { Address } from './resolve-service.ts';

export interface RemoteDocumentsDeps extends AskerDeps {
  readonly apis: () => Iterable<RemoteApi>;
  readonly get: (name: string) => RemoteApi | undefined;
  readonly findWay: (api: RemoteApi) => Way;
  readonly log: Logger;
}

export interface RemoteDocuments extends OtherDocuments {
  /** Asks a server that is there: at once, or when the question before is answered. Never rejects. */
  readonly refresh: (api: RemoteApi, address: Address) => Promise<void>;
}

const NOTHING: Known = { etag: '', extract: undefined, third: undefined };

interface Question {
  readonly api: RemoteApi;
  readonly address: Address;
}

type Current = readonly (readonly [RemoteApi, Known])[];

/** Of OpenAPI 3, by path. */
const thirds = (current: Current): ReadonlyMap<string, { readonly hash: string }> =>
  new Map(
    current.flatMap(([{ group, version }, { third }]) =>
      third === undefined ? [] : [[`apis/${group}/${version}`, { hash: third.hash }] as const],
    ),
  );

export function createRemoteDocuments(deps: RemoteDocumentsDeps): RemoteDocuments {
  const { get, findWay, log } = deps;
  const asker = createDocumentAsker(deps);
  const known = new Map<string, Known>();
  /** By API: whether there is to be one more question when the one under way is answered, and to where. */
  const asking = new Map<string, Question | undefined>();
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
      asker.second(api, address, before),
      asker.third(api, address),
    ]);
    if (two.status === 'rejected') failed(two.reason);
    if (three.status === 'rejected') failed(three.reason);
    if (get(api.name) === undefined) return;
    keep(api.name, {
      ...(two.status === 'fulfilled' ? two.value : before),
      third: three.status === 'fulfilled' ? three.value : before.third,
    });
  }

  /** Of the APIs that there are still, in one order for all. */
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
      return asker.fetch(api, way.address, found.third.url);
    },
    async refresh(api, address) {
      const { name } = api;
      let question: Question | undefined = { api, address };
      if (asking.has(name)) {
        // What is being answered may be of before the change.
        asking.set(name, question);
        return;
      }
      while (question !== undefined) {
        asking.set(name, undefined);
        await refresh(question.api, question.address);
        question = asking.get(name);
      }
      asking.delete(name);
    },
  };
}
