/** Checks the form of decision records: a numbered title that the index lists, and a uniform status. */
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';

const FOLDER = new URL('../docs/decisions/', import.meta.url).pathname;
const read = (name: string): string => readFileSync(`${FOLDER}${name}`, 'utf8');
const pages = readdirSync(FOLDER).filter((name) => /^\d{4}-/.test(name));
const index = read('README.md');

describe('decision records', () => {
  test('have a number each', () => {
    const numbers = pages.map((name) => name.slice(0, 4));
    expect(new Set(numbers).size).toBe(numbers.length);
    expect(pages.length).toBeGreaterThan(60);
  });

  test.each(pages)('%s has its title, its status and its line in the index', (name) => {
    const [title = '', empty, status] = read(name).split('\n');
    expect(title).toMatch(new RegExp(`^# ${name.slice(0, 4)} [A-Z\`]`));
    expect(empty).toBe('');
    expect(status).toMatch(/^Status: (?:accepted|superseded)/);
    expect(index).toContain(`- [${title.slice(2)}](${name})\n`);
  });

  test('are all that the index lists', () => {
    const listed = [...index.matchAll(/\]\(([^)]+)\)/g)].map(([, name = '']) => name);
    expect(listed.toSorted()).toEqual(pages.toSorted());
  });
});
