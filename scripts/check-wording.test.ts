import { expect, test } from 'vitest';
import { findingsIn } from './check-wording.ts';

const diff = (file: string, ...lines: readonly string[]): string =>
  [`--- a/${file}`, `+++ b/${file}`, '@@ -1,0 +7,3 @@ context', ...lines].join('\n');

test('added lines are checked, removed ones and the guide are not', () => {
  const text = diff('a/b.ts', '+// fine', '-// The server was told.', '+// Whoever asks gets it.');
  expect(findingsIn(text)).toEqual([
    {
      file: 'a/b.ts',
      line: 8,
      text: '// Whoever asks gets it.',
      instead: 'name the client, the user or the controller',
    },
  ]);
  expect(findingsIn(diff('docs/wording.md', '+| whoever |'))).toEqual([]);
});
