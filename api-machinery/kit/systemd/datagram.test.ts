import koffi from 'koffi';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { DatagramError, encodeUnixAddress, openDatagramSender } from './datagram.ts';

/** A bound datagram socket; `receive` returns the next message or undefined. */
function bindReceiver(address: string): () => string | undefined {
  const libc = koffi.load(null);
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const bind = libc.func('int bind(int fd, const void *address, uint32_t length)');
  const recv = libc.func('intptr_t recv(int fd, _Out_ void *data, size_t length, int flags)');
  const close = libc.func('int close(int fd)');
  const fd: unknown = socket(1, 2, 0);
  const encoded = encodeUnixAddress(address);
  expect(bind(fd, encoded, encoded.length)).toBe(0);
  onTestFinished(() => void close(fd));
  return () => {
    const data = Buffer.alloc(4096);
    const length: unknown = recv(fd, data, data.length, 0x40);
    return typeof length === 'number' && length >= 0 ? data.subarray(0, length).toString() : undefined;
  };
}

describe('openDatagramSender', () => {
  test('delivers to a socket in the file system', async () => {
    await using dir = await createTempDir();
    const receive = bindReceiver(`${dir.path}/n`);
    const sender = await openDatagramSender(`${dir.path}/n`);
    sender.send(Buffer.from('READY=1\nSTATUS=ä'));
    sender.send(Buffer.from('WATCHDOG=1'));
    expect([receive(), receive(), receive()]).toEqual(['READY=1\nSTATUS=ä', 'WATCHDOG=1', undefined]);
    sender.close();
  });

  test('delivers to a socket in the abstract namespace', async () => {
    const name = `@nodeagent-test-${process.pid}`;
    const receive = bindReceiver(name);
    const sender = await openDatagramSender(name);
    sender.send(Buffer.from('hello'));
    expect(receive()).toBe('hello');
    sender.close();
  });

  test('throws with the errno without a listener', async () => {
    await using dir = await createTempDir();
    const sender = await openDatagramSender(`${dir.path}/none`);
    expect(() => sender.send(Buffer.from('x'))).toThrow(DatagramError);
    sender.close();
  });
});

describe('encodeUnixAddress', () => {
  test('terminates a path with zero and starts an abstract name with it', () => {
    expect([...encodeUnixAddress('/a').subarray(2)]).toEqual([0x2f, 0x61, 0]);
    expect([...encodeUnixAddress('@a').subarray(2)]).toEqual([0, 0x61]);
  });

  test('rejects what does not fit the address', () => {
    expect(() => encodeUnixAddress(`/${'a'.repeat(108)}`)).toThrow(RangeError);
  });
});
