/** Corrects the authority in the HTTP/2 frames of a client. Node's HTTP/2 rejects a request with the path of a socket
 *  as its authority, as programs in Go send it. Everything else passes unchanged. Source: RFC 9113, sections 3.4, 4.1
 *  and 6.2. */
import { correctAuthority } from './header-block.ts';

export interface FrameFilter {
  /** Returns the bytes to pass on. */
  feed(chunk: Uint8Array): Uint8Array;
}

const PREFACE_BYTES = 24;
const HEADER_BYTES = 9;
const HEADERS = 1;
const END_HEADERS = 0x4;
const PADDED = 0x8;
const PRIORITY = 0x20;
const PRIORITY_BYTES = 5;
/** Maximum size of a frame unless the server allows more, which this one does not. */
const LARGEST_FRAME = 16_384;

/** Returns the frame itself if nothing changes. */
function correctFrame(frame: Buffer): Buffer {
  const flags = frame[4] ?? 0;
  // A block in several frames: never that of a call to this server.
  if ((flags & END_HEADERS) === 0) return frame;
  const padBytes = (flags & PADDED) === 0 ? 0 : (frame[HEADER_BYTES] ?? 0);
  const start =
    HEADER_BYTES + ((flags & PADDED) === 0 ? 0 : 1) + ((flags & PRIORITY) === 0 ? 0 : PRIORITY_BYTES);
  const end = frame.byteLength - padBytes;
  if (end < start) return frame;
  const block = frame.subarray(start, end);
  const corrected = correctAuthority(block);
  if (corrected === block) return frame;
  const result = Buffer.concat([frame.subarray(0, start), corrected, frame.subarray(end)]);
  const length = result.byteLength - HEADER_BYTES;
  if (length > LARGEST_FRAME) return frame;
  result.writeUIntBE(length, 0, 3);
  return result;
}

export function createFrameFilter(): FrameFilter {
  /** Bytes that pass unchanged. */
  let passing = PREFACE_BYTES;
  let pending: Buffer = Buffer.alloc(0);

  return {
    feed(chunk) {
      const output: Uint8Array[] = [];
      let rest: Buffer = Buffer.concat([pending, chunk]);
      pending = Buffer.alloc(0);
      while (rest.byteLength > 0) {
        if (passing > 0) {
          const part = rest.subarray(0, passing);
          output.push(part);
          passing -= part.byteLength;
          rest = rest.subarray(part.byteLength);
          continue;
        }
        const length = rest.byteLength < HEADER_BYTES ? undefined : rest.readUIntBE(0, 3);
        if (length !== undefined && (rest[3] !== HEADERS || length > LARGEST_FRAME)) {
          passing = HEADER_BYTES + length;
          continue;
        }
        if (length === undefined || rest.byteLength < HEADER_BYTES + length) {
          pending = rest;
          break;
        }
        output.push(correctFrame(rest.subarray(0, HEADER_BYTES + length)));
        rest = rest.subarray(HEADER_BYTES + length);
      }
      return output.length === 1 ? (output[0] ?? rest) : Buffer.concat(output);
    },
  };
}
