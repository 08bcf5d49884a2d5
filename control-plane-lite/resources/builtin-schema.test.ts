import { describe, expect, it } from 'vitest';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { createBuiltinSchema } from './builtin-schema.ts';

const { plat, kubernetes } = VOCABULARIES;
const schemaOf = (typeRef: string, vocabulary = plat): ReturnType<typeof createBuiltinSchema> =>
  createBuiltinSchema(typeRef, { vocabulary, gates: new Set() });

const pod = (container: object): object => ({
  kind: 'Pod',
  apiVersion: 'v1',
  metadata: { name: 'web' },
  spec: { containers: [{ name: 'a', image: 'x', ...container }] },
});

describe('decode', () => {
  it('gives a fresh draft with canonical values and defaults', () => {
    const given = pod({ ports: [{ containerPort: 80 }], resources: { limits: { cpu: 0.5 } } });
    const before = structuredClone(given);
    const { object, errors, unknown } = schemaOf('core/v1.Pod').decode(given);
    expect([errors, unknown]).toEqual([[], []]);
    expect(object['spec']).toMatchObject({
      restartPolicy: 'Always',
      containers: [
        {
          ports: [{ containerPort: 80, protocol: 'TCP' }],
          resources: { limits: { cpu: '500m' }, requests: { cpu: '500m' } },
        },
      ],
    });
    expect(given).toEqual(before);
  });

  it('takes over what an object has from a known one, but for its metadata', () => {
    const schema = schemaOf('core/v1.Pod');
    const { object: known } = schema.decode(pod({ ports: [{ containerPort: 80 }] }));
    const patched = { ...known, metadata: { ...known.metadata, labels: { a: 'b' } } };
    const { object, errors } = schema.decode(patched, known);
    expect([object, errors]).toEqual([schema.decode(patched).object, []]);
    expect(object['spec']).toBe(known['spec']);
    const { object: same } = schema.decode({ ...known }, known);
    expect(same).toEqual(known);
    expect(same.metadata).not.toBe(known.metadata);
  });

  it('gives what is new its defaults, and leaves what is known as it is', () => {
    const schema = schemaOf('core/v1.Pod');
    const known = {
      kind: 'Pod',
      apiVersion: 'v1',
      metadata: {},
      status: Object.freeze({ phase: 'Running' }),
    };
    const { object } = schema.decode({ ...pod({}), status: known.status }, known);
    expect(object['spec']).toMatchObject({ restartPolicy: 'Always' });
    expect(object['status']).toBe(known.status);
    const bare = { ...known, spec: Object.freeze({ containers: Object.freeze([]) }) };
    expect(schema.decode({ ...bare }, bare).object['spec']).toBe(bare.spec);
  });

  it('keeps unknown members apart from errors', () => {
    const { errors, unknown, object } = schemaOf('core/v1.Pod').decode(pod({ imag: 'x', tty: 'yes' }));
    expect(errors.map(({ field }) => field)).toEqual(['spec.containers[0].tty']);
    expect(unknown.map(({ field }) => field)).toEqual(['spec.containers[0].imag']);
    expect(JSON.stringify(object)).not.toContain('imag"');
  });

  it('keeps no empty members, which clients with types would take away with their next write', () => {
    const { object } = schemaOf('core/v1.ConfigMap').decode({
      metadata: { name: 'a', labels: {}, annotations: {}, finalizers: [] },
      data: {},
    });
    expect(object).toEqual({ kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a' } });
  });

  it('leaves it to validation to ask for what is required', () => {
    const { errors, object } = schemaOf('core/v1.Pod').decode({ kind: 'Pod', apiVersion: 'v1', spec: {} });
    expect(errors).toEqual([]);
    expect(object).toMatchObject({ metadata: {}, spec: { containers: [] } });
  });

  it('says what an object is that does not say so itself', () => {
    const typeRef = `storage.${plat.apiGroupDomain}/v1.StorageClass`;
    expect(schemaOf(typeRef, kubernetes).decode({ provisioner: 'x' }).object).toMatchObject({
      kind: 'StorageClass',
      apiVersion: `storage.${kubernetes.apiGroupDomain}/v1`,
      metadata: {},
    });
  });

  it('bears what is no object at all', () => {
    expect(schemaOf('core/v1.Pod').decode('x').errors).toHaveLength(1);
    expect(schemaOf('core/v1.Pod').decode(undefined).errors).toHaveLength(1);
  });
});

describe('model', () => {
  it('is that of the type, in the words of the wire', () => {
    const { root } = schemaOf('core/v1.Node', kubernetes).model;
    const found = root.kind === 'struct' ? root.member('status')?.node : undefined;
    const info = found?.kind === 'struct' ? found.member('nodeInfo')?.node : undefined;
    expect(info?.kind === 'struct' && info.members.includes(`${kubernetes.agentComponent}Version`)).toBe(
      true,
    );
  });
});

describe('applyDefaults', () => {
  it('fills what a merge left out', () => {
    const schema = schemaOf('core/v1.Pod');
    const { object } = schema.decode(pod({}));
    const draft = structuredClone(object);
    if (typeof draft['spec'] === 'object' && draft['spec'] !== null)
      Reflect.deleteProperty(draft['spec'], 'restartPolicy');
    schema.applyDefaults(draft);
    expect(draft).toEqual(object);
  });
});
