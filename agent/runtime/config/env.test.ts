import { describe, expect, test } from 'vitest';
import type { ConfigMap, Container, Secret } from '#api/gen/core-v1.ts';
import { type EnvInput, envReferences, resolveEnv } from './env.ts';
import { testPod } from './pod.fixture.ts';

const base64 = (text: string | Uint8Array): string => Buffer.from(text).toString('base64');

const CONFIG_MAPS = new Map<string, ConfigMap>([
  ['settings', { data: { color: 'blue', size: 'L' } }],
  ['odd', { data: { '1st': 'x', 'a b': 'y', fine: 'z' } }],
  ['empty', {}],
]);
const SECRETS = new Map<string, Secret>([
  ['login', { data: { password: base64('s3cret'), bytes: base64(Uint8Array.of(0xff, 0xfe)) } }],
  ['plain', { data: { token: base64('t') } }],
  ['nul', { data: { token: base64('a\0b') } }],
]);

const input = (container: Partial<Container>, extra: Partial<EnvInput> = {}): EnvInput => {
  const pod = testPod({ nodeName: 'node-1' }, container);
  return {
    pod: { ...pod, status: { podIP: '10.1.0.7', hostIP: '192.0.2.5' } },
    container: pod.spec?.containers[0] ?? { name: 'none' },
    configMaps: CONFIG_MAPS,
    secrets: SECRETS,
    allocatable: { cpu: 2, memory: 1024 },
    ...extra,
  };
};

const envOf = (container: Partial<Container>, extra: Partial<EnvInput> = {}): Record<string, string> => {
  const result = resolveEnv(input(container, extra));
  if (result.kind === 'error') throw new Error(result.message);
  return Object.fromEntries(result.env);
};

describe('resolveEnv', () => {
  test.each<[string, Partial<Container>, Record<string, string>]>([
    ['nothing', {}, {}],
    ['literals', { env: [{ name: 'A', value: 'a' }, { name: 'B' }] }, { A: 'a', B: '' }],
    [
      'references to earlier variables only',
      {
        env: [
          { name: 'A', value: '$(B)' },
          { name: 'B', value: 'b' },
          { name: 'C', value: '$(B)$$(B)' },
        ],
      },
      { A: '$(B)', B: 'b', C: 'b$(B)' },
    ],
    [
      'a variable over itself',
      {
        env: [
          { name: 'A', value: 'a' },
          { name: 'A', value: '$(A)b' },
        ],
      },
      { A: 'ab' },
    ],
    [
      'pod fields',
      {
        env: [
          { name: 'NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
          { name: 'TIER', valueFrom: { fieldRef: { fieldPath: "metadata.labels['tier']" } } },
          { name: 'IP', valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } },
          { name: 'NODE', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
        ],
      },
      { NAME: 'web', TIER: 'front', IP: '10.1.0.7', NODE: 'node-1' },
    ],
    [
      'container resources',
      {
        resources: { limits: { cpu: '1500m' } },
        env: [
          { name: 'CPU', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', divisor: '1m' } } },
          { name: 'MEM', valueFrom: { resourceFieldRef: { resource: 'limits.memory' } } },
          { name: 'OWN', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', containerName: 'app' } } },
        ],
      },
      { CPU: '1500', MEM: '1024', OWN: '2' },
    ],
    [
      'keys of a ConfigMap and a Secret',
      {
        env: [
          { name: 'COLOR', valueFrom: { configMapKeyRef: { name: 'settings', key: 'color' } } },
          { name: 'PASS', valueFrom: { secretKeyRef: { name: 'login', key: 'password' } } },
          { name: 'BOTH', value: '$(COLOR)-$(PASS)' },
        ],
      },
      { COLOR: 'blue', PASS: 's3cret', BOTH: 'blue-s3cret' },
    ],
    [
      'no variable for optional sources that are missing',
      {
        env: [
          { name: 'A', valueFrom: { configMapKeyRef: { name: 'gone', key: 'k', optional: true } } },
          { name: 'B', valueFrom: { secretKeyRef: { name: 'login', key: 'k', optional: true } } },
          {
            name: 'C',
            valueFrom: { configMapKeyRef: { name: 'settings', key: 'toString', optional: true } },
          },
        ],
        envFrom: [{ configMapRef: { name: 'gone', optional: true } }, { configMapRef: { name: 'empty' } }],
      },
      {},
    ],
    [
      'whole sources with a prefix, under env',
      {
        envFrom: [{ prefix: 'CFG_', configMapRef: { name: 'settings' } }, { secretRef: { name: 'plain' } }],
        env: [
          { name: 'CFG_size', value: 'XL' },
          { name: 'SEEN', value: '$(CFG_color)$(token)' },
        ],
      },
      { CFG_color: 'blue', CFG_size: 'XL', token: 't', SEEN: 'bluet' },
    ],
  ])('gives %s', (_, container, expected) => {
    expect(envOf(container)).toEqual(expected);
  });

  test.each<[string, Partial<Container>, RegExp]>([
    [
      'a ConfigMap',
      { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'gone', key: 'k' } } }] },
      /ConfigMap shop\/gone was not found/,
    ],
    [
      'a key',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'login', key: 'k' } } }] },
      /Secret shop\/login has no key "k"/,
    ],
    ['an envFrom source', { envFrom: [{ secretRef: { name: 'gone' } }] }, /Secret shop\/gone was not found/],
    [
      'a field',
      { env: [{ name: 'A', valueFrom: { fieldRef: { fieldPath: 'status.nope' } } }] },
      /variable A: .*status\.nope/,
    ],
    [
      'a container',
      {
        env: [{ name: 'A', valueFrom: { resourceFieldRef: { resource: 'limits.cpu', containerName: 'x' } } }],
      },
      /no container "x"/,
    ],
    [
      'text',
      { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'login', key: 'bytes' } } }] },
      /key "bytes" is not UTF-8/,
    ],
    ['a value without NUL', { envFrom: [{ secretRef: { name: 'nul' } }] }, /key "token" contains a NUL/],
  ])('is an error without %s', (_, container, message) => {
    const result = resolveEnv(input(container));
    expect(result).toMatchObject({ kind: 'error', reason: 'CreateContainerConfigError' });
    expect(result.kind === 'error' && result.message).toMatch(message);
  });

  test('never puts a value into a message', () => {
    const result = resolveEnv(input({ envFrom: [{ secretRef: { name: 'nul' } }] }));
    expect(JSON.stringify(result)).not.toMatch(/a\\u0000b|YQBi/);
  });

  test('skips keys that are not names, with a warning', () => {
    const result = resolveEnv(input({ envFrom: [{ configMapRef: { name: 'odd' } }] }));
    expect(result).toMatchObject({ kind: 'ok', warnings: [{ reason: 'InvalidEnvironmentVariableNames' }] });
    if (result.kind === 'error') throw new Error(result.message);
    expect(result.warnings[0]?.message).toContain('[1st, a b] of ConfigMap shop/odd');
    expect([...result.env.keys()]).toEqual(['fine']);
  });

  test('a prefix can make a key valid', () => {
    const result = envOf({ envFrom: [{ prefix: 'N', configMapRef: { name: 'odd' } }] });
    expect(result).toEqual({ N1st: 'x', Nfine: 'z' });
  });

  test('service variables come last and can be referred to', () => {
    const serviceEnv = { DB_HOST: '10.0.0.1', A: 'service' };
    const env = [
      { name: 'A', value: 'own' },
      { name: 'URL', value: 'db://$(DB_HOST)' },
    ];
    expect(envOf({ env }, { serviceEnv })).toEqual({ A: 'own', URL: 'db://10.0.0.1', DB_HOST: '10.0.0.1' });
  });
});

test('envReferences names each object once', () => {
  expect(
    envReferences({
      envFrom: [{ configMapRef: { name: 'a' } }, { secretRef: { name: 's' } }, {}],
      env: [
        { name: 'A', valueFrom: { configMapKeyRef: { name: 'a', key: 'k' } } },
        { name: 'B', valueFrom: { secretKeyRef: { name: 't', key: 'k' } } },
        { name: 'C', value: 'c' },
      ],
    }),
  ).toEqual({ configMaps: ['a'], secrets: ['s', 't'] });
  expect(envReferences({})).toEqual({ configMaps: [], secrets: [] });
});
