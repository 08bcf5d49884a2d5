import { describe, expect, test } from 'vitest';
import { UPSTREAM_CONFIG_KIND, VOCABULARIES } from '#api/vocabulary.ts';
import { formatConfigError } from './errors.ts';
import { readConfigFile } from './file.ts';
import { upstreamField } from './upstream.ts';

const FILE = '/etc/agent/config.yaml';
const HEAD = `kind: ${VOCABULARIES.plat.configKind}\napiVersion: ${VOCABULARIES.plat.configApiGroup}/v1beta1\n`;

const read = (body: string): ReturnType<typeof readConfigFile> => readConfigFile(`${HEAD}${body}`, FILE);

const values = (body: string): unknown =>
  Object.fromEntries([...read(body).values].map(([key, { value }]) => [key, value.value]));

const errors = (body: string): readonly string[] => read(body).errors.map(formatConfigError);

describe('readConfigFile', () => {
  test('reads values at any depth', () => {
    expect(
      values(
        'maxPods: 5\nauthentication:\n  webhook:\n    cacheTTL: 1m\n  anonymous: {enabled: true}\nlogging:\n  options: {json: {infoBufferSize: 1Ki}}',
      ),
    ).toEqual({
      maxPods: 5,
      'authentication.webhook.cacheTTL': 60_000,
      'authentication.anonymous.enabled': true,
      'logging.options.json.infoBufferSize': '1Ki',
    });
    expect(errors('maxPods: 5')).toEqual([]);
  });

  test('reads JSON', () => {
    const text = JSON.stringify({
      kind: VOCABULARIES.plat.configKind,
      apiVersion: `${VOCABULARIES.plat.configApiGroup}/v1beta1`,
      maxPods: 5,
    });
    const file = readConfigFile(text, FILE);
    expect(file.errors).toEqual([]);
    expect(file.values.get('maxPods')?.value).toEqual({ shape: 'number', value: 5 });
  });

  test("accepts upstream's kind and fields", () => {
    const field = upstreamField('platReserved') ?? '';
    const text = `kind: ${UPSTREAM_CONFIG_KIND}\napiVersion: ${VOCABULARIES.kubernetes.configApiGroup}/v1beta1\n${field}: {cpu: "1"}\n`;
    const file = readConfigFile(text, FILE);
    expect(file.errors).toEqual([]);
    expect(file.values.get('platReserved')).toEqual({
      value: { shape: 'map', value: { cpu: '1' } },
      path: field,
    });
  });

  test('starts relative paths at the directory of the file', () => {
    expect(values('staticPodPath: manifests\nresolvConf: ""\ntlsCertFile: /a')).toEqual({
      staticPodPath: '/etc/agent/manifests',
      resolvConf: '',
      tlsCertFile: '/a',
    });
  });

  test('treats null as absent', () => {
    expect(values('maxPods: null\nauthentication: null\nlogging: {format: null}')).toEqual({});
    expect(errors('maxPods: null\nauthentication: null')).toEqual([]);
  });

  test.each([
    ['maxPod: 5', 'maxPod: Unknown field: no such field; did you mean maxPods?'],
    [
      'authentication: {webhok: {enabled: true}}',
      'authentication.webhok: Unknown field: no such field; did you mean authentication.webhook?',
    ],
    ['authentication: {webhook: {enable: true}}', 'did you mean authentication.webhook.enabled?'],
    ['rootDir: /x', 'rootDir: Unknown field: only a flag can set this: --root-dir'],
    ['pod-manifest-path: /x', 'the field of --pod-manifest-path is staticPodPath'],
    ['authentication: 5', 'authentication: Invalid value: 5: must be a mapping, not a number'],
    ['maxPods: "5"', 'maxPods: Invalid value: "5": must be a whole number, not a string'],
    ['maxPods: 5\nmaxPods: 6', 'maxPods: Duplicate value'],
    ['maxPods: -1', 'maxPods: Invalid value: -1: must be at least 0'],
    ['cgroupDriver: cgroup', 'cgroupDriver: Unsupported value: "cgroup": must be one of cgroupfs, systemd'],
    [
      'featureGates: {NodeSwop: true}',
      'featureGates[NodeSwop]: Not found: "NodeSwop": no such feature gate (did you mean "NodeSwap"?)',
    ],
    ['---\nmaxPods: 5', 'the file has 2 documents'],
    ['maxPods: [', ''],
  ])('rejects %j', (body, message) => {
    const found = errors(body);
    expect(found).toHaveLength(1);
    expect(found[0]).toContain(`${FILE}: `);
    expect(found[0]).toContain(message);
  });

  test('rejects a field under both its names', () => {
    const other = upstreamField('platAPIQPS') ?? '';
    expect(errors(`platAPIQPS: 5\n${other}: 6`)).toEqual([
      `${FILE}: ${other}: Duplicate value: duplicates platAPIQPS in another spelling; specify it once`,
    ]);
  });

  test('does not show header values in errors', () => {
    expect(errors('staticPodURLHeader: {Authorization: hunter2}').join('')).not.toContain('hunter2');
  });

  test('reports all errors at once', () => {
    const { faulty, errors: found } = read(
      'maxPod: 1\nport: x\naddress: 5\nauthorization: {mode: Never, hook: 1}',
    );
    expect(found).toHaveLength(5);
    expect([...faulty]).toEqual(['port', 'address', 'authorization.mode']);
  });

  test.each([
    ['', 'kind: Required value: the file has no document'],
    ['5', 'document 1: Invalid value: the file must hold a mapping, not a number'],
    ['maxPods: 5', 'kind: Required value: must be'],
    ['\u0000', ''],
    [`kind: Pod\napiVersion: v1`, 'kind: Unsupported value: "Pod": must be'],
  ])('rejects the file %j', (text, message) => {
    const found = readConfigFile(text, FILE).errors.map(formatConfigError);
    expect(found.length).toBeGreaterThan(0);
    expect(found[0]).toContain(message);
  });

  test('rejects a file that is too large', () => {
    const file = readConfigFile(`${HEAD}# ${'x'.repeat(2 * 1024 * 1024)}`, FILE);
    expect(file.errors).toHaveLength(1);
    expect(file.values.size).toBe(0);
  });
});
