/** Splits the output of a process without a terminal: docker puts a header with stream and length before each
 *  piece. Source: docker's API, attach to a container. Pure except for the state between two chunks. */

export interface OutputPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly bytes: Uint8Array;
}

export interface Demuxer {
  /** @throws DemuxError for bytes without such a header */
  feed(chunk: Uint8Array): readonly OutputPiece[];
}

/** The output has no headers. */
class DemuxError extends Error {
  override readonly name = 'DemuxError';
}

const HEADER_BYTES = 8;
const STREAMS = ['stdin', 'stdout', 'stderr'] as const;

export function createDemuxer(): Demuxer {
  const header = Buffer.alloc(HEADER_BYTES);
  let headerBytes = 0;
  let leftBytes = 0;
  let stream: OutputPiece['stream'] = 'stdout';

  function readHeader(): void {
    const name = STREAMS[header.readUInt8(0)];
    if (name === undefined) throw new DemuxError('docker sent output without a header');
    // Docker echoes no input; were it to, it is output of the process.
    stream = name === 'stderr' ? 'stderr' : 'stdout';
    leftBytes = header.readUInt32BE(4);
    headerBytes = 0;
  }

  return {
    feed(chunk) {
      const pieces: OutputPiece[] = [];
      let rest = chunk;
      while (rest.byteLength > 0) {
        if (leftBytes > 0) {
          const bytes = rest.subarray(0, leftBytes);
          pieces.push({ stream, bytes });
          leftBytes -= bytes.byteLength;
          rest = rest.subarray(bytes.byteLength);
          continue;
        }
        const part = rest.subarray(0, HEADER_BYTES - headerBytes);
        header.set(part, headerBytes);
        headerBytes += part.byteLength;
        rest = rest.subarray(part.byteLength);
        if (headerBytes === HEADER_BYTES) readHeader();
      }
      return pieces;
    },
  };
}
