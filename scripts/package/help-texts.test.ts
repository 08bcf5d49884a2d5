import { execFileSync } from 'node:child_process';
import { expect, test } from 'vitest';
import { type ProgramText, renderCompletion, renderManual } from './help-texts.ts';

const TEXT: ProgramText = {
  name: 'my-program',
  summary: 'does it',
  version: '1.0',
  help: '  --verbose  more\n',
  commands: [
    { name: 'list', summary: 'List them', help: '.hidden\n  --all-of-it  a\\b\n  -x, --exact\n' },
    { name: 'load', summary: 'Load one', help: 'my-program load' },
  ],
  files: [['/etc/my', 'Settings.']],
};

test('text cannot be read as requests of roff', () => {
  const manual = renderManual(TEXT, 0);
  expect(manual).toContain('.TH MY-PROGRAM 8 1970-01-01');
  expect(manual).toContain('\n\\&.hidden\n');
  expect(manual).toContain('\\-\\-all\\-of\\-it  a\\eb');
});

function complete(...words: readonly string[]): readonly string[] {
  const script = `${renderCompletion(TEXT)}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _my_program; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script, 'bash', ...words], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

test.each([
  [
    ['my-program', 'l'],
    ['list', 'load'],
  ],
  [['my-program', '--'], ['--verbose']],
  [
    ['my-program', 'list', '--'],
    ['--all-of-it', '--exact'],
  ],
  [['my-program', 'load', 'x'], ['']],
])('bash completes %j', (words, expected) => {
  expect(complete(...words)).toEqual(expected);
});
