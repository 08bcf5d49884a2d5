/** Frames HTTP/1.1 chunks, each in one buffer: a buffer for many watchers is framed once for all of them, and
 *  no connection has to join three buffers to encrypt them. Source: RFC 9112 §7.1. */

/** Returns the chunk for a non-empty buffer; the same chunk for the same buffer. */
export type Framer = (bytes: Buffer) => Buffer;

const LINE_END = '\r\n';

export function createFramer(): Framer {
  const known = new WeakMap<Buffer, Buffer>();
  return (bytes) => {
    const found = known.get(bytes);
    if (found !== undefined) return found;
    const head = bytes.length.toString(16) + LINE_END;
    const chunk = Buffer.allocUnsafe(head.length + bytes.length + LINE_END.length);
    chunk.write(head, 'latin1');
    bytes.copy(chunk, head.length);
    chunk.write(LINE_END, head.length + bytes.length, 'latin1');
    known.set(bytes, chunk);
    return chunk;
  };
}
