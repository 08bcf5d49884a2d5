/** Splits a byte stream into frames, independent of how the bytes arrive. */
import { decodeFrame, frameBodyLength, HEADER_BYTES, type SpdyFrame } from './frames.ts';

export interface FrameReader {
  /** Consumes the next bytes and yields the completed frames.
   *  @throws {SpdyProtocolError} for a malformed frame; later bytes cannot be trusted. */
  feed(bytes: Uint8Array): Iterable<SpdyFrame>;
}

export function createFrameReader(): FrameReader {
  /** Pieces of the incomplete frame; joined only when it is complete, so that a large one is copied once. */
  let pieces: Uint8Array[] = [];
  let heldBytes = 0;
  let neededBytes = HEADER_BYTES;

  return {
    *feed(bytes) {
      pieces.push(bytes);
      heldBytes += bytes.byteLength;
      while (heldBytes >= neededBytes) {
        const [only] = pieces;
        const data =
          pieces.length === 1 && only !== undefined
            ? Buffer.from(only.buffer, only.byteOffset, only.byteLength)
            : Buffer.concat(pieces);
        pieces = [data];
        const head = data.subarray(0, HEADER_BYTES);
        neededBytes = HEADER_BYTES + frameBodyLength(head);
        if (heldBytes < neededBytes) break;
        const body = data.subarray(HEADER_BYTES, neededBytes);
        const rest = data.subarray(neededBytes);
        pieces = rest.length === 0 ? [] : [rest];
        heldBytes -= neededBytes;
        neededBytes = HEADER_BYTES;
        yield decodeFrame(head, body);
      }
    },
  };
}
