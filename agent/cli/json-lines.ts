/** Splits streams into lines. */

/** Complete lines without their breaks; a last line without a break counts too. */
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

/** The values of a stream of JSON, one on each line. @throws SyntaxError */
export async function* readJsonLines(stream: AsyncIterable<Uint8Array>): AsyncGenerator {
  for await (const line of readLines(stream)) {
    if (line !== '') yield JSON.parse(line) as unknown;
  }
}
