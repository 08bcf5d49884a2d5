/** Splits a stream into JSON documents, one per line. */
import type { Readable } from 'node:stream';
import { DockerError } from './errors.ts';

const NEWLINE = 0x0a;
/** An event contains the labels of its container. */
const LONGEST_LINE = 8 * 1024 * 1024;

function parseLine(line: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(line).toString('utf8'));
  } catch {
    throw new DockerError('Unknown', 'docker sent a line that is not JSON');
  }
}

/** @throws DockerError for a malformed or overlong line; errors of the stream */
export async function* readLines(stream: Readable): AsyncGenerator<unknown, void, undefined> {
  let parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of stream as AsyncIterable<Uint8Array>) {
    let rest = chunk;
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      const line = Buffer.concat([...parts, rest.subarray(0, end)]);
      parts = [];
      length = 0;
      rest = rest.subarray(end + 1);
      if (line.length > 1) yield parseLine(line);
    }
    parts.push(rest);
    length += rest.byteLength;
    if (length > LONGEST_LINE) throw new DockerError('Unknown', 'docker sent an overlong line');
  }
  const last = Buffer.concat(parts);
  if (last.length > 1) yield parseLine(last);
}
