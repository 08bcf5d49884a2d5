import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Pod, Service } from '#api/gen/core-v1.ts';
import type { EndpointSlice } from '#api/gen/discovery-v1.ts';
import { type Backend, backendOf } from './backends.ts';
import { MOST_ADDRESSES, wantedEndpoints } from './endpoints.ts';
import { type AddressType, type KnownSlice, MOST_ENDPOINTS } from './pack-slices.ts';
import { decideSlices } from './slices.ts';

const service = (spec: Partial<Service['spec'] & object> = {}, labels = {}): Service => ({
  metadata: { name: 'web', namespace: 'ns', labels },
  spec: { ports: [{ name: 'http', port: 80, targetPort: 8080 }], ...spec },
});
const pod = (name: string, ip: string, ready = true, more: Pod = {}): Pod => ({
  metadata: { name, namespace: 'ns', uid: `uid-${name}`, ...more.metadata },
  spec: {
    nodeName: 'n1',
    containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 8081 }] }],
    ...more.spec,
  },
  status: {
    phase: 'Running',
    podIP: ip,
    podIPs: [{ ip }],
    conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
    ...more.status,
  },
});
const backends = (of: Service, ...pods: readonly Pod[]): readonly Backend[] =>
  pods.flatMap((each) => backendOf(of, each) ?? []);
const DELETED = { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } };

describe('backends', () => {
  test.each<[string, Service, Pod, unknown]>([
    ['a number', service(), pod('a', '10.0.0.1'), [8080]],
    ['a name', service({ ports: [{ port: 80, targetPort: 'web' }] }), pod('a', '10.0.0.1'), [8081]],
    ['its own number', service({ ports: [{ port: 80 }] }), pod('a', '10.0.0.1'), [80]],
    [
      'a name that the pod lacks',
      service({ ports: [{ port: 80, targetPort: 'x' }] }),
      pod('a', '10.0.0.1'),
      undefined,
    ],
    [
      'a name of another protocol',
      service({ ports: [{ port: 80, targetPort: 'web', protocol: 'UDP' }] }),
      pod('a', '10.0.0.1'),
      undefined,
    ],
    ['no port at all', service({ ports: [], clusterIP: 'None' }), pod('a', '10.0.0.1'), []],
    ['a pod without an address', service(), pod('a', ''), undefined],
    [
      'a pod that ended',
      service(),
      pod('a', '10.0.0.1', true, { status: { phase: 'Failed', podIP: '10.0.0.1' } }),
      undefined,
    ],
  ])('target port: %s', (_, of, each, ports) => {
    expect(backendOf(of, each)?.ports.map(({ port }) => port)).toEqual(ports);
  });

  test.each([
    ['web', 'db-0'],
    ['other', undefined],
  ])('the name of a pod whose subdomain is %s is %s', (subdomain, hostname) => {
    const named = pod('a', '10.0.0.1', true, { spec: { hostname: 'db-0', subdomain, containers: [] } });
    expect(backendOf(service(), named)?.hostname).toBe(hostname);
  });
});

describe('Endpoints', () => {
  const shown = (of: Service, ...pods: readonly Pod[]) =>
    wantedEndpoints(of, backends(of, ...pods), 'example.com').subsets.map((subset) => ({
      ready: subset.addresses?.map(({ ip }) => ip),
      unready: subset.notReadyAddresses?.map(({ ip }) => ip),
      ports: subset.ports?.map(({ port }) => port),
    }));

  test('ready and unready pods are separate and sorted; terminating pods are omitted', () => {
    const pods = [pod('c', '10.0.0.3'), pod('a', '10.0.0.1', false), pod('b', '10.0.0.2')];
    expect(shown(service(), ...pods, pod('d', '10.0.0.4', true, DELETED))).toEqual([
      { ready: ['10.0.0.2', '10.0.0.3'], unready: ['10.0.0.1'], ports: [8080] },
    ]);
  });

  test('publishNotReadyAddresses includes unready pods', () => {
    const of = service({ publishNotReadyAddresses: true });
    expect(shown(of, pod('a', '10.0.0.1', false), pod('d', '10.0.0.4', true, DELETED))).toEqual([
      { ready: ['10.0.0.1', '10.0.0.4'], unready: undefined, ports: [8080] },
    ]);
  });

  test('pods with different ports have separate subsets', () => {
    const of = service({ ports: [{ name: 'http', port: 80, targetPort: 'web' }] });
    const other = { spec: { containers: [{ name: 'c', ports: [{ name: 'web', containerPort: 9 }] }] } };
    expect(
      shown(of, pod('a', '10.0.0.1'), pod('b', '10.0.0.2', true, other)).map(({ ports }) => ports),
    ).toEqual([[8081], [9]]);
  });

  test('addresses beyond the capacity are omitted, unready ones first', () => {
    const pods = Array.from({ length: MOST_ADDRESSES + 5 }, (_, index) =>
      pod(`p${index}`, `10.0.${index >> 8}.${index & 255}`, index > 2),
    );
    const { subsets, truncated } = wantedEndpoints(service(), backends(service(), ...pods), 'example.com');
    expect([subsets[0]?.addresses?.length, subsets[0]?.notReadyAddresses, truncated]).toEqual([
      MOST_ADDRESSES,
      undefined,
      true,
    ]);
  });

  test('a headless service is labelled as such', () => {
    const { labels } = wantedEndpoints(service({ clusterIP: 'None' }, { a: 'b' }), [], 'example.com');
    expect(labels).toEqual({ a: 'b', 'service.example.com/headless': '' });
  });
});

describe('slices', () => {
  const zoneOf = (node: string): string | undefined => (node === 'n1' ? 'z1' : undefined);
  const decide = (of: Service, pods: readonly Pod[], known: readonly KnownSlice[] = []) =>
    decideSlices(of, backends(of, ...pods), known, { zoneOf });

  test('an endpoint has its conditions, node and zone', () => {
    const { create } = decide(service({ ipFamilies: ['IPv4'] }), [pod('a', '10.0.0.1', true, DELETED)]);
    expect(create).toEqual([
      {
        addressType: 'IPv4',
        ports: [{ name: 'http', port: 8080, protocol: 'TCP' }],
        endpoints: [
          {
            addresses: ['10.0.0.1'],
            conditions: { ready: false, serving: true, terminating: true },
            targetRef: { kind: 'Pod', namespace: 'ns', name: 'a', uid: 'uid-a' },
            nodeName: 'n1',
            zone: 'z1',
          },
        ],
      },
    ]);
  });

  test('an endpoint does not tell that it terminates without the gate', () => {
    const of = service({ ipFamilies: ['IPv4'] });
    const pods = backends(of, pod('a', '10.0.0.1', true, DELETED));
    const { create } = decideSlices(of, pods, [], { zoneOf, conditions: false });
    expect(create[0]?.endpoints[0]?.conditions).toEqual({ ready: false });
  });

  test('hints are kept across changes, and given up with the shares', () => {
    const of = service({ ipFamilies: ['IPv4'] });
    const pods = ['a', 'b', 'c', 'd'].map((name, index) => pod(name, `10.0.0.${index + 1}`));
    const shares = new Map([
      ['z1', 0.5],
      ['z2', 0.5],
    ]);
    const hinted = decideSlices(of, backends(of, ...pods), [], { zoneOf, shares });
    const known = carryOut([], hinted);
    const zones = known.flatMap(({ slice }) =>
      slice.endpoints.map(({ hints }) => hints?.forZones?.[0]?.name ?? ''),
    );
    expect(zones.toSorted()).toEqual(['z1', 'z1', 'z2', 'z2']);
    const again = decideSlices(of, backends(of, ...pods), known, { zoneOf, shares });
    expect(again).toEqual({ create: [], update: [], remove: [] });
    const { update } = decideSlices(of, backends(of, ...pods), known, { zoneOf });
    expect(update[0]?.content.endpoints.some(({ hints }) => hints !== undefined)).toBe(false);
  });

  test.each<[string, readonly AddressType[]]>([
    ['IPv4', ['IPv4']],
    ['IPv6', ['IPv6']],
    ['both families', ['IPv4', 'IPv6']],
  ])('a service of %s without pods has an empty slice of each family, created once', (_, ipFamilies) => {
    const of = service({ ipFamilies });
    const changes = decide(of, []);
    expect(changes).toEqual({
      create: ipFamilies.map((addressType) => ({ addressType, ports: [], endpoints: [] })),
      update: [],
      remove: [],
    });
    const known = carryOut([], changes);
    expect(decide(of, [], known)).toEqual({ create: [], update: [], remove: [] });
  });

  test('the empty slice is replaced by endpoints and returns after the last one', () => {
    const of = service({ ipFamilies: ['IPv4'] });
    const empty = carryOut([], decide(of, []));
    const withPod = carryOut(empty, decide(of, [pod('a', '10.0.0.1')], empty));
    expect(withPod.map(({ slice }) => slice.endpoints.length)).toEqual([1]);
    const without = carryOut(withPod, decide(of, [], withPod));
    expect(without.map(({ slice }) => [slice.ports, slice.endpoints])).toEqual([[[], []]]);
  });

  test('each family has slices of its own', () => {
    const dual = pod('a', '10.0.0.1', true, {
      status: { phase: 'Running', podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }, { ip: 'fd00::1' }] },
    });
    const { create } = decide(service({ ipFamilies: ['IPv4', 'IPv6'] }), [dual]);
    expect(create.map(({ addressType, endpoints }) => [addressType, endpoints[0]?.addresses])).toEqual([
      ['IPv4', ['10.0.0.1']],
      ['IPv6', ['fd00::1']],
    ]);
  });

  /** The slices after the changes. */
  function carryOut(
    known: readonly KnownSlice[],
    { create, update, remove }: ReturnType<typeof decide>,
  ): readonly KnownSlice[] {
    const kept = known.filter(({ name }) => !remove.includes(name));
    const updated = kept.map((each) => {
      const content = update.find(({ name }) => name === each.name)?.content;
      return content === undefined ? each : { name: each.name, slice: content };
    });
    const names = create.map((content, index) => ({
      name: `s${known.length}-${index}-${Math.random()}`,
      slice: content as EndpointSlice,
    }));
    return [...updated, ...names];
  }

  test('after any changes every pod is in exactly one slice, no slice is too large, and a second run changes nothing', () => {
    const ids = fc.uniqueArray(fc.integer({ min: 0, max: 400 }), { maxLength: 350 });
    fc.assert(
      fc.property(fc.array(ids, { minLength: 1, maxLength: 4 }), (states) => {
        const of = service({ ipFamilies: ['IPv4'] });
        let known: readonly KnownSlice[] = [];
        for (const state of states) {
          const pods = state.map((id) => pod(`p${id}`, `10.0.${id >> 8}.${id & 255}`, id % 3 > 0));
          known = carryOut(known, decide(of, pods, known));
          const uids = known.flatMap(({ slice }) =>
            slice.endpoints.map(({ targetRef }) => targetRef?.uid ?? ''),
          );
          expect(uids.toSorted()).toEqual(state.map((id) => `uid-p${id}`).toSorted());
          expect(known.every(({ slice }) => slice.endpoints.length <= MOST_ENDPOINTS)).toBe(true);
          expect(known.length).toBeGreaterThan(0);
          expect(decide(of, pods, known)).toEqual({ create: [], update: [], remove: [] });
        }
      }),
      { numRuns: 60 },
    );
  });

  test('a changed pod changes one slice', () => {
    const of = service({ ipFamilies: ['IPv4'] });
    const pods = Array.from({ length: 250 }, (_, id) => pod(`p${id}`, `10.0.0.${id}`));
    const known = carryOut([], decide(of, pods));
    const changed = pods.with(120, pod('p120', '10.0.0.120', false));
    const { create, update, remove } = decide(of, changed, known);
    expect([known.length, create.length, update.length, remove.length]).toEqual([3, 0, 1, 0]);
  });
});
