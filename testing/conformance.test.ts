/** Checks `docs/conformance.md` against the repository: every file and every test that it names exists,
 *  and every line names its test, or says that it is not implemented. */
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const ROOT = new URL('../', import.meta.url).pathname;

interface Row {
  readonly line: string;
  readonly doneIn: string;
  readonly shownBy: string;
}

/** Returns the rows of the tables whose first column is `Line`. */
function rowsOf(markdown: string): readonly Row[] {
  const rows: Row[] = [];
  let inside = false;
  for (const text of markdown.split('\n')) {
    if (!text.startsWith('|')) inside = false;
    const [line = '', doneIn = '', shownBy = '', ...rest] = text
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (line === 'Line') inside = true;
    else if (inside && !line.startsWith('---')) {
      if (rest.length > 0) throw new Error(`too many cells: ${text}`);
      rows.push({ line, doneIn, shownBy });
    }
  }
  return rows;
}

/** Paths from the root at which a name may be found. */
const PLACES = [(name: string) => name, (name: string) => `control-plane-lite/${name}`];

function find(name: string, places = PLACES): string | undefined {
  return places.map((place) => `${ROOT}${place(name)}`).find((path) => existsSync(path));
}

const testFile = (name: string): string | undefined =>
  name.includes('/') ? find(name) : find(name, [(short) => `e2e/plane/${short}.node.test.ts`]);

/** Returns the errors of a row: missing files, and titles that no file contains. */
function errorsOf({ line, doneIn, shownBy }: Row): readonly string[] {
  const errors: string[] = [];
  for (const [, name = ''] of doneIn.matchAll(/`([^`]+)`/g)) {
    if (find(name) === undefined) errors.push(`${line}: ${name} does not exist`);
  }
  let tested = false;
  let text = '';
  for (const [, name, title] of shownBy.matchAll(/`([^`]+)`|"([^"]+)"/g)) {
    if (name !== undefined) {
      const path = testFile(name);
      text = path === undefined ? '' : readFileSync(path, 'utf8');
      tested = true;
      if (path === undefined || !path.endsWith('.test.ts'))
        errors.push(`${line}: ${name} is not a test file`);
    } else if (title !== undefined && !text.includes(title)) {
      errors.push(`${line}: no test has ${JSON.stringify(title)} in its title`);
    }
  }
  const open = shownBy.includes('not yet') || shownBy.startsWith('binds ');
  if (!tested && !open) errors.push(`${line}: neither a test nor "not yet"`);
  if (doneIn === '' && !open) errors.push(`${line}: neither an implementation nor "not yet"`);
  return errors;
}

describe('docs/conformance.md', () => {
  const markdown = readFileSync(`${ROOT}docs/conformance.md`, 'utf8');
  const rows = rowsOf(markdown);

  test('has rows for every document', () => {
    const documents = markdown.split(/^## /m).slice(1).map(rowsOf);
    expect(documents.map((each) => each.length > 30)).toEqual([true, true, true]);
  });

  test('names existing files and tests', () => {
    expect(rows.flatMap(errorsOf)).toEqual([]);
  });

  test('has each line once', () => {
    const documents = markdown.split(/^## /m).slice(1).map(rowsOf);
    for (const document of documents) {
      const lines = document.map(({ line }) => line);
      expect(lines.filter((line, index) => lines.indexOf(line) !== index)).toEqual([]);
    }
  });

  test.each<[string, Row, string]>([
    ['a place that is gone', { line: 'x', doneIn: '`nowhere.ts`', shownBy: '`watch`' }, 'does not exist'],
    ['a file that is gone', { line: 'x', doneIn: '`http`', shownBy: '`nowhere`' }, 'is not a test file'],
    [
      'a title that is gone',
      { line: 'x', doneIn: '`http`', shownBy: '`watch` "no such title"' },
      'no test has',
    ],
    ['no test', { line: 'x', doneIn: '`http`', shownBy: 'somehow' }, 'neither a test'],
    ['no place', { line: 'x', doneIn: '', shownBy: '`watch`' }, 'neither an implementation'],
  ])('reports %s', (_, row, error) => {
    expect(errorsOf(row).join()).toContain(error);
  });
});
