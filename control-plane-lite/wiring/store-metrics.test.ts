import { expect, test } from 'vitest';
import { typeOfKey } from './store-metrics.ts';

test.each([
  ['/registry/pods/default/web', 'pods'],
  ['/registry/apps/deployments/default/web', 'deployments.apps'],
  ['/registry/storage.example.com/csinodes/n1', 'csinodes.storage.example.com'],
  ['/registry/pods/', 'pods'],
  ['/ranges/services/ips/IPv4/10.0.0.1', 'ranges'],
])('%s is of the type %s', (key, type) => {
  expect(typeOfKey(key)).toBe(type);
});
