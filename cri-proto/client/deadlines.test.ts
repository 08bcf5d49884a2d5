import { expect, test } from 'vitest';
import { defaultTimeoutMs } from './connection.ts';

test.each([
  ['ListContainers', {}, 120_000],
  ['RunPodSandbox', {}, 240_000],
  ['PullImage', {}, 0],
  ['GetContainerEvents', {}, 0],
  ['StopContainer', { timeout: 30n }, 150_000],
  ['StopContainer', {}, 120_000],
  ['StopContainer', { timeout: -1n }, 120_000],
  ['ExecSync', { timeout: 10n }, 130_000],
  ['ExecSync', {}, 0],
])('%s %o may take %d ms', (rpc, request, expected) => {
  expect(defaultTimeoutMs(rpc, request, 120_000)).toBe(expected);
});
