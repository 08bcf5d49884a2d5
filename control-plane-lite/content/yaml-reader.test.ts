import { describe, expect, test } from 'vitest';
import { TextSyntaxError } from '#api/codec/limits.ts';
import { createFakeClock } from '#api/kit/clock.ts';
import { createYamlReader } from './yaml-reader.ts';

const body = (text: string): Buffer => Buffer.from(text);
/** Larger than texts that are parsed without the thread. */
const large = (count: number): string =>
  Array.from({ length: count }, (_, index) => `k${index}: ${index}\n`).join('');

describe('createYamlReader', () => {
  test.each([
    ['here', Number.POSITIVE_INFINITY],
    ['on the thread', 0],
  ])('gives the first document that has content, read %s', async (_name, threadBytes) => {
    const reader = createYamlReader({ threadBytes });
    const read = async (text: string): Promise<unknown> => (await reader.read(body(text)))?.value;
    expect(await read('a: 1\nb: [x, null, 1.5, {}]\n__proto__: {c: d}\n')).toEqual(
      JSON.parse('{"a":1,"b":["x",null,1.5,{}],"__proto__":{"c":"d"}}'),
    );
    expect(await read('---\n# nothing\n---\na: second\n---\na: third\n')).toEqual({ a: 'second' });
    expect(await reader.read(body('# nothing\n'))).toBeUndefined();
    expect((await reader.read(body('a: 1\na: 2\n')))?.errors).toMatchObject([
      { kind: 'FieldValueDuplicate' },
    ]);
    expect((await reader.read(body('a: [\n')))?.errors).toHaveLength(1);
    await expect(reader.read(body('- '.repeat(500)))).rejects.toThrow(/nested deeper/);
  });

  test('reads many large texts, each for its own caller', async () => {
    const reader = createYamlReader();
    const counts = [900, 1500, 1200, 1000];
    const documents = await Promise.all(counts.map((count) => reader.read(body(large(count)))));
    expect(documents.map((document) => Object.keys(document?.value ?? {}).length)).toEqual(counts);
  });

  test('gives up a text that takes too long, and goes on with the next', async () => {
    const clock = createFakeClock();
    const reader = createYamlReader({ clock, longestMs: 1000 });
    const slow = reader.read(body(large(40_000)));
    const next = reader.read(body(large(1000)));
    const late = clock.advance(1000);
    await expect(slow).rejects.toThrow(new TextSyntaxError('takes too long to read', 1, 1));
    await late;
    expect(Object.keys((await next)?.value ?? {})).toHaveLength(1000);
  });

  test('starts a thread again after one has ended for want of work', async () => {
    const clock = createFakeClock();
    const reader = createYamlReader({ clock, idleMs: 1000 });
    await reader.read(body(large(1000)));
    await clock.advance(1000);
    expect((await reader.read(body(large(1000))))?.errors).toEqual([]);
  });

  test.each([
    ['yaml', '', 'a: 1\nb:\n  - x\nc: |\n  1\n\n  2\n'],
    ['yaml', '  ', 'a: 1\n  b:\n    - x\n  c: |\n    1\n\n    2\n'],
    [
      'pretty',
      '    ',
      '{\n      "a": 1,\n      "b": [\n        "x"\n      ],\n      "c": "1\\n\\n2\\n"\n    }',
    ],
  ] as const)('writes %s with lines after %j on the thread', async (form, indent, text) => {
    const json = body('{"a":1,"b":["x"],"c":"1\\n\\n2\\n"}');
    expect((await createYamlReader().write(json, form, indent)).toString()).toBe(text);
  });

  test('writes nothing that takes too long', async () => {
    const clock = createFakeClock();
    const slow = createYamlReader({ clock, longestMs: 1000 }).write(
      body(`[${'{},'.repeat(500_000)}1]`),
      'yaml',
    );
    const late = clock.advance(1000);
    await expect(slow).rejects.toThrow('takes too long');
    await late;
  });

  test('reads text that becomes a large value', async () => {
    const { value } = (await createYamlReader().read(body(large(40_000)))) ?? {};
    expect(Object.keys(value ?? {})).toHaveLength(40_000);
  });
});
