import { expect, test } from 'vitest';
import { detectEndpoint, NoRuntimeError } from './detect-endpoint.ts';

test.each([
  ['what is configured', 'unix:///x.sock', ['/run/containerd/containerd.sock'], 'unix:///x.sock'],
  [
    'containerd first',
    '',
    ['/run/containerd/containerd.sock', '/run/crio/crio.sock'],
    'unix:///run/containerd/containerd.sock',
  ],
  ['CRI-O where there is no containerd', '', ['/run/crio/crio.sock'], 'unix:///run/crio/crio.sock'],
])('takes %s', async (_, configured, present, wanted) => {
  expect(await detectEndpoint(configured, (path) => Promise.resolve(present.includes(path)))).toBe(wanted);
});

test('names the remedy when there is none', async () => {
  const detected = detectEndpoint('', () => Promise.resolve(false));
  await expect(detected).rejects.toThrow(NoRuntimeError);
  await expect(detected).rejects.toThrow('--container-runtime-endpoint');
});
