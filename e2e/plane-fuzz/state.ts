/** Invariants of the fuzz test: untouched objects are unchanged, and everything can still be read. */
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import type { Vocabulary } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { CUSTOM_GROUP, customDefinition } from './custom.ts';
import type { PlaneChild } from './plane-child.ts';
import type { Members, World } from './requests.ts';

/** Objects by their path, as the server shows them. */
export type Canaries = Readonly<Record<string, unknown>>;

const PLACE = 'intact';
const PATIENCE_MS = 30_000;

interface Reply {
  readonly status: number;
  readonly text: string;
}

async function call(
  { url, agent }: PlaneChild,
  method: 'GET' | 'POST',
  path: string,
  options: { readonly body?: unknown; readonly accept?: string } = {},
): Promise<Reply> {
  const { body, accept = 'application/json' } = options;
  const outgoing = request(url + path, {
    agent,
    method,
    headers: { accept, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  const received = once(outgoing, 'response') as Promise<[IncomingMessage]>;
  outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = await received;
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') };
}

/** One object of every kind that has a namespace (events end by themselves), in a namespace of their own; the fuzzed
 *  namespace is made too.
 *  @throws Error if one can't be made */
export async function plantCanaries(plane: PlaneChild, world: World, fuzzed: string): Promise<Canaries> {
  for (const name of [fuzzed, PLACE]) {
    await call(plane, 'POST', '/api/v1/namespaces', { body: { metadata: { name } } });
  }
  await plantDefinition(plane, world.words);
  const paths: string[] = [];
  for (const { path, namespaced, object, dryOnly } of world.kinds) {
    if (!namespaced || dryOnly || path.endsWith('/events')) continue;
    const place = path.replace(`/namespaces/${fuzzed}/`, `/namespaces/${PLACE}/`);
    const { metadata } = object as { metadata: Members };
    const { status, text } = await call(plane, 'POST', place, { body: { ...object, metadata } });
    if (status !== 201 && status !== 409) throw new Error(`POST ${place}: ${status} ${text}`);
    paths.push(`${place}/${String(metadata['name'])}`);
  }
  return readCanaries(plane, Object.fromEntries(paths.map((path) => [path, undefined])));
}

async function plantDefinition(plane: PlaneChild, words: Vocabulary): Promise<void> {
  const path = `/apis/apiextensions.${words.apiGroupDomain}/v1/customresourcedefinitions`;
  const { status, text } = await call(plane, 'POST', path, { body: customDefinition(words) });
  if (status !== 201) throw new Error(`POST ${path}: ${status} ${text}`);
  await eventually(async () => (await call(plane, 'GET', `/apis/${CUSTOM_GROUP}/v2/samples`)).status === 200);
}

export async function readCanaries(plane: PlaneChild, canaries: Canaries): Promise<Canaries> {
  const found = await Promise.all(
    Object.keys(canaries).map(
      async (path) => [path, JSON.parse((await call(plane, 'GET', path)).text)] as const,
    ),
  );
  return Object.fromEntries(found);
}

/** Every list in every form. @throws Error that says which one can't be had */
export async function expectReadable(plane: PlaneChild, { kinds, words }: World): Promise<void> {
  const table = `application/json;as=Table;g=meta.${words.apiGroupDomain};v=v1`;
  for (const accept of [
    'application/json',
    `${words.protobufContentType},application/json`,
    'application/yaml',
    table,
  ]) {
    for (const { path } of kinds) {
      const everywhere = path.replace(/\/namespaces\/[^/]+(?=\/)/, '');
      const { status, text } = await call(plane, 'GET', everywhere, { accept });
      if (status !== 200) throw new Error(`GET ${everywhere} as ${accept}: ${status} ${text.slice(0, 2000)}`);
    }
  }
}
