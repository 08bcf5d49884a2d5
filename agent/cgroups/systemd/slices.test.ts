import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { DBusError } from '../../dbus/connection.ts';
import { decodeMessage } from '../../dbus/read.ts';
import { encodeCall } from '../../dbus/write.ts';
import { createSystemdManager, managerCall } from './manager.ts';
import { sliceProperties } from './slices.ts';

const LIMITS = { cpuShares: 1024n, cpuQuotaUs: 50_000n, cpuPeriodUs: 100_000n, memoryBytes: 4096n, pids: 9n };
const NONE = 2n ** 64n - 1n;

test('limits are properties of slices, of either version', () => {
  expect(Object.fromEntries(sliceProperties(LIMITS, 1))).toEqual({
    CPUShares: 1024n,
    CPUQuotaPerSecUSec: 500_000n,
    CPUQuotaPeriodUSec: 100_000n,
    MemoryLimit: 4096n,
    TasksMax: 9n,
  });
  expect(Object.fromEntries(sliceProperties({ ...LIMITS, memoryMinBytes: 7n }, 2))).toMatchObject({
    CPUWeight: 39n,
    MemoryMax: 4096n,
    MemoryMin: 7n,
  });
});

test('absent limits are reset, or retained where others manage them', () => {
  expect(Object.fromEntries(sliceProperties({}, 2))).toEqual({
    CPUQuotaPerSecUSec: NONE,
    MemoryMax: NONE,
    MemoryMin: 0n,
    TasksMax: NONE,
  });
  expect(sliceProperties({ memoryBytes: 5n }, 2, 'keep')).toEqual([['MemoryMax', 5n]]);
});

/** A reply of systemd: the serial of its call, and an error name. */
function replyTo(replySerial: number, errorName?: string): Buffer {
  const name = Buffer.from(errorName ?? '');
  const field = Buffer.alloc(errorName === undefined ? 0 : 8 + name.length + 1);
  if (errorName !== undefined) {
    field.set([4, 1, 's'.charCodeAt(0), 0]);
    field.writeUInt32LE(name.length, 4);
    field.set(name, 8);
  }
  const padded = Buffer.concat([field, Buffer.alloc((8 - (field.length % 8)) % 8)]);
  const reply = Buffer.from([5, 1, 'u'.charCodeAt(0), 0, replySerial, 0, 0, 0]);
  const fields = Buffer.concat([padded, reply]);
  const header = Buffer.alloc(16);
  header.set(['l'.charCodeAt(0), errorName === undefined ? 2 : 3, 1, 1]);
  header.writeUInt32LE(1, 8);
  header.writeUInt32LE(fields.length, 12);
  return Buffer.concat([header, fields]);
}

test('calls have the properties of units', () => {
  const start = managerCall({ member: 'StartTransientUnit', unit: 'a-b.slice', properties: [['X', 1n]] });
  const bytes = encodeCall(start, 3);
  expect(decodeMessage(bytes)?.length).toBe(bytes.length);
  // Unit name, mode, one 64-bit property whose array starts at a multiple of 8, no other units.
  expect(bytes.subarray(-64).toString('hex')).toBe(
    [
      '09000000612d622e736c69636500',
      '0000',
      '070000007265706c61636500',
      '18000000',
      '010000005800',
      '017400',
      '00000000000000',
      '0100000000000000',
      '0000000000000000',
    ].join(''),
  );
});

test('each call gets its own reply, and errors name the rejected property', async () => {
  await using dir = await createTempDir();
  const path = join(dir.path, 's');
  const server = createServer((socket) => {
    let came = '';
    socket.on('data', (chunk: Buffer) => {
      if (came === '') socket.write('OK 0123\r\n');
      came += chunk.toString('latin1');
      // Both calls have arrived: the replies are sent in reverse order.
      if (came.split('StopUnit').length === 3)
        socket.write(Buffer.concat([replyTo(2), replyTo(1, 'org.x.Refused')]));
    });
  }).listen(path);
  const manager = createSystemdManager(path);
  const [first, second] = await Promise.allSettled([
    manager.call({ member: 'StopUnit', unit: 'a.slice' }),
    manager.call({ member: 'StopUnit', unit: 'b.slice' }),
  ]);
  expect(first).toMatchObject({ status: 'rejected', reason: { errorName: 'org.x.Refused' } });
  expect(second.status).toBe('fulfilled');
  manager.close();
  server.close();
  await expect(
    createSystemdManager(join(dir.path, 'none')).call({ member: 'StopUnit', unit: 'a' }),
  ).rejects.toThrow(DBusError);
});
