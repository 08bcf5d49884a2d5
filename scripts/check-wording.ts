/** Rejects home-made terms in lines added since the wording rules exist (`docs/wording.md`). Older lines
 *  are not checked until they change. Usage: node scripts/check-wording.ts */
import { execFileSync } from 'node:child_process';
import { parseArgs } from 'node:util';
import { readArguments } from './arguments.ts';

/** The last commit before the rules. */
const BASE = '1683f83236eee01ab9b20a81001812a242778799';

/** Rejected terms with the field's own. The guide and this list must spell them. */
const REJECTED: readonly (readonly [RegExp, string])[] = [
  [/\btold\b/i, 'notified, reported, logged'],
  [/\banswer(?:s|ed|ing)?\b/i, 'response, result; respond'],
  [/\bwhoever\b/i, 'name the client, the user or the controller'],
  [/\bto be had\b/i, 'available'],
  [/\bis no [a-z]+ of\b/i, 'say what it is'],
  [/\b(?:is|are|was|were|be|been) (?:let in|taken on)\b/i, 'authenticated, admitted'],
  [/(?<!-)\bstrangers?\b/i, 'anonymous or third-party client'],
  [/\bbreathes?\b/i, 'yields to the event loop'],
];
const EXCLUDED = [
  'docs/wording.md',
  'scripts/check-wording.ts',
  'scripts/check-wording.test.ts',
  'scripts/review-counts.ts',
];

export interface Finding {
  readonly file: string;
  readonly line: number;
  readonly text: string;
  readonly instead: string;
}

/** Returns the findings in the added lines of a unified diff without context. */
export function findingsIn(diff: string): readonly Finding[] {
  const findings: Finding[] = [];
  let file = '';
  let line = 0;
  for (const text of diff.split('\n')) {
    if (text.startsWith('+++ ')) file = text.slice('+++ b/'.length);
    else if (text.startsWith('@@')) line = Number(/\+(\d+)/.exec(text)?.[1] ?? '0');
    else if (text.startsWith('+')) {
      const rejected = REJECTED.find(([pattern]) => pattern.test(text));
      if (rejected !== undefined && !EXCLUDED.includes(file)) {
        findings.push({ file, line, text: text.slice(1).trim(), instead: rejected[1] });
      }
      line += 1;
    }
  }
  return findings;
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8', maxBuffer: 1 << 30 });
}

function hasBase(): boolean {
  try {
    git('cat-file', '-e', `${BASE}^{commit}`);
    return true;
  } catch {
    return false;
  }
}

const USAGE = `npm run check:wording

Rejects home-made terms in lines that were added since the wording rules exist (docs/wording.md).
`;

function main(): void {
  readArguments('check-wording', USAGE, () => parseArgs());
  if (!hasBase()) {
    console.log('wording: skipped, because this clone lacks the base commit');
    return;
  }
  const findings = findingsIn(git('diff', '--unified=0', '--no-color', BASE, '--', '*.ts', '*.md'));
  for (const { file, line, text, instead } of findings) {
    console.error(`${file}:${line}: ${text}\n  write instead: ${instead} (docs/wording.md)`);
  }
  if (findings.length > 0) process.exitCode = 1;
}

if (import.meta.main) main();
