/** Drivers of text readers in `control-plane-lite`. */
import { canonicalElement, compareElements } from '#plane/apply/path-element.ts';
import { readToken } from '#plane/authn/jwt.ts';
import { parseTokenFile } from '#plane/authn/token-file.ts';
import { decodeContinue } from '#plane/cache/list/continue-token.ts';
import { compareKeys } from '#plane/cache/state/ordered.ts';
import { scanLabels, toStored, withRevision } from '#plane/cache/state/stored-form.ts';
import { parseAccept } from '#plane/content/negotiation.ts';
import { parseIndexes } from '#plane/controllers/job/indexes.ts';
import { hashWord } from '#plane/controllers/workloads-kit/template-hash.ts';
import { formatOf } from '#plane/custom/schema/formats.ts';
import { compilePattern, measurePattern } from '#plane/custom/schema/pattern/compile.ts';
import { acceptsGzip } from '#plane/http/connection/accept-encoding.ts';
import { readImpersonation } from '#plane/http/pipeline/impersonate.ts';
import { createRouter } from '#plane/http/pipeline/router.ts';
import { LinkRewriter, rewriteLink } from '#plane/http/proxy/html-links.ts';
import { parseRequestInfo, splitTarget } from '#plane/http/request/request-info.ts';
import { readSubprotocols } from '#plane/http/request/subprotocols.ts';
import { formatWarnings } from '#plane/http/response/warnings.ts';
import { splitLines } from '#plane/http/response/websocket.ts';
import { extractApi } from '#plane/openapi/others.ts';
import { applyJsonPatch } from '#plane/patch/json-patch.ts';
import { formatPointer, parsePointer } from '#plane/patch/json-pointer.ts';
import { readSample, sampleName } from '#plane/resource-metrics/sample-line.ts';
import { createScrapeReader } from '#plane/resource-metrics/scrape-reader.ts';
import {
  parseCertificateRequest,
  readValues,
} from '#plane/resources/groups/certificates/certificate-request.ts';
import { fromDense, toDense } from '#plane/store/packing/dense-text.ts';
import { base64, type Driver, STRING_PUMPS, steps } from './driver.ts';

const route = { methods: ['GET'], handler: () => Promise.resolve() };
const router = createRouter(
  ['/', '/openapi/v3', '/healthz'].map((path) => ({ ...route, path, below: true })) as never,
);

const DOMAIN = 'example.com';
const BEARER = `base64url.bearer.authorization.${DOMAIN}.`;

const LINKS = { prefix: '/proxy', hosts: ['host:80'] };

/** In two pieces, as a page may arrive. */
function rewritePage(text: string): void {
  const rewriter = new LinkRewriter(LINKS);
  const bytes = Buffer.from(text);
  rewriter.write(bytes.subarray(0, bytes.length / 2));
  rewriter.write(bytes.subarray(bytes.length / 2));
  rewriter.destroy();
}

/** In three pieces, as a response may come. */
function readScrape(text: string): void {
  const reader = createScrapeReader(1, { bytes: 1e9, lineLength: 1e9, containers: 1e9 });
  const bytes = Buffer.from(text);
  for (const part of [0, 1, 2]) {
    reader.write(bytes.subarray((part * bytes.length) / 3, ((part + 1) * bytes.length) / 3));
  }
  reader.end();
}

export const PLANE_DRIVERS: readonly Driver[] = [
  {
    name: 'samples of resource metrics',
    covers: ['control-plane-lite/resource-metrics/sample-line.ts'],
    run: (line) => readSample(line, sampleName(line)),
    frames: [
      ['m{', '} 1'],
      ['m{a="', '"} 1'],
      ['m{a="1"', '} 1 2'],
      ['m ', ''],
    ],
    pumps: ['a="1",', '\\\\', '\\"', '\\n', ' ', '\t', '{', '",', '1', '1 ', '.', 'e'],
    fairNs: 300,
  },
  {
    name: 'scrapes of resource metrics',
    covers: ['control-plane-lite/resource-metrics/scrape-reader.ts'],
    run: readScrape,
    frames: [['container_start_time_seconds{', '} 1\n']],
    pumps: ['\n', '#\n', 'container_start_time_seconds{pod="a",namespace="b",container="c"} 1\n', 'pod="a",'],
    fairNs: 300,
  },
  {
    name: 'links of proxied pages',
    covers: ['control-plane-lite/http/proxy/html-links.ts'],
    run(text) {
      rewriteLink(`//host:80/${text}`, LINKS);
      rewritePage(text);
    },
    frames: [
      ['<a href="', '">'],
      ['<a ', '>'],
      ['<script>', '</script>'],
      ['<!--', '-->'],
    ],
    pumps: [
      '<a href="/b">',
      '<a href=/b ',
      '<!-',
      '<!---->',
      '</script',
      '<',
      '="',
      "='",
      '<a ',
      ' href=',
      '>',
    ],
  },
  {
    name: 'long values for etcd',
    covers: ['control-plane-lite/store/packing/dense-text.ts'],
    run: (text) => fromDense(toDense(Buffer.from(`{${text}`)) ?? Buffer.from('{}')),
    frames: [
      ['"a":"', '"}'],
      ['"', ''],
      ['', ''],
    ],
    pumps: ['\\"', '\\u0001', '\\', '"', '""', 'YWFh', '"\\n",', `"${'a'.repeat(40)}",`],
    fairNs: 300,
  },
  {
    name: 'certificate requests',
    covers: ['control-plane-lite/resources/groups/certificates/certificate-request.ts'],
    run: parseCertificateRequest,
    refusesAll: true,
    frames: [['-----BEGIN CERTIFICATE REQUEST-----\n', '\n-----END CERTIFICATE REQUEST-----\n']],
    pumps: ['-----BEGIN CERTIFICATE REQUEST-----\n', 'MAAw\n', '-----END CERTIFICATE REQUEST-----\n'],
    fairNs: 300,
  },
  {
    name: 'DER',
    covers: ['control-plane-lite/resources/groups/certificates/certificate-request.ts'],
    run: (text) => readValues(Buffer.from(text, 'latin1')),
    pumps: ['0\0', '0\u0001\0'],
    fairNs: 300,
  },
  {
    name: 'tokens',
    covers: [],
    run: (text) => readToken(`${base64('{"alg":"ES256"}')}.${base64(`{"iss":"${text}"}`)}.AAAA`),
    pumps: STRING_PUMPS,
    longest: 16_384,
    fairNs: 500,
  },
  {
    name: 'heads of tokens',
    covers: [],
    run: (text) => readToken(`${base64(`{"${text}":1}`)}.${text}.AAAA`),
    pumps: STRING_PUMPS,
    longest: 16_384,
    fairNs: 500,
  },
  {
    name: 'token files',
    covers: ['control-plane-lite/authn/token-file.ts'],
    run: (text) => parseTokenFile(text, 'tokens.csv'),
    frames: [
      ['"', '"'],
      ['a,b,c,"', '"'],
    ],
    pumps: ['""', 'a,', '"a",', 'a,b,c\n', '"'],
    fairNs: 2000,
  },
  {
    name: 'continue tokens',
    covers: [],
    run: (text) => decodeContinue(base64(`{"v":"meta.a/v1","rv":1,"start":"${text}"}`), 'a'),
    pumps: STRING_PUMPS,
    fairNs: 300,
  },
  {
    name: 'keys in order',
    covers: ['control-plane-lite/cache/state/ordered.ts'],
    run: (text) => [
      compareKeys(text, `${text}a`),
      compareElements(`k:{"a":"${text}"}`, `k:{"a":"${text}"}`),
      canonicalElement(`k:{"a":"${text}"}`),
    ],
    pumps: STRING_PUMPS,
    fairNs: 600,
  },
  {
    name: 'stored objects',
    covers: ['control-plane-lite/cache/state/stored-form.ts'],
    run: (text) =>
      scanLabels(
        withRevision(
          toStored({
            apiVersion: 'v1',
            kind: 'A',
            metadata: { name: text, uid: 'u', labels: { a: text } },
            data: { a: text },
          }),
          7,
        ),
      ),
    pumps: ['"uid":"', '"labels":{', '}', '\\'],
    fairNs: 500,
  },
  {
    name: 'Accept',
    covers: [],
    run: (text) => [parseAccept(text), acceptsGzip(text)],
    frames: [
      ['application/json;', ''],
      ['gzip;q=', ','],
    ],
    pumps: ['application/json,', 'a/b;q=0.1,', ';a=b', 'gzip;q=0,', ', '],
    fairNs: 400,
  },
  {
    name: 'subprotocols',
    covers: [],
    run: (text) => readSubprotocols(text, DOMAIN),
    pumps: [`${BEARER}YQ,`, 'a,'],
    frames: [[BEARER, '']],
    fairNs: 400,
  },
  {
    name: 'impersonation',
    covers: [],
    run: (text) =>
      readImpersonation({
        'impersonate-user': text,
        'impersonate-group': [text],
        [`impersonate-extra-${text}`]: text,
      }),
    pumps: ['a, ', '%41', '%'],
    fairNs: 600,
  },
  {
    name: 'request targets',
    covers: ['control-plane-lite/http/request/request-info.ts', 'control-plane-lite/http/pipeline/router.ts'],
    run(text) {
      const { path, query } = splitTarget(`/${text}`);
      router('GET', path);
      return [router('GET', text), parseRequestInfo('GET', path, new URLSearchParams(query))];
    },
    pumps: ['/a', '/api/v1/', '%2f', '?a=b&', '&fieldSelector=metadata.name=a', '/..'],
    frames: [['api/v1/pods?fieldSelector=', '']],
    longest: 65_536,
    fairNs: 500,
  },
  { name: 'warnings', covers: [], run: (text) => formatWarnings([text, `${text}a`]), fairNs: 300 },
  {
    name: 'lines of a watch',
    covers: ['control-plane-lite/http/response/websocket.ts'],
    run: (text) => steps(splitLines(Buffer.from(text))),
    pumps: ['{}\n'],
    fairNs: 500,
  },
  {
    name: 'documents of other servers',
    covers: ['control-plane-lite/openapi/others.ts'],
    run: (text) =>
      extractApi(
        {
          swagger: '2.0',
          paths: { '/a': { get: { $ref: `#/definitions/${text}`, tags: [text] } } },
          definitions: {},
        },
        '/a',
      ),
  },
  {
    name: 'JSON pointers',
    covers: [],
    run: (text) => [
      formatPointer(parsePointer(`/${text}`)),
      applyJsonPatch({ a: 1 }, [{ op: 'add', path: `/${text}`, value: 1 }]),
    ],
    pumps: ['/a', '~1', '~0', '/~'],
    fairNs: 400,
  },
  {
    name: 'indexes of jobs',
    covers: ['control-plane-lite/controllers/job/indexes.ts'],
    run: (text) => parseIndexes(text, 1000),
    pumps: ['1,', '1-2,'],
    fairNs: 500,
  },
  {
    name: 'hashes of templates',
    covers: ['control-plane-lite/controllers/workloads-kit/template-hash.ts'],
    run: (text) => hashWord({ a: text }),
    fairNs: 200,
  },
  {
    name: 'patterns of custom resources',
    covers: [
      'control-plane-lite/custom/schema/pattern/parse.ts',
      'control-plane-lite/custom/schema/pattern/char-set.ts',
    ],
    run: (text) => [measurePattern(text), compilePattern(text)],
    longest: 65_536,
    frames: [
      ['[', ']'],
      ['(', ')'],
      ['\\Q', '\\E'],
      ['(?i)', ''],
    ],
    pumps: ['(a', '(a)', '[a-z]', '\\pL', 'a|', 'a{2}', '\\Qa\\E', '[[:alpha:]', '(?i)'],
    fairNs: 4000,
  },
  {
    name: 'texts and patterns of custom resources',
    covers: ['control-plane-lite/custom/schema/pattern/matcher.ts'],
    run: (text) =>
      ['^(a+)+$', '(.*)*x', '^(a|ab)*c$', '(a?){50}a{50}', '\\bx\\b|é+$'].map((pattern) =>
        compilePattern(pattern).matches(text),
      ),
    frames: [['', '!']],
    pumps: ['ab', 'éa', '😀'],
    fairNs: 1000,
  },
  {
    name: 'formats of custom resources',
    covers: [],
    run: (text) =>
      [
        'uri',
        'email',
        'hostname',
        'ipv4',
        'cidr',
        'mac',
        'uuid',
        'isbn',
        'creditcard',
        'ssn',
        'hexcolor',
        'rgbcolor',
        'byte',
        'date',
        'duration',
        'datetime',
        'bsonobjectid',
      ].map((name) => formatOf(name)?.(text)),
    frames: [
      ['rgb(', ')'],
      ['a@', ''],
      ['http://', ''],
      ['2026-01-01T00:00:00.', 'Z'],
      ['', 's'],
    ],
    pumps: ['1 h', 'a.', '1.', '1-', 'a@'],
    fairNs: 1500,
  },
];
