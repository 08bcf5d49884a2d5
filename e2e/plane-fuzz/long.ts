/** Requests of maximum length, each of a kind that may be slow to parse. */
import type { Vocabulary } from '#api/vocabulary.ts';
import type { Ask } from './requests.ts';

/** Bodies may have 3 MiB; the rest is for the surrounding text. */
const LONG = 3 * 1024 * 1024 - 4096;
/** Members of an object, or items of a list; the longest bodies have more than a hundred thousand. */
const MANY = 20_000;
/** Maximum total size of the request line and headers. */
const HEAD = 12_000;

const fill = (pump: string, length: number = LONG): string => pump.repeat(Math.floor(length / pump.length));
const base64 = (text: string): string => Buffer.from(text).toString('base64url');
const members = (count: number): string =>
  `{${Array.from({ length: count }, (_, index) => `"k${index}":"v"`).join()}}`;

const longNames = (count: number): string =>
  Array.from({ length: count }, (_, index) => `  k${index}${'a'.repeat(220)}: v\n`).join('');

const ask = (method: string, target: string, type: string, body: string): Ask => ({
  method,
  target,
  headers: [['Content-Type', type]],
  body: Buffer.from(body),
});
const get = (target: string, name = 'Accept', value = 'application/json'): Ask => ({
  method: 'GET',
  target,
  headers: [[name, value]],
});

/** By what is in them. Nothing is stored of most of them. */
export function longAsks(words: Vocabulary, namespace: string): ReadonlyMap<string, Ask> {
  const json = 'application/json';
  const yaml = 'application/yaml';
  const maps = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
  const map = `/api/v1/namespaces/${namespace}/configmaps/long`;
  const pods = `/api/v1/namespaces/${namespace}/pods?dryRun=All`;
  const reviews = `/apis/authorization.${words.apiGroupDomain}/v1/selfsubjectaccessreviews`;
  const requests = `/apis/certificates.${words.apiGroupDomain}/v1/certificatesigningrequests?dryRun=All`;
  const object = (rest: string): string => `{"metadata":{"name":"long"},${rest}}`;
  const text = (value: string): string => object(`"data":{"a":"${value}"}`);
  const token = (claims: string): Ask =>
    get('/api/v1/pods', 'Authorization', `Bearer ${base64('{"alg":"ES256"}')}.${base64(claims)}.AAAA`);
  const review = (path: string): Ask =>
    ask('POST', reviews, json, `{"spec":{"nonResourceAttributes":{"path":"${path}","verb":"get"}}}`);
  const patch = (value: unknown): Ask =>
    ask('PATCH', map, 'application/json-patch+json', JSON.stringify(value));
  const pem = fill('-----BEGIN CERTIFICATE REQUEST-----\n', LONG / 2);
  return new Map<string, Ask>([
    ['a token of backslashes', token(`{"iss":"${fill('\\', 11_000)}"}`)],
    ['a token with a name of backslashes', token(`{"${fill('\\', 11_000)}":1}`)],
    ['a review of 20,000 backslashes', review(fill('\\\\', 20_000))],
    ['a review of 400,000 backslashes', review(fill('\\\\', 400_000))],
    ['JSON of backslashes', ask('POST', maps, json, text(fill('\\\\')))],
    ['JSON of backslashes by number', ask('POST', maps, json, text(fill('\\u005c')))],
    ['JSON of quotes', ask('POST', maps, json, text(fill('\\"')))],
    ['JSON whose name has backslashes', ask('POST', maps, json, object(`"${fill('\\\\', LONG / 2)}":{}`))],
    ['YAML of backslashes', ask('POST', maps, yaml, `a: "${fill('\\\\', 400_000)}"`)],
    ['YAML of many backslashes', ask('POST', maps, yaml, `a: "${fill('\\\\')}"`)],
    ['YAML of lines', ask('POST', maps, yaml, fill('a:\n', 4000))],
    ['YAML of long names', ask('POST', maps, yaml, `metadata: {name: long}\ndata:\n${longNames(13_000)}`)],
    ['YAML of dashes', ask('POST', maps, yaml, fill('- ', 4000))],
    ['a text', ask('POST', maps, json, text(fill('a')))],
    ['a text of escapes', ask('POST', maps, json, text(fill('\\u0041')))],
    ['a long annotation', ask('POST', maps, json, `{"metadata":{"annotations":{"${fill('a')}":"b"}}}`)],
    ['spaces', ask('POST', maps, json, fill(' '))],
    ['depth', ask('POST', maps, json, fill('['))],
    ['depth of objects', ask('POST', maps, json, fill('{"a":'))],
    ['many members', ask('POST', maps, json, object(`"data":${members(MANY)}`))],
    ['many members of many kinds', ask('POST', maps, json, object(members(MANY).slice(1, -1)))],
    ['the same member', ask('POST', maps, json, object(`"data":{${fill('"a":"b",')}"a":"c"}`))],
    [
      'the same members below a long name',
      ask('POST', maps, json, `{"${fill('a', LONG / 2)}\\\\":{${fill('"a":1,', 200_000)}"b":2}}`),
    ],
    ['numbers', ask('POST', maps, json, `[${fill('1e9,')}1]`)],
    [
      'environment',
      ask(
        'POST',
        pods,
        json,
        JSON.stringify({
          metadata: { name: 'long' },
          spec: {
            containers: [
              {
                name: 'c',
                image: 'i',
                env: Array.from({ length: MANY / 2 }, (_, index) => ({ name: `E${index}`, value: 'a' })),
              },
            ],
          },
        }),
      ),
    ],
    [
      'references to variables',
      ask(
        'POST',
        pods,
        json,
        JSON.stringify({
          metadata: { name: 'long' },
          spec: { containers: [{ name: 'c', image: 'i', args: [fill('$(', 1_000_000)] }] },
        }),
      ),
    ],
    [
      'beginnings of PEM',
      ask(
        'POST',
        requests,
        json,
        JSON.stringify({
          metadata: { name: 'long' },
          spec: {
            signerName: 'example.com/a',
            usages: ['client auth'],
            request: Buffer.from(pem).toString('base64'),
          },
        }),
      ),
    ],
    ['a long pointer', patch([{ op: 'add', path: fill('/a'), value: 1 }])],
    ['an escaped pointer', patch([{ op: 'test', path: `/data/${fill('~0')}`, value: 1 }])],
    [
      'many operations',
      patch(Array.from({ length: 9999 }, () => ({ op: 'test', path: '/metadata/name', value: 'long' }))),
    ],
    ['a merge patch', ask('PATCH', map, 'application/merge-patch+json', `{"data":${members(MANY)}}`)],
    ['a selector of labels', get(`/api/v1/pods?labelSelector=${fill('a,', HEAD)}a`)],
    ['a selector of values', get(`/api/v1/pods?labelSelector=a%20in%20(${fill('a,', HEAD)}a)`)],
    ['a selector of fields', get(`/api/v1/pods?fieldSelector=${fill('metadata.name=a,', HEAD)}`)],
    ['a token to continue with', get(`/api/v1/pods?continue=${base64(`{"v":"${fill('\\\\', 8000)}"}`)}`)],
    ['a path', get(fill('/a', HEAD))],
    ['Accept', get('/api/v1/pods', 'Accept', fill('a/b;q=0.1,', HEAD))],
    ['Accept-Encoding', get('/api/v1/pods', 'Accept-Encoding', fill('gzip;q=0,', HEAD))],
  ]);
}
