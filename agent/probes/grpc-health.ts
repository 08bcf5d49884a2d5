/** Codec of the two messages of the gRPC health protocol. Pure. Source: grpc.health.v1, protobuf encoding. */

const STATUSES = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;
export type HealthStatus = (typeof STATUSES)[number];

const SERVICE_TAG = 0x0a;

/** HealthCheckRequest { 1: service }. */
export function encodeHealthRequest(service: string): Buffer {
  const bytes = Buffer.from(service, 'utf8');
  return bytes.length === 0
    ? Buffer.alloc(0)
    : Buffer.concat([Buffer.from([SERVICE_TAG, ...varint(bytes.length)]), bytes]);
}

function varint(value: number): readonly number[] {
  const low = value & 0x7f;
  return value < 0x80 ? [low] : [low | 0x80, ...varint(value >>> 7)];
}

/** HealthCheckResponse { 1: status }; other fields are skipped.
 *  @throws RangeError for an invalid message */
export function decodeHealthStatus(bytes: Uint8Array): HealthStatus {
  const reader = { bytes, at: 0 };
  let status = 0;
  while (reader.at < bytes.length) {
    const tag = readVarint(reader);
    if (tag === 0x08) status = readVarint(reader);
    else skip(reader, tag & 7);
  }
  return STATUSES[status] ?? 'UNKNOWN';
}

interface Reader {
  readonly bytes: Uint8Array;
  at: number;
}

function readVarint(reader: Reader): number {
  let value = 0;
  for (let scale = 1; scale <= 2 ** 63; scale *= 128) {
    const byte = reader.bytes[reader.at];
    if (byte === undefined) throw new RangeError('health response truncated inside a number');
    reader.at += 1;
    value += (byte & 0x7f) * scale;
    if (byte < 0x80) return value;
  }
  throw new RangeError('health response contains a number of more than 64 bits');
}

function skip(reader: Reader, wireType: number): void {
  const fixed = wireType === 1 ? 8 : 4;
  if (wireType === 0) readVarint(reader);
  else if (wireType === 2) skipBytes(reader);
  else if (wireType === 1 || wireType === 5) reader.at += fixed;
  else throw new RangeError(`health response has the unknown wire type ${wireType}`);
  if (reader.at > reader.bytes.length) throw new RangeError('health response truncated inside a field');
}

function skipBytes(reader: Reader): void {
  const length = readVarint(reader);
  reader.at += length;
}
