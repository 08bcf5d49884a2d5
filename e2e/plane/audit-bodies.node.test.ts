/** Bodies in the audit log: for every advertised content type of requests and responses, the same as in JSON.
 *  Document 1 §4.7 and 9.4. */
import { readFile, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect, test } from 'vitest';
import { formatYaml, parseYaml } from '#api/codec/yaml.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { eventually } from '../../testing/wait.ts';
import { type Json, type Reply, usePlane } from './support.ts';

interface AuditEvent {
  readonly auditID: string;
  readonly requestObject?: unknown;
  readonly responseObject?: unknown;
  readonly responseStatus?: Json;
  readonly annotations?: Json;
}

const words = VOCABULARIES.kubernetes;
const PROTOBUF = words.protobufContentType;
const YAML = 'application/yaml';
const POLICY = formatYaml({
  apiVersion: `audit.${words.apiGroupDomain}/v1`,
  kind: 'Policy',
  omitStages: ['RequestReceived'],
  rules: [{ level: 'RequestResponse' }],
});

let file = '';
const plane = usePlane('kubernetes', async (dir) => {
  file = `${dir}/audit.log`;
  await writeFile(`${dir}/policy.yaml`, POLICY);
  return [`--audit-log-path=${file}`, `--audit-policy-file=${dir}/policy.yaml`];
});

/** Without the last line as long as it is being written. */
async function eventOf({ headers }: Reply): Promise<AuditEvent> {
  const id = headers['audit-id'];
  return eventually(async () => {
    const lines = (await readFile(file, 'utf8')).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line) as AuditEvent).find(({ auditID }) => auditID === id);
  });
}

/** Returns the content types that the server lists when it rejects another. */
async function takenFor(method: string, path: string): Promise<readonly string[]> {
  const { status, body } = await plane.call(method, path, '{}', { type: 'text/nonsense' });
  expect(status).toBe(415);
  return /include: (.*)$/.exec(body.message)?.[1]?.split(', ') ?? [];
}

async function made(path: string): Promise<readonly string[]> {
  const { status, body } = await plane.get(path, { accept: 'text/nonsense' });
  expect(status).toBe(406);
  return /accepted: (.*)$/.exec(body.message)?.[1]?.split(', ') ?? [];
}

/** A value in a content type. */
function written(value: Json, type: string): string | Buffer {
  if (type === PROTOBUF) return plane.protobuf.encode(value as Json & { apiVersion: string; kind: string });
  return type === YAML ? formatYaml(value) : JSON.stringify(value);
}

/** Returns the value of a response, by its content type. */
function read({ headers, bytes, text }: Reply): unknown {
  const type = String(headers['content-type']);
  if (type === PROTOBUF) return plane.protobuf.decode(bytes);
  return type === YAML ? parseYaml(text)[0]?.value : JSON.parse(text);
}

/** Returns the response as JSON: requests a protobuf list again, because its items lack their kind. */
async function inJson(reply: Reply, path: string, form: string): Promise<unknown> {
  if (reply.headers['content-type'] !== PROTOBUF) return read(reply);
  const again = JSON.parse((await plane.get(path, { accept: `application/json${form}` })).text) as Json;
  // The version of a list is that of everything.
  const { metadata } = read(reply) as Json;
  return 'items' in again ? { ...again, metadata } : again;
}

let at: string;
let names = 0;
const secret = (): Json & { readonly metadata: { readonly name: string } } => {
  names += 1;
  const metadata = { name: `s-${names}`, labels: { a: 'b' } };
  return { apiVersion: 'v1', kind: 'Secret', metadata, data: { key: 'dmFsdWU=' }, type: 'Opaque' };
};
beforeAll(async () => {
  at = `${await plane.namespace()}/secrets`;
});

describe('requests', () => {
  test('to create, to update and to delete, of every accepted media type', async () => {
    const types = await takenFor('POST', at);
    expect(types).toEqual(expect.arrayContaining(['application/json', YAML, PROTOBUF]));
    for (const type of [...types, 'application/json; charset=utf-8', 'APPLICATION/JSON', `${YAML}; a=b`]) {
      const bare = type.toLowerCase().split(';')[0] ?? '';
      const object = secret();
      const created = await plane.post(at, written(object, bare), { type });
      expect([type, created.status]).toEqual([type, 201]);
      expect(await eventOf(created)).toMatchObject({
        requestObject: object,
        responseObject: { kind: 'Secret' },
      });
      const path = `${at}/${object.metadata.name}`;
      const change = { ...object, data: { key: 'b3RoZXI=' } };
      const updated = await eventOf(await plane.put(path, written(change, bare), { type }));
      expect(updated.requestObject).toEqual(change);
      const options = { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Background' };
      const deleted = await plane.call('DELETE', path, written(options, bare), { type });
      expect((await eventOf(deleted)).requestObject).toEqual(options);
    }
  });

  test('to patch, of every accepted media type', async () => {
    const object = secret();
    const path = `${at}/${object.metadata.name}`;
    await plane.post(at, object);
    const types = await takenFor('PATCH', path);
    expect(types).toHaveLength(4);
    const metadata = { annotations: { a: 'b' } };
    const applied = { apiVersion: 'v1', kind: 'Secret', metadata };
    for (const type of types) {
      const isApply = type.endsWith('+yaml');
      const operations = [{ op: 'add', path: '/metadata/annotations', value: { a: 'b' } }];
      const patch = isApply ? applied : type.startsWith('application/json-') ? operations : { metadata };
      const texts = isApply ? [formatYaml(patch), JSON.stringify(patch)] : [JSON.stringify(patch)];
      for (const text of texts) {
        const query = isApply ? '?fieldManager=x&force=true' : '';
        const reply = await plane.call('PATCH', `${path}${query}`, text, { type });
        expect([type, reply.status]).toEqual([type, 200]);
        expect((await eventOf(reply)).requestObject).toEqual(patch);
      }
    }
  });

  test('to subresources', async () => {
    const pods = at.replace('secrets', 'pods');
    await plane.post(at.replace('secrets', 'serviceaccounts'), { metadata: { name: 'default' } });
    await plane.post(pods, { metadata: { name: 'p' }, spec: { containers: [{ name: 'c', image: 'i' }] } });
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'p' },
      target: { kind: 'Node', name: 'n' },
    };
    for (const type of [YAML, PROTOBUF]) {
      const reply = await plane.post(`${pods}/p/binding?dryRun=All`, written(binding, type), { type });
      expect((await eventOf(reply)).requestObject).toEqual(binding);
    }
  });

  test('that are compressed', async () => {
    for (const type of ['application/json', YAML, PROTOBUF]) {
      const object = secret();
      const body = gzipSync(written(object, type));
      const reply = await plane.post(at, body, { type, headers: { 'content-encoding': 'gzip' } });
      expect((await eventOf(reply)).requestObject).toEqual(object);
    }
  });

  test.each([
    ['application/json', '{"kind":'],
    [YAML, 'a: [b'],
    [PROTOBUF, 'k8s\0nonsense'],
    ['application/merge-patch+json', '{'],
    ['application/apply-patch+yaml', 'a: [b'],
  ])('that cannot be read are marked: %s', async (type, text) => {
    const isPatch = type.includes('patch');
    const reply = await plane.call(
      isPatch ? 'PATCH' : 'POST',
      isPatch ? `${at}/s?fieldManager=x` : at,
      text,
      { type },
    );
    expect(reply.status).toBe(400);
    const event = await eventOf(reply);
    expect(event).not.toHaveProperty('requestObject');
    expect(event.annotations).toMatchObject({
      [`audit.${words.apiGroupDomain}/unreadable`]: 'requestObject',
    });
  });
});

describe('responses', () => {
  const as = (kind: string): string => `;as=${kind};v=v1;g=meta.${words.apiGroupDomain}`;

  test('of every media type, in every form', async () => {
    const object = secret();
    await plane.post(at, object);
    const path = `${at}/${object.metadata.name}`;
    const types = await made(path);
    expect(types).toEqual(expect.arrayContaining(['application/json', YAML, PROTOBUF]));
    for (const type of types) {
      const forms: readonly (readonly [string, string])[] = [
        [path, ''],
        [at, ''],
        [`${at}?limit=1`, ''],
        [path, as('PartialObjectMetadata')],
        [at, as('PartialObjectMetadataList')],
        // There are no tables in protobuf.
        ...(type === PROTOBUF ? [] : [path, at]).map((each) => [each, as('Table')] as const),
        [`${path}-not-there`, ''],
      ];
      for (const [target, form] of forms) {
        const reply = await plane.get(target, { accept: `${type}${form}` });
        expect([target, reply.headers['content-type']]).toEqual([target, type]);
        const event = await eventOf(reply);
        const wanted = await inJson(reply, target, form);
        expect({ target, form, type, seen: event.responseObject }).toEqual({
          target,
          form,
          type,
          seen: wanted,
        });
        expect(event.annotations).not.toHaveProperty(`audit.${words.apiGroupDomain}/unreadable`);
      }
    }
  });

  test.each(['application/json', YAML, PROTOBUF])('of failures contain the cause, in %s', async (accept) => {
    const event = await eventOf(await plane.get(`${at}/missing`, { accept }));
    expect(event.responseStatus).toMatchObject({ code: 404, reason: 'NotFound', status: 'Failure' });
  });

  test.each([YAML, PROTOBUF])('to writes and reviews, in %s', async (accept) => {
    const added = await plane.post(at, secret(), { headers: { accept } });
    expect((await eventOf(added)).responseObject).toEqual(read(added));
    const review = { spec: { nonResourceAttributes: { path: '/', verb: 'get' } } };
    const path = plane.path('authorization/v1', 'selfsubjectaccessreviews');
    const reviewed = await plane.post(path, review, { headers: { accept } });
    expect((await eventOf(reviewed)).responseObject).toMatchObject(read(reviewed) as Json);
  });
});
