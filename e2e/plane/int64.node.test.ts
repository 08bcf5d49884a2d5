/** Exact 64-bit integers in all encodings, patches, apply, watches and tables. Document 1 §2.6 and 4.9. */
import { describe, expect, test } from 'vitest';
import { parseJsonText } from '#api/codec/json-text.ts';
import { MAX_INT64, MIN_INT64 } from '#api/kit/int64.ts';
import { define } from './definitions.ts';
import { APPLY, JSON_PATCH, MERGE, type Reply, STRATEGIC, usePlane, VOCABULARY_NAMES } from './support.ts';

/** One that JavaScript's numbers do not hold. */
const ODD = 2n ** 53n + 1n;
const VALUES = [2n ** 53n - 1n, 2n ** 53n, ODD, -ODD, MAX_INT64, MIN_INT64];

const toleration = (seconds: bigint): string =>
  `{"key":"a","operator":"Exists","effect":"NoExecute","tolerationSeconds":${seconds}}`;
const podText = (name: string, seconds: bigint): string =>
  `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"${name}"},"spec":{"nodeName":"n","containers":[{"name":"c",` +
  `"image":"i"}],"tolerations":[${toleration(seconds)}],"terminationGracePeriodSeconds":${seconds}}}`;

const secondsIn = (value: unknown): string => {
  const { spec } = value as { spec: { tolerations: { tolerationSeconds: unknown }[] } };
  return String(spec.tolerations[0]?.tolerationSeconds);
};

describe.each(VOCABULARY_NAMES)('numbers of 64 bits (%s)', (vocabulary) => {
  const plane = usePlane(vocabulary);
  const PROTO = plane.words.protobufContentType;

  /** Values read from each encoding of an object. */
  const readings = async (path: string): Promise<readonly string[]> => {
    const [json, yaml, proto] = await Promise.all([
      plane.get(path),
      plane.get(path, { accept: 'application/yaml' }),
      plane.get(path, { accept: PROTO }),
    ]);
    const written = /tolerationSeconds: (\S+)/.exec(yaml.text)?.[1] ?? '';
    return [secondsIn(json.body), written, secondsIn(plane.protobuf.decode(proto.bytes))];
  };

  test.each(VALUES)('%s of a pod is what was written', async (value) => {
    const path = `${await plane.namespace()}/pods`;
    const wanted = [String(value), String(value), String(value)];
    const yaml = podText('y', value).replaceAll(/([:,])/g, '$1 ');
    const message = plane.protobuf.encode(parseJsonText(podText('p', value)) as never);
    const bodies: readonly (readonly [string, string | Buffer, string])[] = [
      ['j', podText('j', value), 'application/json'],
      ['y', yaml, 'application/yaml'],
      ['p', message, PROTO],
    ];
    for (const [name, body, type] of bodies) {
      expect((await plane.post(path, body, { type })).status).toBe(201);
      expect(await readings(`${path}/${name}`)).toEqual(wanted);
    }
    await using watch = await plane.watch(`${path}?watch=1&fieldSelector=metadata.name=j`);
    expect(secondsIn((await watch.next())?.object)).toBe(String(value));
  });

  test('a number beyond them is refused by its field', async () => {
    const path = `${await plane.namespace()}/pods`;
    for (const value of [MAX_INT64 + 1n, MIN_INT64 - 1n, 10n ** 25n]) {
      const { status, body } = await plane.post(path, podText('a', value));
      expect({ status, reason: body.reason }).toEqual({ status: 400, reason: 'BadRequest' });
      expect(body.message).toContain('tolerationSeconds');
      expect(body.message).toContain(`between ${MIN_INT64} and ${MAX_INT64}`);
    }
  });

  test('deletion waits for the requested time', async () => {
    const path = `${await plane.namespace()}/pods`;
    await plane.post(path, podText('a', MAX_INT64));
    const graceOf = ({ body }: Reply): string => String(body.metadata.deletionGracePeriodSeconds);
    expect(graceOf(await plane.delete(`${path}/a`))).toBe(String(MAX_INT64));
    expect(graceOf(await plane.delete(`${path}/a?gracePeriodSeconds=${MAX_INT64}`))).toBe(String(MAX_INT64));
    expect(graceOf(await plane.delete(`${path}/a?gracePeriodSeconds=${ODD}`))).toBe(String(ODD));
    const last = await plane.delete(`${path}/a`, `{"gracePeriodSeconds":${ODD - 1n}}`);
    expect(graceOf(last)).toBe(String(ODD - 1n));
    expect(Date.parse(last.body.metadata.deletionTimestamp ?? '')).toBeGreaterThan(Date.now());
    const soon = await plane.delete(`${path}/a?gracePeriodSeconds=30`);
    expect(Date.parse(soon.body.metadata.deletionTimestamp ?? '')).toBeLessThan(Date.now() + 60_000);
    expect((await plane.delete(`${path}/a?gracePeriodSeconds=${MAX_INT64 + 1n}`)).status).toBe(400);
  });

  test('lists and watches accept them as parameters', async () => {
    const path = `${await plane.namespace()}/pods`;
    await plane.post(path, podText('a', 1n));
    for (const value of VALUES) {
      expect((await plane.get(`${path}?limit=${value}&timeoutSeconds=${value}`)).body.items).toHaveLength(1);
    }
    expect((await plane.get(`${path}?limit=${MAX_INT64 + 1n}`)).status).toBe(400);
    await using watch = await plane.watch(`${path}?watch=1&timeoutSeconds=${MAX_INT64}`);
    expect((await watch.next())?.type).toBe('ADDED');
    await plane.patch(`${path}/a`, { metadata: { labels: { a: 'b' } } });
    expect((await watch.next())?.type).toBe('MODIFIED');
  });

  test('a change to the next number is one, and the same number is none', async () => {
    const path = `${await plane.namespace()}/replicationcontrollers`;
    const text = (value: bigint): string =>
      `{"apiVersion":"v1","kind":"ReplicationController","metadata":{"name":"a"},"spec":{"replicas":0,"selector":` +
      `{"a":"b"},"template":{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}],` +
      `"tolerations":[${toleration(value)}]}}}}`;
    const template = (value: bigint): string =>
      `{"spec":{"template":{"spec":{"tolerations":[${toleration(value)}]}}}}`;
    const pointer = '/spec/template/spec/tolerations/0/tolerationSeconds';
    await plane.post(path, text(ODD));
    const generation = ({ body, status }: Reply): unknown =>
      status === 200 ? body.metadata.generation : status;
    const change = (body: string, type: string): Promise<Reply> => plane.patch(`${path}/a`, body, type);
    expect(generation(await plane.put(`${path}/a`, text(ODD)))).toBe(1);
    expect(generation(await change(template(ODD), MERGE))).toBe(1);
    expect(generation(await change(template(ODD - 1n), MERGE))).toBe(2);
    expect(generation(await change(template(ODD), STRATEGIC))).toBe(3);
    expect(generation(await change(template(ODD), STRATEGIC))).toBe(3);
    const tested = (value: bigint): string =>
      `[{"op":"test","path":"${pointer}","value":${value}},{"op":"replace","path":"${pointer}","value":${MAX_INT64}}]`;
    expect(generation(await change(tested(ODD - 1n), JSON_PATCH))).toBe(422);
    expect(generation(await change(tested(ODD), JSON_PATCH))).toBe(4);
    expect((await plane.get(`${path}/a`)).text).toContain(`"tolerationSeconds":${MAX_INT64}`);
  });

  test('those of custom resources', async () => {
    const x = plane.words.schemaExtensionPrefix;
    const integer = { type: 'integer' };
    const cakes = await define(plane, {
      plural: 'cakes',
      versions: [
        {
          properties: {
            n: { ...integer, format: 'int64', default: ODD },
            most: { ...integer, maximum: 2 ** 53 },
            words: { ...integer, enum: [ODD, ODD + 2n] },
            even: { ...integer, multipleOf: 2 },
            set: { type: 'array', [`${x}list-type`]: 'set', items: integer },
            map: {
              type: 'array',
              [`${x}list-type`]: 'map',
              [`${x}list-map-keys`]: ['id'],
              items: { type: 'object', required: ['id'], properties: { id: integer, v: { type: 'string' } } },
            },
            free: { [`${x}preserve-unknown-fields`]: true },
          },
          more: {
            additionalPrinterColumns: [
              { name: 'Number', type: 'integer', jsonPath: '.n' },
              { name: 'Text', type: 'string', jsonPath: '.n' },
              { name: 'Found', type: 'string', jsonPath: `.map[?(@.id==${ODD})].v` },
            ],
          },
        },
      ],
    });
    const all = cakes.collection();
    const cake = (name: string, members: string): string =>
      JSON.stringify(cakes.object(name)).slice(0, -1) + members;
    const free = `"free":{"a":${ODD},"b":[${MAX_INT64},${MIN_INT64},1.5,1e3]}`;
    const created = await plane.post(all, cake('a', `,${free}}`));
    expect(created.status).toBe(201);
    const kept = `"free":{"a":${ODD},"b":[${MAX_INT64},${MIN_INT64},1.5,1000]}`;
    expect(created.text).toContain(kept);
    expect(created.text).toContain(`"n":${ODD}`);
    const yaml = await plane.get(`${all}/a`, { accept: 'application/yaml' });
    expect(yaml.text).toContain(`- ${MIN_INT64}\n`);
    const sent = await plane.call('PUT', `${all}/a`, yaml.text, { type: 'application/yaml' });
    expect(sent.body.metadata.resourceVersion).toBe(created.body.metadata.resourceVersion);
    expect((await plane.get(`${all}/a`)).text).toContain(kept);

    const set = (members: string): Promise<Reply> => plane.patch(`${all}/a`, `{${members}}`);
    const messages = async (members: string): Promise<string> => (await set(members)).body.message;
    expect(await messages(`"most":${ODD}`)).toContain(`should be less than or equal to ${2n ** 53n}`);
    expect((await set(`"most":${2n ** 53n}`)).status).toBe(200);
    expect(await messages(`"words":${ODD + 1n}`)).toContain(`supported values: ${ODD}, ${ODD + 2n}`);
    expect((await set(`"words":${ODD + 2n}`)).status).toBe(200);
    expect(await messages(`"even":${ODD}`)).toContain('a multiple of 2');
    expect((await set(`"even":${MIN_INT64}`)).status).toBe(200);
    expect(await messages(`"set":[${ODD},${ODD}]`)).toContain(`Duplicate value: ${ODD}`);
    expect((await set(`"set":[${ODD},${ODD - 1n}]`)).status).toBe(200);
    expect(await messages(`"n":${MAX_INT64 + 1n}`)).toContain('must be of type integer: "number"');

    const applied = cake('b', `,"n":${ODD},"set":[${ODD},${ODD - 1n}],"map":[{"id":${ODD},"v":"odd"}]}`);
    const apply = (text: string, manager: string): Promise<Reply> =>
      plane.call('PATCH', `${all}/b?fieldManager=${manager}`, text, { type: APPLY });
    const first = await apply(applied, 'one');
    expect(first.body.metadata.managedFields?.[0]?.fieldsV1).toMatchObject({
      'f:set': { [`v:${ODD}`]: {}, [`v:${ODD - 1n}`]: {} },
      'f:map': { [`k:{"id":${ODD}}`]: { 'f:v': {} } },
    });
    expect((await apply(applied, 'two')).status).toBe(200);
    expect((await apply(applied.replace(`"n":${ODD}`, `"n":${ODD - 1n}`), 'two')).status).toBe(409);
    const less = await apply(cake('b', `,"set":[${ODD}]}`), 'two');
    expect(less.text).toContain(`"set":[${ODD},${ODD - 1n}]`);
    const least = await apply(cake('b', `,"n":${ODD},"set":[${ODD}]}`), 'one');
    expect(least.text).toContain(`"set":[${ODD}]`);

    const table = `application/json;as=Table;g=meta.${plane.words.apiGroupDomain};v=v1`;
    await apply(applied, 'one');
    const rows = await plane.get(`${all}/b`, { accept: table });
    expect(rows.text).toContain(`"cells":["b",${ODD},"${ODD}","odd"]`);
  });
});
