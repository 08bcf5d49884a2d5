import { expect, test } from 'vitest';
import type { Keyring, KmsProvider } from '../contract.ts';
import { createKmsChecks } from './checks.ts';

function setUp() {
  const state = { nowMs: 0, calls: 0, error: undefined as Error | undefined };
  const provider: KmsProvider = {
    async check() {
      state.calls += 1;
      if (state.error !== undefined) throw state.error;
    },
    close: () => undefined,
  };
  const keyring = { chains: new Map(), kms: [provider] };
  const rings: { now: Keyring } = { now: keyring };
  const checks = createKmsChecks({ monotonic: () => state.nowMs }, () => rings.now);
  return { state, provider, rings, checks };
}

test('results are reused: 20 s if it is healthy, 3 s if it is not', async () => {
  const { state, checks } = setUp();
  const [check] = checks();
  expect(check?.name).toBe('kms-provider-0');
  await check?.check();
  state.error = new Error('away');
  state.nowMs = 19_999;
  await check?.check();
  state.nowMs = 20_000;
  await expect(check?.check()).rejects.toThrow('away');
  state.error = undefined;
  state.nowMs = 22_999;
  await expect(check?.check()).rejects.toThrow('away');
  state.nowMs = 23_000;
  await check?.check();
  expect(state.calls).toBe(3);
});

test('services change with the keyring', async () => {
  const { provider, rings, checks, state } = setUp();
  const [first] = checks();
  rings.now = { chains: new Map(), kms: [{ ...provider }, provider] };
  expect(checks().map(({ name }) => name)).toEqual(['kms-provider-0', 'kms-provider-1']);
  expect(checks()[0]).toBe(first);
  await first?.check();
  rings.now = { chains: new Map(), kms: [] };
  expect(checks()).toEqual([]);
  await first?.check();
  expect(state.calls).toBe(1);
});
