import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { askPreference, chooseDevices, orderByNodes, takePreference } from './choose.ts';

const set = (text: string): ReadonlySet<string> => new Set(text.split(' ').filter((one) => one !== ''));
/** `a0` is on node 0, `b01` on both, `x` has no NUMA information. */
const nodesOf = (device: string): readonly number[] => (device.match(/\d/g) ?? []).map(Number);
const NOWHERE = undefined;

describe('chooseDevices', () => {
  test.each<[string, number, string, string, number | undefined, string | undefined]>([
    ['takes free ones in the order of their names', 2, '', 'd10 d9 d2', NOWHERE, 'd2 d9'],
    ['takes those of init containers first', 2, 'z', 'a b', NOWHERE, 'z a'],
    ['takes none too many of init containers', 1, 'y z', 'a', NOWHERE, 'y'],
    ['finds that there are too few', 3, '', 'a b', NOWHERE, undefined],
    ['takes those on the wanted node', 2, '', 'a0 b1 c1', 0b10, 'b1 c1'],
    ['goes elsewhere for what is missing', 2, '', 'a0 b1 x', 0b10, 'b1 a0'],
    ['prefers devices with a known NUMA node', 3, '', 'a0 b1 x', 0b10, 'b1 a0 x'],
    ['retains the larger group whole', 1, '', 'a0 b0 c1', 0b11, 'c1'],
    ['ignores the hint without a known NUMA node', 1, '', 'y x', 0b10, 'x'],
  ])('%s', (_, needed, reusable, free, where, expected) => {
    const chosen = chooseDevices({ needed, reusable: set(reusable), free: set(free), nodesOf, where });
    expect(chosen?.join(' ')).toBe(expected);
  });
});

describe('orderByNodes', () => {
  test('retains every device, once', () => {
    const device = fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.constantFrom('', '0', '1', '01', '2'));
    fc.assert(
      fc.property(fc.array(device), fc.option(fc.integer({ min: 1, max: 7 })), (names, where) => {
        const devices = new Set(names.map((parts) => parts.join('')));
        const { aligned, others } = orderByNodes(devices, nodesOf, where ?? undefined);
        expect([...aligned, ...others].toSorted()).toEqual([...devices].toSorted());
      }),
    );
  });
});

describe('askPreference', () => {
  test.each<[string, string, string, string, number | undefined, object | undefined]>([
    [
      'offers all devices where NUMA nodes do not matter',
      'a',
      '',
      'b c',
      NOWHERE,
      { available: ['a', 'b', 'c'], mustInclude: [] },
    ],
    ['requests no preference without a choice', 'a', '', '', NOWHERE, undefined],
    ['requests no preference for reused devices', 'a', 'a', 'b', NOWHERE, undefined],
    [
      'requests a preference within the preferred node',
      'a0',
      '',
      'b0 c1',
      0b01,
      { available: ['a0', 'b0'], mustInclude: [] },
    ],
    [
      'retains all of a node that is too small',
      'a0 b1',
      '',
      'c1',
      0b01,
      { available: ['a0', 'b1', 'c1'], mustInclude: ['a0'] },
    ],
    [
      'retains what others have too',
      'a b',
      'a',
      'c',
      NOWHERE,
      { available: ['a', 'b', 'c'], mustInclude: ['a'] },
    ],
  ])('%s', (_, reserved, pinned, free, where, expected) => {
    const request = askPreference({
      reserved: set(reserved),
      pinned: set(pinned),
      free: set(free),
      nodesOf,
      where,
    });
    expect(request).toEqual(expected === undefined ? undefined : { ...expected, size: set(reserved).size });
  });
});

describe('takePreference', () => {
  const request = { available: ['a', 'b', 'c', 'd'], mustInclude: ['a'], size: 2 };
  test.each([
    ['follows the plugin', ['a', 'd'], 'a d'],
    ['retains what must stay', ['c', 'd'], 'a c'],
    ['minds nothing that was not offered', ['a', 'z'], 'a b'],
    ['fills up from what was booked', [], 'a b'],
    ['takes none too many', ['b', 'c', 'd'], 'a b'],
  ])('%s', (_, response, expected) => {
    expect(takePreference(request, set('a b'), response).join(' ')).toBe(expected);
  });
});
