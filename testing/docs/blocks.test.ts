import { describe, expect, test } from 'vitest';
import { blocksOf, commandBlocks } from './blocks.ts';

const PAGE = `# Page

\`\`\`sh
a
b
\`\`\`

- item

  \`\`\`yaml
  x:
    y: 1
  \`\`\`
`;

describe('blocksOf', () => {
  test('returns language, text and line', () => {
    expect(blocksOf(PAGE)).toEqual([
      { language: 'sh', text: 'a\nb', line: 4 },
      { language: 'yaml', text: 'x:\n  y: 1', line: 11 },
    ]);
  });

  test('rejects a block without an end', () => {
    expect(() => blocksOf('```sh\na')).toThrow('line 2');
  });
});

test('commandBlocks returns those of the shell', () => {
  expect(commandBlocks(PAGE).map(({ text }) => text)).toEqual(['a\nb']);
});
