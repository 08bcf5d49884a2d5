/** Discovery and OpenAPI documents of a running server, and their use by upstream's command-line client
 *  (`explain`, client-side validation). Document 1 §4.1. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { kubectlMinor, useKubectl } from '../plane-clients/kubectl.ts';
import {
  type Json,
  type Plane,
  pod,
  type Reply,
  usePlane,
  VOCABULARY_NAMES,
  WAIT,
  workload,
} from './support.ts';

const PROTOBUF = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';

interface Document {
  readonly swagger?: string;
  readonly openapi?: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Json>>>>;
  readonly definitions?: Json;
}

const documentOf = ({ text }: Pick<Reply, 'text'>): Document => JSON.parse(text) as Document;

/** The addresses of all documents of OpenAPI 3, by group and version. */
async function index(plane: Plane): Promise<readonly (readonly [string, string])[]> {
  const { paths } = JSON.parse((await plane.get('/openapi/v3')).text) as {
    readonly paths: Readonly<Record<string, { readonly serverRelativeURL: string }>>;
  };
  return Object.entries(paths).map(([path, { serverRelativeURL }]) => [path, serverRelativeURL]);
}

describe.each(VOCABULARY_NAMES)('in the %s vocabulary', (name) => {
  const plane = usePlane(name);

  test('/openapi/v2 is JSON, compressed for clients that accept gzip, and cached by its entity tag', async () => {
    const plain = await plane.get('/openapi/v2');
    expect(plain.headers['content-type']).toBe('application/json');
    expect(documentOf(plain).swagger).toBe('2.0');
    const zipped = await plane.get('/openapi/v2', { 'accept-encoding': 'gzip' });
    expect(zipped.headers['content-encoding']).toBe('gzip');
    expect(gunzipSync(zipped.bytes).equals(plain.bytes)).toBe(true);
    const { etag } = plain.headers;
    const current = await plane.get('/openapi/v2', { 'if-none-match': String(etag) });
    expect([current.status, current.text, current.headers['etag']]).toEqual([304, '', etag]);
  });

  test('/openapi/v2 is protobuf on request', async () => {
    const { status, headers, bytes } = await plane.get('/openapi/v2', { accept: PROTOBUF });
    expect([status, headers['content-type']]).toEqual([200, PROTOBUF.replace('@', '.')]);
    // Field 1, a text of 3 bytes: the version of the format.
    expect(bytes.subarray(0, 5).toString('latin1')).toBe('\n\x032.0');
    const other = await plane.get('/openapi/v2', { accept: 'text/html' });
    expect([other.status, other.body.reason]).toEqual([406, 'NotAcceptable']);
  });

  test('every list that the document names is served', async () => {
    const { paths } = documentOf(await plane.get('/openapi/v2'));
    const action = `${plane.words.schemaExtensionPrefix}action`;
    const lists = Object.entries(paths).filter(([, { get }]) => get?.[action] === 'list');
    expect(lists.length).toBeGreaterThan(60);
    const responses = await Promise.all(
      lists.map(async ([path]) => {
        const { status, body } = await plane.get(path.replace('{namespace}', 'default'));
        return [path, status, body.kind.endsWith('List')];
      }),
    );
    expect(responses.filter(([, status, isList]) => status !== 200 || isList !== true)).toEqual([]);
  });

  test('every method that the document names is allowed, and no other', async () => {
    const { paths } = documentOf(await plane.get('/openapi/v2'));
    const responses = await Promise.all(
      Object.keys(paths)
        .filter((path) => path.endsWith('/{name}') || path.endsWith('/status'))
        .map(async (path) => {
          const methods = Object.keys(paths[path] ?? {}).filter((method) => method !== 'parameters');
          const address = path.replace('{namespace}', 'default').replace('{name}', 'nobody');
          const replies = await Promise.all(
            ['PUT', 'PATCH', 'POST'].map((method) => plane.call(method, address, {})),
          );
          const refused = replies.flatMap(({ status }, nth) => (status === 405 ? [nth] : []));
          const wanted = ['put', 'patch', 'post'].flatMap((method, nth) =>
            methods.includes(method) ? [] : [nth],
          );
          return [path, refused.join(), wanted.join()];
        }),
    );
    expect(responses.filter(([, refused, wanted]) => refused !== wanted)).toEqual([]);
  });

  test('/openapi/v3 links a document for every group version, cached forever', async () => {
    const addresses = await index(plane);
    const replies = await Promise.all(addresses.map(([, url]) => plane.get(url)));
    expect(replies.map(({ status }) => status)).toEqual(addresses.map(() => 200));
    const paths = replies.flatMap((reply) => Object.keys(documentOf(reply).paths));
    expect(paths.toSorted()).toEqual(
      Object.keys(documentOf(await plane.get('/openapi/v2')).paths).toSorted(),
    );
    for (const { headers } of replies) {
      expect(headers['cache-control']).toBe('public, immutable');
      expect(Date.parse(String(headers['expires']))).toBeGreaterThan(Date.now());
    }
  });

  test('an outdated address of /openapi/v3 leads to the current one', async () => {
    const [path, url] = (await index(plane))[0] ?? ['', ''];
    const moved = await plane.get(`/openapi/v3/${path}?hash=old`);
    expect([moved.status, moved.headers['location']]).toEqual([301, url]);
    const { status, headers } = await plane.get(`/openapi/v3/${path}`);
    expect([status, headers['cache-control']]).toEqual([200, 'no-cache, private']);
  });

  test('nothing else is below /openapi', async () => {
    for (const path of ['/openapi', '/openapi/v1', '/openapi/v2/a', '/openapi/v3/apis/none/v1']) {
      expect((await plane.get(path)).status).toBe(404);
    }
    expect((await plane.post('/openapi/v2', {})).status).toBe(405);
  });

  test.each(['v2', 'v2beta1'])(
    'discovery in one piece (%s) has what the single documents have',
    async (version) => {
      const domain = plane.words.apiGroupDomain;
      const type = `application/json;g=apidiscovery.${domain};v=${version};as=APIGroupDiscoveryList`;
      for (const root of ['/api', '/apis']) {
        const whole = await plane.get(root, { accept: `${type},application/json` });
        expect(whole.headers['content-type']).toBe(type);
        expect(whole.body).toMatchObject({
          kind: 'APIGroupDiscoveryList',
          apiVersion: `apidiscovery.${domain}/${version}`,
        });
        const again = await plane.get(root, { accept: type, 'if-none-match': String(whole.headers['etag']) });
        expect(again.status).toBe(304);
        for (const { metadata, versions } of whole.body.items as unknown as readonly Group[]) {
          for (const served of versions) {
            const address =
              root === '/api' ? `/api/${served.version}` : `/apis/${metadata.name}/${served.version}`;
            const { resources } = (await plane.get(address)).body as unknown as {
              readonly resources: readonly { readonly name: string; readonly verbs: readonly string[] }[];
            };
            const single = resources.map((one) => `${one.name} ${one.verbs.join()}`);
            const joined = served.resources.flatMap(({ resource, verbs, subresources = [] }) => [
              `${resource} ${verbs.join()}`,
              ...subresources.map((sub) => `${resource}/${sub.subresource} ${sub.verbs.join()}`),
            ]);
            expect(joined.toSorted()).toEqual(single.toSorted());
          }
        }
      }
    },
  );

  test('the root lists the paths, each of which responds', async () => {
    const { paths } = JSON.parse((await plane.get('/')).text) as { readonly paths: readonly string[] };
    expect(paths).toEqual(
      expect.arrayContaining(['/api/v1', '/apis/apps/v1', '/healthz', '/metrics', '/openapi/v3', '/version']),
    );
    const responses = await Promise.all(paths.map(async (path) => [path, (await plane.get(path)).status]));
    expect(responses.filter(([, status]) => status !== 200)).toEqual([]);
  });

  test('no member of /version is empty', async () => {
    const body: unknown = (await plane.get('/version')).body;
    expect(
      Object.entries(body as Readonly<Record<string, string>>).filter(([, text]) => text === ''),
    ).toEqual([]);
    expect(body).toMatchObject({ gitCommit: expect.stringMatching(/^[0-9a-f]{40}$/) as string });
  });

  test('/version reports the release of the API', async () => {
    const { body } = await plane.get('/version');
    expect(body).toMatchObject({ major: '1', minor: '24', platform: /^linux\// });
  });
});

interface Group {
  readonly metadata: { readonly name: string };
  readonly versions: readonly {
    readonly version: string;
    readonly resources: readonly {
      readonly resource: string;
      readonly verbs: readonly string[];
      readonly subresources?: readonly { readonly subresource: string; readonly verbs: readonly string[] }[];
    }[];
  }[];
}

const minor = await kubectlMinor();

describe('kubectl', () => {
  const plane = usePlane('kubernetes');
  const { ok, fails, json, run, dir } = useKubectl(() => plane.server.platconfigFile);
  const apply = ['apply', '-f', '-'];

  // Newer clients read OpenAPI 3, and OpenAPI 2 if configured, the only version that older ones support.
  test.each(minor >= 27 ? ['plaintext', 'plaintext-openapiv2'] : [''])(
    'explains a field (%s)',
    async (output) => {
      const form = output === '' ? [] : ['--output', output];
      const text = await ok(['explain', 'pod.spec.containers', ...form]);
      expect(text).toMatch(/KIND: +Pod/);
      expect(text).toContain('Containers of the pod. At least one');
      expect(text).toMatch(/imagePullPolicy\t<string>/);
      expect(text).toMatch(/name\t<string> -required-/);
      const all = await ok(['explain', 'pod.spec.containers', '--recursive', ...form]);
      expect(all).toMatch(/livenessProbe\t<.*>\n +exec\t<.*>\n +command\t<\[\]string>/);
    },
  );

  test('explains kinds of every group', async () => {
    const lines = (await ok('api-resources --no-headers')).split('\n').map((line) => line.trim().split(/ +/));
    expect(lines.length).toBeGreaterThan(50);
    const kinds = lines.map(([resource = '', ...words]) => ({
      resource,
      version: words.find((word) => /^([a-z0-9.]+\/)?v\d/.test(word)) ?? '',
    }));
    // One of each: a process for each kind would take its time.
    const first = new Map(kinds.map(({ resource, version }) => [version, resource]));
    expect(first.size).toBeGreaterThan(15);
    const texts = await Promise.all(
      [...first].map(async ([version, resource]) => {
        const { code, out } = await run(['explain', resource, `--api-version=${version}`]);
        return [version, resource, code === 0 && /apiVersion\t<string>/.test(out)];
      }),
    );
    expect(texts.filter(([, , good]) => good !== true)).toEqual([]);
  });

  test('lists the versions of the API', async () => {
    const versions = (await ok('api-versions')).split('\n');
    expect(versions).toEqual(
      expect.arrayContaining(['v1', 'apps/v1', 'batch/v1', `storage.${plane.words.apiGroupDomain}/v1`]),
    );
  });

  test('finds wrong members before it sends them', async () => {
    const wrong = {
      ...pod('a'),
      spec: { containrs: [], containers: [{ name: 'x', foo: 1, ports: [{ containerPort: '80' }] }] },
    };
    const input = { apiVersion: 'v1', kind: 'List', items: [wrong] };
    const text = await fails([...apply, '--validate=true'], { input });
    expect(text).toMatch(/unknown field "foo" in \S+\.core\.v1\.Container,/);
    expect(text).toMatch(/unknown field "containrs" in \S+\.core\.v1\.PodSpec\]/);
    expect(text).toContain('containerPort: got "string", expected "integer"');
    expect((await fails('get pod a')).toLowerCase()).toContain('not found');
  });

  test('has wrong members found, by itself or by the server', async () => {
    const input = { ...pod('b'), spec: { containers: [{ name: 'x', image: 'busybox', foo: 1 }] } };
    expect(await fails([...apply, '--validate=true'], { input })).toMatch(
      /unknown field "(spec\.containers\[0\]\.)?foo"/,
    );
    expect(await ok([...apply, '--validate=false', '--dry-run=server'], { input })).toContain(
      'created (server dry run)',
    );
  });

  test('knows custom kinds as long as they are defined', async () => {
    const { apiGroupDomain, schemaExtensionPrefix: x } = plane.words;
    const spec = {
      type: 'object',
      required: ['cron'],
      properties: {
        cron: { type: 'string', description: 'When it starts.' },
        replicas: { type: 'integer', nullable: true },
        port: { [`${x}int-or-string`]: true },
        pod: { type: 'object', [`${x}embedded-resource`]: true, [`${x}preserve-unknown-fields`]: true },
      },
    };
    const schema = { openAPIV3Schema: { type: 'object', description: 'Says when.', properties: { spec } } };
    const definition = {
      apiVersion: `apiextensions.${apiGroupDomain}/v1`,
      kind: 'CustomResourceDefinition',
      metadata: { name: 'crontabs.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names: { plural: 'crontabs', kind: 'CronTab' },
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    };
    await ok(apply, { input: definition });
    await ok('wait --for=condition=Established crd crontabs.example.com');
    expect(await ok('explain crontab')).toContain('Says when.');
    expect(await ok('explain crontab.spec')).toMatch(/cron\t<string> -required-\n +When it starts\./);
    const object = (more: Json): Json => ({
      apiVersion: 'example.com/v1',
      kind: 'CronTab',
      metadata: { name: 'a' },
      spec: { cron: '* * * * *', replicas: null, port: 'http', pod: { ...pod('b'), more: 1 }, ...more },
    });
    expect(await fails(apply, { input: object({ wrong: 1 }) })).toMatch(/unknown field "(spec\.)?wrong"/);
    expect(await ok(apply, { input: object({}) })).toContain('created');
    expect(await ok(apply, { input: object({ port: 80 }) })).toContain('configured');
    expect((await json('get crontab a')).spec).toMatchObject({ port: 80, pod: { kind: 'Pod', more: 1 } });
    await ok('delete crd crontabs.example.com');
    await expect
      .poll(async () => Object.fromEntries(await index(plane)), WAIT)
      .not.toHaveProperty(['apis/example.com/v1']);
    expect((await plane.get('/openapi/v2')).text).not.toContain('CronTab"');
  });

  test('merges what it applied, what it applies and what others did, by the keys of lists', async () => {
    const container = (name: string, env: readonly string[]): Json => ({
      name,
      image: 'busybox',
      env: env.map((variable) => ({ name: variable, value: variable })),
      ports: [{ containerPort: 80 }, { containerPort: 81 }],
    });
    const deployment = (containers: readonly Json[]): Json =>
      workload('Deployment', 'd', {
        selector: { matchLabels: { app: 'd' } },
        template: { metadata: { labels: { app: 'd' } }, spec: { containers } },
      });
    await ok(apply, { input: deployment([container('x', ['A', 'B']), container('z', [])]) });
    await ok('set env deployment/d -c x C=3');
    const next = deployment([container('x', ['B'])]);
    expect(await ok([...apply, '--dry-run=server'], { input: next })).toContain(
      'configured (server dry run)',
    );
    const file = join(dir(), 'd.json');
    await writeFile(file, JSON.stringify(next));
    const { code, out } = await run(['diff', '-f', file]);
    expect([code, /^-\s+- name: A$/m.test(out), /^-.*name: C$/m.test(out)]).toEqual([1, true, false]);
    await ok(apply, { input: next });
    const { spec } = await json('get deployment d');
    const { containers } = (
      spec as unknown as { readonly template: { readonly spec: { readonly containers: readonly Json[] } } }
    ).template.spec;
    expect(containers).toHaveLength(1);
    expect(containers[0]).toMatchObject({
      name: 'x',
      env: [
        { name: 'B', value: 'B' },
        { name: 'C', value: '3' },
      ],
      ports: [{ containerPort: 80 }, { containerPort: 81 }],
    });
  });
});
