import { once } from 'node:events';
import { connect } from 'node:http2';
import { createConnection, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { array, assert, integer, property, uint8Array } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createTempDir } from '../../../testing/temp.ts';
import { createFrameFilter } from './frame-filter.ts';
import { correctAuthority } from './header-block.ts';
import { decodeHuffman } from './huffman.ts';

describe('decodeHuffman', () => {
  // RFC 7541, appendix C.4.
  test.each([
    ['f1e3c2e5f23a6ba0ab90f4ff', 'www.example.com'],
    ['a8eb10649cbf', 'no-cache'],
    ['25a849e95ba97d7f', 'custom-key'],
    ['9d29ad171863c78f0b97c8e9ae82ae43d3', 'https://www.example.com'],
  ])('%s is %s', (code, text) => {
    expect(decodeHuffman(Buffer.from(code, 'hex'))).toBe(text);
  });

  test('rejects padding that is not all ones', () => {
    expect(decodeHuffman(Buffer.from([0b00011_000]))).toBeUndefined();
  });
});

const literal = (text: string): Buffer =>
  Buffer.concat([Buffer.from([0x41, text.length]), Buffer.from(text, 'latin1')]);

describe('correctAuthority', () => {
  test('replaces a path by text of the same length, and leaves the other fields', () => {
    const method = Buffer.from([0x83, 0x86]);
    const custom = Buffer.concat([
      Buffer.from([0x40, 1]),
      Buffer.from('a'),
      Buffer.from([1]),
      Buffer.from('/'),
    ]);
    const block = Buffer.concat([method, custom, literal('/run/x.sock'), custom]);
    const corrected = Buffer.concat([method, custom, literal('-run-x.sock'), custom]);
    expect(Buffer.from(correctAuthority(block))).toEqual(corrected);
  });

  test.each(['localhost', 'a.b:80', '[::1]:9', '%2Frun%2Fx', ''])('leaves %j', (text) => {
    const block = literal(text);
    expect(correctAuthority(block)).toBe(block);
  });

  test('never throws, and keeps at least the first byte', () => {
    assert(
      property(uint8Array({ minLength: 1, maxLength: 200 }), (bytes) => {
        expect(correctAuthority(bytes)[0]).toBe(bytes[0]);
      }),
    );
  });
});

/** Records what a client sends on a socket. */
async function recordClient(path: string, authority: string): Promise<Buffer> {
  const parts: Buffer[] = [];
  const server = createServer((socket: Socket) => {
    // The settings of a server, so that the client sends its request.
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    socket.on('data', (chunk: Buffer) => parts.push(chunk));
    socket.on('error', () => undefined);
  }).listen(path);
  await once(server, 'listening');
  const session = connect('http://localhost', { createConnection: () => createConnection(path) });
  session.on('error', () => undefined);
  const stream = session.request({ ':method': 'POST', ':path': '/a.B/C', ':authority': authority });
  stream.on('error', () => undefined);
  stream.end('body');
  await expect.poll(() => Buffer.concat(parts).includes('body')).toBe(true);
  session.destroy();
  await new Promise((resolve) => server.close(resolve));
  return Buffer.concat(parts);
}

describe('createFrameFilter', () => {
  test('passes the bytes of a client unchanged, however they are cut', async () => {
    await using dir = await createTempDir();
    const bytes = await recordClient(join(dir.path, 's'), 'localhost');
    assert(
      property(array(integer({ min: 1, max: 60 }), { minLength: 1 }), (sizes) => {
        const filter = createFrameFilter();
        const output: Uint8Array[] = [];
        for (let at = 0, turn = 0; at < bytes.length; turn += 1) {
          const size = sizes[turn % sizes.length] ?? 1;
          output.push(filter.feed(bytes.subarray(at, at + size)));
          at += size;
        }
        expect(Buffer.concat(output)).toEqual(bytes);
      }),
      { numRuns: 50 },
    );
  });
});
