import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { copyJson } from '#api/codec/copy-json.ts';
import { FEATURE_GATES, gatesOn } from '#api/schema/feature-gates.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createBuiltinSchema } from './builtin-schema.ts';
import type { ApiObject } from './contract.ts';
import { dropDisabledFields } from './drop-gated-fields.ts';
import { GATED_FIELDS } from './gated-fields.ts';

/** Values of the gated fields, by their last member. */
const VALUES: Readonly<Record<string, unknown>> = {
  csi: { driver: 'd.example.com' },
  ephemeralContainers: [{ name: 'debug', image: 'i' }],
  grpc: { port: 80, service: '' },
  os: { name: 'linux' },
  sizeLimit: '1Gi',
  minDomains: 3,
  terminationGracePeriodSeconds: 5,
  procMount: 'Unmasked',
  maxSurge: 2,
  maxUnavailable: 2,
  persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete', whenScaled: 'Retain' },
  minReadySeconds: 7,
  timeZone: 'UTC',
  ports: [{ port: 80, protocol: 'TCP' }],
  internalTrafficPolicy: 'Local',
  dataSourceRef: { kind: 'VolumeSnapshot', name: 's' },
  allocatedResources: { storage: '1Gi' },
  resizeStatus: 'NodeExpansionPending',
  serving: true,
  terminating: true,
  hints: { forZones: [{ name: 'a' }] },
  endPort: 90,
  conditions: [
    { type: 'A', status: 'True', lastTransitionTime: '2026-11-21T12:00:00Z', reason: 'R', message: '' },
  ],
  containerResource: { name: 'cpu', container: 'c', target: { type: 'Utilization' } },
};

/** Returns an object with the value at each path. */
function objectWith(
  typeRef: string,
  paths: readonly string[],
  value: (member: string) => unknown,
): ApiObject {
  const [apiVersion = '', kind = ''] = typeRef.replace(/^core\//, '').split(/\.(?=[A-Z])/);
  const object: ApiObject = { apiVersion, kind, metadata: { name: 'a', labels: { a: 'b' } } };
  for (const path of paths) {
    let holder: Record<string, unknown> = object;
    const parts = path.split('.');
    const last = parts.pop() ?? '';
    for (const part of parts) {
      const name = part.replace('[]', '');
      const made: Record<string, unknown> = {};
      const known = holder[name];
      const next: unknown = Array.isArray(known) ? known[0] : known;
      if (typeof next === 'object' && next !== null) {
        holder = next as Record<string, unknown>;
      } else {
        holder[name] = part.endsWith('[]') ? [made] : made;
        holder = made;
      }
    }
    holder[last] = value(last);
  }
  return object;
}

const ROWS = Object.entries(GATED_FIELDS).flatMap(([typeRef, fields]) =>
  fields.map((entry) => [typeRef, entry.gate, entry] as const),
);

const NONE: ReadonlySet<string> = new Set();

describe.each(ROWS)('a %s with fields of %s', (typeRef, gate, { paths, fallback }) => {
  const valueOf = (member: string): unknown => VALUES[member];
  const full = (): ApiObject => objectWith(typeRef, paths, valueOf);
  const bare = (): ApiObject => objectWith(typeRef, paths, () => fallback);
  const drop = (gates: ReadonlySet<string>) =>
    dropDisabledFields([{ gate, paths, ...(fallback === undefined ? {} : { fallback }) }], gates);

  it('has a gate and values of the type', () => {
    expect(FEATURE_GATES.map(({ name }) => name)).toContain(gate);
    const gates = new Set([gate]);
    const { unknown, errors, object } = createBuiltinSchema(typeRef, {
      vocabulary: VOCABULARIES.plat,
      gates,
    }).decode(full());
    expect([unknown, errors]).toEqual([[], []]);
    expect(object).toMatchObject(full());
  });

  it('keeps them while the gate is on', () => {
    expect(drop(new Set([gate]))).toBeUndefined();
  });

  it('loses all of them when it is created without the gate', () => {
    const draft = full();
    drop(NONE)?.(draft);
    expect(draft).toEqual(bare());
  });

  it('loses them in an update of an object without them', () => {
    const draft = full();
    drop(NONE)?.(draft, bare());
    expect(draft).toEqual(bare());
  });

  it('keeps them in an update of an object that has one of them', () => {
    fc.assert(
      fc.property(fc.constantFrom(...paths), (path) => {
        const draft = full();
        drop(NONE)?.(draft, objectWith(typeRef, [path], valueOf));
        expect(draft).toEqual(full());
      }),
    );
  });

  it('keeps everything else', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (rest) => {
        const draft: ApiObject = { ...full(), rest };
        const wanted: ApiObject = { ...bare(), rest: copyJson(rest) };
        drop(NONE)?.(draft);
        expect(draft).toEqual(wanted);
      }),
    );
  });
});

test('members of another form are left to the validation', () => {
  const drop = dropDisabledFields(GATED_FIELDS['core/v1.Pod'] ?? [], NONE);
  for (const spec of [undefined, null, 1, 'x', [], { containers: {} }, { containers: [null, 1, 'x', []] }]) {
    const draft: ApiObject = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec };
    drop?.(draft);
    expect(draft['spec']).toEqual(spec);
  }
});

test('the gates that are off by default drop fields of pods', () => {
  const draft = objectWith(
    'core/v1.Pod',
    ['spec.topologySpreadConstraints[].minDomains', 'spec.os'],
    (member) => VALUES[member],
  );
  dropDisabledFields(GATED_FIELDS['core/v1.Pod'] ?? [], gatesOn({}))?.(draft);
  expect(draft['spec']).toEqual({ topologySpreadConstraints: [{}], os: { name: 'linux' } });
});
