/** Splits a stream into lines. */
import { parseJsonText } from '#api/codec/json-text.ts';

/** Yields complete lines without line breaks, including a last line without one. */
export async function* readLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let left = '';
  for await (const chunk of stream) {
    const parts = (left + decoder.decode(chunk, { stream: true })).split('\n');
    left = parts.pop() ?? '';
    yield* parts;
  }
  left += decoder.decode();
  if (left !== '') yield left;
}

/** Yields the values of a stream with one JSON value per line. @throws SyntaxError */
export async function* readJsonLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator {
  for await (const line of readLines(stream)) {
    if (line !== '') yield parseJsonText(line);
  }
}
