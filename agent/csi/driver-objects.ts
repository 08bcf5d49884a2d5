/** CSIDriver objects of the API server, which configure the use of each driver. Read when a volume of the
 *  driver is set up, cached for a while, and persisted for outages of the server. */

import type { CSIDriver } from '#api/gen/storage-v1.ts';
import type { Clock } from '#api/kit/clock.ts';
import { isObject } from '#api/kit/object.ts';
import { createSingleFlight } from '#api/kit/single-flight.ts';
import { decode } from '#api/schema/decode.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import type { ObjectKey } from '../objects/references.ts';
import type { SavedObjects } from '../objects/server-objects.ts';

const KIND = `storage.${VOCABULARIES.plat.apiGroupDomain}/v1.CSIDriver`;
const LENIENT = { unknownFields: 'ignore', missingFields: 'ignore' } as const;
/** They hardly ever change. */
const GOOD_MS = 30_000;

/** All of them form one saved object, with a key that no ConfigMap of a server can have, as its namespace is
 *  empty. */
export const DRIVERS_KEY: ObjectKey = { kind: 'ConfigMap', namespace: '', name: 'csidrivers' };

export interface DriverObjectsDeps {
  readonly client: Pick<ApiClient, 'get'>;
  readonly saved: Pick<SavedObjects, 'load' | 'save'>;
  readonly clock: Clock;
}

interface Known {
  readonly object: Json | undefined;
  readonly atMs: number;
}

export const readDriver = (object: Json): CSIDriver => decode<CSIDriver>(KIND, object, LENIENT).value;

/** Creates a reader of CSIDriver objects, which returns undefined when the object does not exist.
 *  @throws errors of the client, when none is saved */
export function createDriverObjects(
  { client, saved, clock }: DriverObjectsDeps,
  apiVersion: string,
): (name: string) => Promise<CSIDriver | undefined> {
  const known = new Map<string, Known>();
  const flights = createSingleFlight<Json | undefined>();
  const { signal } = new AbortController();

  function cache(name: string, object: Json | undefined): Json | undefined {
    known.set(name, { object, atMs: clock.monotonic() });
    saved.save(DRIVERS_KEY, {
      drivers: Object.fromEntries([...known].map(([key, entry]) => [key, entry.object ?? null])),
    });
    return object;
  }

  async function savedDriver(name: string, thrown: unknown): Promise<Json | undefined> {
    const all = await saved.load(DRIVERS_KEY);
    const drivers = isObject(all?.['drivers']) ? all['drivers'] : {};
    if (!Object.hasOwn(drivers, name)) throw thrown;
    const object = drivers[name];
    return isObject(object) ? object : undefined;
  }

  async function read(name: string): Promise<Json | undefined> {
    try {
      return cache(name, await client.get({ apiVersion, resource: 'csidrivers', name }, signal));
    } catch (thrown) {
      if (thrown instanceof ApiRequestError && thrown.status === 404) return cache(name, undefined);
      if (thrown instanceof ApiRequestError && !thrown.retryable) throw thrown;
      return known.has(name) ? known.get(name)?.object : savedDriver(name, thrown);
    }
  }

  return async (name) => {
    const entry = known.get(name);
    const isGood = entry !== undefined && clock.monotonic() - entry.atMs < GOOD_MS;
    const object = isGood ? entry.object : await flights.run(name, () => read(name));
    return object === undefined ? undefined : readDriver(object);
  };
}
