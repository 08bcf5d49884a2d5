import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Node } from '#api/gen/core-v1.ts';
import type { Endpoint } from '#api/gen/discovery-v1.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { decideHints, zoneShares } from './topology-hints.ts';

const { plat } = VOCABULARIES;

interface NodeOptions {
  readonly zone?: string;
  readonly cpu?: string;
  readonly ready?: boolean;
  readonly role?: string;
}

const nodeOf = ({ zone, cpu = '2', ready = true, role }: NodeOptions): Node => ({
  metadata: {
    labels: {
      ...(zone === undefined ? {} : { [`topology.${plat.domain}/zone`]: zone }),
      ...(role === undefined ? {} : { [`node-role.${plat.domain}/${role}`]: '' }),
    },
  },
  status: {
    allocatable: { cpu },
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
  },
});

const endpointsIn = (...zones: readonly string[]): readonly Endpoint[] =>
  zones.map((zone, index) => ({
    addresses: [`10.0.0.${index}`],
    conditions: { ready: true },
    ...(zone === '' ? {} : { zone }),
  }));

const never = (): undefined => undefined;
const zonesOf = (hints: ReadonlyMap<Endpoint, string> | undefined): readonly string[] | undefined =>
  hints && [...hints.values()];

describe('zoneShares', () => {
  test.each<[string, readonly NodeOptions[], object | undefined]>([
    [
      'by CPUs',
      [
        { zone: 'a', cpu: '3' },
        { zone: 'b', cpu: '1' },
      ],
      { a: 0.75, b: 0.25 },
    ],
    ['of several nodes', [{ zone: 'a' }, { zone: 'a' }, { zone: 'b', cpu: '4' }], { a: 0.5, b: 0.5 }],
    [
      'without unready nodes',
      [{ zone: 'a' }, { zone: 'b' }, { zone: 'c', ready: false }],
      { a: 0.5, b: 0.5 },
    ],
    [
      'without the control plane',
      [{ zone: 'a' }, { zone: 'b' }, { zone: 'c', role: 'control-plane' }],
      { a: 0.5, b: 0.5 },
    ],
    ['of one zone', [{ zone: 'a' }], undefined],
    ['with a node outside', [{ zone: 'a' }, { zone: 'b' }, {}], undefined],
    ['with a node without CPUs', [{ zone: 'a' }, { zone: 'b', cpu: '0' }], undefined],
  ])('%s', (_, nodes, expected) => {
    const shares = zoneShares(nodes.map(nodeOf), plat);
    expect(shares && Object.fromEntries(shares)).toEqual(expected);
  });
});

describe('decideHints', () => {
  const half = new Map([
    ['a', 0.5],
    ['b', 0.5],
  ]);

  test('endpoints serve their own zone where that is balanced', () => {
    expect(zonesOf(decideHints(endpointsIn('a', 'b', 'a', 'b'), half, never))).toEqual(['a', 'b', 'a', 'b']);
  });

  test('a zone without enough endpoints gets those of another', () => {
    const hints = zonesOf(decideHints(endpointsIn('a', 'a', 'a', 'a', 'b', 'a'), half, never)) ?? [];
    expect(hints.filter((zone) => zone === 'b')).toHaveLength(3);
  });

  test.each<[string, readonly Endpoint[], ReadonlyMap<string, number> | undefined]>([
    ['without shares', endpointsIn('a', 'b'), undefined],
    ['with fewer endpoints than zones', endpointsIn('a'), half],
    ['with an endpoint of no zone', endpointsIn('a', 'b', ''), half],
    ['that would overload a zone', endpointsIn('a', 'b', 'a'), half],
  ])('there are none %s', (_, endpoints, shares) => {
    expect(decideHints(endpoints, shares, never)).toBeUndefined();
  });

  test('hints stay while they are balanced', () => {
    const endpoints = endpointsIn('a', 'a', 'b', 'b');
    const swapped = (endpoint: Endpoint): string => (endpoint.zone === 'a' ? 'b' : 'a');
    expect(zonesOf(decideHints(endpoints, half, swapped))).toEqual(['b', 'b', 'a', 'a']);
    expect(zonesOf(decideHints(endpoints, half, () => 'a'))).toEqual(['a', 'a', 'b', 'b']);
  });

  test('every ready endpoint has a hint, and no zone is beyond its bounds', () => {
    const shares = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: 4 }).map((cpus) => {
      const total = cpus.reduce((sum, each) => sum + each, 0);
      return new Map(cpus.map((each, index) => [`z${index}`, each / total]));
    });
    const zones = fc.array(
      fc.integer({ min: 0, max: 4 }).map((index) => `z${index}`),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(shares, zones, (some, of) => {
        const endpoints = endpointsIn(...of);
        const hints = decideHints(endpoints, some, never);
        if (hints === undefined) return;
        expect([...hints.keys()]).toEqual(endpoints);
        for (const [zone, share] of some) {
          const count = [...hints.values()].filter((each) => each === zone).length;
          expect(count).toBeGreaterThanOrEqual(Math.ceil((share * of.length) / 1.2));
        }
      }),
    );
  });
});
