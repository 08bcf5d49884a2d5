import { describe, expect, it, test } from 'vitest';
import type { ConfigMap, Pod, Secret } from '../gen/core-v1.ts';
import { VOCABULARIES } from '../vocabulary.ts';
import { decode } from './decode.ts';
import { jsonFields, parseTypeName } from './registry.ts';
import { suggest } from './suggestion.ts';

const pod = (container: object, spec: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'web' },
  spec: { containers: [{ name: 'a', ...container }], ...spec },
});

const fieldErrors = (type: string, value: unknown): readonly string[] =>
  decode(type, value).errors.map((error) => `${error.kind} ${error.field}`);

describe('decode', () => {
  it('gives a valid object back, in its canonical form', () => {
    const value = pod({
      resources: { limits: { cpu: 0.5, memory: '1024Mi' }, requests: { cpu: '1000m' } },
      livenessProbe: { httpGet: { port: 'http' }, periodSeconds: 5 },
      readinessProbe: { tcpSocket: { port: 80 } },
    });
    const { value: decoded, errors } = decode<Pod>('core/v1.Pod', value);
    expect(errors).toEqual([]);
    const [container] = decoded.spec?.containers ?? [];
    expect(container?.resources).toEqual({ limits: { cpu: '500m', memory: '1Gi' }, requests: { cpu: '1' } });
    expect(container?.livenessProbe).toEqual({ httpGet: { port: 'http' }, periodSeconds: 5 });
  });

  it('returns its own result unchanged, at the root', () => {
    const { value: known } = decode<Pod>('core/v1.Pod', pod({ resources: { limits: { cpu: 1 } } }));
    const { metadata: _, ...parts } = known;
    const changed = { ...known, status: { phase: 'Running', extra: 1 } };
    const { value: again, errors } = decode<Pod>('core/v1.Pod', { ...known }, { known: parts });
    expect([again, errors]).toEqual([known, []]);
    expect(again.spec).toBe(known.spec);
    expect(again.metadata).not.toBe(known.metadata);
    expect(decode('core/v1.Pod', changed, { known: parts })).toEqual(decode('core/v1.Pod', changed));
    const copied = decode<Pod>('core/v1.Pod', structuredClone(known), { known: parts }).value;
    expect(copied).toEqual(known);
    expect(copied.spec).not.toBe(known.spec);
  });

  it('takes null for absent', () => {
    const { value, errors } = decode<Pod>('core/v1.Pod', {
      metadata: { name: 'a', creationTimestamp: null, labels: null },
      spec: { containers: [{ name: 'a', command: null }], volumes: null },
      status: null,
    });
    expect(errors).toEqual([]);
    expect(value).toEqual({ metadata: { name: 'a' }, spec: { containers: [{ name: 'a' }] } });
  });

  it('takes null as a word of a schema', () => {
    const given = { enum: ['a', null], type: 'string', nullable: true };
    const { value, errors } = decode(
      `apiextensions.${VOCABULARIES.plat.apiGroupDomain}/v1.JSONSchemaProps`,
      given,
    );
    expect([value, errors]).toEqual([given, []]);
  });

  it('leaves out empty values that upstream does not print, as an option', () => {
    const value = pod(
      {
        image: '',
        args: [],
        tty: false,
        env: [{ name: '', value: '' }],
        ports: [{ name: '', hostPort: 0, containerPort: 0 }],
        livenessProbe: { httpGet: { path: '', port: 0 }, initialDelaySeconds: 0 },
        securityContext: { privileged: false, runAsUser: 0 },
        resources: { limits: {}, requests: { cpu: '0' } },
      },
      {
        hostNetwork: false,
        nodeSelector: {},
        tolerations: [{}],
        automountServiceAccountToken: false,
        terminationGracePeriodSeconds: 0,
        volumes: [{ name: 'v', emptyDir: { medium: '' } }],
      },
    );
    const { value: decoded } = decode<Pod>('core/v1.Pod', value, { emptyFields: 'canonical' });
    expect(decoded.spec).toEqual({
      containers: [
        {
          name: 'a',
          env: [{ name: '' }],
          ports: [{ containerPort: 0 }],
          livenessProbe: { httpGet: { port: 0 } },
          securityContext: { privileged: false, runAsUser: 0 },
          resources: { requests: { cpu: '0' } },
        },
      ],
      tolerations: [{}],
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      volumes: [{ name: 'v', emptyDir: {} }],
    });
    expect(decode<Pod>('core/v1.Pod', value).value.spec).toMatchObject({
      nodeSelector: {},
      hostNetwork: false,
    });
  });

  it('puts times into UTC seconds', () => {
    const value = { metadata: { creationTimestamp: '2020-02-29T14:00:00.75+02:00' } };
    expect(decode<Pod>('core/v1.Pod', value).value.metadata?.creationTimestamp).toBe('2020-02-29T12:00:00Z');
  });

  test.each([
    ['an unknown member', pod({ imag: 'x' }), ['FieldUnknown spec.containers[0].imag']],
    ['a member in the wrong place', { ...pod({}), containers: [] }, ['FieldUnknown containers']],
    ['a number for text', pod({ image: 1 }), ['FieldValueTypeInvalid spec.containers[0].image']],
    ['text for a list', pod({ command: 'sh' }), ['FieldValueTypeInvalid spec.containers[0].command']],
    ['text for a flag', pod({ tty: 'yes' }), ['FieldValueTypeInvalid spec.containers[0].tty']],
    ['an object for a list', pod({ ports: {} }), ['FieldValueTypeInvalid spec.containers[0].ports']],
    ['a list for an object', pod({ resources: [] }), ['FieldValueTypeInvalid spec.containers[0].resources']],
    [
      'null in a list',
      pod({ command: ['a', null] }),
      ['FieldValueTypeInvalid spec.containers[0].command[1]'],
    ],
    [
      'a fraction',
      pod({ ports: [{ containerPort: 1.5 }] }),
      ['FieldValueInvalid spec.containers[0].ports[0].containerPort'],
    ],
    [
      'a number beyond 32 bits',
      pod({ ports: [{ containerPort: 2 ** 31 }] }),
      ['FieldValueInvalid spec.containers[0].ports[0].containerPort'],
    ],
    [
      'a number beyond 2^53',
      pod({}, { terminationGracePeriodSeconds: 1e300 }),
      ['FieldValueInvalid spec.terminationGracePeriodSeconds'],
    ],
    [
      'a word outside a closed set',
      pod({ imagePullPolicy: 'always' }),
      ['FieldValueNotSupported spec.containers[0].imagePullPolicy'],
    ],
    [
      'a word outside a closed set in a list',
      { spec: { accessModes: ['ReadWriteOnce', 'RWX'] } },
      ['FieldValueNotSupported spec.accessModes'],
      'core/v1.PersistentVolumeClaim',
    ],
    [
      'a quantity that is none',
      pod({ resources: { limits: { cpu: '1 core', memory: true } } }),
      [
        'FieldValueInvalid spec.containers[0].resources.limits.cpu',
        'FieldValueTypeInvalid spec.containers[0].resources.limits.memory',
      ],
    ],
    [
      'a time that is none',
      { metadata: { creationTimestamp: 'today' } },
      ['FieldValueInvalid metadata.creationTimestamp'],
    ],
    ['a missing required member', { spec: {} }, ['FieldValueRequired spec.containers']],
    [
      'a label value that is a number',
      { metadata: { labels: { 'x.io/a': 1 } } },
      ['FieldValueTypeInvalid metadata.labels[x.io/a]'],
    ],
    ['something that is no object', 'x', ['FieldValueTypeInvalid ']],
    ['a kind that is no text', { kind: 1 }, ['FieldValueTypeInvalid kind']],
  ])('reports %s', (_, value, expected, type = 'core/v1.Pod') => {
    expect(fieldErrors(type, value)).toEqual(expected);
  });

  it('reports everything at once and keeps the rest', () => {
    const { value, errors } = decode<Pod>(
      'core/v1.Pod',
      pod({ tty: 1, stdin: true, nope: 1, env: [{ name: 'a', value: 1 }, 7, { name: 'b' }] }),
    );
    expect(errors).toHaveLength(4);
    const [container] = value.spec?.containers ?? [];
    expect(container).toMatchObject({ name: 'a', stdin: true });
    expect(container?.env?.[2]).toEqual({ name: 'b' });
  });

  it('gives required members a value of their type even where they are missing', () => {
    const { value } = decode<Pod>('core/v1.Pod', { spec: { containers: [{}] } });
    expect(value.spec?.containers).toEqual([{ name: '' }]);
    expect(decode<Pod>('core/v1.Pod', { spec: {} }).value.spec?.containers).toEqual([]);
    expect(decode('core/v1.Pod', {}, { missingFields: 'ignore' }).errors).toEqual([]);
  });

  it('drops unknown members silently if configured', () => {
    const { value, errors } = decode<Pod>('core/v1.Pod', { future: 1 }, { unknownFields: 'ignore' });
    expect(errors).toEqual([]);
    expect(value).toEqual({});
  });

  it('starts its paths where the value stands', () => {
    expect(decode('core/v1.Pod', { x: 1 }, { path: ['items', 2] }).errors[0]?.field).toBe('items[2].x');
  });

  it('suggests the probable name', () => {
    const detail = (value: unknown): string | undefined => decode('core/v1.Pod', value).errors[0]?.detail;
    expect(detail(pod({ volumeMount: [] }))).toContain('did you mean "volumeMounts"?');
    expect(detail(pod({ imagePullPolicy: 'always' }))).toContain('did you mean "Always"?');
    expect(detail(pod({ somethingElse: 1 }))).not.toContain('did you mean');
  });

  it('gives members in the order of the type, however they came', () => {
    const { value } = decode<Pod>('core/v1.Pod', {
      spec: { containers: [{ image: 'i', name: 'a' }] },
      kind: 'Pod',
    });
    expect(JSON.stringify(value)).toBe('{"kind":"Pod","spec":{"containers":[{"name":"a","image":"i"}]}}');
  });

  it('uses the requested vocabulary', () => {
    const node = (member: string): object => ({ status: { nodeInfo: { [member]: 'v1.24.0' } } });
    const found = (member: string, name: 'plat' | 'kubernetes'): readonly string[] =>
      decode('core/v1.Node', node(member), {
        vocabulary: VOCABULARIES[name],
        missingFields: 'ignore',
      }).errors.map((error) => error.kind);
    const field = jsonFields(parseTypeName('core/v1.NodeSystemInfo')).find(({ upstream }) => upstream);
    const [own, upstream] = [field?.json ?? '', field?.upstream ?? ''];
    expect([found(own, 'plat'), found(upstream, 'kubernetes')]).toEqual([[], []]);
    expect([found(upstream, 'plat'), found(own, 'kubernetes')]).toEqual([['FieldUnknown'], ['FieldUnknown']]);
  });

  it('ends its list of errors somewhere, and soon', () => {
    const data = Object.fromEntries(Array.from({ length: 20_000 }, (_, index) => [`unknown${index}`, 1]));
    expect(decode('core/v1.Pod', data).errors.length).toBeLessThan(300);
  });

  it('does not change its input', () => {
    const value = Object.freeze(
      pod(Object.freeze({ resources: Object.freeze({ limits: Object.freeze({ cpu: 1 }) }) })),
    );
    expect(decode('core/v1.Pod', value).errors).toEqual([]);
  });
});

describe('secrets', () => {
  it('never appear in errors', () => {
    const errors = [
      ...decode('core/v1.Secret', { data: { a: 'hunter2!' }, stringData: { b: 4711 } }).errors,
      ...decode('core/v1.Pod', pod({ env: [{ name: 'PASSWORD', value: 4711 }] })).errors,
    ];
    expect(errors).toHaveLength(3);
    expect(JSON.stringify(errors)).not.toMatch(/hunter2|4711/);
  });
});

describe('base64', () => {
  test.each(['', 'YQ==', 'YWI=', 'YWJj', 'YWJj\nYWJj\r\n', '+/+/'])('accepts %j', (text) => {
    const { value, errors } = decode<Secret>('core/v1.Secret', { data: { a: text } });
    expect(errors).toEqual([]);
    expect(value.data).toEqual({ a: text.replaceAll(/\s/g, '') });
  });
  test.each(['YQ', 'YQ=', 'Y', 'Y===', '-_-_', 'YQ==YQ==', 'a b='])('refuses %j', (text) => {
    expect(decode('core/v1.Secret', { data: { a: text } }).errors).toHaveLength(1);
  });
});

describe('maps', () => {
  it('take an empty YAML value for the empty text', () => {
    expect(decode<ConfigMap>('core/v1.ConfigMap', { data: { a: null } }).value.data).toEqual({ a: '' });
  });

  it('keep any key', () => {
    const data = JSON.parse('{"__proto__":"x","constructor":"y"}') as unknown;
    const { value } = decode<ConfigMap>('core/v1.ConfigMap', { data });
    expect(Object.entries(value.data ?? {})).toEqual([
      ['__proto__', 'x'],
      ['constructor', 'y'],
    ]);
  });
});

describe('types with a JSON form of their own', () => {
  const schema = (properties: object): object => ({ openAPIV3Schema: { properties } });
  const errorsOf = (properties: object): readonly string[] =>
    fieldErrors(
      `apiextensions.${VOCABULARIES.plat.apiGroupDomain}/v1.CustomResourceValidation`,
      schema(properties),
    );
  it('are checked in each form', () => {
    expect(
      errorsOf({ a: { items: { type: 'string' }, additionalProperties: false, default: { any: [1] } } }),
    ).toEqual([]);
    expect(errorsOf({ a: { additionalProperties: { typ: 'x' } } })).toEqual([
      'FieldUnknown openAPIV3Schema.properties.a.additionalProperties.typ',
    ]);
    expect(errorsOf({ a: { additionalProperties: 'x' } })).toHaveLength(1);
  });
});

describe('suggest', () => {
  test.each([
    ['imag', 'image'],
    ['Image', 'image'],
    ['iamge', 'image'],
    ['envFrm', 'envFrom'],
    ['xyz', undefined],
    ['', undefined],
    ['i'.repeat(100), undefined],
  ])('%s: %s', (word, expected) => {
    expect(suggest(word, ['image', 'env', 'envFrom', 'args'])).toBe(expected);
  });
});
