/** In-memory API server for CSI tests. */

import { isObject } from '#api/kit/object.ts';
import type { ApiClient, Json } from '../api-client/client.ts';
import { ApiRequestError } from '../api-client/errors.ts';
import { metadataText } from '../api-client/object-fields.ts';
import type { WatchEvent } from '../api-client/watch-events.ts';

export interface TestServer {
  readonly client: Pick<ApiClient, 'get' | 'create' | 'update' | 'patch' | 'delete' | 'watch'>;
  /** `verb name`, in order. */
  readonly calls: readonly string[];
  get(name: string): Json | undefined;
  /** Writes the object as another client; undefined removes it. */
  put(name: string, object: Json | undefined): void;
  /** The next calls of the verb fail with these errors. */
  refuse(verb: string, ...failures: readonly Error[]): void;
  /** Resolves when a watch has started. */
  readonly whenWatched: Promise<void>;
}

export const refused = (status: number, message = `status ${status}`): ApiRequestError =>
  new ApiRequestError({ status, reason: 'Unknown', message });

interface Watchers {
  readonly whenWatched: Promise<void>;
  notify(event: WatchEvent): void;
  watch(signal: AbortSignal): AsyncGenerator<WatchEvent, void>;
}

function createWatchers(): Watchers {
  const all = new Set<(event: WatchEvent) => void>();
  const watched = Promise.withResolvers<void>();

  async function* watch(signal: AbortSignal): AsyncGenerator<WatchEvent, void> {
    const queue: WatchEvent[] = [];
    let wake = Promise.withResolvers<void>();
    const notify = (event: WatchEvent): void => {
      queue.push(event);
      wake.resolve();
    };
    signal.addEventListener('abort', () => wake.resolve(), { once: true });
    all.add(notify);
    watched.resolve();
    try {
      for (;;) {
        signal.throwIfAborted();
        const event = queue.shift();
        if (event !== undefined) yield event;
        else {
          await wake.promise;
          wake = Promise.withResolvers();
        }
      }
    } finally {
      all.delete(notify);
    }
  }

  return {
    whenWatched: watched.promise,
    notify(event) {
      for (const notify of all) notify(event);
    },
    watch,
  };
}

export function createTestServer(): TestServer {
  const objects = new Map<string, Json>();
  const watchers = createWatchers();
  const calls: string[] = [];
  const failures = new Map<string, Error[]>();
  let version = 0;

  function record(verb: string, name: string): void {
    calls.push(`${verb} ${name}`);
    const failure = failures.get(verb)?.shift();
    if (failure !== undefined) throw failure;
  }

  function put(name: string, object: Json | undefined): void {
    version += 1;
    const before = objects.get(name);
    if (object === undefined) objects.delete(name);
    else {
      const metadata = isObject(object['metadata']) ? object['metadata'] : {};
      objects.set(name, { ...object, metadata: { ...metadata, name, resourceVersion: String(version) } });
    }
    const type = object === undefined ? 'DELETED' : before === undefined ? 'ADDED' : 'MODIFIED';
    const now = objects.get(name) ?? before;
    if (now !== undefined) watchers.notify({ type, object: now });
  }

  function read(name: string): Json {
    const object = objects.get(name);
    if (object === undefined) throw refused(404);
    return object;
  }

  const client: TestServer['client'] = {
    async get({ name }) {
      record('get', name);
      return read(name);
    },
    async create(_, object) {
      const name = metadataText(object, 'name') ?? '';
      record('create', name);
      if (objects.has(name)) throw refused(409);
      put(name, object);
      return read(name);
    },
    async update({ name }, object) {
      record('update', name);
      put(name, object);
      return read(name);
    },
    async patch({ name }, { content }) {
      record('patch', name);
      const before = read(name);
      const change = isObject(content) && isObject(content['metadata']) ? content['metadata'] : {};
      const metadata = isObject(before['metadata']) ? before['metadata'] : {};
      const merged = Object.entries(change).map(([key, value]) => [
        key,
        isObject(value) && isObject(metadata[key]) ? { ...metadata[key], ...value } : value,
      ]);
      put(name, { ...before, metadata: { ...metadata, ...Object.fromEntries(merged) } });
      return read(name);
    },
    async delete({ name }) {
      record('delete', name);
      const object = read(name);
      const metadata = isObject(object['metadata']) ? object['metadata'] : {};
      const isKept = Array.isArray(metadata['finalizers']);
      const deleting = {
        ...object,
        metadata: { ...metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
      };
      put(name, isKept ? deleting : undefined);
      return {};
    },
    watch: (_, signal) => watchers.watch(signal),
  };

  return {
    calls,
    put,
    get: (name) => objects.get(name),
    refuse: (verb, ...next) => failures.set(verb, [...next]),
    whenWatched: watchers.whenWatched,
    client,
  };
}
