/** Generator of paths, query strings, selectors and headers: valid, unusual and invalid ones. */
import type { Random } from '../../testing/random.ts';
import { chance, hostileText } from './hostile.ts';

export type Header = readonly [string, string];

const soup = (random: Random, pieces: readonly string[], most: number): string =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(pieces)).join('');

const SELECTOR_PIECES = [
  'a',
  'b',
  'app',
  'example.com/a',
  '=',
  '==',
  '!=',
  '!',
  ',',
  ' in ',
  ' notin ',
  '(',
  ')',
  ' ',
  '>',
  '<',
  '1',
  '-',
  'x,y',
  'in',
  'exists',
  "'",
  '\\',
  'ä',
  '\0',
  'a'.repeat(70),
];
const FIELD_PIECES = [
  'metadata.name',
  'metadata.namespace',
  'spec.nodeName',
  'status.phase',
  'type',
  'spec',
  '=',
  '==',
  '!=',
  ',',
  'f1',
  '\\,',
  '\\=',
  '\\',
  '..',
  ' ',
  'a.b.c',
  '',
  '*',
];

export const labelSelector = (random: Random): string =>
  chance(random, 30)
    ? random.pick([
        'app=sample',
        'app in (sample,b),!x',
        'a!=b',
        'n>5',
        `a in (${'x,'.repeat(5000)}y)`,
        'a=b,'.repeat(3000),
      ])
    : soup(random, SELECTOR_PIECES, 10);

export const fieldSelector = (random: Random): string =>
  chance(random, 40)
    ? random.pick([
        'metadata.name=f1',
        'metadata.namespace!=default',
        'status.phase=Running',
        'spec.nodeName=',
        'metadata.name=../x',
        `metadata.name=${'a'.repeat(9000)}`,
      ])
    : soup(random, FIELD_PIECES, 8);

const REVISIONS = [
  '0',
  '1',
  '',
  '-1',
  '5',
  '99999999',
  '18446744073709551616',
  '1e3',
  '00',
  'x',
  ' 1',
  '0x5',
];

function tokenOf(random: Random): string {
  const start = {
    v: random.pick(['meta.@domain/v1', 'v1', 5]),
    rv: random.pick([1, -1, 5, 'x', 1e300, null]),
    start: hostileText(random),
  };
  return random.pick([
    Buffer.from(JSON.stringify(start)).toString('base64url'),
    Buffer.from(JSON.stringify(start)).toString('base64'),
    Buffer.from('null').toString('base64url'),
    Buffer.from('{"start":{}}').toString('base64url'),
    'x',
    '=',
    '%',
    'a'.repeat(10_000),
  ]);
}

const BOOLEANS = ['', 'true', 'false', '1', '0', 'TRUE', 'yes', 'nil'];
const NUMBERS = [
  '0',
  '1',
  '2',
  '-1',
  '500',
  '1e9',
  '9223372036854775807',
  '1.5',
  'x',
  '',
  '99999999999999999999',
];

const PARAMETERS: Readonly<Record<string, (random: Random) => string>> = {
  limit: (random) => random.pick(NUMBERS),
  continue: tokenOf,
  watch: (random) => random.pick(BOOLEANS),
  resourceVersion: (random) => random.pick(REVISIONS),
  resourceVersionMatch: (random) => random.pick(['Exact', 'NotOlderThan', '', 'exact', 'x']),
  allowWatchBookmarks: (random) => random.pick(BOOLEANS),
  sendInitialEvents: (random) => random.pick(BOOLEANS),
  dryRun: (random) => random.pick(['All', '', 'all', 'None']),
  fieldManager: (random) => random.pick(['me', '', 'a'.repeat(129), 'ä', '\n', 'cli']),
  force: (random) => random.pick(BOOLEANS),
  pretty: (random) => random.pick(BOOLEANS),
  labelSelector,
  fieldSelector,
  timeoutSeconds: (random) => random.pick(['1', '0', '-5', '2', '1e9', '99999999999', 'x']),
  timeout: (random) => random.pick(['1s', '0', '-1s', '5', '1h', '1ns', '1e5s', 'x']),
  fieldValidation: (random) => random.pick(['Strict', 'Warn', 'Ignore', '', 'strict']),
  gracePeriodSeconds: (random) => random.pick(NUMBERS),
  propagationPolicy: (random) => random.pick(['Orphan', 'Background', 'Foreground', '', 'x']),
  orphanDependents: (random) => random.pick(BOOLEANS),
  includeObject: (random) => random.pick(['None', 'Metadata', 'Object', 'x']),
  container: hostileText,
  tailLines: (random) => random.pick(NUMBERS),
  limitBytes: (random) => random.pick(NUMBERS),
  sinceTime: hostileText,
  follow: (random) => random.pick(BOOLEANS),
  command: hostileText,
  ports: (random) => random.pick(NUMBERS),
  path: hostileText,
  verbose: (random) => random.pick(BOOLEANS),
  exclude: hostileText,
};
const NAMES = Object.keys(PARAMETERS);

/** A query string with its question mark; `percent` of them are not empty. */
export function queryOf(random: Random, percent: number, fixed: readonly Header[] = []): string {
  const query = new URLSearchParams(fixed.map(([name, value]) => [name, value]));
  if (chance(random, percent)) {
    const count = random.pick([1, 1, 2, 3, 5]);
    for (let time = 0; time < count; time += 1) {
      const name = random.pick(NAMES);
      query.append(chance(random, 97) ? name : hostileText(random), PARAMETERS[name]?.(random) ?? '');
    }
  }
  let text = query.toString();
  if (chance(random, 4))
    text += random.pick([
      '&',
      '&&a',
      '%',
      '%zz',
      '&=',
      '&a=%ff',
      '&a=%00',
      '&watch',
      ';a=b',
      '?',
      '#x',
      '&'.repeat(3000),
    ]);
  return text === '' ? '' : `?${text}`;
}

const ACCEPT_PIECES = [
  'application/json',
  'application/yaml',
  '@protobuf',
  '*/*',
  'application/*',
  'text/plain',
  ';as=Table',
  ';g=meta.@domain',
  ';v=v1',
  ';v=v1beta1',
  ';as=PartialObjectMetadata',
  ';as=PartialObjectMetadataList',
  ';stream=watch',
  ';q=0',
  ';q=0.5',
  ';q=2',
  ';q=',
  ';charset=utf-8',
  ',',
  ';',
  ' ',
  '=',
  '"',
  'image/png',
];
const TYPES = [
  'application/json',
  'application/json; charset=utf-8',
  'application/yaml',
  '@protobuf',
  'text/plain',
  '',
  'application/json;q',
  'application/x-www-form-urlencoded',
  'APPLICATION/JSON',
  '*/*',
  'application/merge-patch+json',
  'application/apply-patch+yaml',
  'multipart/form-data; boundary=x',
];

export const acceptOf = (random: Random): string =>
  chance(random, 50)
    ? random.pick([
        'application/json',
        'application/yaml',
        '@protobuf',
        'application/json;as=Table;g=meta.@domain;v=v1',
        'application/json;as=PartialObjectMetadataList;g=meta.@domain;v=v1',
        '@protobuf;as=PartialObjectMetadata;g=meta.@domain;v=v1,application/json',
      ])
    : soup(random, ACCEPT_PIECES, 8);

const OTHERS: readonly (readonly [string, readonly string[]])[] = [
  ['Content-Type', TYPES],
  ['Content-Encoding', ['gzip', 'deflate', 'br', 'identity', '', 'gzip, gzip', 'x']],
  ['Accept-Encoding', ['gzip', 'gzip;q=0', '*', 'x', 'br, gzip;q=1.0']],
  ['Authorization', ['Bearer x', 'Bearer ', 'Basic YTpi', 'Bearer a.b.c', 'Bearer \u00ff', 'x', '']],
  ['Impersonate-User', ['ann', '', 'system:anonymous', 'system:serviceaccount:a:b', 'a'.repeat(5000)]],
  ['Impersonate-Group', ['system:masters', 'x', '']],
  ['Impersonate-Uid', ['1', '']],
  ['Impersonate-Extra-a%2fb', ['x', '']],
  ['X-Remote-User', ['root']],
  ['Audit-ID', ['x', '', 'a'.repeat(3000), '../x']],
  ['User-Agent', ['cli/v1 (x)', '', 'a'.repeat(4000), '\u00e4', '/']],
  ['If-None-Match', ['"x"', '*', '', 'W/"a", "b"']],
  ['Range', ['bytes=0-', 'x']],
  ['Expect', ['100-continue', 'x']],
  ['Connection', ['Upgrade', 'close', 'keep-alive, Upgrade', 'x']],
  ['Upgrade', ['websocket', 'SPDY/3.1', 'h2c', 'x']],
  ['Sec-WebSocket-Key', ['dGhlIHNhbXBsZSBub25jZQ==', 'x', '']],
  ['Sec-WebSocket-Version', ['13', '8', 'x']],
  ['Sec-WebSocket-Protocol', ['v4.channel.@domain', 'base64url.bearer.authorization.@domain.x', ',', '']],
  ['X-Http-Method-Override', ['DELETE']],
  ['Origin', ['https://evil.example.com']],
  ['Cookie', ['a=b']],
  ['X-Forwarded-For', ['1.2.3.4', 'x']],
  ['Content-Length', ['0', '5', '99999999999', '-1', 'x']],
  ['Transfer-Encoding', ['chunked', 'gzip', 'identity, chunked', 'x']],
  ['Host', ['x', '', 'a:b:c', '[::1]:1']],
  ['X', ['a'.repeat(20_000), '\u00ff\u00fe', '\t']],
];

/** Some headers; the names of some come twice. */
export function headersOf(random: Random): readonly Header[] {
  const count = random.pick([1, 1, 2, 3, 8]);
  return Array.from({ length: count }, (): Header => {
    if (chance(random, 40)) return ['Accept', acceptOf(random)];
    const [name, values] = random.pick(OTHERS);
    return [name, random.pick(values)];
  });
}

const SEGMENTS = [
  'api',
  'apis',
  'v1',
  'namespaces',
  'fuzz',
  'pods',
  'configmaps',
  'apps',
  'deployments',
  'f1',
  'status',
  'scale',
  'log',
  'exec',
  'proxy',
  'watch',
  'x',
  '',
  '.',
  '..',
  '%2e%2e',
  '%2f',
  '%00',
  '%',
  '%zz',
  '%ff',
  '%c0%af',
  'ä',
  '%C3%A4',
  '*',
  ':',
  ';',
  'a b',
  '\\',
  '~',
  'healthz',
  'livez',
  'readyz',
  'metrics',
  'openapi',
  'v2',
  'v3',
  'version',
  'nodes',
  'services',
  'http:a:80',
  'eviction',
  'binding',
  'token',
  'finalize',
  'a'.repeat(300),
  '__proto__',
  'constructor',
  '@',
  '{}',
  '|',
  '"',
  '<script>',
  '%E2%80%A8',
];

/** Any path, below those that are there and elsewhere. */
export function pathOf(random: Random): string {
  const start = random.pick([
    '',
    '',
    '/api/v1',
    '/api/v1/namespaces/fuzz',
    '/apis/apps/v1/namespaces/fuzz',
    '/apis',
    '/openapi',
    'https://x/api',
    '*',
  ]);
  const count = random.pick([0, 1, 2, 3, 4, 5, 30, 2000]);
  return start + Array.from({ length: count }, () => `/${random.pick(SEGMENTS)}`).join('');
}

export const METHODS: readonly string[] = [
  'GET',
  'GET',
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'HEAD',
  'OPTIONS',
  'CONNECT',
  'TRACE',
  'PROPFIND',
  'get',
  'X',
];
