import { describe, expect, test } from 'vitest';
import type { LocalVolume } from '#volumes/contract/local-volumes.ts';
import { VolumeSetupError } from '#volumes/errors/setup-error.ts';
import type { NodeRequest } from './endpoint.ts';
import { localVolumesEndpoint, type ProvisionedVolumes, parseVolumeRequest } from './local-volumes.ts';

const BODY = {
  kind: 'filesystem',
  sizeBytes: 1024,
  reclaimPolicy: 'Delete',
  claim: { namespace: 'n', name: 'c' },
};

const volume = (more: Partial<LocalVolume> = {}): LocalVolume => ({
  ...parseVolumeRequest('pvc-1', JSON.stringify(BODY)),
  path: '/v/pvc-1/data',
  used: false,
  ...more,
});

const request = (method: string, rest: readonly string[], body: unknown = ''): NodeRequest => ({
  method,
  rest,
  endsInSlash: false,
  query: new URLSearchParams(),
  isUpgrade: false,
  body: async () => (typeof body === 'string' ? body : JSON.stringify(body)),
  signal: new AbortController().signal,
});

const volumes = (more: Partial<ProvisionedVolumes> = {}): ProvisionedVolumes => ({
  create: async (spec) => ({ ...spec, path: `/v/${spec.name}/data`, used: false }),
  get: async () => undefined,
  list: async () => [volume(), volume({ name: 'default_x', owner: 'manifest' })],
  remove: async () => true,
  ...more,
});

describe('localVolumesEndpoint', () => {
  test('creates, lists and removes volumes of the server', async () => {
    const { handle } = localVolumesEndpoint(volumes());
    expect(await handle(request('PUT', ['pvc-1'], BODY))).toEqual({
      kind: 'json',
      value: { name: 'pvc-1', kind: 'filesystem', sizeBytes: 1024, path: '/v/pvc-1/data', used: false },
    });
    expect(await handle(request('GET', []))).toMatchObject({ value: { items: [{ name: 'pvc-1' }] } });
    expect(await handle(request('DELETE', ['pvc-1']))).toMatchObject({ value: { removed: true } });
  });

  test.each(['default_x', '..', 'pvc-', 'pvc-1/x', 'PVC-1'])('does not serve the name %j', async (name) => {
    const { handle } = localVolumesEndpoint(volumes());
    for (const method of ['PUT', 'DELETE'])
      await expect(async () => handle(request(method, name.split('/'), BODY))).rejects.toMatchObject({
        code: 404,
      });
  });

  test('reports what the user can change, and volumes in use', async () => {
    const failing = volumes({
      create: () => Promise.reject(new VolumeSetupError('no mkfs.ext4')),
      remove: async () => false,
    });
    const { handle } = localVolumesEndpoint(failing);
    await expect(async () => handle(request('PUT', ['pvc-1'], BODY))).rejects.toMatchObject({
      code: 422,
      message: 'no mkfs.ext4',
    });
    await expect(async () => handle(request('DELETE', ['pvc-1']))).rejects.toMatchObject({ code: 409 });
  });

  test.each<[unknown, RegExp]>([
    ['{', /^body: /],
    [[], /^body: must be an object/],
    [{ ...BODY, kind: 'x' }, /^kind: /],
    [{ ...BODY, sizeBytes: -1 }, /^sizeBytes: /],
    [{ ...BODY, reclaimPolicy: 'Recycle' }, /^reclaimPolicy: /],
    [{ ...BODY, claim: 1 }, /^claim: /],
  ])('rejects %j', async (body, message) => {
    const { handle } = localVolumesEndpoint(volumes());
    await expect(async () => handle(request('PUT', ['pvc-1'], body))).rejects.toThrow(message);
  });
});
