import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { serverUser } from '../authn/users.ts';
import type { ApiObject, Resource } from '../resources/contract.ts';
import { alwaysAdmit, alwaysDeny } from './always.ts';
import { PluginConfigError } from './configuration/plugin-config.ts';
import type { AdmissionRequest } from './contract.ts';
import { readEventLimits } from './event-rate-limit/config.ts';
import { createEventRateLimit } from './event-rate-limit.ts';
import { createExtendedResources } from './extended-resources.ts';

const { domain: DOMAIN, apiGroupDomain: API } = VOCABULARIES.kubernetes;

const request = (object: ApiObject, change: Partial<AdmissionRequest> = {}): AdmissionRequest => ({
  operation: 'CREATE',
  resource: { info: { group: '', plural: 'events' } } as unknown as Resource,
  subresource: '',
  namespace: 'ns',
  name: 'a',
  object,
  old: undefined,
  user: { name: 'ann', groups: [], extra: {} },
  dryRun: false,
  options: {},
  signal: () => new AbortController().signal,
  warn: () => undefined,
  annotate: () => undefined,
  ...change,
});

const config = (value: object) => ({
  file: '/etc/x',
  path: '',
  value: { apiVersion: `eventratelimit.admission.${API}/v1alpha1`, kind: 'Configuration', ...value },
});

describe('EventRateLimit', () => {
  const event = (object = 'o', host = 'h'): ApiObject => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {},
    source: { component: 'c', host },
    involvedObject: { kind: 'Pod', namespace: 'ns', name: object, uid: '1', apiVersion: 'v1' },
  });
  const setUp = (...limits: object[]) => {
    const clock = createFakeClock();
    const plugin = createEventRateLimit(clock, readEventLimits(config({ limits })));
    const write = (object: ApiObject = event(), change: Partial<AdmissionRequest> = {}): string => {
      try {
        void plugin.validate?.(request(object, change));
        return '';
      } catch (thrown) {
        return String(thrown);
      }
    };
    return { clock, write };
  };
  const limit = (type: string, more = {}): object => ({ type, qps: 1, burst: 2, ...more });

  test('allows a burst, then events at the rate', async () => {
    const { clock, write } = setUp(limit('Server'));
    expect([write(), write(), write()].map((text) => text === '')).toEqual([true, true, false]);
    await clock.advance(1000);
    expect([write(), write()].map((text) => text === '')).toEqual([true, false]);
  });

  test.each<[string, ApiObject, Partial<AdmissionRequest>]>([
    ['Namespace', event(), { namespace: 'other' }],
    ['User', event(), { user: { name: 'bob', groups: [], extra: {} } }],
    ['SourceAndObject', event('other'), {}],
    ['SourceAndObject', event('o', 'other'), {}],
  ])('%s: each key has its own bucket', (type, object, change) => {
    const { write } = setUp(limit(type));
    expect([write(), write()]).toEqual(['', '']);
    expect(write()).toContain(`Too many requests: limit reached on type ${type} for key `);
    expect(write(object, change)).toBe('');
  });

  test('dry runs and events beyond the cache do not count', () => {
    const { write } = setUp(limit('Namespace', { burst: 1, cacheSize: 1 }));
    expect(write(event(), { dryRun: true })).toBe('');
    expect(write(event(), { namespace: 'a' })).toBe('');
    expect(write(event(), { namespace: 'b' })).toBe('');
    expect(write(event(), { namespace: 'a' })).toBe('');
  });

  test('names every limit that is reached', () => {
    const { write } = setUp(limit('Server', { burst: 1 }), limit('User', { burst: 1 }));
    write();
    expect(write()).toContain(
      '[limit reached on type Server for key , limit reached on type User for key ann]',
    );
  });

  test.each<[string, object, string]>([
    ['no limits', {}, 'limits: Required value: must not be empty'],
    ['another type', { limits: [limit('Pod')] }, 'limits[0].type'],
    ['no rate', { limits: [{ type: 'Server', burst: 1 }] }, 'limits[0].qps: Required value'],
    ['a burst of zero', { limits: [limit('User', { burst: 0 })] }, 'limits[0].burst'],
    ['a negative cache', { limits: [limit('User', { cacheSize: -1 })] }, 'limits[0].cacheSize'],
    ['another kind', { kind: 'Pod', limits: [limit('User')] }, 'kind: '],
  ])('rejects a configuration with %s', (_, value, expected) => {
    expect(() => readEventLimits(config(value))).toThrow(PluginConfigError);
    expect(() => readEventLimits(config(value))).toThrow(expected);
  });
});

describe('ExtendedResourceToleration', () => {
  const plugin = createExtendedResources(VOCABULARIES.kubernetes);
  const toleration = (key: string): object => ({ key, operator: 'Exists', effect: 'NoSchedule' });
  const container = (...names: readonly string[]): object => ({
    name: 'c',
    resources: { requests: Object.fromEntries(names.map((name) => [name, '1'])) },
  });

  test.each<[string, object, unknown]>([
    [
      'of containers, sorted',
      { containers: [container('x.io/b', 'cpu', 'x.io/a')] },
      [toleration('x.io/a'), toleration('x.io/b')],
    ],
    ['of init containers', { containers: [], initContainers: [container('x.io/a')] }, [toleration('x.io/a')]],
    [
      'beside others',
      { containers: [container('x.io/a')], tolerations: [{ key: 'k' }] },
      [{ key: 'k' }, toleration('x.io/a')],
    ],
    [
      'once',
      { containers: [container('x.io/a')], tolerations: [toleration('x.io/a')] },
      [toleration('x.io/a')],
    ],
    [
      'instead of one with another operator',
      { containers: [container('x.io/a')], tolerations: [{ key: 'x.io/a', effect: 'NoSchedule' }] },
      [toleration('x.io/a')],
    ],
    [
      'not of the platform',
      { containers: [container('cpu', 'hugepages-2Mi', `${DOMAIN}/x`, 'requests.x.io/a')] },
      undefined,
    ],
  ])('adds tolerations %s', (_, spec, expected) => {
    const pod: ApiObject = { apiVersion: 'v1', kind: 'Pod', metadata: {}, spec };
    void plugin.mutate?.(request(pod));
    expect((pod['spec'] as Record<string, unknown>)['tolerations']).toEqual(expected);
  });
});

test('AlwaysAdmit admits, AlwaysDeny denies', () => {
  const pod: ApiObject = { apiVersion: 'v1', kind: 'Pod', metadata: {} };
  expect(Object.keys(alwaysAdmit)).toEqual(['name', 'operations']);
  for (const name of ['mutate', 'validate'] as const) {
    const step = (asked: AdmissionRequest): void => void alwaysDeny[name]?.(asked);
    expect(() => step(request(pod, { user: serverUser('bootstrap') }))).not.toThrow();
    expect(() => step(request(pod))).toThrow('admission control is denying all modifications');
  }
});
