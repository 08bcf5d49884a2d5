import { describe, expect, test } from 'vitest';
import type { FlockerVolumeSource } from '#api/gen/core-v1.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { createTestRequest } from '../network/request.fixture.ts';
import { type Ask, checkFlocker, createFlocker, moveDataset } from './flocker.ts';

const UUID = '2f1d8c3e-0a1b-4c2d-8e3f-4a5b6c7d8e9f';

describe('checkFlocker', () => {
  test.each<[FlockerVolumeSource, string]>([
    [{}, 'flocker.datasetUUID: Required value'],
    [{ datasetName: 'web', datasetUUID: UUID }, 'must not be set together with flocker.datasetName'],
    [{ datasetName: '../web' }, 'flocker.datasetName "../web": must be the name of a dataset'],
    [{ datasetUUID: '../etc' }, 'flocker.datasetUUID "../etc": must be a UUID'],
  ])('rejects %j', (spec, message) => expect(() => checkFlocker(spec)).toThrow(message));

  test.each<[FlockerVolumeSource]>([[{ datasetName: 'web' }], [{ datasetUUID: UUID }]])('takes %j', (spec) =>
    expect(() => checkFlocker(spec)).not.toThrow(),
  );
});

describe('moveDataset', () => {
  const { signal } = new AbortController();

  /** Creates a control service whose dataset is elsewhere until it was requested and polled once more. */
  function service(host: string, asked: string[] = []): Ask {
    let left = 2;
    return async (method, path, body) => {
      asked.push(`${method} ${path}${body === undefined ? '' : ` ${JSON.stringify(body)}`}`);
      if (method === 'POST') return {};
      if (path === '/state/nodes')
        return [
          { host: 'other.example', uuid: 'other' },
          { host, uuid: 'own' },
        ];
      if (path === '/configuration/datasets') return [{ dataset_id: UUID, metadata: { name: 'web' } }];
      const moved = asked.some((line) => line.startsWith('POST')) && (left -= 1) <= 0;
      return [{ dataset_id: UUID, primary: moved ? 'own' : 'other' }];
    };
  }

  test('makes this node the primary, and waits for completion', async () => {
    const asked: string[] = [];
    const clock = createFakeClock();
    const bringing = moveDataset(service('127.0.0.1', asked), { datasetName: 'web' }, clock, signal);
    for (let round = 0; round < 20; round++) await clock.advance(1_000);
    expect(await bringing).toBe(UUID);
    expect(asked).toContain(`POST /configuration/datasets/${UUID} {"primary":"own"}`);
    expect(asked.filter((line) => line === 'GET /state/datasets')).toHaveLength(3);
  });

  test('reports objects unknown to the service', async () => {
    const clock = createFakeClock();
    const unknown = moveDataset(service('127.0.0.1'), { datasetName: 'none' }, clock, signal);
    await expect(unknown).rejects.toThrow('flocker.datasetName "none": dataset not found');
    const elsewhere = moveDataset(service('elsewhere.example'), { datasetUUID: UUID }, clock, signal);
    await expect(elsewhere).rejects.toThrow('has no node with an address of this machine');
  });
});

test('the credentials of the control service come from the environment’s paths', async () => {
  await using world = await createTestRequest();
  const env = { FLOCKER_CONTROL_SERVICE_CA_FILE: `${world.base}/ca.crt` };
  const flocker = createFlocker({ env: () => env, mounts: world.base });
  await expect(world.setUp(flocker, { flocker: { datasetUUID: UUID } })).rejects.toThrow(
    /flocker: .* could not be read/,
  );
});
