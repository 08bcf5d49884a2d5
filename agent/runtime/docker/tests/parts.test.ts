/** Pure parts of the docker runtime. */
import { array, assert, integer, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseTime } from '../client/parse.ts';
import { encodeAuth, splitReference } from '../images/pull.ts';
import { loopbackAddress } from '../network/dial.ts';
import { bridgeNetwork, parseNetwork } from '../network/plugin-config.ts';
import { addressesIn, pluginInput } from '../network/plugin-networks.ts';
import { formatResolver } from '../state/sandbox-files.ts';
import { parseCounters, parseProcessCgroup } from '../stats/cgroup-usage.ts';
import { formatExit, parseSize } from '../streaming/command-session.ts';
import { createDemuxer } from '../streaming/demux.ts';
import { selectProtocol } from '../streaming/server.ts';

test.each([
  ['2026-01-02T03:04:05.123456789Z', 1_767_323_045_123_456_789n],
  ['2026-01-02T03:04:05.1Z', 1_767_323_045_100_000_000n],
  ['2026-01-02T04:04:05+01:00', 1_767_323_045_000_000_000n],
  ['0001-01-01T00:00:00Z', 0n],
  ['yesterday', 0n],
])('the time %s is %d ns', (text, timeNs) => {
  expect(parseTime(text)).toBe(timeNs);
});

describe('pulls', () => {
  test.each([
    ['busybox', 'docker.io/library/busybox', 'latest'],
    ['localhost:5000/a/b:v1', 'localhost:5000/a/b', 'v1'],
    [`r.io/a@sha256:${'0'.repeat(64)}`, 'r.io/a', `sha256:${'0'.repeat(64)}`],
  ])('%s', (image, repository, tag) => {
    expect(splitReference(image)).toEqual({ repository, tag });
  });

  test('a malformed reference is rejected', () => {
    expect(() => splitReference('UPPER')).toThrow('repository name must be lowercase');
  });

  const NONE = {
    username: '',
    password: '',
    auth: '',
    serverAddress: '',
    identityToken: '',
    registryToken: '',
  };
  test.each([
    [
      { ...NONE, username: 'u', password: 'p' },
      { username: 'u', password: 'p', serveraddress: '' },
    ],
    [
      { ...NONE, auth: Buffer.from('u:p:q\0').toString('base64') },
      { username: 'u', password: 'p:q' },
    ],
    [{ ...NONE, identityToken: 't' }, { identitytoken: 't' }],
  ])('a login has the form of docker: %j', (auth, login) => {
    const text = Buffer.from(encodeAuth(auth) ?? '', 'base64url').toString();
    expect(JSON.parse(text)).toMatchObject(login);
    expect(encodeAuth(undefined)).toBeUndefined();
  });
});

describe('output', () => {
  test('pieces arrive whole, however the bytes are cut', () => {
    const piece = (stream: 1 | 2, text: string): Buffer => {
      const head = Buffer.alloc(8);
      head[0] = stream;
      head.writeUInt32BE(text.length, 4);
      return Buffer.concat([head, Buffer.from(text)]);
    };
    const bytes = Buffer.concat([piece(1, 'one'), piece(2, ''), piece(2, 'two'), piece(1, 'three')]);
    assert(
      property(array(integer({ min: 1, max: 9 }), { minLength: 1 }), (sizes) => {
        const demuxer = createDemuxer();
        const texts = { stdout: '', stderr: '' };
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          for (const { stream, bytes: part } of demuxer.feed(bytes.subarray(at, at + size))) {
            texts[stream] += Buffer.from(part).toString();
          }
          at += size;
        }
        expect(texts).toEqual({ stdout: 'onethree', stderr: 'two' });
      }),
      { numRuns: 50 },
    );
    expect(() => createDemuxer().feed(Buffer.from('OCI runtime'))).toThrow('without a header');
  });

  test('the status of a session has the exit code', () => {
    expect(JSON.parse(formatExit(0, undefined))).toEqual({ metadata: {}, status: 'Success' });
    expect(JSON.parse(formatExit(3, undefined))).toMatchObject({
      reason: 'NonZeroExitCode',
      details: { causes: [{ reason: 'ExitCode', message: '3' }] },
    });
    expect(JSON.parse(formatExit(127, 'no such file'))).toMatchObject({ message: 'no such file' });
  });

  test.each([
    ['{"Width":80,"Height":24}', { width: 80, height: 24 }],
    ['{"Width":0,"Height":24}', undefined],
    ['{"Width":"80","Height":24}', undefined],
    ['80x24', undefined],
  ])('the size %s', (line, size) => {
    expect(parseSize(line)).toEqual(size);
  });

  test('the first protocol of the client that the server has is used', () => {
    expect(selectProtocol(['v9', 'v4', 'v3'], ['v3', 'v4'])).toBe('v4');
    expect(selectProtocol(['v9'], ['v4'])).toBeUndefined();
  });
});

describe('networks', () => {
  const target = {
    id: 'i',
    namespace: '/n',
    config: {
      metadata: { name: 'p', namespace: 's', uid: 'u', attempt: 0 },
      portMappings: [{ protocol: 'TCP', containerPort: 80, hostPort: 8080, hostIp: '' }],
      dnsConfig: undefined,
    },
  } as const;

  test('a plugin gets values only for the capabilities that it declares', () => {
    const network = parseNetwork(
      '/c',
      '{"name":"n","cniVersion":"1.0.0","plugins":[{"type":"a"},{"type":"b","capabilities":{"portMappings":true}}]}',
    );
    const [first = {}, second = {}] = network.plugins;
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- only these members are read
    const full = target as unknown as Parameters<typeof pluginInput>[2];
    expect(pluginInput(network, first, full, undefined)).toEqual({
      type: 'a',
      name: 'n',
      cniVersion: '1.0.0',
    });
    expect(pluginInput(network, second, full, { ips: [] })).toMatchObject({
      runtimeConfig: { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }] },
      prevResult: { ips: [] },
    });
  });

  test('results of all versions have addresses', () => {
    expect(addressesIn({ ips: [{ address: '10.0.0.2/24' }, { address: 'fd00::2/64' }] })).toEqual([
      '10.0.0.2',
      'fd00::2',
    ]);
    expect(addressesIn({ ip4: { ip: '10.0.0.2/24' } })).toEqual(['10.0.0.2']);
  });

  test.each([
    ['not JSON', '{', 'not JSON'],
    ['a name with a path', '{"name":"../x","type":"a"}', 'name'],
    ['no plugin', '{"name":"x","plugins":[]}', 'at least one'],
    ['a plugin with a path', '{"name":"x","plugins":[{"type":"../../bin/sh"}]}', 'plugins[0].type'],
  ])('a configuration with %s is rejected', (_, text, error) => {
    expect(() => parseNetwork('/c', text)).toThrow(error);
  });

  test('kubenet is a bridge with the addresses of the pod CIDR', () => {
    expect(bridgeNetwork('10.1.2.0/24', 1400).plugins).toMatchObject([
      { type: 'bridge', mtu: 1400, promiscMode: true, ipam: { ranges: [[{ subnet: '10.1.2.0/24' }]] } },
      { type: 'portmap' },
    ]);
    expect(bridgeNetwork('10.1.2.0/24', 0).plugins[0]).not.toHaveProperty('mtu');
  });

  test('addresses of the kernel', () => {
    expect(Buffer.from(loopbackAddress(4, 0x1234)).toString('hex')).toBe(`020012347f000001${'00'.repeat(8)}`);
    expect(Buffer.from(loopbackAddress(6, 80)).toString('hex')).toBe(
      `0a000050${'00'.repeat(19)}01${'00'.repeat(4)}`,
    );
  });
});

test('a resolver configuration has servers, searches and options', () => {
  expect(formatResolver({ servers: ['1.1.1.1', '::1'], searches: ['a', 'b'], options: ['ndots:5'] })).toBe(
    'nameserver 1.1.1.1\nnameserver ::1\nsearch a b\noptions ndots:5\n',
  );
});

test('counters and cgroups of the kernel', () => {
  expect([...parseCounters('a 1\nb -1\nc\n\nd 22\n')]).toEqual([
    ['a', 1n],
    ['d', 22n],
  ]);
  expect(parseProcessCgroup('5:cpu:/x\n4:memory:/docker/a\n', 1)).toBe('/docker/a');
  expect(parseProcessCgroup('0::/system.slice/docker-a.scope\n', 2)).toBe('/system.slice/docker-a.scope');
});
