import { describe, expect, it, test } from 'vitest';
import { finish } from '#api/kit/steps.ts';
import type { ApiObject } from '../resources/contract.ts';
import {
  content,
  failure,
  PROTOBUF,
  pods,
  protobuf,
  requestOf,
  type SentRequest,
} from './content.fixture.ts';

describe('a body', () => {
  const target = { schema: pods.schema, apiVersion: 'v1', kind: 'Pod' };
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: { name: 'a' },
    spec: { containers: [{ name: 'c', image: 'i' }] },
  };
  const read = (
    sent: SentRequest,
    validation: 'Ignore' | 'Warn' | 'Strict' = 'Warn',
    warnings: string[] = [],
  ): Promise<ApiObject> => content.readObject(requestOf(sent, warnings), target, validation);

  test.each([
    ['JSON', undefined, JSON.stringify(pod)],
    [
      'YAML',
      'application/yaml',
      'kind: Pod\napiVersion: v1\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    image: i\n',
    ],
    ['JSON called YAML', 'application/yaml', JSON.stringify(pod)],
    ['protobuf', PROTOBUF, protobuf.encode(pod)],
    [
      'JSON without kind and version',
      'application/json',
      JSON.stringify({ metadata: pod.metadata, spec: pod.spec }),
    ],
  ])('may be %s', async (_, type, body) => {
    const object = await read({ body, ...(type === undefined ? {} : { type }) });
    expect(object).toMatchObject({
      ...pod,
      spec: { containers: [{ name: 'c', image: 'i', imagePullPolicy: 'Always' }] },
    });
  });

  test('that is large is read as others are, with turns in between', async () => {
    const args = Array.from({ length: 100_000 }, () => 'a');
    const large = { ...pod, spec: { containers: [{ name: 'c', image: 'i', args }] } };
    let turns = 0;
    const counting = setImmediate(function count() {
      turns += 1;
      setImmediate(count).unref();
    });
    const object = await read({ body: JSON.stringify(large) });
    clearImmediate(counting);
    expect(object).toMatchObject({ spec: { containers: [{ name: 'c', imagePullPolicy: 'Always', args }] } });
    expect(turns).toBeGreaterThan(10);
  });

  test.each([
    ['JSON', 'application/json'],
    ['JSON called YAML', 'application/yaml'],
  ])('of a client that is gone is not read to its end, as %s', async (_name, type) => {
    const body = `{"a":[${'{},'.repeat(100_000)}1]}`;
    const gone = new AbortController();
    const request = { ...requestOf({ body, type }), signal: gone.signal };
    const reading = content.readObject(request, target, 'Warn');
    gone.abort(new Error('gone'));
    await expect(reading).rejects.toThrow('gone');
  });

  const faulty =
    '{"kind":"Pod","metadata":{"name":"a","name":"b"},"spec":{"nope":1,"containers":[{"imag":"x"}]}}';
  const texts = [
    'duplicate field "metadata.name"',
    'unknown field "spec.containers[0].imag"',
    'unknown field "spec.nope"',
  ];

  it('gets warnings about unknown fields on request', async () => {
    const warnings: string[] = [];
    expect(await read({ body: faulty }, 'Warn', warnings)).toMatchObject({ metadata: { name: 'b' } });
    expect(warnings).toEqual(texts);
    await read({ body: faulty }, 'Ignore', warnings);
    expect(warnings).toHaveLength(3);
  });

  it('is rejected for them on request', async () => {
    expect(await failure(() => read({ body: faulty }, 'Strict'))).toBe(
      `400 Pod in version "v1" cannot be handled as a Pod: strict decoding error: ${texts.join(', ')}`,
    );
  });

  test.each<[string, SentRequest, string]>([
    [
      'nothing',
      { body: '' },
      "400 the object provided is unrecognized (must be of type Pod): couldn't get version/kind; json parse error: unexpected end of JSON input at line 1, column 1 (<empty>)",
    ],
    ['half an object', { body: '{"kind":' }, '400 the object provided is unrecognized (must be of type Pod)'],
    ['a list', { body: '[]' }, '400 the object provided is unrecognized (must be of type Pod)'],
    [
      'YAML that is none',
      { body: 'a: [', type: 'application/yaml' },
      '400 the object provided is unrecognized (must be of type Pod): error converting YAML to JSON: yaml: ',
    ],
    [
      'no protobuf',
      { body: '{}', type: PROTOBUF },
      '400 the object provided is unrecognized (must be of type Pod): ',
    ],
    [
      'another kind',
      { body: '{"kind":"Service"}' },
      '400 Service in version "v1" cannot be handled as a Pod: ',
    ],
    [
      'another version',
      { body: '{"kind":"Pod","apiVersion":"v2"}' },
      '400 the API version in the data (v2) does not match the expected API version (v1)',
    ],
    [
      'a wrong type',
      { body: '{"spec":{"containers":"x"}}' },
      '400 Pod in version "v1" cannot be handled as a Pod: spec.containers: Invalid value: "x": must be a list, not a string',
    ],
    [
      'a wrong word',
      { body: '{"metadata":{"name":"a"},"spec":{"restartPolicy":"Sometimes"}}' },
      '422 Pod "a" is invalid: spec.restartPolicy: Unsupported value: "Sometimes"',
    ],
    [
      'another content type',
      { body: '{}', type: 'text/plain' },
      '415 the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, ',
    ],
    ['depth', { body: '['.repeat(10_000) }, '400 the object provided is unrecognized'],
  ])('is refused for %s', async (_, sent, expected) => {
    expect((await failure(() => read(sent))).slice(0, expected.length)).toBe(expected);
  });

  it('is checked again after a patch, which then is at error', async () => {
    const check = (value: unknown): ApiObject =>
      finish(content.checkObject(requestOf({}), value, target, 'Strict', {}));
    expect(check(pod)).toMatchObject({ spec: { restartPolicy: 'Always' } });
    expect(await failure(() => check({ ...pod, spec: 1 }))).toBe(
      '422 Pod "a" is invalid: patch: Invalid value: spec: Invalid value: 1: must be an object, not a number',
    );
    expect(await failure(() => check({ ...pod, x: 1 }))).toBe(
      '422 Pod "a" is invalid: patch: Invalid value: strict decoding error: unknown field "x"',
    );
  });

  it('may be options, of any version or none', async () => {
    const options = (sent: SentRequest): Promise<unknown> =>
      content.readOptions(requestOf(sent), 'DeleteOptions');
    expect(await options({})).toBeUndefined();
    expect(await options({ body: '{"gracePeriodSeconds":0,"future":1}' })).toEqual({ gracePeriodSeconds: 0 });
    expect(
      await options({
        body: '{"kind":"DeleteOptions","apiVersion":"policy/v1","propagationPolicy":"Orphan"}',
      }),
    ).toMatchObject({ propagationPolicy: 'Orphan' });
    const bytes = protobuf.encode({ kind: 'DeleteOptions', apiVersion: 'v1', gracePeriodSeconds: 0 });
    expect(await options({ body: bytes, type: PROTOBUF })).toMatchObject({ gracePeriodSeconds: 0 });
    expect(await failure(() => options({ body: '{"kind":"Pod"}' }))).toMatch(/^400/);
    expect(await failure(() => options({ body: '{"gracePeriodSeconds":"0"}' }))).toMatch(/^400/);
  });

  test.each<[string, string, string]>([
    ['application/json-patch+json', '[{"op":"remove","path":"/a"}]', 'json'],
    ['application/merge-patch+json; charset=utf-8', '{"a":null}', 'merge'],
    ['application/strategic-merge-patch+json', '{"$patch":"delete"}', 'strategic'],
    ['application/apply-patch+yaml', 'a: 1', 'apply'],
  ])('may be a patch: %s', async (type, body, expected) => {
    expect((await content.readPatch(requestOf({ type, body }), 'Strict')).type).toBe(expected);
  });

  test.each<[string | undefined, string, RegExp]>([
    ['application/json', '{}', /^415 .*json-patch\+json, application\/merge-patch/],
    [undefined, '{}', /^415/],
    ['application/json-patch+json', '{}', /^400 error decoding patch/],
    ['application/merge-patch+json', '[]', /^400 error decoding patch/],
    ['application/merge-patch+json', '{', /^400/],
    ['application/merge-patch+json', '{"a":1,"a":2}', /^400 strict decoding error: duplicate field "a"/],
  ])('is no patch: %s %s', async (type, body, expected) => {
    const sent = { body, ...(type === undefined ? {} : { type }) };
    expect(await failure(() => content.readPatch(requestOf(sent), 'Strict'))).toMatch(expected);
  });
});
