import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { createRecordStore, createRecordWriter, type PodRecord } from './record.ts';

const record: PodRecord = {
  pod: {
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers: [{ name: 'c', image: 'x', env: [{ name: 'PASSWORD', value: 'hunter2' }] }] },
  },
  origin: { source: 'file', location: '/m/web.yaml', document: '1' },
  startedAtMs: 5,
  terminal: { phase: 'Failed', reason: 'Evicted', message: 'gone', gracePeriodSeconds: 1 },
};

let dir: string;
beforeEach(async () => {
  dir = await mkdtemp('/tmp/na-rec-');
});
afterEach(async () => await rm(dir, { recursive: true, force: true }));

async function loadAll(): Promise<{
  readonly records: readonly PodRecord[];
  readonly bad: readonly string[];
}> {
  const bad: string[] = [];
  const records = await createRecordStore(dir).loadAll((path, { message }) => {
    bad.push(`${path.slice(dir.length)}: ${message}`);
  });
  return { records, bad };
}

async function put(podUID: string, text: string): Promise<void> {
  await mkdir(join(dir, podUID), { recursive: true });
  await writeFile(join(dir, podUID, 'pod.json'), text);
}

const textOf = (metadata: object): string => {
  const { spec } = record.pod;
  return JSON.stringify({ version: 1, pod: { metadata, spec }, origin: record.origin, startedAtMs: 5 });
};

describe('createRecordStore', () => {
  test('loads a saved record', async () => {
    await createRecordStore(dir).save(record);
    expect(await loadAll()).toEqual({ records: [record], bad: [] });
    await createRecordStore(dir).remove('u1');
    expect(await loadAll()).toEqual({ records: [], bad: [] });
  });

  test('is not readable for other users', async () => {
    await createRecordStore(dir).save(record);
    expect((await stat(join(dir, 'u1'))).mode & 0o007).toBe(0);
    expect((await stat(join(dir, 'u1', 'pod.json'))).mode & 0o777).toBe(0o600);
  });

  test.each<[string, string, string]>([
    ['cut short', '{"version":1,"pod":{', 'not JSON'],
    ['empty', '', 'not JSON'],
    ['of another version', '{"version":2}', 'unsupported version 2, expected 1'],
    ['without a name', textOf({ namespace: 'default', uid: 'u1' }), 'pod has no name or namespace'],
    ['without a namespace', textOf({ name: 'web', uid: 'u1' }), 'pod has no name or namespace'],
    [
      'without a uid',
      textOf({ name: 'web', namespace: 'default' }),
      'uid undefined does not match its directory',
    ],
    [
      'of another folder',
      textOf({ name: 'web', namespace: 'default', uid: '../../etc' }),
      'uid "../../etc" does not match its directory',
    ],
  ])('skips a record %s and reports it', async (_, text, reason) => {
    await put('u1', text);
    await createRecordStore(dir).save({
      ...record,
      pod: { ...record.pod, metadata: { ...record.pod.metadata, uid: 'u2' } },
    });
    const { records, bad } = await loadAll();
    expect(records.map(({ pod }) => pod.metadata?.uid)).toEqual(['u2']);
    expect(bad).toEqual([`/u1/pod.json: ${reason}`]);
  });
});

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
    const writer = createRecordWriter(async (next) => {
      running += 1;
      expect(running).toBe(1);
      await Promise.resolve();
      saved.push(next);
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
    const writer = createRecordWriter((next) => {
      if (next.pod === pod) return Promise.reject(new Error('disk full'));
      saved.push(next);
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
    await using folder = await createTempDir();
    const store = createRecordStore(folder.path);
    const writer = createRecordWriter((next) => store.save(next), { ...first, pod });
    const writes = [writer.write({})];
    const removal = writer.close().then(() => rm(join(folder.path, 'u1'), { recursive: true }));
    writes.push(writer.write({ terminal }));
    await removal;
    writes.push(writer.write({ terminal }));
    await Promise.all(writes);
    expect(await readdir(folder.path)).toEqual([]);
  });
});
