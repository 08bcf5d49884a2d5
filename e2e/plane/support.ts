/** Fixture of the conformance tests: a server for each file, requests, and watches. */

import { writeFile } from 'node:fs/promises';
import { StringDecoder } from 'node:string_decoder';
import { setTimeout as pause } from 'node:timers/promises';
import { type Dispatcher, request } from 'undici';
import { afterAll, beforeAll } from 'vitest';
import { parseJsonText } from '#api/codec/json-text.ts';
import type { ListMeta, ObjectMeta, StatusDetails } from '#api/gen/meta-v1.ts';
import { type ApiProtobuf, createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES, type Vocabulary, type VocabularyName } from '#api/vocabulary.ts';
import { API_ALONE, startTestPlane, type TestPlane } from '#plane/main.fixture.ts';
import { createTempDir, type TempDir } from '../../testing/temp.ts';

export type Json = Readonly<Record<string, unknown>>;

/** The parts of a response that tests use: an object, a list, a table or a Status. */
export interface Body {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: ObjectMeta & ListMeta;
  readonly items: readonly Body[];
  readonly spec: Json;
  readonly status: Json;
  readonly data: Readonly<Record<string, string>>;
  readonly rows: readonly { readonly cells: readonly unknown[]; readonly object: Body | null }[];
  readonly columnDefinitions: readonly { readonly name: string; readonly type: string }[];
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly details: StatusDetails;
}

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  readonly text: string;
  /** The body as JSON; `undefined` if it is none. */
  readonly body: Body;
}

export interface Options {
  readonly headers?: Readonly<Record<string, string>>;
  readonly type?: string;
  /** Instead of the administrator's certificate. */
  readonly dispatcher?: Dispatcher;
}

/** For `expect.poll`: what is written shows soon, but machines are busy. */
export const WAIT: { readonly timeout: number } = { timeout: 10_000 };

/** Content types of patches. */
export const MERGE = 'application/merge-patch+json';
export const JSON_PATCH = 'application/json-patch+json';
export const STRATEGIC = 'application/strategic-merge-patch+json';
export const APPLY = 'application/apply-patch+yaml';

export interface Client {
  call(method: string, path: string, body?: unknown, options?: Options): Promise<Reply>;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Reply>;
  post(path: string, body: unknown, options?: Options): Promise<Reply>;
  put(path: string, body: unknown, options?: Options): Promise<Reply>;
  /** A merge patch unless `type` says otherwise. */
  patch(path: string, body: unknown, type?: string, options?: Options): Promise<Reply>;
  apply(path: string, body: unknown): Promise<Reply>;
  delete(path: string, body?: unknown): Promise<Reply>;
  watch(path: string, headers?: Readonly<Record<string, string>>): Promise<WatchStream>;
}

export interface WatchEvent {
  readonly type: string;
  readonly object: Body;
}

export interface WatchStream extends AsyncDisposable {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Returns the next event; `undefined` at the stream's end. @throws Error after 10 s, and on calls after
   *  the end */
  next(): Promise<WatchEvent | undefined>;
  /** The next events, as `TYPE name`. */
  take(count: number): Promise<readonly string[]>;
  close(): void;
}

export interface Plane extends Client {
  readonly words: Vocabulary;
  readonly protobuf: ApiProtobuf;
  readonly server: TestPlane;
  /** Path of a resource of a group, whose domain is the vocabulary's: `storage/v1/storageclasses`. */
  path(groupVersion: string, rest: string): string;
  /** With a token instead of the administrator's certificate; empty: with nothing. */
  as(token: string, headers?: Readonly<Record<string, string>>): Client;
  /** A new namespace, as the path below which its objects are: `/api/v1/namespaces/ns-1`. */
  namespace(): Promise<string>;
  /** The revision of the state as it is now. */
  revision(): Promise<string>;
}

const parse = (text: string): Body => {
  try {
    return parseJsonText(text) as Body;
  } catch {
    return undefined as unknown as Body;
  }
};

function contentOf(body: unknown): string | Buffer | undefined {
  return body === undefined || typeof body === 'string' || Buffer.isBuffer(body)
    ? body
    : JSON.stringify(body);
}

const EVENT_MS = 10_000;

function streamOf({ statusCode, headers, body }: Dispatcher.ResponseData, end: () => void): WatchStream {
  const pieces = body[Symbol.asyncIterator]();
  // A piece may end within a character.
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let ended = false;
  async function line(): Promise<string | undefined> {
    for (;;) {
      const newline = rest.indexOf('\n');
      if (newline >= 0) {
        const found = rest.slice(0, newline);
        rest = rest.slice(newline + 1);
        return found;
      }
      // Loops that wait for a missing event must end with the server.
      if (ended) throw new Error('the stream has ended');
      const { value, done } = (await pieces.next()) as { value: Buffer; done?: boolean };
      ended = done === true;
      if (ended) return undefined;
      rest += decoder.write(value);
    }
  }
  const stream: WatchStream = {
    status: statusCode,
    headers,
    async next() {
      const late = pause(EVENT_MS, undefined, { ref: false }).then((): never => {
        throw new Error(`no event within ${EVENT_MS} ms`);
      });
      const found = await Promise.race([line(), late]);
      return found === undefined ? undefined : (parseJsonText(found) as WatchEvent);
    },
    async take(count) {
      const events: string[] = [];
      while (events.length < count) {
        const event = await stream.next();
        if (event === undefined) break;
        events.push(`${event.type} ${event.object.metadata.name ?? ''}`.trim());
      }
      return events;
    },
    close: end,
    [Symbol.asyncDispose]: () => Promise.resolve(end()),
  };
  return stream;
}

/** `common` goes with every request. */
function createClient(url: () => string, common: () => Options): Client {
  const send = (
    method: string,
    path: string,
    body: unknown,
    options: Options,
    signal?: AbortSignal,
  ): Promise<Dispatcher.ResponseData> => {
    const content = contentOf(body);
    const { headers = {}, dispatcher } = common();
    return request(url() + path, {
      method: method as 'GET',
      ...((options.dispatcher ?? dispatcher) && { dispatcher: options.dispatcher ?? dispatcher }),
      headers: {
        ...(content === undefined ? {} : { 'content-type': options.type ?? 'application/json' }),
        ...headers,
        ...options.headers,
      },
      ...(content === undefined ? {} : { body: content }),
      ...(signal === undefined ? {} : { signal }),
    });
  };
  const call: Client['call'] = async (method, path, body, options = {}) => {
    const { statusCode, headers, body: stream } = await send(method, path, body, options);
    const bytes = Buffer.from(await stream.arrayBuffer());
    const text = bytes.toString('utf8');
    return { status: statusCode, headers, bytes, text, body: parse(text) };
  };
  return {
    call,
    get: (path, headers) => call('GET', path, undefined, headers === undefined ? {} : { headers }),
    post: (path, body, options) => call('POST', path, body, options),
    put: (path, body, options) => call('PUT', path, body, options),
    patch: (path, body, type = MERGE, options = {}) => call('PATCH', path, body, { type, ...options }),
    apply: (path, body) => call('PATCH', path, body, { type: APPLY }),
    delete: (path, body) => call('DELETE', path, body),
    async watch(path, headers) {
      const controller = new AbortController();
      const options = headers === undefined ? {} : { headers };
      const response = await send('GET', path, undefined, options, controller.signal);
      // Cutting a stream off is no failure.
      response.body.on('error', () => undefined);
      return streamOf(response, () => controller.abort());
    },
  };
}

/** Flags, or a function that returns them and creates their files in a folder that is removed with the
 *  server. */
type Flags = readonly string[] | ((dir: string) => Promise<readonly string[]>);

/** Returns flags with a user for each line `token,name,uid,"groups"`. */
export const tokens =
  (...lines: readonly string[]): Flags =>
  async (dir) => {
    await writeFile(`${dir}/tokens`, `${lines.join('\n')}\n`);
    return ['--token-auth-file', `${dir}/tokens`];
  };

/** Returns the server of a file (or of a `describe`): started before its tests, stopped after them. Only
 *  controllers that create no objects by themselves run in it, unless the flags have `--controllers`. */
export function usePlane(vocabulary: VocabularyName = 'plat', flags: Flags = []): Plane {
  let server: TestPlane;
  let dir: TempDir | undefined;
  let names = 0;
  beforeAll(async () => {
    dir = typeof flags === 'function' ? await createTempDir('na-flags-') : undefined;
    const more = typeof flags === 'function' ? await flags(dir?.path ?? '') : flags;
    const alone = more.some((flag) => flag.startsWith('--controllers')) ? [] : API_ALONE;
    server = await startTestPlane(['--vocabulary', vocabulary, ...alone, ...more]);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await dir?.[Symbol.asyncDispose]();
  });
  const words = VOCABULARIES[vocabulary];
  const url = (): string => server.url;
  const client = createClient(url, () => ({ dispatcher: server.agent }));
  return {
    ...client,
    words,
    protobuf: createApiProtobuf(words),
    get server() {
      return server;
    },
    path(groupVersion, rest) {
      const [group = '', version = ''] = groupVersion.split('/');
      const domain = BARE_GROUPS.has(group) ? '' : `.${words.apiGroupDomain}`;
      return `/apis/${group}${domain}/${version}/${rest}`;
    },
    as: (token, headers = {}) =>
      createClient(url, () => ({
        dispatcher: server.anonymousAgent,
        headers: { ...(token === '' ? {} : { authorization: `Bearer ${token}` }), ...headers },
      })),
    async namespace() {
      names += 1;
      const name = `ns-${names}`;
      await client.post('/api/v1/namespaces', { metadata: { name } });
      return `/api/v1/namespaces/${name}`;
    },
    async revision() {
      const list = await client.get('/api/v1/namespaces?limit=1');
      return list.body.metadata.resourceVersion ?? '';
    },
  };
}

/** Groups without a domain. */
const BARE_GROUPS: ReadonlySet<string> = new Set(['apps', 'batch', 'autoscaling', 'policy']);

/** The vocabularies, for tests of what differs between them. */
export const VOCABULARY_NAMES: readonly VocabularyName[] = ['plat', 'kubernetes'];

/** A ConfigMap with one value. */
export const configMap = (name: string, value = '1', metadata: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, ...metadata },
  data: { value },
});

/** A pod of one container. */
export const pod = (name: string, spec: Json = {}, metadata: Json = {}): Json => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, ...metadata },
  spec: { containers: [{ name: 'main', image: 'busybox' }], ...spec },
});

/** A workload of `apps` with the labels `app: <name>`. */
export const workload = (kind: string, name: string, spec: Json = {}): Json => ({
  apiVersion: 'apps/v1',
  kind,
  metadata: { name },
  spec: {
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'main', image: 'busybox' }] },
    },
    ...spec,
  },
});
