import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Checkpoint, checksumText, formatCheckpoint, parseCheckpoint } from './checkpoint.ts';

const CHECKPOINT: Checkpoint = {
  entries: [
    {
      podUID: 'u1',
      container: 'main',
      resource: 'example.com/gpu',
      devices: new Map([
        [1, ['b']],
        [-1, ['a', 'c']],
      ]),
      response: Uint8Array.of(10, 255),
    },
    { podUID: 'u2', container: 'c', resource: 'r', devices: new Map(), response: undefined },
  ],
  registered: new Map([
    ['z', []],
    ['example.com/gpu', ['a', 'b']],
  ]),
};

describe('checksumText', () => {
  test('equals Go’s output of the data with types and names', () => {
    expect(checksumText(CHECKPOINT)).toBe(
      '(checkpoint.checkpointData){PodDeviceEntries:([]checkpoint.PodDevicesEntry)[' +
        '{PodUID:(string)u1 ContainerName:(string)main ResourceName:(string)example.com/gpu ' +
        'DeviceIDs:(checkpoint.DevicesPerNUMA)map[-1:[a c] 1:[b]] AllocResp:([]uint8)[10 255]} ' +
        '{PodUID:(string)u2 ContainerName:(string)c ResourceName:(string)r ' +
        'DeviceIDs:(checkpoint.DevicesPerNUMA)map[] AllocResp:([]uint8)<nil>}] ' +
        'RegisteredDevices:(map[string][]string)map[example.com/gpu:[a b] z:[]]}',
    );
  });
});

describe('parseCheckpoint', () => {
  test('round-trips upstream’s format', () => {
    const text = formatCheckpoint(CHECKPOINT);
    expect(JSON.parse(text)).toMatchObject({
      Data: {
        PodDeviceEntries: [
          { PodUID: 'u1', DeviceIDs: { '-1': ['a', 'c'], '1': ['b'] }, AllocResp: 'Cv8=' },
          {},
        ],
        RegisteredDevices: { 'example.com/gpu': ['a', 'b'] },
      },
    });
    const read = parseCheckpoint(text);
    expect(read.entries[0]?.devices.get(-1)).toEqual(['a', 'c']);
    expect(read.entries[0]?.response).toEqual(Buffer.of(10, 255));
    expect(read.entries[1]?.response).toBeUndefined();
    expect([...read.registered.keys()].toSorted()).toEqual(['example.com/gpu', 'z']);
  });

  test.each([
    ['a changed device', (text: string) => text.replace('"b"', '"x"'), 'checksum'],
    ['another sum', (text: string) => text.replace(/"Checksum":\d+/, '"Checksum":1'), 'checksum'],
    ['what was cut short', (text: string) => text.slice(0, -10), 'JSON'],
    ['a list for an object', () => '[]', 'object'],
    ['a number for a name', (text: string) => text.replace('"u1"', '7'), 'PodUID is not a string'],
  ])('rejects %s', (_, change, message) => {
    expect(() => parseCheckpoint(change(formatCheckpoint(CHECKPOINT)))).toThrow(message);
  });

  test('round-trips any device names', () => {
    const names = fc.array(fc.string());
    const entry = fc.record({
      podUID: fc.string(),
      container: fc.string(),
      resource: fc.string(),
      devices: names.map((list) => new Map([[0, list]])),
      response: fc.option(fc.uint8Array(), { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(entry), (entries) => {
        const read = parseCheckpoint(formatCheckpoint({ entries, registered: new Map() }));
        expect(read.entries.map(({ devices }) => devices)).toEqual(entries.map(({ devices }) => devices));
      }),
    );
  });
});
