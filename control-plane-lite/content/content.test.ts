import { describe, expect, it, test } from 'vitest';
import { parseYaml } from '#api/codec/yaml.ts';
import { StatusError } from '#api/meta/status-error.ts';
import { unwrapMessage, watchFrames } from '#api/protobuf/envelope.ts';
import { META_PACKAGE } from '#api/schema/registry.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import type { ApiResponse } from '../http/contract.ts';
import type { ApiObject } from '../resources/contract.ts';
import { defaultColumns } from '../resources/facts.ts';
import {
  AS,
  bytesOf,
  cachedOf,
  content,
  failure,
  jsonOf,
  META,
  maps,
  now,
  objectOf,
  PROTOBUF,
  pods,
  protobuf,
  requestOf,
  resourceOf,
  type SentRequest,
  typeOf,
} from './content.fixture.ts';
import { createStatusEncoder } from './plain.ts';

const { plat } = VOCABULARIES;

describe('one object', () => {
  const object = objectOf('a');
  const show = (sent: SentRequest, resource = maps, entry = cachedOf(object)): Promise<ApiResponse> =>
    content.cached(requestOf(sent), resource, entry);

  it('is the very bytes of the cache where that is what is wanted', async () => {
    const entry = cachedOf(object);
    const response = await show({}, maps, entry);
    expect(response.kind === 'bytes' && response.body[0]).toBe(entry.json);
    expect(typeOf(response)).toBe('application/json');
  });

  it('is JSON for people, YAML, or protobuf', async () => {
    expect(bytesOf(await show({ agent: 'curl/8' })).toString()).toBe(`${JSON.stringify(object, null, 2)}\n`);
    const yaml = await show({ accept: 'application/yaml' });
    expect(parseYaml(bytesOf(yaml).toString())[0]?.value).toEqual(object);
    const encoded = await show({ accept: PROTOBUF });
    expect(typeOf(encoded)).toBe(PROTOBUF);
    expect(bytesOf(encoded).equals(protobuf.encode(object))).toBe(true);
  });

  it('is its metadata alone', async () => {
    const expected = { kind: 'PartialObjectMetadata', apiVersion: META, metadata: object.metadata };
    expect(jsonOf(await show({ accept: `application/json;as=PartialObjectMetadata;${AS}` }))).toEqual(
      expected,
    );
    const encoded = await show({ accept: `${PROTOBUF};as=PartialObjectMetadata;${AS}` });
    expect(protobuf.decode(bytesOf(encoded))).toEqual(expected);
  });

  it('is a table of one row', async () => {
    const table = await show(
      { accept: `application/json;as=Table;${AS}` },
      pods,
      cachedOf(objectOf('p', 7, 'Pod')),
    );
    expect(jsonOf(table)).toMatchObject({
      kind: 'Table',
      apiVersion: META,
      metadata: { resourceVersion: '7' },
      columnDefinitions: pods.info.columns.map(({ name, type }) => ({
        name,
        type,
        priority: expect.any(Number) as number,
      })),
      rows: [{ cells: ['p', '1/1', 'Running', 0, String(now())], object: { kind: 'PartialObjectMetadata' } }],
    });
  });

  it('is a table of default columns where the kind has no rows', async () => {
    const table = jsonOf(
      await show({ accept: `application/json;as=Table;${AS}`, query: 'includeObject=Object' }),
    );
    expect(table).toMatchObject({
      columnDefinitions: defaultColumns().map(({ name }) => ({ name })),
      rows: [{ cells: ['a', '2024-01-01T00:00:00Z'], object }],
    });
    const none = jsonOf(
      await show({ accept: `application/json;as=Table;${AS}`, query: 'includeObject=None' }),
    );
    expect(none).toMatchObject({ rows: [{ object: null }] });
    expect(
      await failure(() => show({ accept: `application/json;as=Table;${AS}`, query: 'includeObject=x' })),
    ).toBe('400 unrecognized includeObject value: "x"');
  });

  it('is refused as what it is not', async () => {
    expect(
      await failure(() => show({ accept: `application/json;as=PartialObjectMetadataList;${AS}` })),
    ).toMatch(/^406 .*not a list$/);
    expect(await failure(() => show({ accept: 'text/html' }))).toMatch(/^406/);
  });

  it('is encoded once for all', async () => {
    const made: string[] = [];
    const entry = cachedOf(object, (name) => made.push(name));
    for (let i = 0; i < 3; i += 1) await show({ accept: PROTOBUF }, maps, entry);
    expect(made).toEqual(['protobuf']);
  });

  test.each([
    ['at once', (stored: ApiObject): ApiObject => ({ ...stored, data: { converted: 'yes' } }), false],
    [
      'later',
      (stored: ApiObject): Promise<ApiObject> => Promise.resolve({ ...stored, data: { converted: 'yes' } }),
      true,
    ],
  ])('is converted %s where it is stored in another version', async (_, fromStorage, takesTime) => {
    const stored = resourceOf('ConfigMap');
    const resource = resourceOf('ConfigMap', {
      stored,
      conversion: { fromStorage, toStorage: (draft) => draft, takesTime },
    });
    expect(jsonOf(await show({}, resource))).toMatchObject({ kind: 'ConfigMap', data: { converted: 'yes' } });
    const list = await content.list(requestOf({}), resource, {
      items: [cachedOf(object)],
      revision: 7,
      continue: '',
    });
    expect(jsonOf(list)).toMatchObject({ items: [{ data: { converted: 'yes' } }] });
  });

  it('of a dry run is shown as the others are', async () => {
    const response = await content.object(requestOf({ accept: PROTOBUF }), maps, 201, { object });
    expect(response).toMatchObject({ kind: 'bytes', status: 201 });
    expect(protobuf.decode(bytesOf(response))).toEqual(object);
  });
});

describe('a list', () => {
  const objects = [objectOf('a', 5), objectOf('b', 6), objectOf('c', 7)];
  const page = {
    items: objects.map((object) => cachedOf(object)),
    revision: 9,
    continue: 'next',
    remaining: 4,
  };
  const metadata = { resourceVersion: '9', continue: 'next', remainingItemCount: 4 };
  const empty = { items: [], revision: 9, continue: '' };
  const whole = { kind: 'ConfigMapList', apiVersion: 'v1', metadata, items: objects };

  it('is built from the bytes of its items', async () => {
    const response = await content.list(requestOf({}), maps, page);
    expect(jsonOf(response)).toEqual(whole);
    const pieces = response.kind === 'bytes' && !Buffer.isBuffer(response.body) ? response.body : [];
    expect(page.items.every(({ json }) => pieces.includes(json))).toBe(true);
    expect(bytesOf(await content.list(requestOf({}), maps, empty)).toString()).toBe(
      '{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"9"},"items":[]}',
    );
  });

  test.each([page, empty])('is JSON for people, or YAML', async (shown) => {
    const plain = jsonOf(await content.list(requestOf({}), maps, shown));
    const text = bytesOf(await content.list(requestOf({ query: 'pretty=true' }), maps, shown)).toString();
    expect(JSON.parse(text)).toEqual(plain);
    expect(text.replaceAll(/\s/g, '')).toBe(JSON.stringify(plain, null, 2).replaceAll(/\s/g, ''));
    const yaml = bytesOf(
      await content.list(requestOf({ accept: 'application/yaml' }), maps, shown),
    ).toString();
    expect(parseYaml(yaml)[0]?.value).toEqual(plain);
  });

  it('is protobuf', async () => {
    const bytes = bytesOf(await content.list(requestOf({ accept: PROTOBUF }), maps, page));
    const items = objects.map(({ metadata: meta, data }) => ({ metadata: meta, data }));
    expect(protobuf.decode(bytes)).toEqual({ ...whole, items });
    expect(bytes.equals(protobuf.encode(whole))).toBe(true);
  });

  it('is a table', async () => {
    const accept = `application/json;as=Table;${AS},application/json`;
    const table = jsonOf(await content.list(requestOf({ accept }), pods, page));
    expect(table).toMatchObject({
      kind: 'Table',
      metadata,
      rows: objects.map(({ metadata: { name } }) => ({ cells: [name, '1/1', 'Running', 0, String(now())] })),
    });
    const yaml = await content.list(requestOf({ accept: `application/yaml;as=Table;${AS}` }), pods, page);
    expect(parseYaml(bytesOf(yaml).toString())[0]?.value).toEqual(table);
  });

  test.each(['v1', 'v1beta1'])('is metadata alone, in %s', async (version) => {
    const as = `as=PartialObjectMetadataList;g=meta.${plat.apiGroupDomain};v=${version}`;
    const apiVersion = `meta.${plat.apiGroupDomain}/${version}`;
    const items = objects.map((object) => ({
      kind: 'PartialObjectMetadata',
      apiVersion,
      metadata: object.metadata,
    }));
    const json = jsonOf(await content.list(requestOf({ accept: `application/json;${as}` }), maps, page));
    expect(json).toEqual({ kind: 'PartialObjectMetadataList', apiVersion, metadata, items });
    const bytes = bytesOf(await content.list(requestOf({ accept: `${PROTOBUF};${as}` }), maps, page));
    expect(protobuf.decode(bytes)).toEqual({
      kind: 'PartialObjectMetadataList',
      apiVersion,
      metadata,
      items: items.map((item) => ({ metadata: item.metadata })),
    });
  });

  it('is not the metadata of one object', async () => {
    const accept = `application/json;as=PartialObjectMetadata;${AS}`;
    expect(await failure(() => content.list(requestOf({ accept }), maps, page))).toMatch(/^406 .*is a list$/);
  });
});

describe('a watch', () => {
  const object = objectOf('a');
  const entry = cachedOf(object);

  it('has an event to a line', () => {
    const { encoder, contentType, binary } = content.watching(requestOf({ agent: 'curl/8' }), maps);
    expect([contentType, binary]).toEqual(['application/json', false]);
    expect(encoder.encode('ADDED', entry).toString()).toBe(
      `{"type":"ADDED","object":${JSON.stringify(object)}}\n`,
    );
    expect(JSON.parse(encoder.bookmark(12, false).toString())).toEqual({
      type: 'BOOKMARK',
      object: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { resourceVersion: '12' } },
    });
    expect(encoder.bookmark(12, true).toString()).toContain(
      `"${plat.apiGroupDomain}/initial-events-end":"true"`,
    );
  });

  it('shares its bytes with watches of the same form only', () => {
    const id = (accept?: string, resource = maps): string =>
      content.watching(requestOf(accept === undefined ? {} : { accept }), resource).encoder.id;
    expect(id()).toBe(id('application/json'));
    const table = `application/json;as=Table;${AS}`;
    const all = [
      id(),
      id('application/yaml'),
      id(PROTOBUF),
      id(table),
      id(table),
      id(undefined, pods),
      id(`application/json;as=PartialObjectMetadata;${AS}`),
    ];
    expect(new Set(all).size).toBe(all.length);
  });

  it('has frames in protobuf', () => {
    const form = content.watching(requestOf({ accept: `${PROTOBUF};stream=watch` }), maps);
    const { encoder } = form;
    expect([form.contentType, form.binary]).toEqual([`${PROTOBUF};stream=watch`, true]);
    const status = new StatusError('Expired', 'too old').toStatus();
    const bytes = Buffer.concat([
      encoder.encode('MODIFIED', entry),
      encoder.bookmark(12, true),
      form.error(status),
    ]);
    const events = [...watchFrames(bytes)].map((frame) => {
      const event = protobuf.decodeMessage(`${META_PACKAGE}.WatchEvent`, frame);
      return [event['type'], event['object']];
    });
    expect(events).toEqual([
      ['MODIFIED', object],
      [
        'BOOKMARK',
        {
          kind: 'ConfigMap',
          apiVersion: 'v1',
          metadata: {
            resourceVersion: '12',
            annotations: { [`${plat.apiGroupDomain}/initial-events-end`]: 'true' },
          },
        },
      ],
      [
        'ERROR',
        {
          kind: 'Status',
          apiVersion: 'v1',
          status: 'Failure',
          message: 'too old',
          reason: 'Expired',
          code: 410,
        },
      ],
    ]);
    expect(bytes.readUInt32BE(0)).toBe(encoder.encode('MODIFIED', entry).length - 4);
  });

  it('names the columns of its tables once', () => {
    const { encoder } = content.watching(requestOf({ accept: `application/json;as=Table;${AS}` }), pods);
    const tables = [1, 2].map(() => JSON.parse(encoder.encode('ADDED', entry).toString()) as unknown);
    expect(tables).toMatchObject([
      {
        type: 'ADDED',
        object: { kind: 'Table', columnDefinitions: pods.info.columns.map(({ name }) => ({ name })) },
      },
      { object: { columnDefinitions: null, rows: [{ cells: ['a', '1/1', 'Running', 0, String(now())] }] } },
    ]);
    expect(JSON.parse(encoder.bookmark(3, false).toString())).toMatchObject({
      object: { kind: 'Table', rows: [], metadata: { resourceVersion: '3' } },
    });
  });

  it('has documents in YAML', () => {
    const form = content.watching(requestOf({ accept: 'application/yaml' }), maps);
    const text = Buffer.concat([
      form.encoder.encode('ADDED', entry),
      form.error({ kind: 'Status', code: 410 }),
    ]).toString();
    expect(parseYaml(text).map(({ value }) => value)).toEqual([
      { type: 'ADDED', object },
      { type: 'ERROR', object: { kind: 'Status', code: 410 } },
    ]);
  });

  it('shows metadata alone', () => {
    const { encoder } = content.watching(
      requestOf({ accept: `${PROTOBUF};as=PartialObjectMetadata;${AS}` }),
      maps,
    );
    const [frame = Buffer.alloc(0)] = watchFrames(encoder.encode('DELETED', entry));
    expect(protobuf.decodeMessage(`${META_PACKAGE}.WatchEvent`, frame)['object']).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: META,
      metadata: object.metadata,
    });
  });
});

describe('values that are not objects of a resource', () => {
  const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };

  it('has one representation, whatever the request accepts', () => {
    const accept = `application/json;as=Table;${AS}`;
    expect(jsonOf(content.plain(requestOf({ accept }), 200, status))).toEqual(status);
    const encoded = content.plain(requestOf({ accept: PROTOBUF }), 201, status);
    expect(encoded).toMatchObject({ status: 201, contentType: PROTOBUF });
    expect(unwrapMessage(bytesOf(encoded))).toMatchObject({ kind: 'Status', apiVersion: 'v1' });
    expect(bytesOf(content.plain(requestOf({ query: 'pretty=1' }), 200, status)).toString()).toContain(
      '\n  "kind"',
    );
  });

  it('is not in protobuf where it has no such form', async () => {
    const widget = { kind: 'Widget', apiVersion: 'example.com/v1' };
    expect(await failure(() => content.plain(requestOf({ accept: PROTOBUF }), 200, widget))).toMatch(/^406/);
  });

  it('reports a failure even to clients that accept nothing', () => {
    const encode = createStatusEncoder({ vocabulary: plat, protobuf, now });
    const failed = new StatusError('NotAcceptable', 'no').toStatus();
    expect(encode(failed, 'text/html').contentType).toBe('application/json');
    expect(encode(failed, PROTOBUF).contentType).toBe(PROTOBUF);
    expect(JSON.parse(encode(failed, undefined).body.toString())).toEqual(failed);
  });
});
