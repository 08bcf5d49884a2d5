import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { createRecordStore, createRecordWriter, type PodRecord } from './record.ts';

const first: PodRecord = {
  pod: { metadata: { name: 'web' } },
  origin: { source: 'file', location: '/m/web.yaml', document: '1' },
  startedAtMs: 1,
  terminal: undefined,
};
const pod = { metadata: { name: 'web', uid: 'u1' } };
const terminal = { phase: 'Failed', reason: 'DeadlineExceeded', message: '' } as const;

describe('createRecordWriter', () => {
  test('accumulates changes in serialized writes', async () => {
    const saved: PodRecord[] = [];
    let running = 0;
    const writer = createRecordWriter(async (record) => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      saved.push(record);
      running -= 1;
    }, first);
    await Promise.all([
      writer.write({}),
      writer.write({ pod }),
      writer.write({ terminal }),
      writer.write({}),
    ]);
    expect(saved).toEqual([
      first,
      { ...first, pod },
      { ...first, pod, terminal },
      { ...first, pod, terminal },
    ]);
  });

  test('omits changes whose write failed', async () => {
    const saved: PodRecord[] = [];
    const writer = createRecordWriter((record) => {
      if (record.pod === pod) return Promise.reject(new Error('disk full'));
      saved.push(record);
      return Promise.resolve();
    }, first);
    await expect(writer.write({ pod })).rejects.toThrow('disk full');
    await writer.write({ terminal });
    expect(saved).toEqual([{ ...first, terminal }]);
  });

  test('settles once earlier writes have completed', async () => {
    const gate = Promise.withResolvers<void>();
    const order: string[] = [];
    const writer = createRecordWriter(async () => {
      await gate.promise;
      order.push('written');
    }, first);
    const written = writer.write({});
    const closed = writer.close().then(() => order.push('closed'));
    gate.resolve();
    await Promise.all([written, closed]);
    expect(order).toEqual(['written', 'closed']);
  });

  test('a pod that reaches its terminal phase while its directory is removed leaves no record', async () => {
    await using dir = await createTempDir();
    const store = createRecordStore(dir.path);
    const writer = createRecordWriter((record) => store.save(record), { ...first, pod });
    const writes = [writer.write({})];
    const removal = writer.close().then(() => rm(join(dir.path, 'u1'), { recursive: true }));
    writes.push(writer.write({ terminal }));
    await removal;
    writes.push(writer.write({ terminal }));
    await Promise.all(writes);
    expect(await readdir(dir.path)).toEqual([]);
  });
});
