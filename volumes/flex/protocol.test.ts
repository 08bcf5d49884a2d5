import { describe, expect, test } from 'vitest';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { formatOptions } from './options.ts';
import {
  driverOfFolder,
  driverPlace,
  FlexNotSupportedError,
  type FlexOutput,
  parseResponse,
  tidyMessage,
} from './protocol.ts';

const output = (stdout: unknown, more: Partial<FlexOutput> = {}): FlexOutput => ({
  driver: 'acme/disk',
  call: 'mount',
  code: 0,
  stdout: typeof stdout === 'string' ? stdout : JSON.stringify(stdout),
  secrets: [],
  ...more,
});

describe('parseAnswer', () => {
  test('accepts responses in any spelling of the members', () => {
    const response = {
      Status: 'Success',
      device: '/dev/x',
      VolumeName: 'v',
      attached: true,
      volumeNewSize: 5,
    };
    expect(parseResponse(output(response))).toMatchObject({
      device: '/dev/x',
      volumeName: 'v',
      attached: true,
      volumeNewSize: 5,
    });
  });

  test('uses upstream’s defaults for missing capabilities', () => {
    const { capabilities } = parseResponse(
      output({ status: 'Success', capabilities: { attach: false, FSGroup: false } }),
    );
    expect(capabilities).toEqual({
      attach: false,
      fsGroup: false,
      selinuxRelabel: true,
      supportsMetrics: false,
      requiresFSResize: true,
    });
    expect(parseResponse(output({ status: 'Success' })).capabilities.attach).toBe(true);
  });

  test.each<[string, FlexOutput, string]>([
    [
      'a failure',
      output({ status: 'Failure', message: 'no disk' }, { code: 1 }),
      'acme/disk, mount: no disk',
    ],
    ['a failure without a reason', output({ status: 'Failure' }), 'mount: status Failure'],
    ['an unknown status', output({ status: 'Maybe' }), 'mount: status Maybe'],
    ['silence', output('', { code: 2 }), 'exited with code 2 and said nothing'],
    ['what is no JSON', output('oh\nno'), 'an unreadable response: oh no'],
    ['a list', output([]), 'an unreadable response'],
    [
      'success that is none',
      output({ status: 'Success' }, { code: 3 }),
      'reported success, but exited with code 3',
    ],
  ])('rejects %s', (_, printed, message) => {
    expect(() => parseResponse(printed)).toThrow(VolumeSetupError);
    expect(() => parseResponse(printed)).toThrow(message);
  });

  test('detects an unsupported call, whatever the exit code', () => {
    const printed = output({ status: 'Not supported' }, { code: 1 });
    expect(() => parseResponse(printed)).toThrow(FlexNotSupportedError);
  });

  test('never contains a secret', () => {
    const printed = output(
      { status: 'Failure', message: 'bad password aHVzaA==' },
      { secrets: ['aHVzaA=='] },
    );
    expect(() => parseResponse(printed)).toThrow('bad password …');
    expect(tidyMessage('x'.repeat(1000), [])).toHaveLength(301);
  });
});

describe('driverPlace', () => {
  test.each([
    ['acme/disk', 'acme~disk', 'disk'],
    ['disk', 'disk', 'disk'],
    ['acme.com/nfs-2', 'acme.com~nfs-2', 'nfs-2'],
  ])('finds the folder of %s', (name, folder, program) => {
    expect(driverPlace(name)).toEqual({ folder, program });
    expect(driverOfFolder(folder)).toBe(name);
  });

  test.each([
    '',
    '/',
    'a/b/c',
    '../disk',
    'acme/..',
    'acme/.disk',
    'acme/_disk',
    '.acme/disk',
    'a\0/b',
    'a~b/c',
  ])('rejects %j', (name) => {
    expect(() => driverPlace(name)).toThrow('must be like vendor/driver');
  });

  test.each(['.acme~disk', '_acme~disk', 'acme~.disk', 'a~b~c', 'acme~'])(
    'skips the directory %j',
    (folder) => {
      expect(driverOfFolder(folder)).toBeUndefined();
    },
  );
});

describe('formatOptions', () => {
  const volume = { fsType: 'ext4', readOnly: true, name: 'pv-1', options: { size: '1', 'd/fsType': 'mine' } };

  test('contains only the volume', () => {
    expect(formatOptions('d', volume)).toBe(
      '{"d/fsType":"ext4","d/pvOrVolumeName":"pv-1","d/readwrite":"ro","size":"1"}',
    );
  });

  test('contains the pod and its secrets', () => {
    const pod = {
      metadata: { name: 'web', namespace: 'shop', uid: 'u1' },
      spec: { containers: [], serviceAccountName: 'clerk' },
    };
    const secrets = new Map([['key', Buffer.from('hush')]]);
    expect(JSON.parse(formatOptions('d', volume, { pod, fsGroup: 7, secrets }))).toEqual({
      'd/fsType': 'ext4',
      'd/readwrite': 'ro',
      'd/pvOrVolumeName': 'pv-1',
      'd/pod.name': 'web',
      'd/pod.namespace': 'shop',
      'd/pod.uid': 'u1',
      'd/serviceAccount.name': 'clerk',
      'd/fsGroup': '7',
      'd/secret/key': 'aHVzaA==',
      size: '1',
    });
  });
});
