import { isDeepStrictEqual } from 'node:util';
import * as fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { parseJsonBytes } from './json-bytes.ts';
import { parseJsonInTurns } from './json-slices.ts';
import { TextSyntaxError } from './limits.ts';

/** Longer than a slice. */
const LONG = 150_000;

async function outcome(parse: () => unknown): Promise<unknown> {
  try {
    return await parse();
  } catch (error) {
    if (error instanceof TextSyntaxError) return [error.message, error.line, error.column];
    throw error;
  }
}

const turn = async (): Promise<void> => undefined;

/** Whether both readers have the same, members in the same order; texts of such length can't be compared by eye. */
async function isSame(text: string): Promise<boolean> {
  const bytes = Buffer.from(text);
  const read = await outcome(async () => {
    const { value, errors } = await parseJsonInTurns(bytes, turn);
    return { value, errors };
  });
  const wanted = await outcome(() => parseJsonBytes(bytes));
  return isDeepStrictEqual(read, wanted) && JSON.stringify(read) === JSON.stringify(wanted);
}

/** So many times that there are several slices. */
const repeat = (text: string): string =>
  Array.from({ length: Math.ceil(LONG / (text.length + 1)) }, () => text).join();
const keys = (from: number, count: number, value = '1'): string =>
  Array.from({ length: count }, (_, index) => `"k${from + index}":${value}`).join();

describe('parseJsonInTurns', () => {
  test.each([
    ['scalars', '"a"'],
    ['nothing', ''],
    ['small values', ' {"a":[1,{"b":null}]} '],
    ['a long list', `[${repeat('1')}]`],
    ['a long list of objects', `[${repeat('{"a":{}}')}]`],
    ['a long list of lists', ` [ ${repeat(' [ ] ')} ] `],
    ['a long object', `{${keys(0, 20_000)}}`],
    [
      'numbers as keys',
      `{${Array.from({ length: 30_000 }, (_, index) => `"${(index * 7919) % 30_000}":""`).join()}}`,
    ],
    ['a long object in others', `{"a":{"b":[0,{"c":{${keys(0, 20_000)}}},"d"],"e":1},"f":[${repeat('{}')}]}`],
    ['a long object in a list of long ones', `[${repeat(`{${keys(0, 9000)}}`)},1]`],
    ['a long text', `{"a":"${'\\"\\\\['.repeat(LONG)}","b":[${repeat('"}"')}]}`],
    [
      'backslashes in names',
      `{${Array.from({ length: 9000 }, (_, index) => `"a\\\\${index}":{"\\\\${index}":1}`).join()}}`,
    ],
    ['prototypes', `{${keys(0, 9000)},"__proto__":{${keys(0, 9000)}},"constructor":1}`],
    ['a key twice', `{"a":1,${keys(0, 20_000)},"a":2}`],
    ['a long value twice', `{"a":{${keys(0, 9000)}},"b":{${keys(0, 9000)}},"a":{${keys(5, 9000)}}}`],
    ['keys twice in a list', `{"x":[[${repeat('{}')},{"a":1,"a":2},${repeat('{}')}]]}`],
    ['very many keys twice', `{${keys(0, 9000)},${keys(0, 9000)}}`],
    ['a comma at the end', `{${keys(0, 20_000)},}`],
    ['a comma at the end of a list', `[${repeat('{}')},]`],
    ['a comma at the start', `[,${repeat('{}')}]`],
    ['two commas', `[${repeat('{}')},,${repeat('{}')}]`],
    ['a missing comma', `{"a":[${repeat('{}')}] "b":1}`],
    ['a missing comma before', `{"a":1 "b":[${repeat('{}')}]}`],
    ['a missing name', `{[${repeat('{}')}]:1}`],
    ['a name in a list', `["a":[${repeat('{}')}]]`],
    ['the wrong end', `{"a":[${repeat('{}')}}}`],
    ['no end', `{"a":[${repeat('{}')}`],
    ['no end of a text', `{"a":[${repeat('{}')},"`],
    ['more than one value', `[${repeat('{}')}] 1`],
    ['a word in the middle', `[${repeat('{}')},x,${repeat('{}')}]`],
    ['depth', `${'['.repeat(99)}[${repeat('{}')}]${']'.repeat(99)}`],
    ['the most depth', `${'['.repeat(98)}[${repeat('{}')}]${']'.repeat(98)}`],
    ['depth at the end', `[${repeat('{}')},${'['.repeat(200)}`],
  ])('reads %s as the other reader does', async (_what, text) => {
    expect(await isSame(text)).toBe(true);
  });

  it('agrees with the other reader, whatever it is given', async () => {
    const json = fc.oneof(fc.json({ maxDepth: 4 }), fc.constantFrom('{}', '[]', '{"a":1,"a":2}'));
    const change = fc.record({
      at: fc.nat(),
      insert: fc.constantFrom('', '', '', '"', '{', ']', ':', ',', '\\'),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(json, { minLength: 1, maxLength: 6 }),
        change,
        async (items, { at, insert }) => {
          const long = items.map((item, index) => `"m${index % 4}":[${repeat(item)}],"n":${item}`);
          const text = `{${long.join()}}`;
          const index = at % (text.length + 1);
          expect(await isSame(text.slice(0, index) + insert + text.slice(index))).toBe(true);
        },
      ),
      { numRuns: 40 },
    );
  });

  it('takes a turn for each slice', async () => {
    let turns = 0;
    const count = async (): Promise<void> => {
      turns += 1;
    };
    await parseJsonInTurns(Buffer.from(`{"a":[${'{},'.repeat(300_000)}{}]}`), count);
    expect(turns).toBeGreaterThan(10);
  });
});
