/** Shared test data of content: resources, cached objects, requests. */

import { StatusError } from '#api/meta/status-error.ts';
import { type ApiProtobuf, createApiProtobuf } from '#api/protobuf/api-protobuf.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { CachedObject } from '../cache/contract.ts';
import type { Content } from '../endpoints/content.ts';
import type { ApiRequest, ApiResponse } from '../http/contract.ts';
import { createBuiltinSchema } from '../resources/builtin-schema.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { builtinFacts } from '../resources/facts.ts';
import { createContent } from './content.ts';

const { plat } = VOCABULARIES;
export const PROTOBUF: string = plat.protobufContentType;
export const META: string = `meta.${plat.apiGroupDomain}/v1`;
export const AS: string = `g=meta.${plat.apiGroupDomain};v=v1`;
export const protobuf: ApiProtobuf = createApiProtobuf(plat);
export const now = (): number => Date.parse('2024-01-01T00:05:00Z');
export const content: Content = createContent({ vocabulary: plat, now });

export function resourceOf(kind: string, extra: Partial<Resource> = {}): Resource {
  const fact = builtinFacts(plat).find(({ info }) => info.kind === kind);
  if (fact === undefined) throw new Error(`no ${kind}`);
  const { info, typeRef } = fact;
  const { plural, namespaced } = info;
  return {
    info,
    schema: createBuiltinSchema(typeRef, { vocabulary: plat, gates: new Set() }),
    strategy: {},
    parts: {},
    storage: { prefix: `/registry/${plural}/`, apiVersion: info.version, kind, namespaced },
    ...extra,
  };
}
export const maps: Resource = resourceOf('ConfigMap');
export const pods: Resource = resourceOf('Pod', {
  strategy: { row: (object, { nowMs }) => [object.metadata.name ?? '', '1/1', 'Running', 0, String(nowMs)] },
});

export function cachedOf(object: ApiObject, onMake: (name: string) => void = () => {}): CachedObject {
  const json = Buffer.from(JSON.stringify(object));
  const forms = new Map<string, Buffer>();
  const { name = '', namespace = '', resourceVersion } = object.metadata;
  return {
    key: `${namespace}/${name}`,
    namespace,
    name,
    revision: Number(resourceVersion),
    madeHere: false,
    json,
    labels: {},
    fields: {},
    object: () => object,
    form(form, make) {
      const bytes = forms.get(form) ?? make();
      if (!forms.has(form)) onMake(form);
      forms.set(form, bytes);
      return bytes;
    },
  };
}
export const objectOf = (name: string, revision = 7, kind = 'ConfigMap'): ApiObject => ({
  kind,
  apiVersion: 'v1',
  metadata: {
    name,
    namespace: 'default',
    uid: 'u',
    resourceVersion: String(revision),
    creationTimestamp: '2024-01-01T00:00:00Z',
  },
  ...(kind === 'Pod' ? { spec: { containers: [] } } : { data: { a: 'x\n\ny' } }),
});

export interface SentRequest {
  readonly accept?: string;
  readonly type?: string;
  readonly body?: string | Buffer;
  readonly query?: string;
  readonly agent?: string;
}

export function requestOf(
  { accept, type, body = '', query = '', agent }: SentRequest,
  warnings: string[] = [],
): ApiRequest {
  return {
    id: '1',
    method: 'GET',
    info: {
      path: '/',
      isResource: true,
      verb: 'get',
      group: '',
      version: 'v1',
      namespace: 'default',
      resource: 'configmaps',
      subresource: '',
      name: 'a',
      rest: '',
    },
    query: new URLSearchParams(query),
    headers: {
      ...(accept === undefined ? {} : { accept }),
      ...(type === undefined ? {} : { 'content-type': type }),
      ...(agent === undefined ? {} : { 'user-agent': agent }),
    },
    user: { name: 'u', groups: [], extra: {} },
    receivedMs: 0,
    signal: new AbortController().signal,
    readBody: () => Promise.resolve(Buffer.from(body)),
    warn: (text) => void warnings.push(text),
    annotate: () => {},
  };
}

export function bytesOf(response: ApiResponse): Buffer {
  if (response.kind !== 'bytes') throw new Error(response.kind);
  return Buffer.isBuffer(response.body) ? response.body : Buffer.concat(response.body);
}
export const jsonOf = (response: ApiResponse): unknown => JSON.parse(bytesOf(response).toString('utf8'));
export const typeOf = (response: ApiResponse): string =>
  response.kind === 'bytes' ? response.contentType : '';

export async function failure(work: () => unknown): Promise<string> {
  try {
    await work();
    return 'none';
  } catch (error) {
    return error instanceof StatusError ? `${error.code} ${error.message}` : String(error);
  }
}
