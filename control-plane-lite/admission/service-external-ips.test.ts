import { describe, expect, test } from 'vitest';
import type { ApiObject, Resource } from '../resources/contract.ts';
import type { AdmissionRequest } from './contract.ts';
import { denyServiceExternalIPs } from './service-external-ips.ts';

const service = (externalIPs?: readonly string[]): ApiObject => ({
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 's' },
  spec: externalIPs === undefined ? {} : { externalIPs },
});

const request = (object: ApiObject, old: ApiObject | undefined): AdmissionRequest => ({
  operation: old === undefined ? 'CREATE' : 'UPDATE',
  resource: { info: { group: '', plural: 'services' } } as unknown as Resource,
  subresource: '',
  namespace: 'ns',
  name: 's',
  object,
  old,
  user: { name: 'ann', groups: [], extra: {} },
  dryRun: false,
  options: {},
  signal: () => new AbortController().signal,
  warn: () => undefined,
  annotate: () => undefined,
});

const [ONE, TWO] = ['192.0.2.1', '192.0.2.2'];

describe('DenyServiceExternalIPs', () => {
  test.each<[string, readonly string[] | undefined, readonly string[] | undefined, boolean]>([
    ['one is added', [ONE], [], false],
    ['one is added to another', [ONE, TWO], [ONE], false],
    ['one becomes another', [TWO], [ONE], false],
    ['they stay', [ONE, TWO], [ONE, TWO], true],
    ['they change places', [TWO, ONE], [ONE, TWO], true],
    ['one goes', [ONE], [ONE, TWO], true],
    ['all go', undefined, [ONE], true],
    ['a new service has one', [ONE], undefined, false],
    ['a new service has none', undefined, undefined, true],
  ])('%s: %j, was %j', (what, now, before, allowed) => {
    const old = what.startsWith('a new') ? undefined : service(before);
    let refused = '';
    try {
      void denyServiceExternalIPs.validate?.(request(service(now), old));
    } catch (thrown) {
      refused = String(thrown);
    }
    const why = 'Use of external IPs is denied by admission control.';
    expect(refused).toContain(allowed ? '' : why);
    expect(refused === '').toBe(allowed);
  });
});
