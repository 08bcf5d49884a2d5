/** Asks a server for the resources of a group's version: whether it is there, and what it has. */
import { type RequestOptions, request } from 'node:https';
import { asError } from '#api/kit/clock.ts';
import type { APIResource } from '#api/schema/gen/meta-v1.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import { MASTERS_GROUP } from '../authn/users.ts';
import { isMembers } from '../resources/view.ts';
import { apiPath, type RemoteApi } from './api-services.ts';
import type { RemoteTls } from './remote-server.ts';
import type { Address } from './resolve-service.ts';
import { userHeaders } from './user-headers.ts';

export type DiscoveryResult =
  | { readonly kind: 'answered'; readonly resources: readonly APIResource[] }
  | { readonly kind: 'failed'; readonly url: string; readonly problem: string };

export interface DiscoveryTarget {
  readonly api: Pick<RemoteApi, 'group' | 'version'>;
  readonly address: Address;
  readonly tls: RemoteTls;
}

const TIMEOUT_MS = 5000;
const MOST_BYTES = 4 * 1024 * 1024;
const MOST_RESOURCES = 10_000;

interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

function ask(options: RequestOptions, signal: AbortSignal): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ ...options, signal, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        if (size > MOST_BYTES) response.destroy(new Error(`the answer is larger than ${MOST_BYTES} bytes`));
        else chunks.push(chunk);
      });
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: Buffer.concat(chunks) }));
    });
    outgoing.on('error', reject);
    outgoing.end();
  });
}

const isText = (value: unknown): value is string => typeof value === 'string';
const texts = (value: unknown): readonly string[] => (Array.isArray(value) ? value.filter(isText) : []);
const optional = (name: string, value: unknown): object =>
  isText(value) && value !== '' ? { [name]: value } : {};

function parseResource(value: unknown): readonly APIResource[] {
  if (!isMembers(value)) return [];
  const { name, kind, singularName, namespaced, verbs, shortNames, categories } = value;
  if (!isText(name) || !isText(kind)) return [];
  return [
    {
      name,
      singularName: isText(singularName) ? singularName : '',
      namespaced: namespaced === true,
      ...optional('group', value['group']),
      ...optional('version', value['version']),
      kind,
      verbs: texts(verbs),
      ...(shortNames === undefined ? {} : { shortNames: texts(shortNames) }),
      ...(categories === undefined ? {} : { categories: texts(categories) }),
      ...optional('storageVersionHash', value['storageVersionHash']),
    },
  ];
}

/** The resources in the document of a group's version; what isn't one is left out. Only JSON is asked for, but a
 *  server that has another form is there all the same. */
export function parseResources(body: Buffer): readonly APIResource[] {
  let document: unknown;
  try {
    document = JSON.parse(body.toString('utf8'));
  } catch {
    return [];
  }
  const resources = isMembers(document) ? document['resources'] : undefined;
  return Array.isArray(resources) ? resources.slice(0, MOST_RESOURCES).flatMap(parseResource) : [];
}

const urlOf = ({ host, port }: Address, path: string): string =>
  `https://${host.includes(':') ? `[${host}]` : host}:${port}${path}`;

/** Never rejects. */
export async function checkDiscovery(
  { api, address, tls }: DiscoveryTarget,
  { componentPrefix }: Vocabulary,
  signal: AbortSignal,
): Promise<DiscoveryResult> {
  const path = apiPath(api.group, api.version);
  const url = urlOf(address, path);
  const failed = (problem: string): DiscoveryResult => ({ kind: 'failed', url, problem });
  const user = { name: `system:${componentPrefix}-aggregator`, groups: [MASTERS_GROUP], extra: {} };
  const headers = { ...userHeaders(user), accept: 'application/json' };
  try {
    const options = { ...tls, ...address, path, headers };
    const { status, body } = await ask(options, AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]));
    if (status < 200 || status > 299) return failed(`bad status ${status}`);
    return { kind: 'answered', resources: parseResources(body) };
  } catch (thrown) {
    const error = asError(thrown);
    return failed(error.name === 'AbortError' ? `no answer within ${TIMEOUT_MS / 1000} s` : error.message);
  }
}
