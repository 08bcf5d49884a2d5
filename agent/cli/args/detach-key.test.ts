import { describe, expect, test } from 'vitest';
import { detachOnKey } from './detach-key.ts';

async function* typed(...texts: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield Buffer.from(text);
}

describe('detachOnKey', () => {
  test.each<[what: string, input: readonly string[], passed: readonly string[], left: boolean]>([
    ['passes everything else', ['ls\n', '\u0003', 'é'], ['ls\n', '\u0003', 'é'], false],
    ['leaves at the key', ['a', '\u001d', 'b'], ['a'], true],
    ['passes what stands before the key', ['ab\u001dcd', 'e'], ['ab'], true],
    ['ends with the input', [], [], false],
  ])('%s', async (_what, input, passed, left) => {
    const detach = new AbortController();
    const seen: string[] = [];
    for await (const chunk of detachOnKey(typed(...input), detach)) seen.push(Buffer.from(chunk).toString());
    expect(seen).toEqual(passed);
    expect(detach.signal.aborted).toBe(left);
  });
});
