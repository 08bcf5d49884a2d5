import { describe, expect, test } from 'vitest';
import { createFakeClock } from '#api/kit/clock.ts';
import { startProgress } from './progress.ts';

async function shown(columns: number | undefined, totalBytes?: number): Promise<string> {
  let text = '';
  const write = (chunk: string | Uint8Array): Promise<void> => Promise.resolve(void (text += String(chunk)));
  const terminal = columns === undefined ? {} : { terminal: () => ({ columns, rows: 24 }) };
  const clock = createFakeClock();
  {
    await using progress = startProgress(
      { err: { write, ...terminal }, clock },
      'loading web.tar',
      totalBytes,
    );
    async function* chunks(): AsyncGenerator<Uint8Array> {
      yield new Uint8Array(500);
      await clock.advance(1000);
      yield new Uint8Array(500);
      await clock.advance(1000);
    }
    for await (const chunk of progress.count(chunks())) expect(chunk).toHaveLength(500);
  }
  return text;
}

describe('progress', () => {
  test('a bar grows on a terminal, and disappears at the end', async () => {
    const text = await shown(80, 1000);
    expect(text).toContain('\rloading web.tar  [###############---------------] 50%  500 of 1.0Ki\u001B[K');
    expect(text).toContain(
      '\rloading web.tar  [##############################] 100%  1.0Ki of 1.0Ki\u001B[K',
    );
    expect(text.endsWith('\r\u001B[K')).toBe(true);
  });

  test('without a total, it shows bytes and time', async () => {
    expect(await shown(80)).toContain('\rloading web.tar  1.0Ki  1s\u001B[K');
  });

  test('a line is never longer than the terminal', async () => {
    const lines = (await shown(24, 1000)).split('\r').map((line) => line.replace('\u001B[K', ''));
    expect(Math.max(...lines.map((line) => line.length))).toBe(23);
  });

  test('nothing is shown without a terminal', async () => {
    expect(await shown(undefined, 1000)).toBe('');
  });
});
